# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Compiles `source`; passes where the compiler refuses it with the message that its first line names; with
# `// expect first: <regex>` that message has to be the first error. A second line `// with: <options>` is
# given to the compiler, which runs in the folder of the source. With a second line `// facts: <regex>` the
# first thing that a compiler says of the error has to show these facts, and it says all in 15 lines.

cmake_minimum_required(VERSION 3.25)

file(STRINGS "${source}" lines LIMIT_COUNT 2)
list(POP_FRONT lines first second)
if(NOT first MATCHES "^// expect( first)?: (.+)$")
    message(FATAL_ERROR "${source}:1: the first line has to be `// expect: <regex>`")
endif()
set(is_first "${CMAKE_MATCH_1}")
set(expected "${CMAKE_MATCH_2}")

set(options)
if(second MATCHES "^// with: (.+)$")
    separate_arguments(options UNIX_COMMAND "${CMAKE_MATCH_1}")
endif()

set(facts)
if(second MATCHES "^// facts: (.+)$")
    set(facts "${CMAKE_MATCH_1}")
endif()

list(REMOVE_DUPLICATES include_dirs)
list(TRANSFORM include_dirs PREPEND "-I")
cmake_path(GET source PARENT_PATH folder)
execute_process(
    COMMAND "${compiler}" -std=c++20 -fsyntax-only ${options} ${include_dirs} "${source}"
    WORKING_DIRECTORY "${folder}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(result EQUAL 0)
    message(FATAL_ERROR "${source}: compiles, and should not: expected `${expected}`")
endif()
if(is_first)
    string(REGEX MATCH "error: [^\n]*" output "${output}")
endif()
if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "${source}: does not print `${expected}`, but:\n${output}")
endif()
if(NOT facts)
    return()
endif()

string(REGEX MATCH "[^\n]*(In instantiation of|error:)[^\n]*" begin "${output}")
if(NOT begin MATCHES "${facts}")
    message(FATAL_ERROR "${source}: does not begin with the facts `${facts}`, but:\n${output}")
endif()
string(REGEX MATCHALL "\n" ends "${output}")
list(LENGTH ends line_count)
if(line_count GREATER 15)
    message(FATAL_ERROR "${source}: the compiler prints ${line_count} lines; 15 are enough:\n${output}")
endif()
