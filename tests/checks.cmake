# What CTest runs besides the tests of this tree: the layers, the format, and the test programs of the
# trees that the presets fuzz (address and undefined-behaviour sanitizers, clang), tsan and neon (AArch64,
# under QEMU) build. The long ones have a COST: CTest starts them first.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME layering COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/layering.py ${PROJECT_SOURCE_DIR})
add_test(NAME faults COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/faults.py ${PROJECT_SOURCE_DIR})
add_test(NAME format COMMAND ${PROJECT_SOURCE_DIR}/tools/format.sh --check)
set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)

# The programs that take longest run in two shares, side by side.
function(indexshare_sanitizer_tests name preset)
  foreach(folder ${ARGN})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      continue()
    endif()
    set(shares 1)
    if(folder MATCHES "^(cpu|engine|property)$")
      set(shares 2)
    endif()
    foreach(share RANGE 1 ${shares})
      math(EXPR index "${share} - 1")
      add_test(NAME ${name}.${folder}.${share}
               COMMAND ${PROJECT_SOURCE_DIR}/build/${preset}/test_${folder} --gtest_brief=1)
      # Machines differ: what takes two minutes on one takes six on another.
      set_tests_properties(${name}.${folder}.${share} PROPERTIES TIMEOUT 1200 COST 10
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${index}")
    endforeach()
  endforeach()
endfunction()
indexshare_sanitizer_tests(asan fuzz ${address_folders})
indexshare_sanitizer_tests(tsan tsan ${thread_folders})

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # All but the two that take longest under QEMU and run no kernel that others do not.
  add_test(NAME neon.cpu COMMAND qemu-aarch64 -L /usr/aarch64-linux-gnu ${PROJECT_SOURCE_DIR}/build/neon/test_cpu
                                 --gtest_brief=1 --gtest_filter=-SelectTopK.Screened*:SelectTopK.WholePrompts*)
  set_tests_properties(neon.cpu PROPERTIES TIMEOUT 1200 COST 10)
endif()
