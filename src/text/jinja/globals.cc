// The functions that every template can call.
#include <array>
#include <ctime>

#include "base/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

Value make_range(Interpreter&, const Value&, Arguments arguments) {
  const size_t given = arguments.positional.size();
  const Parameters parameters("range", std::move(arguments), {"", "", ""}, 1);
  const int64_t first = parameters.integer(0, 0);
  const int64_t step = parameters.integer(2, 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  return Value::object(given == 1 ? std::make_shared<Range>(0, first, 1)
                                  : std::make_shared<Range>(first, parameters.integer(1, 0), step));
}

// dict(mapping or pairs, name=value...).
Dict make_dict(Interpreter& interpreter, std::string_view function, Arguments arguments) {
  if (arguments.positional.size() > 1)
    fail(fmt::format("{}() takes at most one positional argument", function));
  Budget& budget = interpreter.budget();
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::undefined)) fail(source.as_undefined().message);
    if (source.is(Kind::dict)) {
      dict = source.as_dict();
    } else {
      for (const Value& pair : iterate(interpreter, source)) {
        const Values entry = iterate(interpreter, pair);
        if (entry.size() != 2) fail(fmt::format("{}() needs pairs of a key and a value", function));
        dict.set(budget, entry[0], entry[1]);
      }
    }
  }
  for (auto& [name, value] : arguments.named) dict.set(std::move(name), std::move(value));
  budget.bytes(dict.size() * static_cast<int64_t>(sizeof(Dict::Entry)));
  return dict;
}

Value dict_function(Interpreter& interpreter, const Value&, Arguments arguments) {
  return Value::dict(make_dict(interpreter, "dict", std::move(arguments)));
}

Value make_namespace(Interpreter& interpreter, const Value&, Arguments arguments) {
  interpreter.budget().bytes(sizeof(Namespace));
  auto names = std::make_shared<Namespace>(make_dict(interpreter, "namespace", std::move(arguments)));
  interpreter.keep(names);
  return Value::object(std::move(names));
}

Value make_cycler(Interpreter&, const Value&, Arguments arguments) {
  if (!arguments.named.empty()) fail("cycler() takes no keyword arguments");
  if (arguments.positional.empty()) fail("at least one item has to be provided to cycler()");
  return Value::object(std::make_shared<Cycler>(std::move(arguments.positional)));
}

Value make_joiner(Interpreter&, const Value&, Arguments arguments) {
  const Parameters parameters("joiner", std::move(arguments), {"sep"});
  return Value::object(std::make_shared<Joiner>(parameters.get(0, Value::string(", "))));
}

Value raise_exception(Interpreter& interpreter, const Value&, Arguments arguments) {
  const Parameters parameters("raise_exception", std::move(arguments), {"message"}, 1);
  fail(fmt::format("the template refuses: {}", str(interpreter.budget(), parameters[0])));
}

// datetime.now().strftime(format).
Value strftime_now(Interpreter& interpreter, const Value&, Arguments arguments) {
  const Parameters parameters("strftime_now", std::move(arguments), {"format"}, 1);
  // The space makes the result of a format that yields nothing differ from one that does not fit.
  const std::string format = parameters.string(0) + " ";
  if (format.find('\0') != std::string::npos) fail("strftime_now() needs a format without null characters");
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 1024> text{};
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &local);
  if (size == 0) fail("strftime_now() makes a text that is too long");
  const std::string_view made(text.data(), size - 1);
  if (!is_valid_utf8(made)) fail("strftime_now() makes a text that is not UTF-8");
  return interpreter.string(std::string(made));
}

}  // namespace

std::optional<Value> find_global(std::string_view name) {
  constexpr std::pair<std::string_view, Function::Body> kGlobals[] = {
      {"range", make_range},         {"dict", dict_function}, {"namespace", make_namespace},
      {"cycler", make_cycler},       {"joiner", make_joiner}, {"raise_exception", raise_exception},
      {"strftime_now", strftime_now}};
  for (const auto& [global, body] : kGlobals) {
    if (global == name) return Value::object(std::make_shared<Function>(global, body));
  }
  return std::nullopt;
}

}  // namespace indexshare::jinja
