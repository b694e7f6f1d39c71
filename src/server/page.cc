// GET / and GET /assets/...: the web page.
#include <algorithm>
#include <array>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "server/call.h"
#include "server/page_files.h"

namespace indexshare::server {
namespace {

constexpr std::string_view kAssets = "/assets/";

// What the page may do: run our scripts and ask this server, nothing else. An answer of the model that brings
// a script, or an image that would tell another server of it, does nothing.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view content_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".txt", "text/plain; charset=utf-8"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

// Browsers ask again each time, and are told that they have it already.
void respond_with(const Call& call, const PageFile& file) {
  const std::string tag = fmt::format("\"{:016x}\"", checksum(std::as_bytes(std::span(file.text))));
  HttpResponse response = {.content_type = std::string(content_type(file.name))};
  response.headers = {{"ETag", tag},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  if (call.exchange->request().header("If-None-Match") == tag) {
    response.status = 304;
    response.content_type = "";
  } else {
    response.body = file.text;
  }
  call.respond(std::move(response));
}

void respond_with(const Call& call, std::string_view name) {
  const auto files = page_files();
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const PageFile& f) { return f.name == name; });
  if (file != files.end()) return respond_with(call, *file);
  call.refuse({.status = 404,
               .message = files.empty() ? "this server was built without its web page"
                                        : fmt::format("the web page has no file {}", shown(Json(name)))});
}

}  // namespace

void get_page(Call call) {
  respond_with(call, "index.html");
}

void get_asset(Call call) {
  respond_with(call, std::string_view(call.exchange->request().path).substr(kAssets.size()));
}

}  // namespace indexshare::server
