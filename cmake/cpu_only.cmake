# Libraries that the CPU backend and its tests need, without what is compiled for this host: fmt as headers,
# GoogleTest from its sources.
set(GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "GoogleTest's sources")

find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

set(BUILD_GMOCK OFF)
set(INSTALL_GTEST OFF)
add_subdirectory(${GOOGLETEST_SOURCES} googletest EXCLUDE_FROM_ALL)
