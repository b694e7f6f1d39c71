// Lines that a user types: with editing and a history on a terminal, plainly from a pipe or file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace indexshare::cli {

struct Entry {
  enum class Kind : uint8_t {
    text,
    cancelled,
    end
  };  // cancelled: by Ctrl-C; end: by Ctrl-D or the file's end
  Kind kind;
  std::string text;  // of several lines where all but the last ended with a backslash
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  Entry read();
  virtual void remember(const std::string& text) = 0;
  virtual bool interactive() const = 0;

 protected:
  virtual Entry read_line(bool continued) = 0;
};

/// An editor where both standard streams are a terminal. It keeps its history in `history_file` (none where
/// that is empty).
std::unique_ptr<LineReader> make_line_reader(const std::filesystem::path& history_file);

/// The file of a history in the user's state directory, which is made where it is missing; empty without a
/// home.
std::filesystem::path history_path(std::string_view name);

}  // namespace indexshare::cli
