// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "calls.hpp"

/// \file
/// The table of the library that has the functions: `cuda.so` of the package.

extern "C" portable_cuda::calls const* reshard_cuda_calls() {
    static constexpr portable_cuda::calls table{
        portable_cuda::build_numbers, reshard_cuda_count,   reshard_cuda_error_text,
        reshard_cuda_allocate,        reshard_cuda_free,    reshard_cuda_allocate_host,
        reshard_cuda_free_host,       reshard_cuda_can_use, reshard_cuda_copy,
        reshard_cuda_launch,          reshard_cuda_wait,    reshard_cuda_is_captured,
    };
    return &table;
}
