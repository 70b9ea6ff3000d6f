// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CUDA_HPP
#define RESHARD_CUDA_HPP

#include <reshard/core/config.hpp>
#include <reshard/device/device.hpp>

#include <memory>

struct CUstream_st;

/// \file
/// The memory of NVIDIA's GPUs. Link the component `reshard::cuda`, or compile
/// `reshard/impl/cuda.cu` with nvcc and link it. This header needs no CUDA.

namespace reshard {

/// Where messages between ranks are packed.
enum class cuda_messages {
    chosen, ///< on the GPU if MPI says that it reads and writes CUDA's memory, else in host memory
    on_gpu, ///< for an MPI that does so without saying it; another MPI crashes
    in_pinned, ///< in pinned host memory
};

/// The memory of a GPU, for `options::devices`.
///
/// Copies run on `stream`, so they follow the work that the caller has put there. A call returns
/// when its copies are complete. Kernels copy, transpose and cast as the processor does, bit by
/// bit. Elements below 8 bits, scales, and casts of complex numbers pass through the processor.
///
/// \param number of the GPU, as `cudaSetDevice` takes it
/// \param stream a `cudaStream_t` of that GPU; null: the default stream
/// \throws error with errc::unsupported for a GPU that the machine lacks
RESHARD_DECL std::shared_ptr<device> cuda(int number = 0, CUstream_st* stream = nullptr,
                                          cuda_messages messages = cuda_messages::chosen);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/cuda/impl/cuda.ipp>
#endif

#endif
