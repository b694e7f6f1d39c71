// The table of routes against docs/SERVER.md.
#include "server/routes.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
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

TEST(Routes, AreAllInTheOpenApiDocument) {
  const Json document = openapi_document();
  size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  EXPECT_EQ(operations, all_routes().size());
  for (const Route& route : all_routes()) {
    std::string method;
    for (const char c : route.method) method += static_cast<char>(std::tolower(c));
    const bool folder = route.path.size() > 1 && route.path.ends_with('/');
    const Json& operation = document["paths"][std::string(route.path) + (folder ? "{file}" : "")][method];
    EXPECT_EQ(operation.contains("parameters"), folder || route.path.find('{') != std::string_view::npos);
    EXPECT_EQ(operation["summary"], route.about);
    EXPECT_TRUE(operation["responses"]["200"]["content"].contains(std::string(route.content_type)));
    EXPECT_EQ(operation.contains("security"), route.open) << route.path;
    for (const auto fields : route.fields) {
      for (const Field& field : fields) {
        const Json& schema = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
                                      [std::string(field.name)];
        const std::string about = schema["description"];
        EXPECT_EQ(about, fmt::format("{}: {}", field.type, field.about)) << route.path << " " << field.name;
        EXPECT_TRUE(schema.contains("type") || schema.contains("anyOf") || schema.contains("enum"))
            << "openapi.cc has no schema for \"" << field.type << "\", the type of " << field.name;
        EXPECT_EQ(schema.contains("minimum"), std::isfinite(field.min)) << field.name;
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::server
