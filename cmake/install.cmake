# The installed project: the program, the shared library with its headers, and what finds it. Nothing in it
# names the prefix, so that the installed tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All of the layers that it exports from, and of the others what they need.
add_library(indexshare_shared SHARED $<TARGET_OBJECTS:indexshare_engine> $<TARGET_OBJECTS:indexshare_c>)
add_library(indexshare::indexshare ALIAS indexshare_shared)
set_target_properties(indexshare_shared PROPERTIES
  OUTPUT_NAME indexshare EXPORT_NAME indexshare LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(indexshare_shared PRIVATE indexshare_c)
target_include_directories(indexshare_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(indexshare_shared INTERFACE cxx_std_20)
set(exports ${PROJECT_BINARY_DIR}/exports.map)
configure_file(${CMAKE_CURRENT_LIST_DIR}/exports.map.in ${exports} @ONLY)
target_link_options(indexshare_shared PRIVATE LINKER:--version-script=${exports})
set_target_properties(indexshare_shared PROPERTIES LINK_DEPENDS ${exports})

install(TARGETS indexshare COMPONENT program)
install(TARGETS indexshare_shared EXPORT indexshare LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN *.h)

# find_package(indexshare), which gives the target indexshare::indexshare
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/indexshare)
install(EXPORT indexshare NAMESPACE indexshare:: FILE indexshare-config.cmake DESTINATION ${package_directory}
        COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/indexshare-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/indexshare-config-version.cmake DESTINATION ${package_directory}
        COMPONENT development)

# pkg-config --cflags --libs indexshare
file(RELATIVE_PATH PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PREFIX_FROM_PC ${PREFIX_FROM_PC})
configure_file(${CMAKE_CURRENT_LIST_DIR}/indexshare.pc.in ${PROJECT_BINARY_DIR}/indexshare.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/indexshare.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

if(INDEXSHARE_GRAMMAR)
  install(FILES ${INDEXSHARE_XGRAMMAR}/licences.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME xgrammar-licences.txt
          COMPONENT program)
endif()
