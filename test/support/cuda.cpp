// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/impl/cuda.hpp>

/// \file
/// `cuda()` for a test program that links `fake_cuda.cpp` and not `reshard::cuda`.
