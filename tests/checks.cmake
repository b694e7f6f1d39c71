# What CTest runs besides the tests of this tree: the layers, the format, and the test programs of the
# trees that the presets fuzz (address and undefined-behaviour sanitizers, clang), tsan and neon (AArch64,
# under QEMU) build. The long ones have a COST: CTest starts them first.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME layering COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/layering.py ${PROJECT_SOURCE_DIR})
add_test(NAME format COMMAND ${PROJECT_SOURCE_DIR}/tools/format.sh --check)
set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)

function(indexshare_sanitizer_tests name preset)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_test(NAME ${name}.${folder}
               COMMAND ${PROJECT_SOURCE_DIR}/build/${preset}/test_${folder} --gtest_brief=1)
      set_tests_properties(${name}.${folder} PROPERTIES TIMEOUT 300 COST 10)
    endif()
  endforeach()
endfunction()
indexshare_sanitizer_tests(asan fuzz ${address_folders})
indexshare_sanitizer_tests(tsan tsan ${thread_folders})

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # All but the two that take longest under QEMU and run no kernel that others do not.
  add_test(NAME neon.cpu COMMAND qemu-aarch64 -L /usr/aarch64-linux-gnu ${PROJECT_SOURCE_DIR}/build/neon/test_cpu
                                 --gtest_brief=1 --gtest_filter=-SelectTopK.Screened*:SelectTopK.WholePrompts*)
  set_tests_properties(neon.cpu PROPERTIES TIMEOUT 300 COST 10)
endif()
