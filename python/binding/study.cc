#include "study.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/available_memory.h"
#include "base/error.h"
#include "engine/session.h"
#include "errors.h"
#include "model/flops.h"

namespace nb = nanobind;

namespace indexshare::python {
namespace {

// An array of C++ that becomes numpy's without being copied.
template <typename T>
class Array {
 public:
  explicit Array(std::initializer_list<size_t> shape) : shape_(shape) {
    size_t size = 1;
    for (const size_t n : shape_) size *= n;
    values_ = std::make_unique_for_overwrite<T[]>(size);
  }

  /// The place of [i, j, 0] of three dimensions, or of [j, 0] of two.
  T* row(size_t i, size_t j) { return values_.get() + (i * shape_[shape_.size() - 2] + j) * shape_.back(); }

  nb::object release() {
    T* values = values_.release();
    const nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(values, shape_.size(), shape_.data(), owner));
  }

 private:
  std::vector<size_t> shape_;
  std::unique_ptr<T[]> values_;
};

struct Arrays {
  std::optional<Array<float>> logits, hidden;
  std::optional<Array<int32_t>> selections;
};

Result<void> check_memory(const Config& config, int64_t tokens, Wanted wanted) {
  int64_t values = 0;  // per token, 4 bytes each
  if (wanted.logits) values += config.vocab_size;
  if (wanted.selections) values += config.full_layers() * config.index_topk;
  if (wanted.hidden) values += (config.num_hidden_layers + 2) * config.hidden_size;
  const int64_t bytes = 4 * values * tokens;
  if (const auto available = available_memory(); available && bytes > *available) {
    return make_error(ErrorCode::out_of_memory,
                      "the arrays of {} tokens take {} bytes, more than the {} that are available: ask for "
                      "fewer tokens or arrays",
                      tokens, bytes, *available);
  }
  return {};
}

class ArrayProbe final : public Probe {
 public:
  ArrayProbe(const Config& config, Arrays& arrays) : config_(config), arrays_(arrays) {}

  void hidden(int64_t stage, Tensor x) override {
    if (stage == 0) first_ = std::exchange(next_, next_ + x.rows);
    if (!arrays_.hidden) return;
    for (int64_t t = 0; t < x.rows; ++t) {
      std::copy_n(x.row(t), x.cols, arrays_.hidden->row(place(stage), place(first_ + t)));
    }
  }

  void selection(int64_t layer, const Selection& selection) override {
    if (!arrays_.selections) return;
    const auto& full = config_.indexer_full;
    const auto number = std::count(full.begin(), full.begin() + layer, true);
    for (int64_t t = first_; t < next_; ++t) {
      int32_t* row = arrays_.selections->row(place(number), place(t));
      const auto chosen = selection[t - first_];
      std::fill(std::copy(chosen.begin(), chosen.end(), row), row + config_.index_topk, -1);
    }
  }

  void routing(int64_t, const Routing&) override {}

 private:
  static size_t place(int64_t i) { return static_cast<size_t>(i); }

  const Config& config_;
  Arrays& arrays_;
  int64_t first_ = 0, next_ = 0;  // the tokens of the batch
};

// Runs `task` on a thread of its own, so that this one can listen for Ctrl-C, which sets `stop`.
void run_interruptibly(const std::function<void(const std::atomic<bool>& stop)>& task) {
  constexpr std::chrono::milliseconds kSlice(50);
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::thread worker([&] {
    task(stop);
    const std::lock_guard lock(mutex);
    done = true;
    ended.notify_one();
  });
  const auto wait = [&] {
    std::unique_lock lock(mutex);
    return ended.wait_for(lock, kSlice, [&] { return done; });
  };
  while (!without_gil(wait)) {
    if (PyErr_CheckSignals() != 0) stop = true;
    if (stop) break;
  }
  without_gil([&] { worker.join(); });
  if (stop) throw nb::python_error();
}

}  // namespace

nb::tuple forward(Engine& engine, const std::vector<int32_t>& ids, Wanted wanted) {
  const Config& config = engine.runner().config();
  if (ids.empty()) raise(make_error("ids is empty, expected at least one token"));
  if (std::ssize(ids) > engine.info().context) {
    raise(make_error("{} tokens are more than the context of {}", ids.size(), engine.info().context));
  }
  check(check_memory(config, std::ssize(ids), wanted));
  Arrays arrays;
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  if (wanted.logits) arrays.logits.emplace({ids.size(), size(config.vocab_size)});
  if (wanted.selections) {
    arrays.selections.emplace({size(config.full_layers()), ids.size(), size(config.index_topk)});
  }
  if (wanted.hidden) {
    arrays.hidden.emplace({size(config.num_hidden_layers + 2), ids.size(), size(config.hidden_size)});
  }
  Result<void> outcome;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    engine.run_exclusive([&](ModelRunner& runner) {
      ArrayProbe probe(config, arrays);
      Session session(runner);
      const auto on_logits = [&](int64_t first, Tensor rows) {
        std::copy_n(rows.data, rows.rows * rows.cols, arrays.logits->row(0, size(first)));
      };
      const auto on_progress = [&](int64_t, int64_t) { return !stop; };
      const auto ran = session.append(ids, wanted.logits ? LogitsFor::all : LogitsFor::none, on_logits,
                                      on_progress, &probe);
      if (!ran.ok()) outcome = ran.error();
    });
  });
  check(outcome);
  const auto release = [](auto& array) { return array ? array->release() : nb::none(); };
  return nb::make_tuple(release(arrays.logits), release(arrays.selections), release(arrays.hidden));
}

nb::dict flops(const Engine& engine, int64_t context, double full_layers, bool latent) {
  constexpr int64_t kMaxContext = int64_t{1} << 30;
  const Config& config = engine.runner().config();
  if (context < 1 || context > kMaxContext) {
    raise(make_error("context is {}, expected 1 to {} tokens", context, kMaxContext));
  }
  if (!(full_layers >= 0 && full_layers <= static_cast<double>(config.num_hidden_layers))) {
    raise(make_error("full_layers is {}, expected a number from 0 to {}", full_layers,
                     config.num_hidden_layers));
  }
  const FlopCount count =
      flops_per_token(config, full_layers, context, latent ? AttentionForm::latent : AttentionForm::expanded);
  nb::dict parts;
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (part != Part::other) parts[part_name(part).data()] = count[part];
  }
  parts["total"] = count.total();
  return parts;
}

}  // namespace indexshare::python
