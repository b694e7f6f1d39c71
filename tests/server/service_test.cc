// The whole server in this process: clients of all kinds at once, for the sanitizers.
#include "server/service.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/posix.h"
#include "server/http.h"

namespace indexshare::server {
namespace {

/// One connection of a client.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }

  /// What comes until `mark` has come or the server closes.
  std::string read_until(std::string_view mark) {
    std::string text;
    char buffer[4096];
    while (mark.empty() || text.find(mark) == std::string::npos) {
      const ssize_t count = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }
  std::string read_all() { return read_until({}); }

 private:
  FileDescriptor fd_;
};

std::string request(std::string_view line, std::string_view body,
                    std::string_view header = "Connection: close") {
  return fmt::format("{} HTTP/1.1\r\nHost: a\r\n{}\r\nContent-Length: {}\r\n\r\n{}", line, header,
                     body.size(), body);
}

constexpr std::string_view kComplete = "POST /v1/completions";
constexpr std::string_view kChat = "POST /v1/chat/completions";

std::string completion(std::string_view fields) {
  return fmt::format(R"({{"prompt": "What is", "temperature": 0, "ignore_eos": true, {}}})", fields);
}

/// The text of a whole answer.
std::string text_of(const std::string& answer) {
  const size_t begin = answer.find("\"text\":"), end = answer.find("\"logprobs\"");
  return begin == std::string::npos || end == std::string::npos ? answer : answer.substr(begin, end - begin);
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.threads = 2;
    auto engine = Engine::load(std::filesystem::path(INDEXSHARE_SOURCE_DIR) / "models/pocket", options);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    engine_.emplace(std::move(*engine));
    service_.emplace(*engine_, ServiceOptions{.model_name = "pocket", .api_keys = {}, .cors_origin = ""},
                     log_);
    HttpOptions http;
    http.max_body_bytes = 1 << 16;
    auto server = HttpServer::bind(http);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_.emplace(std::move(*server));
    server_->handle_signals([this] { service_->drain(); });
    ASSERT_TRUE(server_->listen().ok());
    port_ = server_->port();
    thread_ = std::thread([this] { end_ = server_->run(service_->handler()); });
  }

  void TearDown() override {
    if (thread_.joinable()) drain();
  }

  void drain() {
    ::kill(::getpid(), SIGTERM);
    thread_.join();
  }

  std::string ask(const std::string& bytes) const {
    Client client(port_);
    client.send(bytes);
    return client.read_all();
  }

  const Log log_{LogLevel::off};
  std::optional<HttpServer> server_;  // outlives what answers
  std::optional<Engine> engine_;
  std::optional<Service> service_;
  uint16_t port_ = 0;
  std::optional<HttpServer::End> end_;
  std::thread thread_;
};

TEST_F(ServerTest, AnswersClientsOfAllKindsAtOnceAndDrains) {
  const std::string whole = request(kComplete, completion(R"("max_tokens": 12)"));
  const std::string expected = text_of(ask(whole));
  ASSERT_NE(expected.find("\"text\":"), std::string::npos) << expected;

  const auto behave = [&](int kind) {
    switch (kind) {
      case 0: EXPECT_EQ(text_of(ask(whole)), expected); return;
      case 1: {
        const std::string events =
            ask(request(kComplete, completion(R"("max_tokens": 12, "stream": true, "n": 2)")));
        EXPECT_NE(events.find("data: [DONE]"), std::string::npos) << events;
        return;
      }
      case 2: {  // leaves in the middle
        Client client(port_);
        client.send(request(kComplete, completion(R"("max_tokens": 100000, "stream": true)")));
        client.read_until("data: ");
        return;
      }
      case 3: EXPECT_EQ(ask("GET /health HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 400"); return;
      case 4: {  // leaves before the body has come
        Client client(port_);
        client.send("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{");
        return;
      }
      case 5:
        EXPECT_NE(ask(request("GET /metrics", "")).find("indexshare_step_tokens_count"), std::string::npos);
        return;
      case 6: EXPECT_EQ(ask(request(kChat, R"({"messages": []})")).substr(0, 12), "HTTP/1.1 400"); return;
      case 7:
        EXPECT_EQ(ask(request(kComplete, std::string(1 << 17, 'a'))).substr(0, 12), "HTTP/1.1 413");
        return;
      case 8: {  // two at once, over one connection
        const std::string both = ask(request("GET /health", "", "A: b") + whole);
        EXPECT_NE(both.find(expected), std::string::npos) << both;
        return;
      }
      default: return;
    }
  };
  std::vector<std::thread> clients;
  for (int first = 0; first < 6; ++first) {
    clients.emplace_back([&, first] {
      for (int i = 0; i < 18; ++i) behave((first + i) % 9);
    });
  }
  for (std::thread& client : clients) client.join();

  Client running(port_);
  running.send(request(kComplete, completion(R"("max_tokens": 50, "stream": true)")));
  running.read_until("data: ");
  drain();
  EXPECT_NE(running.read_all().find("data: [DONE]"), std::string::npos);
  EXPECT_EQ(end_, HttpServer::End::drained);
}

}  // namespace
}  // namespace indexshare::server
