#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace indexshare {
namespace {

int call(FunctionRef<int(int)> f, int x) {
  return f(x);
}

TEST(FunctionRef, CallsTheObjectItself) {
  int calls = 0;
  auto counting = [&](int x) { return ++calls + x; };
  EXPECT_EQ(call(counting, 10), 11);
  EXPECT_EQ(call(counting, 10), 12);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, KeepsTheStateOfAMutableObject) {
  auto mutating = [n = 0](int x) mutable { return n += x; };
  EXPECT_EQ(call(mutating, 2), 2);
  EXPECT_EQ(call(mutating, 3), 5);
}

TEST(FunctionRef, TakesConstObjectsAndTemporaries) {
  const auto twice = [](int x) { return 2 * x; };
  EXPECT_EQ(call(twice, 4), 8);
  EXPECT_EQ(call([](int x) { return x - 1; }, 4), 3);
}

TEST(FunctionRef, CopiesReferToTheSameObject) {
  int calls = 0;
  auto counting = [&] { ++calls; };
  const FunctionRef<void()> first = counting;
  const FunctionRef<void()> second = first;
  first();
  second();
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, PassesReferencesAndMoveOnlyArguments) {
  auto append = [](std::string& text, std::unique_ptr<int> number) { text += std::to_string(*number); };
  const FunctionRef<void(std::string&, std::unique_ptr<int>)> f = append;
  std::string text = "n";
  f(text, std::make_unique<int>(7));
  EXPECT_EQ(text, "n7");
}

}  // namespace
}  // namespace indexshare
