# Writes a C++ source that holds files of text.
# Usage: cmake -P embed.cmake OUTPUT NAME=FILE[,FILE...]...      what several files hold follows each other
set(output ${CMAKE_ARGV3})
set(rows "")
set(i 4)
while(i LESS CMAKE_ARGC)
  string(REGEX MATCH "^([^=]+)=(.*)$" matched "${CMAKE_ARGV${i}}")
  set(name "${CMAKE_MATCH_1}")
  string(REPLACE "," ";" files "${CMAKE_MATCH_2}")
  set(text "")
  foreach(file ${files})
    file(READ "${file}" part)
    file(SIZE "${file}" size)
    string(LENGTH "${part}" length)
    string(FIND "${part}" ")embedded\"" end)
    if(NOT size EQUAL length OR NOT end EQUAL -1)
      message(FATAL_ERROR "${file}: holds what a raw string cannot")
    endif()
    string(APPEND text "${part}")
  endforeach()
  string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"sv},\n")
  math(EXPR i "${i} + 1")
endwhile()
math(EXPR count "${CMAKE_ARGC} - 4")
file(WRITE "${output}" "#include <array>

#include \"server/page_files.h\"

namespace indexshare::server {

std::span<const PageFile> page_files() {
  using namespace std::string_view_literals;
  static constexpr std::array<PageFile, ${count}> kFiles = {{
${rows}  }};
  return kFiles;
}

}  // namespace indexshare::server
")
