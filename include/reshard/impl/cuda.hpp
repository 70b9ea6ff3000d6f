// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_CUDA_HPP
#define RESHARD_IMPL_CUDA_HPP

/// \file
/// The functions that are not compiled into programs of `reshard::cuda`. Not in `src.hpp`, since
/// they need `cuda.cu`.

#include <reshard/cuda/impl/cuda.ipp>

#endif
