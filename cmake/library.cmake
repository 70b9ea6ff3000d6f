# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# The four targets, by weight of what they stand on. Who only plans links no MPI.

set(reshard_components)

function(reshard_add_library component)
    add_library(reshard_${component} INTERFACE)
    add_library(reshard::${component} ALIAS reshard_${component})
    set_target_properties(reshard_${component} PROPERTIES EXPORT_NAME ${component})
    target_link_libraries(reshard_${component} INTERFACE ${ARGN})
    list(APPEND reshard_components ${component})
    set(reshard_components ${reshard_components} PARENT_SCOPE)
endfunction()

reshard_add_library(core Boost::headers)
target_compile_features(reshard_core INTERFACE cxx_std_20)
target_include_directories(reshard_core INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

if(TARGET Boost::json AND TARGET xxHash::xxhash)
    reshard_add_library(format reshard_core Boost::json xxHash::xxhash)
endif()
if(TARGET Boost::mpi AND TARGET Boost::serialization)
    reshard_add_library(mpi reshard_core Boost::mpi Boost::serialization)
endif()
if(TARGET reshard_format AND TARGET reshard_mpi)
    reshard_add_library(storage reshard_format reshard_mpi)
endif()
