#include "text/jinja/objects.h"

#include <iterator>

#include "base/error.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"

namespace indexshare::jinja {
namespace {

// |range(start, stop, step)| without overflow: the distance of two int64 fits a uint64.
int64_t range_count(int64_t start, int64_t stop, int64_t step) {
  const bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  const uint64_t distance = up ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = up ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = (distance - 1) / stride + 1;
  if (count > static_cast<uint64_t>(kMaxRange)) {
    fail(fmt::format("a range of {} elements is larger than the allowed {}", count, kMaxRange));
  }
  return static_cast<int64_t>(count);
}

}  // namespace

Range::Range(int64_t start, int64_t stop, int64_t step)
    : start_(start), stop_(stop), step_(step), count_(range_count(start, stop, step)) {}

void Range::write_repr(Writer& out, int) {
  out << (step_ == 1 ? fmt::format("range({}, {})", start_, stop_)
                     : fmt::format("range({}, {}, {})", start_, stop_, step_));
}

std::optional<Value> Range::item(Interpreter&, const Value& key) {
  auto i = key.index();
  if (!i) return std::nullopt;
  if (*i < 0) *i += count_;
  if (*i < 0 || *i >= count_) return std::nullopt;
  return Value::integer(start_ + *i * step_);
}

std::optional<Values> Range::iterate(Interpreter& interpreter) {
  interpreter.budget().bytes(count_ * static_cast<int64_t>(sizeof(Value)));
  Values items;
  items.reserve(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) items.push_back(Value::integer(start_ + i * step_));
  return items;
}

bool Range::equals(Budget&, const Object& other) const {
  const auto* range = dynamic_cast<const Range*>(&other);
  if (range == nullptr || count_ != range->count_) return false;
  return count_ == 0 || (start_ == range->start_ && (count_ == 1 || step_ == range->step_));
}

bool Range::contains(const Value& value) const {
  std::optional<int64_t> wanted = value.index();
  if (!wanted && value.is(Kind::real)) {
    const double real = value.as_real();
    if (real >= -0x1p63 && real < 0x1p63 && real == static_cast<double>(static_cast<int64_t>(real))) {
      wanted = static_cast<int64_t>(real);
    }
  }
  if (!wanted) return false;
  for (int64_t i = 0; i < count_; ++i) {
    if (start_ + i * step_ == *wanted) return true;
  }
  return false;
}

Value Range::slice(const Value& start, const Value& stop, const Value& step) const {
  const SliceRange range = slice_range(start, stop, step, count_);
  const auto at = [&](int64_t i) { return checked_add(start_, checked_multiply(i, step_)); };
  const int64_t end = at(range.start + range.count * range.step);
  return Value::object(std::make_shared<Range>(at(range.start), end, checked_multiply(step_, range.step)));
}

std::string_view DictView::type_name() const {
  constexpr std::string_view kNames[] = {"dict_items", "dict_keys", "dict_values"};
  return kNames[static_cast<size_t>(part_)];
}

Values DictView::values() const {
  Values out;
  for (const auto& [key, value] : dict_.as_dict().entries()) {
    switch (part_) {
      case Part::items: out.push_back(Value::tuple({key, value})); break;
      case Part::keys: out.push_back(key); break;
      case Part::values: out.push_back(value); break;
    }
  }
  return out;
}

void DictView::write_repr(Writer& out, int depth) {
  out << type_name() << "(";
  jinja::write_repr(out, Value::list(values()), depth);
  out << ")";
}

std::optional<Values> DictView::iterate(Interpreter& interpreter) {
  interpreter.budget().bytes(dict_.as_dict().size() * static_cast<int64_t>(3 * sizeof(Value)));
  return values();
}

bool DictView::equals(Budget& budget, const Object& other) const {
  if (this == &other) return true;
  const auto* view = dynamic_cast<const DictView*>(&other);
  // Keys and items are sets; values have no equality.
  if (view == nullptr || part_ != view->part_ || part_ == Part::values) return false;
  const Dict& a = dict_.as_dict();
  const Dict& b = view->dict_.as_dict();
  if (part_ == Part::items) return equal(budget, dict_, view->dict_);
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    if (b.find(budget, key) == nullptr) return false;
  }
  return true;
}

void Generator::run(Interpreter& interpreter) {
  if (const Source source = std::exchange(source_, nullptr)) items_ = source(interpreter);
}

std::optional<Value> Generator::next(Interpreter& interpreter) {
  run(interpreter);
  if (position_ == items_.size()) return std::nullopt;
  return std::move(items_[position_++]);
}

std::optional<Values> Generator::iterate(Interpreter& interpreter) {
  run(interpreter);
  Values rest(std::make_move_iterator(items_.begin() + static_cast<std::ptrdiff_t>(position_)),
              std::make_move_iterator(items_.end()));
  items_.clear();
  position_ = 0;
  return rest;
}

void Namespace::write_repr(Writer& out, int depth) {
  if (std::exchange(being_written_, true)) {
    out << "<Namespace {...}>";  // it holds itself
    return;
  }
  out << "<Namespace {";
  bool first = true;
  for (const auto& [key, value] : attributes_.entries()) {
    if (!first) out << ", ";
    first = false;
    jinja::write_repr(out, key, depth);
    out << ": ";
    jinja::write_repr(out, value, depth);
  }
  out << "}>";
  being_written_ = false;  // a failure ends the rendering, so that only success needs this
}

std::optional<Value> Namespace::attribute(Interpreter&, std::string_view name) {
  const Value* value = attributes_.find(name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

Value Cycler::next() {
  Value current = items_[position_];
  position_ = (position_ + 1) % items_.size();
  return current;
}

std::optional<Value> Cycler::attribute(Interpreter&, std::string_view name) {
  if (name == "current") return items_[position_];
  if (name == "pos") return Value::integer(static_cast<int64_t>(position_));
  if (name == "items") return Value::tuple(items_);
  const Value self = Value::object(shared_from_this());
  if (name == "next") {
    return Value::object(std::make_shared<Function>(
        "next",
        [](Interpreter&, const Value& cycler, Arguments) { return cycler.object_as<Cycler>()->next(); },
        self));
  }
  if (name == "reset") {
    return Value::object(std::make_shared<Function>(
        "reset",
        [](Interpreter&, const Value& cycler, Arguments) {
          cycler.object_as<Cycler>()->reset();
          return Value();
        },
        self));
  }
  return std::nullopt;
}

std::optional<Value> Joiner::attribute(Interpreter&, std::string_view name) {
  if (name == "sep") return separator_;
  if (name == "used") return Value::boolean(used_);
  return std::nullopt;
}

Value Joiner::call(Interpreter&, Arguments) {
  if (std::exchange(used_, true)) return separator_;
  return Value::string("");
}

void Function::write_repr(Writer& out, int) {
  out << "<function " << name_ << ">";
}

}  // namespace indexshare::jinja
