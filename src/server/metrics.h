// What the server counts and measures, for GET /metrics.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "indexshare/engine.h"

namespace indexshare::server {

/// All members may be called from any thread.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// A request has ended. `route` is one of the table's paths, so that clients cannot make up labels;
  /// `status` is 0 where the client went before it was answered.
  void observe_request(std::string_view route, int status, double seconds);

  /// The first token of an answer, and each later one, by the time since the request came in or since the
  /// token before.
  void observe_first_token(double seconds);
  void observe_next_token(double seconds);

  /// An answer has ended.
  void observe_answer(const GenerationResult& result);

  /// All of it with what the engine counts, in Prometheus' text format, version 0.0.4.
  std::string text(const Engine& engine) const;

 private:
  struct Collected;
  std::unique_ptr<Collected> collected_;
};

}  // namespace indexshare::server
