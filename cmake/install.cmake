# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# One export set a component, so that a consumer of reshard::core alone looks for nothing else.

include(CMakePackageConfigHelpers)

set(reshard_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/reshard")

install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT reshard_development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp" PATTERN "*.cu")

foreach(component IN LISTS reshard_components)
    set(targets reshard_${component})
    if(RESHARD_COMPILED)
        list(APPEND targets reshard_compiled_${component})
    endif()
    install(TARGETS ${targets} EXPORT reshard_${component}
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT reshard_development)
    install(EXPORT reshard_${component} FILE reshard_${component}.cmake
        NAMESPACE reshard:: DESTINATION "${reshard_package_dir}" COMPONENT reshard_development)
endforeach()

set(reshard_fortran_dir "${CMAKE_INSTALL_DATADIR}/reshard")
configure_package_config_file(cmake/reshard-config.cmake.in
    "${CMAKE_CURRENT_BINARY_DIR}/reshard-config.cmake"
    INSTALL_DESTINATION "${reshard_package_dir}" PATH_VARS reshard_fortran_dir NO_SET_AND_CHECK_MACRO)
# Without libraries the package is headers, and as good for any processor.
set(arch_independent ARCH_INDEPENDENT)
if(RESHARD_COMPILED)
    set(arch_independent)
endif()
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/reshard-config-version.cmake"
    COMPATIBILITY SameMinorVersion ${arch_independent})
install(FILES
        "${CMAKE_CURRENT_BINARY_DIR}/reshard-config.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/reshard-config-version.cmake"
        cmake/FindxxHash.cmake
    DESTINATION "${reshard_package_dir}" COMPONENT reshard_development)

# pkg-config: the headers, which are compiled into the program. With MPI, compile by mpic++.
set(reshard_pc_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")
file(RELATIVE_PATH reshard_prefix_from_pc "/prefix/${reshard_pc_dir}" /prefix)
function(reshard_install_pc component description requires libs)
    if(NOT component IN_LIST reshard_components)
        return()
    endif()
    set(reshard_pc_description "${description}")
    set(reshard_pc_requires "${requires}")
    set(reshard_pc_libs "${libs}")
    set(file "${CMAKE_CURRENT_BINARY_DIR}/reshard-${component}.pc")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/reshard.pc.in" "${file}" @ONLY)
    install(FILES "${file}" DESTINATION "${reshard_pc_dir}" COMPONENT reshard_development)
endfunction()
reshard_install_pc(core "layouts, programs and plans of sharded tensors" "" "")
reshard_install_pc(analysis "the time and the balance of plans of sharded tensors" reshard-core "")
reshard_install_pc(format "metadata of checkpoints" "reshard-core libxxhash zlib" "-lboost_json")
reshard_install_pc(mpi "sharded tensors moved over MPI; compile with mpic++" reshard-core
    "-lboost_mpi -lboost_serialization")
reshard_install_pc(storage "checkpoints loaded, saved and converted" "reshard-format reshard-mpi" "")

# Not in the Debian packages, which have a file of their own.
install(FILES LICENSE_1_0.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT reshard_license)
