# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Compiles `source`; passes where the compiler refuses it with the message that its first line names; with
# `// expect first: <regex>` that message has to be the first error.

cmake_minimum_required(VERSION 3.25)

file(STRINGS "${source}" first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect( first)?: (.+)$")
    message(FATAL_ERROR "${source}:1: the first line has to be `// expect: <regex>`")
endif()
set(is_first "${CMAKE_MATCH_1}")
set(expected "${CMAKE_MATCH_2}")

list(REMOVE_DUPLICATES include_dirs)
list(TRANSFORM include_dirs PREPEND "-I")
execute_process(
    COMMAND "${compiler}" -std=c++20 -fsyntax-only ${include_dirs} "${source}"
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
