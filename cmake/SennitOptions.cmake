# What every target of this project is compiled with, as one interface target.
add_library(sennit_options INTERFACE)
target_include_directories(sennit_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(sennit_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Werror>)
if(SENNIT_SANITIZE)
  target_compile_options(sennit_options INTERFACE
    $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fsanitize=${SENNIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(sennit_options INTERFACE -fsanitize=${SENNIT_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# For what is never hot (tests, the front ends of programs): in a release build, a third less time to compile.
function(sennit_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()

# sennit_room(NAME SOURCES … [USES …]): one static library a folder of src/.
function(sennit_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(sennit_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(sennit_${name} PUBLIC sennit_options ${ROOM_USES})
endfunction()

# sennit_tests(ROOM SOURCES … [USES …]): one test program a room, built from tests/ROOM/*_test.cc.
function(sennit_tests room)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES" ${ARGN})
  add_executable(test_${room} ${TEST_SOURCES})
  target_link_libraries(test_${room} PRIVATE sennit_options ${TEST_USES} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${room} PRIVATE SENNIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  sennit_compile_fast(test_${room})
  add_dependencies(tests test_${room})
  gtest_discover_tests(test_${room} PROPERTIES TIMEOUT 120 LABELS ${room})
endfunction()
