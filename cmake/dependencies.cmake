# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What the targets stand on. Boost's headers are all that reshard::core asks for; what the heavier
# targets need is looked for, and a target whose needs are absent is left out. A build of tests,
# examples or benchmarks needs everything.

set(reshard_boost_version 1.81)

if(RESHARD_BUILD_TESTS OR RESHARD_BUILD_EXAMPLES OR RESHARD_BUILD_BENCH)
    set(reshard_need REQUIRED)
else()
    set(reshard_need QUIET)
endif()

find_package(Boost ${reshard_boost_version} CONFIG REQUIRED)
find_package(boost_json ${reshard_boost_version} CONFIG ${reshard_need})
find_package(xxHash ${reshard_need})
find_package(MPI ${reshard_need} COMPONENTS CXX)
if(MPI_CXX_FOUND)
    find_package(boost_serialization ${reshard_boost_version} CONFIG ${reshard_need})
    find_package(boost_mpi ${reshard_boost_version} CONFIG ${reshard_need})
endif()
