# The target `xgrammar`: the library that binds answers to grammars, built first where it is not there yet.
set(INDEXSHARE_XGRAMMAR ${PROJECT_SOURCE_DIR}/build/xgrammar CACHE PATH "Where XGrammar is built, and kept")
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/xgrammar.sh ${INDEXSHARE_XGRAMMAR} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "XGrammar could not be built (see above). -DINDEXSHARE_GRAMMAR=OFF does without: "
                      "requests for structured output and forced tool calls are refused then.")
endif()
add_library(xgrammar STATIC IMPORTED)
set_target_properties(xgrammar PROPERTIES IMPORTED_LOCATION ${INDEXSHARE_XGRAMMAR}/lib/libxgrammar.a
                                          INTERFACE_INCLUDE_DIRECTORIES ${INDEXSHARE_XGRAMMAR}/include)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/xgrammar.sh)
