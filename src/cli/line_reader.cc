#include "cli/line_reader.h"

#include <histedit.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/output.h"

namespace indexshare::cli {
namespace {

constexpr int kHistorySize = 1000;

class PlainReader final : public LineReader {
 public:
  void remember(const std::string&) override {}
  bool interactive() const override { return false; }

 private:
  Entry read_line(bool) override {
    std::string line;
    if (!std::getline(std::cin, line)) return {Entry::Kind::end, {}};
    return {Entry::Kind::text, std::move(line)};
  }
};

class Editor final : public LineReader {
 public:
  explicit Editor(std::filesystem::path history_file)
      : history_file_(std::move(history_file)),
        edit_(el_init("indexshare", stdin, stdout, stderr)),
        history_(history_init()) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistorySize);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) history(history_, &event, H_LOAD, history_file_.c_str());
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &Editor::prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    // Ctrl-C is a key here, not a signal, so that it can give up a line without ending the program.
    el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(edit_, EL_ADDFN, "cancel-line", "give up the line", &Editor::cancel);
    el_set(edit_, EL_BIND, "^C", "cancel-line", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);  // ~/.editrc
  }
  ~Editor() override {
    el_end(edit_);
    history_end(history_);
  }

  void remember(const std::string& text) override {
    HistEvent event;
    history(history_, &event, H_ENTER, text.c_str());
    if (!history_file_.empty()) history(history_, &event, H_SAVE, history_file_.c_str());
  }
  bool interactive() const override { return true; }

 private:
  static Editor* self(EditLine* edit) {
    Editor* editor = nullptr;
    el_get(edit, EL_CLIENTDATA, &editor);
    return editor;
  }
  static char* prompt(EditLine* edit) {
    static char first[] = "> ", continued[] = ". ";
    return self(edit)->continued_ ? continued : first;
  }
  static unsigned char cancel(EditLine* edit, int) {
    self(edit)->cancelled_ = true;
    return CC_EOF;
  }

  Entry read_line(bool continued) override {
    continued_ = continued;
    cancelled_ = false;
    int length = 0;
    const auto handler = std::signal(SIGINT, SIG_IGN);  // one that comes before the keys are ours
    const char* line = el_gets(edit_, &length);
    std::signal(SIGINT, handler);
    if (cancelled_) {
      print_error("^C\n");
      return {Entry::Kind::cancelled, {}};
    }
    if (line == nullptr || length <= 0) return {Entry::Kind::end, {}};
    std::string text(line, static_cast<size_t>(length));
    if (text.back() == '\n') text.pop_back();
    return {Entry::Kind::text, std::move(text)};
  }

  std::filesystem::path history_file_;
  EditLine* edit_;
  History* history_;
  bool continued_ = false;
  bool cancelled_ = false;
};

}  // namespace

Entry LineReader::read() {
  Entry entry = read_line(false);
  while (entry.kind == Entry::Kind::text && entry.text.ends_with('\\')) {
    entry.text.back() = '\n';
    Entry next = read_line(true);
    if (next.kind == Entry::Kind::cancelled) return next;
    if (next.kind == Entry::Kind::end) break;
    entry.text += next.text;
  }
  return entry;
}

std::unique_ptr<LineReader> make_line_reader(const std::filesystem::path& history_file) {
  if (!stdin_is_terminal() || !stdout_is_terminal()) return std::make_unique<PlainReader>();
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");  // none was set that knows more than bytes
  return std::make_unique<Editor>(history_file);
}

std::filesystem::path history_path(std::string_view name) {
  std::filesystem::path directory;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    directory = state;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    directory = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  directory /= "indexshare";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  return error ? std::filesystem::path() : directory / name;
}

}  // namespace indexshare::cli
