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

/// CUDA's errors for a GPU without enough free memory, and for calls that a capture excludes.
inline constexpr int cuda_out_of_memory = 2, cuda_capture_unsupported = 900;

/// The tables of a batch in the memory of a GPU: their positions, and by kernel the number of
/// pieces.
struct cuda_tables {
    std::size_t boxes = 0;
    std::size_t programs = 0;
    std::size_t pieces[unit_kernel::count] = {};
    std::size_t counts[unit_kernel::count] = {};
    std::shared_ptr<std::byte[]> memory = nullptr;
};

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
        check(reshard_cuda_allocate_host(number_, bytes + 1, &memory),
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
        check(problem, "an allocation");
        return {static_cast<std::byte*>(memory), reshard_cuda_free};
    }

    bool can_use(void const* host) const { return reshard_cuda_can_use(host) != 0; }

    void run(unit_batch const& batch) {
        cuda_tables tables = list(batch);
        reserve(bytes_.size());
        std::memcpy(on_host_.get(), bytes_.data(), bytes_.size());
        tables.memory = on_gpu_;
        copy(on_gpu_.get(), on_host_.get(), bytes_.size());
        start(tables);
    }

    cuda_tables keep(unit_batch const& batch) {
        cuda_tables tables = list(batch);
        tables.memory = allocate(bytes_.size());
        write(tables.memory.get(), bytes_.data(), bytes_.size());
        return tables;
    }

    void start(cuda_tables const& tables) const {
        std::byte* const at = tables.memory.get();
        for (std::size_t kernel = 0; kernel < unit_kernel::count; ++kernel)
            if (std::size_t const count = tables.counts[kernel]; count > 0)
                check(reshard_cuda_launch(number_, stream_, kernel, count, at + tables.boxes,
                                          at + tables.programs, at + tables.pieces[kernel]),
                      "a kernel");
    }

    void wait() const { check(reshard_cuda_wait(number_, stream_), "a copy"); }

    bool is_captured() const { return reshard_cuda_is_captured(number_, stream_) != 0; }

private:
    /// \throws error with errc::limit_exceeded if the GPU has not enough free memory, else with
    ///         errc::io
    void check(int problem, char const* work) const {
        if (problem == cuda_capture_unsupported)
            fail(errc::unsupported, space(), ": a stream is being captured, which excludes ", work,
                 ": capture a prepared job of solo() that has run twice, whose tensors are all on "
                 "this GPU");
        if (problem != 0)
            fail(problem == cuda_out_of_memory ? errc::limit_exceeded : errc::io, space(), ": ",
                 work, " failed: ", reshard_cuda_error_text(problem));
    }

    std::shared_ptr<std::byte[]> allocate(std::size_t bytes) const {
        void* memory = nullptr;
        check(reshard_cuda_allocate(number_, bytes, &memory), "an allocation");
        return {static_cast<std::byte*>(memory), reshard_cuda_free};
    }

    /// Makes the tables of a batch in `bytes_`.
    cuda_tables list(unit_batch const& batch) {
        bytes_.clear();
        cuda_tables tables{.boxes = put(batch.boxes()), .programs = put(batch.programs())};
        for (std::size_t kernel = 0; kernel < unit_kernel::count; ++kernel) {
            tables.pieces[kernel] = put(batch.pieces(kernel));
            tables.counts[kernel] = batch.pieces(kernel).size();
        }
        return tables;
    }

    /// Appends a table at a multiple of 16 bytes, and returns its position.
    template <class T>
    std::size_t put(vector<T> const& table) {
        std::size_t const position = bytes_.size();
        bytes_.resize(position + (table.size() * sizeof(T) + 15) / 16 * 16);
        if (!table.empty())
            std::memcpy(bytes_.data() + position, table.data(), table.size() * sizeof(T));
        return position;
    }

    void copy(void* to, void const* from, std::size_t bytes) const {
        check(reshard_cuda_copy(number_, stream_, to, from, bytes), "a copy");
    }

    void move(void* to, void const* from, std::size_t bytes) const {
        copy(to, from, bytes);
        wait();
    }

    void reserve(std::size_t bytes) {
        if (bytes <= reserved_)
            return;
        on_host_ = host_memory(2 * bytes);
        on_gpu_ = allocate(2 * bytes);
        reserved_ = 2 * bytes;
    }

    int number_;
    CUstream_st* stream_;
    std::optional<bool> messages_on_gpu_;
    vector<std::byte> bytes_; ///< of tables
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
