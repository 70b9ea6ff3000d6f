// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CUDA_HPP
#define RESHARD_CUDA_HPP

#include <reshard/core/config.hpp>
#include <reshard/device/device.hpp>

#include <memory>
#include <optional>

struct CUstream_st;

/// \file
/// The memory of NVIDIA's GPUs. Link the component `reshard::cuda`, or compile
/// `reshard/impl/cuda.cu` with nvcc and link it. This header needs no CUDA.

namespace reshard {

/// The memory of a GPU, for `options::devices`.
///
/// Copies run on `stream`, so they follow the work that the caller has put there. A call returns
/// when its copies are complete, unless the caller captures the stream in a graph: see
/// doc/devices.md. Kernels copy, transpose and cast as the processor does, bit by
/// bit. Elements below 8 bits, scales, and casts of complex numbers pass through the processor.
///
/// \param number          of the GPU, as `cudaSetDevice` takes it
/// \param stream          a `cudaStream_t` of that GPU; null: the default stream
/// \param messages_on_gpu whether MPI gets messages in the GPU's memory, or in pinned host memory.
///                        Not set: on the GPU if MPI says that it reads and writes CUDA's memory
/// \throws error with errc::unsupported for a GPU that the machine lacks
RESHARD_DECL std::shared_ptr<device> cuda(int number = 0, CUstream_st* stream = nullptr,
                                          std::optional<bool> messages_on_gpu = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/cuda/impl/cuda.ipp>
#endif

#endif
