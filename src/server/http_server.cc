// The one file that knows Beast: slow to compile, so nothing else stands here. All state belongs to one
// network thread; handlers run on a few others and come back through post().
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "server/http.h"
#include "server/transport.h"

namespace indexshare::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using SystemError = Transport::SystemError;
using Parser = http::request_parser<http::string_body>;

constexpr size_t kReadBytes = size_t{16} << 10;
constexpr size_t kMaxHeadBytes = size_t{32} << 10;
constexpr size_t kMaxPipelinedBytes = size_t{64} << 10;  // read ahead while a request is being answered
constexpr double kSlowestBytes = 32 << 10;               // of a body that comes in one second
constexpr double kLingerSeconds = 2;  // in which the rest of a refused request is read and dropped
constexpr size_t kMaxIdLength = 64;

std::chrono::steady_clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

bool is_plain_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdLength && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

std::string path_of(std::string_view target) {
  return std::string(target.substr(0, target.find('?')));
}

int status_of(const SystemError& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit || error == http::error::buffer_overflow) return 413;
  if (error == http::error::bad_version) return 505;
  return 400;
}

std::string head_of(const HttpResponse& response, const HttpRequest* request) {
  const auto status = http::int_to_status(static_cast<unsigned>(response.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: indexshare\r\n", response.status,
                                 std::string_view(http::obsolete_reason(status)));
  if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
  if (request != nullptr) head += fmt::format("X-Request-Id: {}\r\n", request->id);
  for (const HttpHeader& header : response.headers)
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  return head;
}

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equal_without_case(header.name, name)) return header.value;
  }
  return {};
}

class HttpNetwork {
 public:
  explicit HttpNetwork(const HttpOptions& options)
      : options_(options), workers_(static_cast<size_t>(options.handler_threads)) {}
  ~HttpNetwork() { workers_.join(); }

  Result<void> bind();
  Result<void> listen();
  HttpServer::End run(HttpHandler handler);
  void handle_signals(std::function<void()> on_drain);

  // For connections and exchanges.
  void start_exchange(std::shared_ptr<HttpExchange> exchange);
  void remove(const std::shared_ptr<HttpConnection>& connection);
  void end_if_drained();
  void record(const HttpRecord& record) const {
    if (handler_.on_end) handler_.on_end(record);
  }
  HttpResponse refusal(int status, std::string_view path, std::string message) const {
    return handler_.refuse(status, path, std::move(message));
  }
  std::string next_id() { return fmt::format("{:08x}{:08x}", id_prefix_, ++ids_); }
  bool draining() const { return draining_; }
  /// Counts bytes of bodies in, or out again. From any thread.
  void hold(int64_t bytes) { held_ += bytes; }
  bool holds_too_much() const { return held_ > options_.max_buffered_bytes; }
  const HttpOptions& options() const { return options_; }
  asio::io_context& io() { return io_; }

  uint16_t port() const { return port_; }

 private:
  Error cannot_listen(const SystemError& error) const;
  void accept();
  void take(tcp::socket socket);
  std::unique_ptr<Transport> transport(tcp::socket socket) const {
    return tls_ ? tls_->transport(std::move(socket)) : plain_transport(std::move(socket));
  }
  void wait_for_signal();
  void begin_drain();
  void end(HttpServer::End how) {
    end_ = how;
    io_.stop();
  }

  HttpOptions options_;
  HttpHandler handler_;
  std::function<void()> on_drain_;
  std::optional<TlsIdentity> tls_;
  asio::io_context io_{1};
  asio::thread_pool workers_;
  tcp::acceptor acceptor_{io_};
  asio::steady_timer retry_{io_};
  asio::signal_set signals_{io_};
  std::set<std::shared_ptr<HttpConnection>> connections_;
  std::atomic<int64_t> held_ = 0;
  uint16_t port_ = 0;
  uint32_t id_prefix_ = std::random_device{}(), ids_ = 0;
  bool draining_ = false;
  HttpServer::End end_ = HttpServer::End::stopped;
};

/// One connection: requests one after the other, also where they come all at once. It reads on while a
/// request is being answered, which is how it notices that the client has gone.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpNetwork& network, std::unique_ptr<Transport> transport)
      : network_(network),
        transport_(std::move(transport)),
        timer_(network.io()),
        write_timer_(network.io()) {}

  /// `then` runs once it can be used, if that comes in time.
  void begin(std::function<void(HttpConnection& self)> then) {
    request_begun_ = std::chrono::steady_clock::now();
    wait_for_request();
    transport_->begin([self = shared_from_this(), then = std::move(then)](SystemError error) {
      if (self->closed_) return;
      if (error) return self->close();
      then(*self);
    });
  }

  void start() {
    wait(network_.options().idle_seconds);
    read();
  }

  /// Says what is wrong, and closes.
  void refuse(int status, std::string_view path, std::string message) {
    closing_ = true;
    chunked_ = false;
    network_.record({.id = "-", .method = "-", .path = path, .note = message, .status = status});
    send_whole(network_.refusal(status, path, std::move(message)), nullptr, /*with_body=*/true);
  }

  void refuse_for_number() {
    refuse(503, "", fmt::format("{} connections are open already", network_.options().max_connections));
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    const auto self = shared_from_this();
    transport_->close();
    timer_.cancel();
    write_timer_.cancel();
    network_.hold(-std::exchange(held_, 0));
    answering_ = false;
    if (const auto exchange = exchange_.lock()) {
      record(*exchange, /*whole=*/false);
      exchange->state_ = HttpExchange::State::gone;
      if (const auto task = std::exchange(exchange->on_gone_, nullptr)) task();
    }
    network_.remove(self);
  }

  bool rests() const { return !answering_ && !parser_ && input_.empty() && !unsent(); }
  bool busy() const { return answering_ || unsent(); }

  // What an exchange asks for.
  void respond(HttpExchange& exchange, const HttpResponse& response) {
    exchange.status_ = response.status;
    closing_ = closing_ || network_.draining();
    send_whole(response, &exchange.request(), exchange.request().method != "HEAD");
    finish(exchange);
  }
  void begin(HttpExchange& exchange, const HttpResponse& head, std::string heartbeat) {
    exchange.status_ = head.status;
    exchange.state_ = HttpExchange::State::streaming;
    closing_ = closing_ || network_.draining() || !chunked_;
    heartbeat_ = std::move(heartbeat);
    send(head_of(head, &exchange.request()) + (chunked_ ? "Transfer-Encoding: chunked\r\n" : "") +
         connection_header() + "\r\n");
    if (!heartbeat_.empty()) wait(network_.options().heartbeat_seconds);
  }
  void write(std::string_view text) {
    if (text.empty()) return;  // an empty chunk would end the answer
    if (chunked_) {
      send(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
    } else {
      send(text);
    }
    if (!closed_ && !heartbeat_.empty()) wait(network_.options().heartbeat_seconds);
  }
  void end(HttpExchange& exchange) {
    if (chunked_) send("0\r\n\r\n");
    if (!closed_) finish(exchange);
  }
  /// The handler has let go of its exchange, which had answered nothing or only a part.
  void abandon(HttpExchange::State state, const std::string& path) {
    if (closed_ || !answering_) return;
    if (state == HttpExchange::State::streaming) return close();
    answering_ = false;
    refuse(500, path, "the request was not answered");
  }

 private:
  bool unsent() const { return !outgoing_.empty() || !writing_.empty(); }
  std::string connection_header() const {
    return closing_ ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
  }

  void read() {
    if (closed_ || reading_ || (answering_ && input_.size() >= kMaxPipelinedBytes)) return;
    reading_ = true;
    transport_->read_some(
        asio::buffer(buffer_),
        [self = shared_from_this()](SystemError error, size_t count) { self->on_read(error, count); });
  }

  void on_read(const SystemError& error, size_t count) {
    reading_ = false;
    if (closed_) return;
    if (error) {
      // A client that has sent all it wants to still reads what was answered already.
      if (answering_ || lingering_ || !unsent()) return close();
      closing_ = true;
      return;
    }
    if (!closing_) {
      input_.append(buffer_.data(), count);
      parse();
    }
    read();
  }

  void parse() {
    while (!answering_ && !closing_ && !closed_ && !input_.empty()) {
      if (!parser_) {
        parser_.emplace();
        parser_->header_limit(kMaxHeadBytes);
        parser_->body_limit(static_cast<uint64_t>(network_.options().max_body_bytes));
        parser_->eager(true);
        head_done_ = false;
        request_begun_ = std::chrono::steady_clock::now();
        wait_for_request();
      }
      SystemError error;
      const size_t used = parser_->put(asio::buffer(input_), error);
      input_.erase(0, used);
      if (!head_done_ && parser_->is_header_done()) {
        head_done_ = true;
        if (!error && !parser_->is_done() &&
            equal_without_case(parser_->get()[http::field::expect], "100-continue")) {
          send("HTTP/1.1 100 Continue\r\n\r\n");
          if (closed_) return;
        }
      }
      if (error && error != http::error::need_more) return refuse_request(error);
      hold_body(std::ssize(parser_->get().body()));
      if (network_.holds_too_much()) return refuse_for_bytes();
      if (parser_->is_done()) return take_request();
      if (head_done_ && used > 0) wait_for_request();
      if (error == http::error::need_more || used == 0) return;
    }
  }

  void hold_body(int64_t bytes) {
    network_.hold(bytes - held_);
    held_ = bytes;
  }

  // Of the request that has begun; empty while its head comes.
  std::string path_so_far() const { return head_done_ ? path_of(parser_->get().target()) : std::string(); }

  void drop_request() {
    hold_body(0);
    parser_.reset();
  }

  void refuse_for_bytes() {
    const std::string path = path_so_far();
    drop_request();
    refuse(503, path,
           fmt::format("the requests that are not answered yet hold the {} bytes that are allowed",
                       network_.options().max_buffered_bytes));
  }

  void refuse_request(const SystemError& error) {
    const int status = status_of(error);
    std::string message = fmt::format("the request is not HTTP as it should be: {}", error.message());
    if (status == 413) {
      message = fmt::format("the request's body is larger than the {} bytes that are allowed",
                            network_.options().max_body_bytes);
    }
    if (status == 431) message = fmt::format("the request's head is larger than {} bytes", kMaxHeadBytes);
    const std::string path = path_so_far();
    drop_request();
    refuse(status, path, std::move(message));
  }

  void take_request() {
    const bool keep_alive = parser_->keep_alive();
    auto message = parser_->release();
    parser_.reset();
    if (message.version() >= 11 && message.count(http::field::host) != 1) {
      hold_body(0);
      return refuse(400, path_of(message.target()), "a request of HTTP/1.1 needs the header Host, once");
    }
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.path = path_of(message.target());
    for (const auto& field : message) {
      request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    request.body = std::move(message.body());
    const std::string_view id = request.header("X-Request-Id");
    request.id = is_plain_word(id) ? std::string(id) : network_.next_id();
    chunked_ = message.version() >= 11;
    closing_ = !keep_alive;
    timer_.cancel();
    answering_ = true;
    held_ = 0;  // the exchange gives it back
    const auto exchange = std::make_shared<HttpExchange>(network_, weak_from_this(), std::move(request));
    exchange_ = exchange;
    network_.start_exchange(exchange);
  }

  void record(const HttpExchange& exchange, bool whole) const {
    const HttpRequest& request = exchange.request();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - exchange.begun_;
    network_.record({.id = request.id,
                     .method = request.method,
                     .path = request.path,
                     .note = exchange.note_,
                     .status = exchange.status_,
                     .whole = whole,
                     .seconds = time.count()});
  }

  void finish(HttpExchange& exchange) {
    record(exchange, /*whole=*/true);
    exchange.state_ = HttpExchange::State::answered;
    exchange.on_gone_ = nullptr;
    exchange_.reset();
    answering_ = false;
    heartbeat_.clear();
    if (closing_) {
      timer_.cancel();  // the time to write is bounded by another
      if (!unsent()) linger();
    } else {
      wait(network_.options().idle_seconds);
      // Not from here: a client that sends many small requests at once would make us go deeper each time.
      asio::post(network_.io(), [self = shared_from_this()] {
        self->parse();
        self->read();
      });
    }
    network_.end_if_drained();
  }

  void send_whole(const HttpResponse& response, const HttpRequest* request, bool with_body) {
    std::string text = head_of(response, request);
    if (response.status != 204 && response.status != 304)
      text += fmt::format("Content-Length: {}\r\n", response.body.size());
    text += connection_header();
    text += "\r\n";
    if (with_body) text += response.body;
    outgoing_ += text;  // whatever its size: it is all there already
    flush();
  }

  void send(std::string_view text) {
    if (closed_) return;
    outgoing_ += text;
    if (std::ssize(outgoing_) > network_.options().max_unsent_bytes) return close();
    flush();
  }

  void flush() {
    if (closed_ || !writing_.empty() || outgoing_.empty()) return;
    std::swap(writing_, outgoing_);
    written_ = 0;
    write_some();
  }

  void write_some() {
    write_timer_.expires_after(duration_of(network_.options().write_seconds));
    write_timer_.async_wait([self = shared_from_this()](SystemError error) {
      if (!error && !self->writing_.empty() &&
          self->write_timer_.expiry() <= std::chrono::steady_clock::now()) {
        self->close();
      }
    });
    transport_->write_some(
        asio::buffer(writing_.data() + written_, writing_.size() - written_),
        [self = shared_from_this()](SystemError error, size_t count) { self->on_write(error, count); });
  }

  void on_write(const SystemError& error, size_t count) {
    if (closed_) return;
    if (error) return close();
    written_ += count;
    if (written_ < writing_.size()) return write_some();
    writing_.clear();
    write_timer_.cancel();
    if (!outgoing_.empty()) return flush();
    if (closing_ && !answering_) linger();
    network_.end_if_drained();
  }

  // Closing with unread bytes would make the system throw away what was sent last.
  void linger() {
    if (closed_ || lingering_) return;
    lingering_ = true;
    input_ = std::string();
    transport_->end_writing([self = shared_from_this()](SystemError) {});
    wait(kLingerSeconds);
    read();
  }

  // For what comes next of a request: the next piece in time, and not so little each time that it never ends.
  void wait_for_request() {
    const double next = network_.options().request_seconds;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - request_begun_;
    wait(std::min(next, next + static_cast<double>(held_) / kSlowestBytes - gone.count()));
  }

  void wait(double seconds) {
    timer_.expires_after(duration_of(seconds));
    timer_.async_wait([self = shared_from_this()](SystemError error) {
      if (!error && !self->closed_ && self->timer_.expiry() <= std::chrono::steady_clock::now())
        self->on_time();
    });
  }

  void on_time() {
    if (answering_) {
      if (!heartbeat_.empty()) write(heartbeat_);
    } else if (parser_ && !closing_) {
      const std::string path = path_so_far();
      drop_request();
      refuse(
          408, path,
          fmt::format("the request did not come in time: {} seconds for its head, for each next piece of its "
                      "body, and for all of it, with one more for each {} bytes of the body",
                      network_.options().request_seconds, kSlowestBytes));
    } else {
      close();
    }
  }

  HttpNetwork& network_;
  std::unique_ptr<Transport> transport_;
  asio::steady_timer timer_, write_timer_;
  std::array<char, kReadBytes> buffer_;
  std::string input_;                     // read, and not parsed yet
  std::optional<Parser> parser_;          // of a request that has begun
  std::weak_ptr<HttpExchange> exchange_;  // that is being answered
  std::string heartbeat_;
  std::string writing_, outgoing_;  // what the system is given, and what comes next
  size_t written_ = 0;
  int64_t held_ = 0;  // bytes of the body of the request that has begun
  std::chrono::steady_clock::time_point request_begun_;
  bool reading_ = false, head_done_ = false, answering_ = false, chunked_ = true;
  bool closing_ = false;    // after the answer in progress
  bool lingering_ = false;  // all is said: reads and drops until the other side closes
  bool closed_ = false;
};

HttpExchange::HttpExchange(HttpNetwork& network, std::weak_ptr<HttpConnection> connection,
                           HttpRequest request)
    : network_(network), connection_(std::move(connection)), request_(std::move(request)) {}

HttpExchange::~HttpExchange() {
  network_.hold(-std::ssize(request_.body));
  if (state_ == State::answered || state_ == State::gone) return;
  asio::post(network_.io(), [connection = connection_, state = state_, path = request_.path] {
    if (const auto open = connection.lock()) open->abandon(state, path);
  });
}

void HttpExchange::post(std::function<void()> task) {
  asio::post(network_.io(), std::move(task));
}

template <typename Task>
void HttpExchange::with_connection(State expected, Task task) {
  asio::dispatch(network_.io(), [self = shared_from_this(), expected, task = std::move(task)]() mutable {
    if (self->state_ != expected) return;
    if (const auto connection = self->connection_.lock()) task(*connection, *self);
  });
}

void HttpExchange::respond(HttpResponse response) {
  with_connection(State::open,
                  [response = std::move(response)](HttpConnection& connection, HttpExchange& self) {
                    connection.respond(self, response);
                  });
}

void HttpExchange::begin(HttpResponse head, std::string heartbeat) {
  with_connection(State::open, [head = std::move(head), heartbeat = std::move(heartbeat)](
                                   HttpConnection& connection, HttpExchange& self) {
    connection.begin(self, head, heartbeat);
  });
}

void HttpExchange::write(std::string text) {
  with_connection(State::streaming, [text = std::move(text)](HttpConnection& connection, HttpExchange&) {
    connection.write(text);
  });
}

void HttpExchange::end() {
  with_connection(State::streaming,
                  [](HttpConnection& connection, HttpExchange& self) { connection.end(self); });
}

void HttpExchange::on_gone(std::function<void()> task) {
  if (state_ == State::gone) {
    task();
  } else if (state_ != State::answered) {
    on_gone_ = std::move(task);
  }
}

void HttpExchange::note(std::string text) {
  asio::dispatch(network_.io(), [self = shared_from_this(), text = std::move(text)]() mutable {
    self->note_ = std::move(text);
  });
}

Result<void> HttpNetwork::bind() {
  if (!options_.tls_certificate.empty()) {
    ASSIGN_OR_RETURN(tls_, TlsIdentity::load(options_.tls_certificate, options_.tls_key));
  }
  SystemError error;
  tcp::endpoint endpoint(asio::ip::make_address(options_.host, error), options_.port);
  if (error) {
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(options_.host, std::to_string(options_.port), error);
    if (error || found.empty()) {
      return make_error("the host {} is no address of this machine and no name that is known", options_.host);
    }
    endpoint = *found.begin();
  }
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (error) return cannot_listen(error);
  port_ = acceptor_.local_endpoint(error).port();
  return {};
}

Result<void> HttpNetwork::listen() {
  SystemError error;
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(error);
  return {};
}

Error HttpNetwork::cannot_listen(const SystemError& error) const {
  return make_error(ErrorCode::io, "{} port {} cannot be listened at: {}", options_.host, options_.port,
                    error.message());
}

HttpServer::End HttpNetwork::run(HttpHandler handler) {
  handler_ = std::move(handler);
  accept();
  for (bool running = true; running;) {
    try {
      io_.run();
      running = false;
    } catch (const std::exception&) {
      // A task of a handler, or memory, failed: its exchange is answered when it is let go.
    }
  }
  const HttpServer::End end = end_;
  SystemError ignored;
  acceptor_.close(ignored);
  for (const auto open = connections_; const auto& connection : open) connection->close();
  workers_.join();
  return end;
}

void HttpNetwork::accept() {
  acceptor_.async_accept([this](SystemError error, tcp::socket socket) {
    if (!error) {
      take(std::move(socket));
      return accept();
    }
    if (!acceptor_.is_open()) return;
    // The system has no more descriptors, or the client has gone already.
    retry_.expires_after(std::chrono::milliseconds(50));
    retry_.async_wait([this](SystemError cancelled) {
      if (!cancelled) accept();
    });
  });
}

void HttpNetwork::take(tcp::socket socket) {
  SystemError ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto connection = std::make_shared<HttpConnection>(*this, transport(std::move(socket)));
  connections_.insert(connection);
  const bool too_many = std::ssize(connections_) > options_.max_connections;
  connection->begin([too_many](HttpConnection& self) {
    if (too_many) return self.refuse_for_number();
    self.start();
  });
}

void HttpNetwork::remove(const std::shared_ptr<HttpConnection>& connection) {
  connections_.erase(connection);
  end_if_drained();
}

void HttpNetwork::start_exchange(std::shared_ptr<HttpExchange> exchange) {
  asio::post(workers_, [this, exchange = std::move(exchange)] {
    try {
      handler_.handle(exchange);
    } catch (const std::exception& e) {  // of the standard library, where nothing of ours expected one
      exchange->respond(refusal(500, exchange->request().path, fmt::format("unexpected: {}", e.what())));
    }
  });
}

void HttpNetwork::handle_signals(std::function<void()> on_drain) {
  on_drain_ = std::move(on_drain);
  SystemError ignored;
  signals_.add(SIGINT, ignored);
  signals_.add(SIGTERM, ignored);
  wait_for_signal();
}

void HttpNetwork::wait_for_signal() {
  signals_.async_wait([this](SystemError error, int) {
    if (error) return;
    if (draining_) return end(HttpServer::End::stopped);
    on_drain_();
    begin_drain();
    wait_for_signal();
  });
}

void HttpNetwork::begin_drain() {
  draining_ = true;
  for (const auto open = connections_; const auto& connection : open) {
    if (connection->rests()) connection->close();
  }
  end_if_drained();
}

void HttpNetwork::end_if_drained() {
  if (!draining_) return;
  const bool busy = std::any_of(connections_.begin(), connections_.end(),
                                [](const auto& connection) { return connection->busy(); });
  if (!busy) end(HttpServer::End::drained);
}

HttpServer::HttpServer(std::unique_ptr<HttpNetwork> network) : network_(std::move(network)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::bind(const HttpOptions& options) {
  auto network = std::make_unique<HttpNetwork>(options);
  RETURN_IF_ERROR(network->bind());
  return HttpServer(std::move(network));
}

uint16_t HttpServer::port() const {
  return network_->port();
}
void HttpServer::handle_signals(std::function<void()> on_drain) {
  network_->handle_signals(std::move(on_drain));
}
Result<void> HttpServer::listen() {
  return network_->listen();
}
HttpServer::End HttpServer::run(HttpHandler handler) {
  return network_->run(std::move(handler));
}

}  // namespace indexshare::server
