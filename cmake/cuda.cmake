# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# reshard::cuda, if CUDA's compiler is there. nvcc compiles only the kernels. The component is not installed: with an
# installed reshard, compile its reshard/impl/cuda.cu.

option(RESHARD_CUDA "Build reshard::cuda if CUDA's compiler is there" ${PROJECT_IS_TOP_LEVEL})
if(RESHARD_CUDA)
    find_package(CUDAToolkit 12.8 QUIET)
endif()
if(NOT RESHARD_CUDA OR NOT CUDAToolkit_NVCC_EXECUTABLE OR NOT TARGET CUDA::cudart_static)
    message(STATUS "reshard::cuda is not built: no CUDA toolkit of version 12.8 or later")
    return()
endif()
if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER STREQUAL "NOTFOUND" OR NOT CMAKE_CUDA_COMPILER)
    message(STATUS "reshard::cuda is not built: CUDA's compiler does not work with this compiler of C++")
    return()
endif()
enable_language(CUDA)

add_library(reshard_cuda_kernels STATIC include/reshard/impl/cuda.cu)
set_target_properties(reshard_cuda_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
# One rounding for each operation, as on the processor; and constexpr functions on both. CMake 3.25 knows no CUDA_STANDARD
# of the compilers that know 20.
target_compile_options(reshard_cuda_kernels PRIVATE -std=c++20 -fmad=false --expt-relaxed-constexpr)
if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(reshard_cuda_kernels PRIVATE -Werror all-warnings)
endif()
target_include_directories(reshard_cuda_kernels PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/include")
target_link_libraries(reshard_cuda_kernels PRIVATE Boost::headers PUBLIC CUDA::cudart_static)

set(installed_components ${reshard_components})
reshard_add_library(cuda OF core LINK reshard_cuda_kernels ROOMS cuda)
set(reshard_components ${installed_components})
