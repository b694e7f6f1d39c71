// The table of routes against docs/SERVER.md.
#include "server/routes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace indexshare::server {
namespace {

std::string documentation() {
  return *read_file(std::filesystem::path(INDEXSHARE_SOURCE_DIR) / "docs/SERVER.md", int64_t{1} << 20);
}

bool names(std::string_view text, std::string_view name) {
  for (const std::string_view after : {"`", "."}) {
    if (text.find(fmt::format("`{}{}", name, after)) != std::string_view::npos) return true;
  }
  return false;
}

TEST(Routes, AreDocumentedWithAllTheirFields) {
  const std::string text = documentation();
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(names(text, fmt::format("{} {}", route.method, route.path))) << route.path;
    for (const auto fields : route.fields) {
      for (const Field& field : fields)
        EXPECT_TRUE(names(text, field.name)) << route.path << " " << field.name;
    }
  }
}

}  // namespace
}  // namespace indexshare::server
