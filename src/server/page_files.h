// The files of the web page, which are part of the program (web/, cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace indexshare::server {

struct PageFile {
  std::string_view name;  // "style.css"
  std::string_view text;
};

/// Empty where the program was built without the page.
std::span<const PageFile> page_files();

}  // namespace indexshare::server
