// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "calls.hpp"

#include <reshard/core/error.hpp>
#include <reshard/impl/cuda.hpp>

/// \file
/// `cuda()`, and the functions that it calls, by a table that Python gives.

namespace portable_cuda {

namespace {

calls const* table_of_cuda = nullptr;

calls const& functions() {
    if (!table_of_cuda)
        reshard::fail(reshard::errc::unsupported, "the functions of CUDA have not been loaded");
    return *table_of_cuda;
}

} // namespace

void use(calls const& table) {
    if (table.numbers != build_numbers)
        reshard::fail(reshard::errc::unsupported,
                      "the library of CUDA's functions is of another build of reshard");
    table_of_cuda = &table;
}

bool has_functions() { return table_of_cuda != nullptr; }

} // namespace portable_cuda

using portable_cuda::functions;

extern "C" {

int reshard_cuda_count(int* count) { return functions().count(count); }
char const* reshard_cuda_error_text(int error) { return functions().error_text(error); }
int reshard_cuda_allocate(int gpu, std::size_t bytes, void** memory) {
    return functions().allocate(gpu, bytes, memory);
}
void reshard_cuda_free(void* memory) { functions().free(memory); }
int reshard_cuda_allocate_host(int gpu, std::size_t bytes, void** memory) {
    return functions().allocate_host(gpu, bytes, memory);
}
void reshard_cuda_free_host(void* memory) { functions().free_host(memory); }
int reshard_cuda_can_use(void const* host) { return functions().can_use(host); }
int reshard_cuda_copy(int gpu, CUstream_st* stream, void* to, void const* from, std::size_t bytes) {
    return functions().copy(gpu, stream, to, from, bytes);
}
int reshard_cuda_launch(int gpu, CUstream_st* stream, std::size_t kernel, std::size_t count,
                        void const* boxes, void const* programs, void const* pieces) {
    return functions().launch(gpu, stream, kernel, count, boxes, programs, pieces);
}
int reshard_cuda_wait(int gpu, CUstream_st* stream) { return functions().wait(gpu, stream); }
int reshard_cuda_is_captured(int gpu, CUstream_st* stream) {
    return functions().is_captured(gpu, stream);
}

} // extern "C"
