# What every target of this project is compiled with, as one interface target.
add_library(sennit_options INTERFACE)
target_include_directories(sennit_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(sennit_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # From 13 on gcc takes every reference that a function returns for one into its temporary arguments.
  target_compile_options(sennit_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()
# Rooms are compiled a dozen sources at a time; a program takes the functions that it needs, which is half of them.
target_compile_options(sennit_options INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-ffunction-sections -fdata-sections>)
target_link_options(sennit_options INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections>)
option(SENNIT_SANITIZE_ALL "Test every room under sanitizers, with every check" OFF)
if(SENNIT_SANITIZE)
  target_compile_options(sennit_options INTERFACE
    $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fsanitize=${SENNIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(sennit_options INTERFACE -fsanitize=${SENNIT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Under sanitizers gcc loses sight of the lengths that it warns of.
    target_compile_options(sennit_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND SENNIT_SANITIZE MATCHES address)
    # As gcc says that it is there. Functions of other libraries are called by types of our own on purpose.
    target_compile_options(sennit_options INTERFACE -D__SANITIZE_ADDRESS__ -fno-sanitize=function)
    # Programs in C use libraries in C++.
    target_link_options(sennit_options INTERFACE -fsanitize-link-c++-runtime)
    target_link_libraries(sennit_options INTERFACE stdc++)
  endif()
  if(SENNIT_SANITIZE MATCHES undefined AND NOT SENNIT_SANITIZE_ALL)
    # A fifth of the time to compile. Who follows a null pointer is ended by AddressSanitizer, which says where.
    target_compile_options(sennit_options INTERFACE -fno-sanitize=null)
  endif()
endif()

# Built files say where their source lies from the checkout's root: the same tree makes the same files everywhere, and a
# compiler cache that knows the root serves a second checkout what the first one compiled.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.>)
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached, and what they are used by, if ccache need not know which macros came from them.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# For what is never hot (tests, the front ends of programs): in a release build, a third less time to compile.
function(sennit_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()

# Other projects' headers, which most units include, are read once for all that is compiled alike: a fifth of a unit's
# time. Every file still includes what it uses; the preset `debug` reads it without these.
#   sennit_precompiled(NAME EXECUTABLE|STATIC HEADERS … [USES …]): something to take them from.
function(sennit_precompiled name kind)
  cmake_parse_arguments(PRECOMPILED "" "" "HEADERS;USES" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
  if(kind STREQUAL EXECUTABLE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(${name} ${kind} EXCLUDE_FROM_ALL ${source})
  endif()
  target_link_libraries(${name} PRIVATE sennit_options ${PRECOMPILED_USES})
  target_include_directories(${name} SYSTEM PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # A compiler cache brings it into a build whose files are younger.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  list(TRANSFORM PRECOMPILED_HEADERS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1>>")
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
endfunction()
set(SENNIT_HEADERS algorithm array atomic chrono cmath cstdint cstring filesystem functional map memory mutex optional
    set span string string_view thread utility vector fmt/format.h fmt/ranges.h nlohmann/json.hpp)

# AddressSanitizer's build optimises nothing but these, whose tests compute the most. A unit of them takes twice as long
# to compile.
set(SENNIT_COMPUTING device coll sim)

# sennit_room(NAME SOURCES … [USES …]): one static library a folder of src/.
function(sennit_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(sennit_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(sennit_${name} PUBLIC sennit_options ${ROOM_USES})
  if(SENNIT_SANITIZE MATCHES address AND name IN_LIST SENNIT_COMPUTING)
    target_compile_options(sennit_${name} PRIVATE -O1)
  else()
    target_precompile_headers(sennit_${name} REUSE_FROM sennit_precompiled_rooms)
  endif()
endfunction()

# sennit_opens_cuda(TARGET): it opens libsennit-cuda.so at run time, which has to be of the same build.
function(sennit_opens_cuda target)
  if(TARGET sennit-cuda)
    add_dependencies(${target} sennit-cuda)
  endif()
endfunction()

# sennit_tests(ROOM SOURCES … [USES …] [STARTS …]): one test program a room, built from tests/ROOM/*_test.cc. STARTS:
# targets that are built before it, whose files it knows by their names (tests/places.h), or by another: `name=target`.
# One process runs all tests of the room: a start for each test would take as long as the tests themselves.
function(sennit_tests room)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES;STARTS" ${ARGN})
  set(places ${CMAKE_CURRENT_BINARY_DIR}/places_${room}.cc)
  add_executable(test_${room} ${TEST_SOURCES} ${places})
  set(built)
  foreach(start ${TEST_STARTS})
    string(REGEX REPLACE "=.*" "" name ${start})
    string(REGEX REPLACE ".*=" "" target ${start})
    list(APPEND built "{\"${name}\", \"$<TARGET_FILE:${target}>\"}")
    add_dependencies(test_${room} ${target})
  endforeach()
  list(JOIN built ", " built)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/places.cc.in ${places}.in @ONLY)
  file(GENERATE OUTPUT ${places} INPUT ${places}.in)
  set_source_files_properties(${places} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(test_${room} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(test_${room} PRIVATE sennit_options ${TEST_USES} GTest::gtest GTest::gmock GTest::gtest_main)
  sennit_compile_fast(test_${room})
  target_precompile_headers(test_${room} REUSE_FROM sennit_precompiled_tests)
  add_dependencies(tests test_${room})
  set(alike)
  if(room IN_LIST SENNIT_ALIKE)
    set(alike alike)
  else()
    add_dependencies(tests_optimised test_${room})
  endif()
  set(shards 1)
  if(room IN_LIST SENNIT_IDLE)
    set(shards 3)
  endif()
  foreach(shard RANGE 1 ${shards})
    set(name ${room})
    if(shards GREATER 1)
      set(name ${room}-${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name} COMMAND test_${room} --gtest_output=xml:${CMAKE_BINARY_DIR}/reports/${name}.xml)
    set_tests_properties(${name} PROPERTIES
      TIMEOUT 900 LABELS "${room};${alike}" ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
    if(room IN_LIST SENNIT_LONG)
      set_tests_properties(${name} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()
