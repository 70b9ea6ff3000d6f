# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Debian packages of what has been built: `cpack -G DEB` in the build folder makes libreshard-dev,
# the headers and the compiled twins, reshard, the command-line tool, and libreshard0, the C library.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME reshard)
set(CPACK_PACKAGE_VENDOR "The developers of Reshard")
set(CPACK_PACKAGE_CONTACT "The developers of Reshard <reshard@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL reshard_development reshard_tool)
set(reshard_packages "libreshard-dev reshard_development" "reshard reshard_tool")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RESHARD_DEVELOPMENT_PACKAGE_NAME libreshard-dev)
set(CPACK_DEBIAN_RESHARD_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_RESHARD_DEVELOPMENT_PACKAGE_DEPENDS "libboost1.81-dev")
set(CPACK_DEBIAN_RESHARD_DEVELOPMENT_PACKAGE_RECOMMENDS
    "libboost-mpi1.81-dev, libboost-serialization1.81-dev, libboost-json1.81-dev, libopenmpi-dev, libxxhash-dev, zlib1g-dev")
set(CPACK_COMPONENT_RESHARD_DEVELOPMENT_DESCRIPTION
"move the tensors of a model from one parallel layout to another (C++)
Reshard is a header-only C++20 library. It describes how the tensors of a
model are sharded over the ranks of a job, and moves each element to the rank
that needs it, over MPI or between checkpoints on disk. This package has the
headers, static libraries of what is no template, and files for CMake and
pkg-config.")
set(CPACK_DEBIAN_RESHARD_TOOL_PACKAGE_NAME reshard)
set(CPACK_DEBIAN_RESHARD_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RESHARD_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RESHARD_TOOL_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_COMPONENT_RESHARD_TOOL_DESCRIPTION
"convert the checkpoints of models from one parallel layout to another
The command-line tool of the library Reshard inspects, checks, plans and
converts checkpoints in the safetensors format, sharded or whole, with
programs that rename, fuse, split, transpose and cast tensors on the way.")
if(RESHARD_BUILD_C)
    list(APPEND CPACK_COMPONENTS_ALL reshard_c)
    list(APPEND reshard_packages "libreshard0 reshard_c")
    string(APPEND CPACK_DEBIAN_RESHARD_DEVELOPMENT_PACKAGE_DEPENDS ", libreshard0 (= ${PROJECT_VERSION})")
endif()
set(CPACK_DEBIAN_RESHARD_C_PACKAGE_NAME libreshard0)
set(CPACK_DEBIAN_RESHARD_C_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RESHARD_C_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RESHARD_C_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/packaging/debian/triggers")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RESHARD_C_DESCRIPTION
"move the tensors of a model from one parallel layout to another (C)
The C library of Reshard opens checkpoints, loads and saves tensors that are
sharded over the ranks of a job, moves them over MPI, and runs the commands of
the tool. Fortran, Rust, Julia and other languages call it.")

# What Debian asks of every package; part of no other installation.
configure_file(packaging/debian/changelog.in "${CMAKE_CURRENT_BINARY_DIR}/package/changelog" @ONLY)
find_program(gzip gzip)
if(gzip)
    foreach(name changelog reshard.1)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/package/${name}")
        if(name STREQUAL "reshard.1")
            configure_file(packaging/reshard.1 "${file}" COPYONLY)
        endif()
        execute_process(COMMAND "${gzip}" -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    foreach(package IN LISTS reshard_packages)
        separate_arguments(package UNIX_COMMAND "${package}")
        list(POP_FRONT package name)
        install(FILES "${CMAKE_CURRENT_BINARY_DIR}/package/changelog.gz"
                packaging/debian/copyright
            DESTINATION "share/doc/${name}" COMPONENT ${package} EXCLUDE_FROM_ALL)
    endforeach()
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/package/reshard.1.gz"
        DESTINATION share/man/man1 COMPONENT reshard_tool EXCLUDE_FROM_ALL)
endif()
include(CPack)
