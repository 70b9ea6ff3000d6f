# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What the targets stand on. Boost's headers are all that reshard::core asks for; what the heavier
# targets need is looked for, and a target whose needs are absent is left out. A build of tests,
# examples or benchmarks needs everything.

set(reshard_boost_version 1.81)

set(reshard_lacks)
# reshard_find(PACKAGE WHAT DEBIAN_PACKAGE OPTIONS...): looks for a package, and notes that it is not there.
macro(reshard_find package what debian)
    find_package(${package} QUIET ${ARGN})
    if(NOT ${package}_FOUND)
        set(reshard_lack "${what} (Debian: ${debian})")
        if(${package}_CONSIDERED_VERSIONS)
            list(REMOVE_DUPLICATES ${package}_CONSIDERED_VERSIONS)
            list(JOIN ${package}_CONSIDERED_VERSIONS ", " reshard_others)
            string(APPEND reshard_lack ", and not ${reshard_others}")
        endif()
        list(APPEND reshard_lacks "${reshard_lack}")
    endif()
endmacro()

reshard_find(Boost "Boost ${reshard_boost_version} or later" libboost1.81-dev
    ${reshard_boost_version} CONFIG)
set(reshard_needed ${reshard_lacks})
reshard_find(boost_json "Boost.JSON ${reshard_boost_version} or later" libboost-json1.81-dev
    ${reshard_boost_version} CONFIG)
reshard_find(xxHash xxHash libxxhash-dev)
reshard_find(ZLIB zlib zlib1g-dev)
reshard_find(boost_serialization "Boost.Serialization ${reshard_boost_version} or later"
    libboost-serialization1.81-dev ${reshard_boost_version} CONFIG)
if(RESHARD_MPI_AT_RUN_TIME)
    # Headers that stand in for those of MPI and Boost.MPI; the module has what they declare.
    add_library(reshard_portable_mpi INTERFACE)
    target_include_directories(reshard_portable_mpi INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/python/mpi")
    add_library(Boost::mpi ALIAS reshard_portable_mpi)
else()
    reshard_find(MPI "MPI for C++" "libopenmpi-dev, openmpi-bin" COMPONENTS CXX)
    # Boost.MPI is not looked for without MPI, which its package asks for.
    if(MPI_CXX_FOUND)
        reshard_find(boost_mpi "Boost.MPI ${reshard_boost_version} or later, built with this MPI"
            libboost-mpi1.81-dev ${reshard_boost_version} CONFIG)
    else()
        list(APPEND reshard_lacks "Boost.MPI (Debian: libboost-mpi1.81-dev)")
    endif()
endif()
if(RESHARD_BUILD_TESTS OR RESHARD_BUILD_EXAMPLES OR RESHARD_BUILD_BENCH)
    if(RESHARD_BUILD_EXAMPLES OR RESHARD_BUILD_BENCH)
        reshard_find(CLI11 "CLI11, for programs" libcli11-dev)
    endif()
    if(RESHARD_BUILD_EXAMPLES)
        reshard_find(OpenSSL "OpenSSL, for the tool" libssl-dev COMPONENTS Crypto)
    endif()
    if(RESHARD_BUILD_TESTS)
        reshard_find(boost_unit_test_framework "Boost.Test ${reshard_boost_version} or later"
            libboost-test1.81-dev ${reshard_boost_version} CONFIG)
    endif()
    set(reshard_needed ${reshard_lacks})
endif()
if(reshard_needed)
    list(JOIN reshard_needed "\n  " reshard_needed)
    message(FATAL_ERROR "These are needed, and are not found:\n  ${reshard_needed}\n"
        "On Debian 12 `./bootstrap.sh build` installs them. With RESHARD_BUILD_TESTS, "
        "RESHARD_BUILD_EXAMPLES and RESHARD_BUILD_BENCH off Boost's headers are enough.\n")
endif()
