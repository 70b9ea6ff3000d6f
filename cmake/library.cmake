# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# The targets, by weight of what they stand on; who only plans links no MPI. Each has a twin,
# reshard::compiled_<name>: a static library of what is neither a template nor constexpr, and headers
# that only declare it. A program links one kind or the other.

option(RESHARD_COMPILED "Build and install the twins reshard::compiled_*, static libraries"
    ${PROJECT_IS_TOP_LEVEL})

set(reshard_components)

# Rooms are compiled apart, so that a change in one of them compiles one file anew.
function(reshard_add_compiled component)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LINK")
    set(sources)
    foreach(room IN LISTS arg_ROOMS)
        file(GLOB_RECURSE bodies CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/include"
            "include/reshard/${room}/*.ipp")
        if(NOT bodies)
            continue()
        endif()
        list(TRANSFORM bodies REPLACE "(.+)" "#include <\\1>")
        list(JOIN bodies "\n" text)
        set(source "${CMAKE_CURRENT_BINARY_DIR}/compiled/${room}.cpp")
        file(CONFIGURE OUTPUT "${source}" CONTENT "@text@\n" @ONLY)
        list(APPEND sources "${source}")
    endforeach()
    add_library(reshard_compiled_${component} STATIC ${sources})
    add_library(reshard::compiled_${component} ALIAS reshard_compiled_${component})
    set_target_properties(reshard_compiled_${component} PROPERTIES
        EXPORT_NAME compiled_${component}
        POSITION_INDEPENDENT_CODE ON
        UNITY_BUILD OFF)
    target_link_libraries(reshard_compiled_${component} PUBLIC ${arg_LINK})
    target_compile_definitions(reshard_compiled_${component} PUBLIC RESHARD_SEPARATE_COMPILATION)
    if(NOT RESHARD_COMPILED)
        set_target_properties(reshard_compiled_${component} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    # Without a build type tests are not optimised; what they share with the benchmarks and the tool is
    # compiled as those are. Its assertions are checked with the sanitizers.
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        target_compile_options(reshard_compiled_${component} PRIVATE -O3)
        target_compile_definitions(reshard_compiled_${component} PRIVATE NDEBUG)
    endif()
endfunction()

#   reshard_add_library(COMPONENT ROOMS room... [LINK library...] [OF component...])
function(reshard_add_library component)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LINK;OF")
    set(header_only ${arg_OF})
    list(TRANSFORM header_only PREPEND reshard_)
    add_library(reshard_${component} INTERFACE)
    add_library(reshard::${component} ALIAS reshard_${component})
    set_target_properties(reshard_${component} PROPERTIES EXPORT_NAME ${component})
    target_link_libraries(reshard_${component} INTERFACE ${header_only} ${arg_LINK})
    if(component STREQUAL "core")
        target_compile_features(reshard_core INTERFACE cxx_std_20)
        target_include_directories(reshard_core INTERFACE
            $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endif()
    set(compiled ${arg_OF})
    list(TRANSFORM compiled PREPEND reshard_compiled_)
    reshard_add_compiled(${component} ROOMS ${arg_ROOMS} LINK reshard_${component} ${compiled})
    list(APPEND reshard_components ${component})
    set(reshard_components ${reshard_components} PARENT_SCOPE)
endfunction()

reshard_add_library(core LINK Boost::headers
    ROOMS core layout tensor copy device os group expr plan aoa bind bridge model)
reshard_add_library(analysis OF core ROOMS analysis)
if(TARGET Boost::json AND TARGET xxHash::xxhash AND TARGET ZLIB::ZLIB)
    reshard_add_library(format OF core LINK Boost::json xxHash::xxhash ZLIB::ZLIB ROOMS format)
endif()
if(TARGET Boost::mpi AND TARGET Boost::serialization)
    reshard_add_library(mpi OF core LINK Boost::mpi Boost::serialization ROOMS mpi)
endif()
if(TARGET reshard_format AND TARGET reshard_mpi)
    reshard_add_library(storage OF format mpi ROOMS storage)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/cuda.cmake")
