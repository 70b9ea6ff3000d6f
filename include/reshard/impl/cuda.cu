// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// The kernels and functions of `reshard/cuda.hpp`. One source file of a program; compile it with
/// nvcc, `-std=c++20 --expt-relaxed-constexpr -fmad=false`.

#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/device/unit_kernels.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace reshard::detail {

namespace {

/// One block of threads copies one piece.
template <class Word>
__global__ void __launch_bounds__(block_threads)
    copy_words(unit_box const* boxes, unit_program const* programs, unit_piece const* pieces) {
    unit_piece const piece = pieces[blockIdx.x];
    unit_box const& box = boxes[piece.box];
    for (std::int64_t unit = piece.first + threadIdx.x; unit < piece.end; unit += block_threads)
        copy_unit<Word>(box, programs, unit);
}

template <class Word>
__global__ void __launch_bounds__(block_threads)
    copy_tiles(unit_box const* boxes, unit_program const* programs, unit_piece const* pieces) {
    __shared__ Word memory[tile_side][tile_side + 1];
    unit_piece const piece = pieces[blockIdx.x];
    unit_box const& box = boxes[piece.box];
    for (std::int64_t unit = piece.first; unit < piece.end; ++unit) {
        unit_tile const tile = tile_of(box, unit);
        load_tile<Word>(box, programs, tile, threadIdx.x, memory);
        __syncthreads();
        store_tile<Word>(box, tile, threadIdx.x, memory);
        __syncthreads();
    }
}

using kernel_function = void (*)(unit_box const*, unit_program const*, unit_piece const*);

/// By `unit_kernel::number`.
constexpr kernel_function kernels[] = {copy_words<std::uint8_t>,  copy_words<std::uint16_t>,
                                       copy_words<std::uint32_t>, copy_words<std::uint64_t>,
                                       copy_words<wide_word>,     copy_tiles<std::uint8_t>,
                                       copy_tiles<std::uint16_t>, copy_tiles<std::uint32_t>,
                                       copy_tiles<std::uint64_t>, copy_tiles<wide_word>};

/// Makes a GPU the current one, and the previous one again at the end of a scope.
class current_gpu {
public:
    explicit current_gpu(int gpu) : problem_(cudaGetDevice(&before_)) {
        changes_ = problem_ == cudaSuccess && gpu != before_;
        if (changes_)
            problem_ = cudaSetDevice(gpu);
    }
    current_gpu(current_gpu const&) = delete;
    current_gpu& operator=(current_gpu const&) = delete;
    ~current_gpu() {
        if (changes_)
            static_cast<void>(cudaSetDevice(before_));
    }

    /// The first error: of this object, or of `call`. No later call reports it again.
    template <class Call>
    int first_error(Call const& call) const {
        static_cast<void>(cudaGetLastError()); // an error of the caller's
        cudaError_t const problem = problem_ != cudaSuccess ? problem_ : call();
        static_cast<void>(cudaGetLastError());
        return problem;
    }

private:
    int before_ = 0;
    bool changes_ = false;
    cudaError_t problem_;
};

} // namespace

} // namespace reshard::detail

using reshard::detail::current_gpu;

extern "C" {

int reshard_cuda_count(int* count) { return cudaGetDeviceCount(count); }

char const* reshard_cuda_error_text(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

int reshard_cuda_allocate(int gpu, std::size_t bytes, void** memory) {
    return current_gpu(gpu).first_error([&] { return cudaMalloc(memory, bytes); });
}
void reshard_cuda_free(void* memory) { static_cast<void>(cudaFree(memory)); }

int reshard_cuda_allocate_host(int gpu, std::size_t bytes, void** memory) {
    return current_gpu(gpu).first_error(
        [&] { return cudaHostAlloc(memory, bytes, cudaHostAllocPortable); });
}
void reshard_cuda_free_host(void* memory) { static_cast<void>(cudaFreeHost(memory)); }

int reshard_cuda_can_use(void const* host) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
        static_cast<void>(cudaGetLastError()); // the error is an answer
        return 0;
    }
    return attributes.type != cudaMemoryTypeUnregistered && attributes.devicePointer == host;
}

int reshard_cuda_copy(int gpu, CUstream_st* stream, void* to, void const* from, std::size_t bytes) {
    return current_gpu(gpu).first_error(
        [&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream); });
}

int reshard_cuda_launch(int gpu, CUstream_st* stream, std::size_t kernel, std::size_t count,
                        void const* boxes, void const* programs, void const* pieces) {
    using namespace reshard::detail;
    return current_gpu(gpu).first_error([&] {
        kernels[kernel]<<<static_cast<unsigned>(count), block_threads, 0, stream>>>(
            static_cast<unit_box const*>(boxes), static_cast<unit_program const*>(programs),
            static_cast<unit_piece const*>(pieces));
        return cudaGetLastError();
    });
}

int reshard_cuda_wait(int gpu, CUstream_st* stream) {
    return current_gpu(gpu).first_error([&] { return cudaStreamSynchronize(stream); });
}

int reshard_cuda_is_captured(int gpu, CUstream_st* stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return current_gpu(gpu).first_error(
               [&] { return cudaStreamIsCapturing(stream, &status); }) == cudaSuccess &&
           status == cudaStreamCaptureStatusActive;
}

} // extern "C"
