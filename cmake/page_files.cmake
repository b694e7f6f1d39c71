# PAGE_SOURCE holds the files of the web page: ours, and the libraries that it uses, with their licences.
set(PAGE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/page_files.cc)
set(page_names "") # NAME=FILE[,FILE...]
set(page_inputs ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)

# find_page_file(VARIABLE PACKAGE NAMES... PATHS...): sets VARIABLE to a file of Debian's PACKAGE
function(find_page_file variable package)
  find_file(${variable} ${ARGN} NO_DEFAULT_PATH)
  if(NOT ${variable})
    message(FATAL_ERROR "The web page needs a file of Debian's package ${package}: install it, name the file in "
                        "${variable}, or build without the page (-DINDEXSHARE_PAGE=OFF)")
  endif()
endfunction()

# add_page_library(NAME PACKAGE DIRECTORY FILES...): the first of FILES, and the terms that it comes under
macro(add_page_library name package directory)
  string(TOUPPER ${name} upper)
  find_page_file(INDEXSHARE_${upper}_JS ${package} NAMES ${ARGN} PATHS ${directory})
  find_page_file(INDEXSHARE_${upper}_LICENCE ${package} NAMES copyright PATHS /usr/share/doc/${package})
  list(APPEND page_names ${name}.js=${INDEXSHARE_${upper}_JS})
  list(APPEND page_inputs ${INDEXSHARE_${upper}_JS} ${INDEXSHARE_${upper}_LICENCE})
  list(APPEND page_licences ${INDEXSHARE_${upper}_LICENCE})
endmacro()

if(INDEXSHARE_PAGE)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  list(APPEND page_inputs ${files})
  foreach(file ${files})
    cmake_path(GET file FILENAME name)
    list(APPEND page_names ${name}=${file})
  endforeach()
  find_page_file(INDEXSHARE_APACHE_LICENCE base-files NAMES Apache-2.0 PATHS /usr/share/common-licenses)
  set(page_licences ${INDEXSHARE_APACHE_LICENCE}) # one of DOMPurify's two
  add_page_library(marked libjs-marked /usr/share/javascript/marked marked.umd.min.js marked.min.js)
  add_page_library(purify node-dompurify /usr/share/nodejs/dompurify/dist purify.min.js)
  add_page_library(highlight libjs-highlight.js /usr/share/javascript/highlight.js highlight.min.js)
  list(REVERSE page_licences)
  list(JOIN page_licences , joined_licences)
  list(APPEND page_names licences.txt=${joined_licences})
endif()

add_custom_command(
  OUTPUT ${PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake ${PAGE_SOURCE} ${page_names}
  DEPENDS ${page_inputs}
  VERBATIM)
# The standard guarantees no strings as long as these, but every compiler takes them.
set_source_files_properties(${PAGE_SOURCE} PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -Wno-overlength-strings)
