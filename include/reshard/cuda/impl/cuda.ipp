// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CUDA_IMPL_CUDA_IPP
#define RESHARD_CUDA_IMPL_CUDA_IPP

#include <reshard/cuda.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/device/batch_device.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

namespace reshard {

namespace detail {

/// CUDA's error for memory that is short.
inline constexpr int cuda_out_of_memory = 2;

/// \throws error with errc::limit_exceeded if memory is short, else with errc::io
inline void check_cuda(int problem, char const* noun) {
    if (problem != 0)
        fail(problem == cuda_out_of_memory ? errc::limit_exceeded : errc::io, "CUDA failed in ",
             noun, ": ", reshard_cuda_error_text(problem));
}

/// The functions of CUDA that a `batch_device` needs.
class cuda_backend {
public:
    cuda_backend(int number, CUstream_st* stream, std::optional<bool> messages_on_gpu)
        : number_(number), stream_(stream), messages_on_gpu_(messages_on_gpu) {
        int count = 0;
        if (int const problem = reshard_cuda_count(&count))
            fail(errc::unsupported, "CUDA finds no GPU: ", reshard_cuda_error_text(problem));
        if (number < 0 || number >= count)
            fail(errc::unsupported, "cuda(", number, "): this machine has ", counted(count, "GPU"));
    }

    memory_space space() const { return {memory_space::cuda, number_}; }

    void read(void* host, void const* memory, std::size_t bytes) const {
        move(host, memory, bytes);
    }
    void write(void* memory, void const* host, std::size_t bytes) const {
        move(memory, host, bytes);
    }

    std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) const {
        void* memory = nullptr;
        check_cuda(reshard_cuda_allocate_host(number_, bytes + 1, &memory),
                   "an allocation of pinned memory");
        return {static_cast<std::byte*>(memory), reshard_cuda_free_host};
    }

    std::shared_ptr<std::byte[]> message_memory(std::size_t bytes, bool mpi_reads_it) const {
        if (!messages_on_gpu_.value_or(mpi_reads_it))
            return nullptr;
        void* memory = nullptr;
        int const problem = reshard_cuda_allocate(number_, bytes, &memory);
        if (problem == cuda_out_of_memory && !messages_on_gpu_)
            return nullptr; // the caller has not asked for it
        check_cuda(problem, "an allocation");
        return {static_cast<std::byte*>(memory), reshard_cuda_free};
    }

    bool can_use(void const* host) const { return reshard_cuda_can_use(host) != 0; }

    void run(unit_batch const& batch) {
        tables_.clear();
        std::size_t const boxes = put(batch.boxes()), programs = put(batch.programs());
        std::size_t pieces[unit_kernel::count];
        for (std::size_t kernel = 0; kernel < unit_kernel::count; ++kernel)
            pieces[kernel] = put(batch.pieces(kernel));
        reserve(tables_.size());
        std::memcpy(on_host_.get(), tables_.data(), tables_.size());
        std::byte* const at = on_gpu_.get();
        check_cuda(reshard_cuda_copy(number_, stream_, at, on_host_.get(), tables_.size()),
                   "a copy of tables");
        for (std::size_t kernel = 0; kernel < unit_kernel::count; ++kernel)
            if (std::size_t const count = batch.pieces(kernel).size(); count > 0)
                check_cuda(reshard_cuda_launch(number_, stream_, kernel, count, at + boxes,
                                               at + programs, at + pieces[kernel]),
                           "a kernel");
    }

    void wait() const { check_cuda(reshard_cuda_wait(number_, stream_), "a copy"); }

private:
    /// Appends a table at a multiple of 16 bytes, and returns its position.
    template <class T>
    std::size_t put(vector<T> const& table) {
        std::size_t const position = tables_.size();
        tables_.resize(position + (table.size() * sizeof(T) + 15) / 16 * 16);
        if (!table.empty())
            std::memcpy(tables_.data() + position, table.data(), table.size() * sizeof(T));
        return position;
    }

    void move(void* to, void const* from, std::size_t bytes) const {
        check_cuda(reshard_cuda_copy(number_, stream_, to, from, bytes), "a copy");
        wait();
    }

    void reserve(std::size_t bytes) {
        if (bytes <= reserved_)
            return;
        on_host_ = host_memory(2 * bytes);
        void* memory = nullptr;
        check_cuda(reshard_cuda_allocate(number_, 2 * bytes, &memory), "an allocation");
        on_gpu_ = {static_cast<std::byte*>(memory), reshard_cuda_free};
        reserved_ = 2 * bytes;
    }

    int number_;
    CUstream_st* stream_;
    std::optional<bool> messages_on_gpu_;
    vector<std::byte> tables_;
    std::size_t reserved_ = 0;
    std::shared_ptr<std::byte[]> on_host_;
    std::shared_ptr<std::byte[]> on_gpu_;
};

} // namespace detail

RESHARD_DECL std::shared_ptr<device> cuda(int number, CUstream_st* stream,
                                          std::optional<bool> messages_on_gpu) {
    return std::make_shared<detail::batch_device<detail::cuda_backend>>(
        detail::cuda_backend(number, stream, messages_on_gpu));
}

} // namespace reshard

#endif
