// HTTP/1.1 as our handlers see it: no type of the library that speaks it shows here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/result.h"

namespace indexshare::server {

struct HttpHeader {
  std::string name, value;
};

struct HttpRequest {
  std::string id;      // in the log and in the answer's X-Request-Id: the client's own, if it is a plain word
  std::string method;  // "GET"
  std::string path;    // "/v1/models", without the query
  std::vector<HttpHeader> headers;
  std::string body;  // whole, at most HttpOptions::max_body_bytes

  /// The value of a header, by its name in any case; empty where there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<HttpHeader> headers = {};
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;                     // 0: any that is free
  std::string tls_certificate, tls_key;  // PEM files; empty: without TLS
  int64_t max_connections = 4096;
  int64_t max_body_bytes = int64_t{64} << 20;
  int64_t max_buffered_bytes = int64_t{1} << 30;  // bodies of all requests that are not answered yet
  int64_t max_unsent_bytes = int64_t{4} << 20;    // a reader further behind its answer is cut off
  double idle_seconds = 120;                      // that a connection may rest between two requests
  // For a handshake, for the head of a request, and for each next piece of its body; and for a whole request,
  // with a second more for each kSlowestBytes (http_server.cc) of its body that have come.
  double request_seconds = 30;
  double write_seconds = 60;      // that a reader may take nothing of what is sent
  double heartbeat_seconds = 15;  // of silence, after which a stream sends its heartbeat
  int handler_threads = 2;
};

class HttpConnection;
class HttpNetwork;  // the inside of a server

/// One request, and where its answer goes. Handlers keep it by shared_ptr until they have answered; one that
/// is let go without an answer is answered with an error. All may be called from any thread, and takes effect
/// on the network thread, in order; on_gone() and its task belong to that thread.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(HttpNetwork& network, std::weak_ptr<HttpConnection> connection, HttpRequest request);
  ~HttpExchange();

  const HttpRequest& request() const { return request_; }
  /// When the request had come in as a whole.
  std::chrono::steady_clock::time_point begun() const { return begun_; }

  /// Runs `task` on the network thread, after what was posted before.
  void post(std::function<void()> task);

  /// The whole answer.
  void respond(HttpResponse response);

  /// An answer in pieces: begin, any number of writes, end. `heartbeat` is sent when nothing else was for a
  /// while. What the client is too slow to take is held back up to a bound, beyond which it counts as gone.
  void begin(HttpResponse head, std::string heartbeat = {});
  void write(std::string text);
  void end();

  /// `task` runs once if the client goes, or has gone, before the answer has ended.
  void on_gone(std::function<void()> task);

  /// What the log should say of this request besides, as in "tokens=3".
  void note(std::string text);

 private:
  friend class HttpConnection;
  enum class State : uint8_t { open, streaming, answered, gone };

  template <typename Task>
  void with_connection(State expected, Task task);

  HttpNetwork& network_;
  std::weak_ptr<HttpConnection> connection_;
  HttpRequest request_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::function<void()> on_gone_;
  std::string note_;
  int status_ = 0;  // that was answered
  State state_ = State::open;
};

/// How a request ended, for the log.
struct HttpRecord {
  std::string_view id = {}, method = {}, path = {}, note = {};
  int status = 0;     // 0: the client went before it was answered
  bool whole = true;  // false: the client went in the middle of the answer
  double seconds = 0;
};

/// What a server does with requests.
struct HttpHandler {
  /// Answers, now or later. Runs on one of the handler threads.
  std::function<void(std::shared_ptr<HttpExchange> exchange)> handle;
  /// The answer to what is not even a request, or failed inside. From any of the server's threads.
  std::function<HttpResponse(int status, std::string_view path, std::string message)> refuse;
  /// On the network thread; may be empty.
  std::function<void(const HttpRecord& record)> on_end;
};

class HttpServer {
 public:
  /// Takes the address, and fails where that cannot be had.
  static Result<HttpServer> bind(const HttpOptions& options);

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  /// Exchanges must not be used any more.
  ~HttpServer();

  uint16_t port() const;

  /// SIGINT and SIGTERM. The first one calls `on_drain` and drains: what is being answered still is, then the
  /// connections are closed, and once none is left run() returns. New requests are still handled until then:
  /// it is for the handler to refuse them. The second one stops. Before run().
  void handle_signals(std::function<void()> on_drain);

  /// From now on clients can connect; they are answered once run() is called.
  Result<void> listen();

  enum class End : uint8_t { drained, stopped };

  /// Serves, after listen(), until signals end it; then every client is gone.
  End run(HttpHandler handler);

 private:
  explicit HttpServer(std::unique_ptr<HttpNetwork> network);
  std::unique_ptr<HttpNetwork> network_;
};

/// Compares names of headers, and what else HTTP does not tell apart by case.
bool equal_without_case(std::string_view a, std::string_view b);

}  // namespace indexshare::server
