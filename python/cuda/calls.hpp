// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_CUDA_CALLS_HPP
#define RESHARD_PYTHON_CUDA_CALLS_HPP

#include <reshard/cuda/cuda_functions.hpp>

/// \file
/// CUDA's functions as a table, since the module has to work where there is no CUDA.

namespace portable_cuda {

struct calls {
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
};

/// Makes `cuda()` use a table, which stays.
void use(calls const& table);

/// Whether there is a table.
bool is_used();

} // namespace portable_cuda

#endif
