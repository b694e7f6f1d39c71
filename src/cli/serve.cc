// indexshare serve: a server for the APIs of OpenAI and Anthropic.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "server/service.h"
#include "server/session_store.h"

namespace indexshare::cli {
namespace {

constexpr const char* kKeysVariable = "INDEXSHARE_API_KEYS";
constexpr const char* kGroup = "Server";
constexpr rlim_t kMaxDescriptors = 65536;

struct Options {
  std::string model;
  server::HttpOptions http;
  server::ServiceOptions service;
  std::string key_file;
  std::string session_dir;
  int64_t session_bytes = int64_t{16} << 30;
  server::LogLevel log_level = server::LogLevel::info;
  server::LogFormat log_format = server::LogFormat::text;
  EngineOptions engine;
};

// Words of a text: keys hold no white space.
std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Result<std::vector<std::string>> read_keys(const Options& options) {
  std::vector<std::string> keys;
  if (!options.key_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, read_text(options.key_file));
    keys = words(text);
    if (keys.empty()) return make_error("{}: holds no API key, expected one a line", options.key_file);
  }
  if (const char* variable = std::getenv(kKeysVariable)) {
    for (std::string& key : words(variable)) keys.push_back(std::move(key));
  }
  return keys;
}

// A connection is a descriptor, and the usual limit is low.
void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kMaxDescriptors));
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string name_of_model(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

Result<ExitCode> serve(Options options) {
  raise_descriptor_limit();
  const bool tls = !options.http.tls_certificate.empty();
  if (tls == options.http.tls_key.empty()) {
    return make_error("--tls-certificate and --tls-key need each other");
  }
  ASSIGN_OR_RETURN(options.service.api_keys, read_keys(options));
  if (options.service.model_name.empty()) options.service.model_name = name_of_model(options.model);
  // An address that cannot be had is found before a large model is read.
  ASSIGN_OR_RETURN(server::HttpServer http, server::HttpServer::bind(options.http));
  const server::Log log(options.log_level, options.log_format);
  options.engine.warn = [&log](std::string_view text) { log.write(server::LogLevel::warning, text); };
  ASSIGN_OR_RETURN(Engine engine, load_engine(options.model, options.engine));
  server::Service service(engine, options.service, log);
  if (!options.session_dir.empty()) {
    ASSIGN_OR_RETURN(auto sessions,
                     server::SessionStore::open(engine, options.session_dir, options.session_bytes));
    service.keep_sessions(std::move(sessions));
  }
  http.handle_signals([&] {
    log.write(server::LogLevel::info, "ending: running answers go on, new requests are refused");
    service.drain();
  });
  RETURN_IF_ERROR(http.listen());
  const bool v6 = options.http.host.find(':') != std::string::npos;
  RETURN_IF_ERROR(
      print(fmt::format("serving {} at http{}://{}{}{}:{}\n", options.service.model_name, tls ? "s" : "",
                        v6 ? "[" : "", options.http.host, v6 ? "]" : "", http.port())));
  const auto end = http.run(service.handler());
  return end == server::HttpServer::End::drained ? ExitCode::done : ExitCode::interrupted;
}

}  // namespace

Action add_serve(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_model(command, options->model);
  command
      .add_option("--host", options->http.host,
                  "address to listen at (default: 127.0.0.1, this machine alone)")
      ->type_name("ADDRESS")
      ->group(kGroup);
  options->http.port = 8080;
  add_value(command, "--port", options->http.port, "N",
            "port to listen at (default: 8080; 0: any that is free)",
            [](std::string_view flag, std::string_view text) {
              return static_cast<uint16_t>(parse_integer(flag, text, 0, 65535));
            })
      ->group(kGroup);
  command
      .add_option("--model-name", options->service.model_name,
                  "what clients call the model (default: the directory's name)")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option(
          "--api-key-file", options->key_file,
          "keys that clients must have, one a line; also in INDEXSHARE_API_KEYS (default: none is needed)")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_option("--cors-origin", options->service.cors_origin,
                  "whose web pages may ask, as in https://example.org or * (default: none)")
      ->type_name("ORIGIN")
      ->group(kGroup);
  command
      .add_flag(
          "--keep-billing-header", options->service.keep_billing_header,
          "leave in the prompt the line that Claude Code begins it with, another one each time, so that "
          "nothing kept of the last prompt serves again")
      ->group(kGroup);
  command
      .add_option(
          "--disk-cache", options->engine.disk_cache,
          "keep in files what the cache in memory has no room for, and all of it at the end, for prompts "
          "that begin alike (default: nothing is kept there)")
      ->type_name("DIR")
      ->group(kGroup);
  add_value(command, "--disk-cache-size", options->engine.disk_cache_bytes, "SIZE",
            "what these files may take: those of no use for longest go (default: 16G)", parse_size)
      ->group(kGroup);
  command
      .add_option("--tls-certificate", options->http.tls_certificate,
                  "answer over TLS with this certificate, and those that signed it after it (PEM)")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_option("--tls-key", options->http.tls_key, "the certificate's key, without a password (PEM)")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_option(
          "--session-dir", options->session_dir,
          "where sequences are that clients save and bring back, at /v1/sessions (default: they cannot)")
      ->type_name("DIR")
      ->group(kGroup);
  add_value(command, "--session-dir-size", options->session_bytes, "SIZE",
            "what their files may take (default: 16G)", parse_size)
      ->group(kGroup);
  options->engine.max_waiting = 256;
  add_integer(command, "--max-waiting", options->engine.max_waiting, int64_t{1}, int64_t{1} << 20,
              "requests that may wait; more are told to come back later (default: 256)")
      ->group(kGroup);
  add_integer(command, "--max-running", options->engine.max_running, int64_t{1}, int64_t{1} << 16,
              "requests that are worked on at once (default: 64)")
      ->group(kGroup);
  add_integer(command, "--max-connections", options->http.max_connections, int64_t{1}, int64_t{1} << 20,
              "connections that may be open (default: 4096)")
      ->group(kGroup);
  add_value(command, "--max-request", options->http.max_body_bytes, "SIZE",
            "largest body of a request (default: 64M)", parse_size)
      ->group(kGroup);
  add_value(
      command, "--request-timeout", options->http.request_seconds, "SECONDS",
      "for the head of a request, for each next piece of its body, and for all of it, with one more for "
      "each 32 KiB of the body (default: 30)",
      [](std::string_view flag, std::string_view text) {
        return static_cast<double>(parse_integer(flag, text, 1, 86400));
      })
      ->group(kGroup);
  add_value(command, "--max-buffered", options->http.max_buffered_bytes, "SIZE",
            "bodies of all requests that are not answered yet (default: 1G)", parse_size)
      ->group(kGroup);
  add_value(command, "--log-level", options->log_level, "LEVEL",
            "debug, info, warning, error or off (default: info)",
            [](std::string_view flag, std::string_view text) {
              const auto level = server::find_log_level(text);
              if (!level) refuse_value(flag, text, "debug, info, warning, error or off");
              return *level;
            })
      ->group(kGroup);
  add_value(command, "--log-format", options->log_format, "FORMAT",
            "text, or json: an object a line (default: text)",
            [](std::string_view flag, std::string_view text) {
              if (text != "text" && text != "json") refuse_value(flag, text, "text or json");
              return text == "json" ? server::LogFormat::json : server::LogFormat::text;
            })
      ->group(kGroup);
  add_engine_flags(command, options->engine);
  return [options] { return serve(*options); };
}

}  // namespace indexshare::cli
