# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# One export set a component, so that a consumer of reshard::core alone looks for nothing else.

include(CMakePackageConfigHelpers)

set(reshard_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/reshard")

install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT reshard_development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp")

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

configure_package_config_file(cmake/reshard-config.cmake.in
    "${CMAKE_CURRENT_BINARY_DIR}/reshard-config.cmake"
    INSTALL_DESTINATION "${reshard_package_dir}" NO_SET_AND_CHECK_MACRO)
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
install(FILES LICENSE_1_0.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT reshard_development)
