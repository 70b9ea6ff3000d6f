# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# How this repository compiles its own programs. Nothing here reaches a consumer.

include_guard(GLOBAL)

# Who only installs has, perhaps, a newer compiler, with warnings of its own.
if(PROJECT_IS_TOP_LEVEL AND (RESHARD_BUILD_TESTS OR RESHARD_BUILD_FUZZERS)
        AND NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
    set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
# Sources of a program are compiled sixteen at a time, for most of the time goes into the same headers
# and templates. Who works on one file says -D CMAKE_UNITY_BUILD=OFF.
if(NOT DEFINED CMAKE_UNITY_BUILD)
    set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# With the sanitizers a program has 170 MB, which LLVM's linker links four times as fast, and would begin by relocating
# a million addresses: it is loaded where it was linked for.
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld RESHARD_HAS_LLD)
    if(RESHARD_HAS_LLD)
        add_link_options(-fuse-ld=lld)
    endif()
endif()

find_package(Eigen3 3.3 QUIET NO_MODULE)
find_package(Python3 QUIET COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Embed)

# What adapters adapt: none is needed, and the tests of those that are there are built. LibTorch's own package
# asks for CUDA where it was built with it, so its parts are looked for.
find_path(RESHARD_XTENSOR_INCLUDE_DIR xtensor/xarray.hpp)
find_path(RESHARD_ARMADILLO_INCLUDE_DIR armadillo)
find_path(RESHARD_DLPACK_INCLUDE_DIR dlpack/dlpack.h)
find_path(RESHARD_CCCL_INCLUDE_DIR cuda/std/mdspan)
find_path(RESHARD_EIGEN_TENSOR_INCLUDE_DIR unsupported/Eigen/CXX11/Tensor PATH_SUFFIXES eigen3)
find_package(pybind11 QUIET CONFIG)
set(RESHARD_TORCH_DIR "" CACHE PATH "A LibTorch or the package `torch` of PyPI: what has include/ and lib/")
find_path(RESHARD_TORCH_INCLUDE_DIR ATen/core/Tensor.h HINTS "${RESHARD_TORCH_DIR}/include")
find_library(RESHARD_TORCH_CPU_LIBRARY torch_cpu HINTS "${RESHARD_TORCH_DIR}/lib")
find_library(RESHARD_C10_LIBRARY c10 HINTS "${RESHARD_TORCH_DIR}/lib")

set(reshard_adapters_tested)
set(reshard_adapters_untested)
#   reshard_adapter(HEADER WHAT...): the adapter is tested where all of these are found
function(reshard_adapter header)
    set(list reshard_adapters_tested)
    foreach(needed IN LISTS ARGN)
        if(NOT ${needed})
            set(list reshard_adapters_untested)
        endif()
    endforeach()
    list(APPEND ${list} ${header})
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()
reshard_adapter(armadillo RESHARD_ARMADILLO_INCLUDE_DIR)
reshard_adapter(eigen Eigen3_FOUND)
reshard_adapter(eigen_tensor RESHARD_EIGEN_TENSOR_INCLUDE_DIR)
reshard_adapter(libtorch RESHARD_TORCH_INCLUDE_DIR RESHARD_TORCH_CPU_LIBRARY RESHARD_C10_LIBRARY)
reshard_adapter(pybind11 pybind11_FOUND Python3_Development.Embed_FOUND)
reshard_adapter(xtensor RESHARD_XTENSOR_INCLUDE_DIR)
foreach(list IN ITEMS reshard_adapters_tested reshard_adapters_untested)
    string(REPLACE ";" ", " text "${${list}}")
    string(REGEX REPLACE ".*_" "" what "${list}")
    message(STATUS "Adapters ${what}: ${text}")
endforeach()

set(reshard_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes a source that another one includes for a header.
    list(APPEND reshard_warnings -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns of overlap inside std::string when it optimises (GCC bug 105651, a false alarm).
    list(APPEND reshard_warnings -Wno-restrict)
endif()

# Without a build type, tests are built quickly and programs are built to run quickly; a build type
# decides for both.
#
#   reshard_program(TARGET [FAST] LIBRARY...)
function(reshard_program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "FAST" "" "")
    target_link_libraries(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    target_compile_options(${target} PRIVATE ${reshard_warnings})
    if(TARGET Eigen3::Eigen)
        target_link_libraries(${target} PRIVATE Eigen3::Eigen)
    endif()
    if(CMAKE_BUILD_TYPE OR CMAKE_CONFIGURATION_TYPES)
        return()
    endif()
    if(arg_FAST)
        target_compile_options(${target} PRIVATE -O3)
        target_compile_definitions(${target} PRIVATE NDEBUG)
    else()
        target_compile_options(${target} PRIVATE -O0 -g1)
    endif()
endfunction()

# What many programs include most, once for all of them: with the sanitizers, where those headers are a third to a half
# of the time. Without, every source has to include what it uses.
#
#   reshard_precompiled(NAME LIBRARY... HEADERS header...)
function(reshard_precompiled name)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(${name} OBJECT "${source}")
    reshard_program(${name} ${arg_UNPARSED_ARGUMENTS})
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

#   reshard_precompile(TARGET NAME): of a program that links what NAME was made with
function(reshard_precompile target name)
    if(TARGET ${name})
        target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
endfunction()

if(TARGET reshard_compiled_storage)
    reshard_precompiled(mpi_precompiled reshard::compiled_storage
        HEADERS <reshard.hpp> <reshard/mpi.hpp> <reshard/storage.hpp>)
endif()

# How programs are started under MPI, and what root and crowded machines need. Open MPI is told which of its ways to
# use: to look for networks, which are none here, takes half of the start of a job. And not to wait a second for
# processes that it has ended, which is most of the time of a test of what is refused.
set(reshard_mpiexec "${MPIEXEC_EXECUTABLE}")
set(reshard_mpi_environment
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_btl_base_warn_component_unused=0
    OMPI_MCA_pml=ob1
    OMPI_MCA_odls_base_sigkill_timeout=0
    HWLOC_HIDE_ERRORS=2) # a container without /sys is no news
execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version
    OUTPUT_VARIABLE reshard_mpiexec_version ERROR_VARIABLE reshard_mpiexec_version)
if(reshard_mpiexec_version MATCHES "Open MPI|OpenRTE")
    list(APPEND reshard_mpiexec --oversubscribe --bind-to none)
endif()

# What every test runs with: Open MPI leaks by the sanitizer's lights, and nothing may hang. Open MPI's directory for a
# user goes when the last of his jobs ends, and another one may just begin: each test has one of its own.
function(reshard_test_defaults name ranks)
    set(environment ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 ${reshard_mpi_environment}
        "OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/test/mpi_jobs/${name}")
    set_tests_properties(${name} PROPERTIES
        TIMEOUT 1500
        PROCESSORS ${ranks}
        ENVIRONMENT "${environment}")
endfunction()

#   reshard_mpi_test(NAME RANKS COMMAND... [: RANKS COMMAND...]...)
#
# Behind a colon stands another program of the same job, and on how many ranks it runs.
function(reshard_mpi_test name ranks)
    string(REGEX MATCHALL ":;[0-9]+" others "${ARGN}")
    list(FILTER others EXCLUDE REGEX "^:$")
    string(REGEX REPLACE ":;([0-9]+)" ":;${MPIEXEC_NUMPROC_FLAG};\\1" command "${ARGN}")
    add_test(NAME ${name}
        COMMAND ${reshard_mpiexec} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${command})
    foreach(more IN LISTS others)
        math(EXPR ranks "${ranks} + ${more}")
    endforeach()
    reshard_test_defaults(${name} ${ranks})
    set_tests_properties(${name} PROPERTIES LABELS mpi)
endfunction()
