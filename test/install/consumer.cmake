# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Builds and runs the consumers of `mode` (install or subdir) in `work_dir`. The install tree is
# moved once it is made: nothing in it may name the place that it was made for.

cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGN}
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\nends with ${result}:\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE "${work_dir}")
if(mode STREQUAL "install")
    foreach(component reshard_development reshard_c)
        run("${CMAKE_COMMAND}" --install "${binary_dir}" --component ${component} --prefix "${work_dir}/made")
    endforeach()
    file(RENAME "${work_dir}/made" "${work_dir}/moved")
    set(consumers core analysis mpi missing)
    if(EXISTS "${work_dir}/moved/include/reshard.h")
        list(APPEND consumers c)
    endif()
else()
    set(consumers core mpi compiled)
endif()

# The same through pkg-config, where there is one.
find_program(pkg_config pkg-config)
find_program(mpicxx mpic++)
if(mode STREQUAL "install" AND pkg_config AND mpicxx)
    set(ENV{PKG_CONFIG_PATH} "${work_dir}/moved/share/pkgconfig")
    foreach(consumer core storage)
        set(source ${consumer})
        set(by "${compiler}")
        if(consumer STREQUAL "storage")
            set(source mpi)
            set(by "${mpicxx}")
        endif()
        execute_process(COMMAND "${pkg_config}" --cflags --libs reshard-${consumer}
            OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        separate_arguments(flags UNIX_COMMAND "${flags}")
        run("${by}" -std=c++20 "${source_dir}/test/install/${source}.cpp"
            -o "${work_dir}/by_pkg_config_${consumer}" ${flags})
    endforeach()
    run("${work_dir}/by_pkg_config_core")
    find_program(mpicc mpicc)
    if(mpicc AND c IN_LIST consumers)
        execute_process(COMMAND "${pkg_config}" --cflags --libs reshard-c
            OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        separate_arguments(flags UNIX_COMMAND "${flags}")
        run("${mpicc}" "${source_dir}/test/install/c.c" -o "${work_dir}/by_pkg_config_c" ${flags})
        run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${work_dir}/moved/lib" "${work_dir}/by_pkg_config_c")
    endif()
endif()

foreach(consumer IN LISTS consumers)
    set(from "${source_dir}/test/${mode}")
    set(program "${work_dir}/${consumer}/consumer")
    run("${CMAKE_COMMAND}" -S "${from}" -B "${work_dir}/${consumer}"
        -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${work_dir}/moved"
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 # the libraries are optimised where they are tested
        "-Dreshard_source=${source_dir}" "-Dconsumer=${consumer}")
    if(consumer STREQUAL "missing")
        continue()
    endif()
    run("${CMAKE_COMMAND}" --build "${work_dir}/${consumer}")
    if(consumer STREQUAL "mpi")
        separate_arguments(mpiexec UNIX_COMMAND "${mpiexec}")
        run(${mpiexec} -n 2 ${program})
    else()
        run(${program})
    endif()
endforeach()
