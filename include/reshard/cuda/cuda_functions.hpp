// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CUDA_CUDA_FUNCTIONS_HPP
#define RESHARD_CUDA_CUDA_FUNCTIONS_HPP

#include <cstddef>

struct CUstream_st;

/// \file
/// The functions of CUDA that `reshard/cuda.hpp` uses, so that only `reshard/impl/cuda.cu` needs
/// nvcc. Each returns an error of CUDA's runtime, 0 for none, unless it says otherwise.

extern "C" {

/// The number of GPUs.
int reshard_cuda_count(int* count);

/// CUDA's text of an error.
char const* reshard_cuda_error_text(int error);

int reshard_cuda_allocate(int gpu, std::size_t bytes, void** memory);
void reshard_cuda_free(void* memory);

/// Pinned host memory.
int reshard_cuda_allocate_host(int gpu, std::size_t bytes, void** memory);
void reshard_cuda_free_host(void* memory);

/// Returns 1 if kernels can use that address of host memory, else 0.
int reshard_cuda_can_use(void const* host);

/// Starts to copy bytes between any two memories.
int reshard_cuda_copy(int gpu, CUstream_st* stream, void* to, void const* from, std::size_t bytes);

/// Launches a kernel: one block of threads for each piece.
///
/// \param kernel   as `unit_kernel::number`
/// \param boxes    the `unit_box`es of the batch, in the GPU's memory; likewise `unit_program`s and
///                 `unit_piece`s
int reshard_cuda_launch(int gpu, CUstream_st* stream, std::size_t kernel, std::size_t count,
                        void const* boxes, void const* programs, void const* pieces);

/// Waits for all work on the stream.
int reshard_cuda_wait(int gpu, CUstream_st* stream);

/// Returns 1 if the stream is being captured in a graph, else 0.
int reshard_cuda_is_captured(int gpu, CUstream_st* stream);

} // extern "C"

#endif
