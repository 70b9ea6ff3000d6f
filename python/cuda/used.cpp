// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "calls.hpp"

#include <reshard/core/error.hpp>
#include <reshard/impl/cuda.hpp>

/// \file
/// `cuda()`, and the functions that it calls, by a table that Python gives.

namespace portable_cuda {

namespace {

calls const* table_in_use = nullptr;

calls const& used() {
    if (!table_in_use)
        reshard::fail(reshard::errc::unsupported, "the functions of CUDA have not been loaded");
    return *table_in_use;
}

} // namespace

void use(calls const& table) { table_in_use = &table; }

bool is_used() { return table_in_use != nullptr; }

} // namespace portable_cuda

using portable_cuda::used;

extern "C" {

int reshard_cuda_count(int* count) { return used().count(count); }
char const* reshard_cuda_error_text(int error) { return used().error_text(error); }
int reshard_cuda_allocate(int gpu, std::size_t bytes, void** memory) {
    return used().allocate(gpu, bytes, memory);
}
void reshard_cuda_free(void* memory) { used().free(memory); }
int reshard_cuda_allocate_host(int gpu, std::size_t bytes, void** memory) {
    return used().allocate_host(gpu, bytes, memory);
}
void reshard_cuda_free_host(void* memory) { used().free_host(memory); }
int reshard_cuda_can_use(void const* host) { return used().can_use(host); }
int reshard_cuda_copy(int gpu, CUstream_st* stream, void* to, void const* from, std::size_t bytes) {
    return used().copy(gpu, stream, to, from, bytes);
}
int reshard_cuda_launch(int gpu, CUstream_st* stream, std::size_t kernel, std::size_t count,
                        void const* boxes, void const* programs, void const* pieces) {
    return used().launch(gpu, stream, kernel, count, boxes, programs, pieces);
}
int reshard_cuda_wait(int gpu, CUstream_st* stream) { return used().wait(gpu, stream); }

} // extern "C"
