// What a template may spend, and how its failures travel inside the interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace indexshare::jinja {

/// Bounds that keep a hostile template from hanging or from eating memory. All are far above what the
/// templates of real models need.
struct Limits {
  int64_t steps = 50'000'000;                 // nodes evaluated and elements visited, in one rendering
  int64_t bytes = int64_t{1} << 30;           // all values ever made in one rendering
  int64_t output_bytes = int64_t{256} << 20;  // what is written, captured blocks included
  int depth = 600;                            // nested evaluations, macro calls included
};

inline constexpr int kMaxSyntaxDepth = 200;  // nesting of statements and expressions; parentheses count twice
inline constexpr int kMaxExpressionHeight = 400;  // operators and postfixes applied to one another
inline constexpr int kMaxValueDepth = 300;        // nesting of lists and dicts; JSON ends at 256
inline constexpr int64_t kMaxRange = 100'000;     // as in jinja2's sandbox

/// An error on its way out of the interpreter. Jinja's own semantics are exceptions at every operator, so
/// they are ours too inside this folder; Template turns them into a Result at its boundary.
struct Failure {
  std::string message;
  int line = 0;  // 0 until the statement or expression that failed fills it in
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  void step(int64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) fail("steps", limits_.steps);
  }
  /// Call before making `count` bytes of a value; also pays for the time to write them.
  void bytes(int64_t count) {
    bytes_ += count;
    if (bytes_ > limits_.bytes) fail("bytes of values", limits_.bytes);
    step(count >> 6);
  }
  void output(int64_t count) {
    output_ += count;
    if (output_ > limits_.output_bytes) fail("bytes of output", limits_.output_bytes);
  }
  int max_depth() const { return limits_.depth; }

 private:
  [[noreturn]] static void fail(std::string_view what, int64_t limit);

  Limits limits_;
  int64_t steps_ = 0;
  int64_t bytes_ = 0;
  int64_t output_ = 0;
};

/// Text that pays for each byte before it is appended.
class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(budget) {}

  Writer& operator<<(std::string_view part) {
    budget_.bytes(static_cast<int64_t>(part.size()));
    text_ += part;
    return *this;
  }
  void repeat(std::string_view part, int64_t count);

  Budget& budget() { return budget_; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  Budget& budget_;
  std::string text_;
};

}  // namespace indexshare::jinja
