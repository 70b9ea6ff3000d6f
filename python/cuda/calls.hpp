// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_CUDA_CALLS_HPP
#define RESHARD_PYTHON_CUDA_CALLS_HPP

#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/device/unit_kernels.hpp>
#include <reshard/version.hpp>

#include <array>
#include <cstddef>

/// \file
/// CUDA's functions as a table, since the module has to work where there is no CUDA.

namespace portable_cuda {

struct calls {
    std::array<std::size_t, 5> numbers;
    decltype(&reshard_cuda_count) count;
    decltype(&reshard_cuda_error_text) error_text;
    decltype(&reshard_cuda_allocate) allocate;
    decltype(&reshard_cuda_free) free;
    decltype(&reshard_cuda_allocate_host) allocate_host;
    decltype(&reshard_cuda_free_host) free_host;
    decltype(&reshard_cuda_can_use) can_use;
    decltype(&reshard_cuda_copy) copy;
    decltype(&reshard_cuda_launch) launch;
    decltype(&reshard_cuda_wait) wait;
    decltype(&reshard_cuda_is_captured) is_captured;
};

/// The release, and the sizes of the table and of what kernels read. They differ between most builds
/// that do not fit each other.
inline constexpr std::array<std::size_t, 5> build_numbers{
    RESHARD_VERSION, sizeof(calls), sizeof(reshard::detail::unit_box),
    sizeof(reshard::detail::unit_program), sizeof(reshard::detail::unit_piece)};

/// Makes `cuda()` use a table. It must exist until the program ends.
///
/// \throws error with errc::unsupported for a table of another build
void use(calls const& table);

/// Whether `use` was called.
bool has_functions();

} // namespace portable_cuda

#endif
