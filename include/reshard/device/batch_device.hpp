// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_BATCH_DEVICE_HPP
#define RESHARD_DEVICE_BATCH_DEVICE_HPP

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/device/staged_device.hpp>
#include <reshard/device/unit_batch.hpp>

#include <boost/assert.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

/// \file
/// A device that copies many boxes in one launch of a kernel.

namespace reshard::detail {

/// A device that collects copies, and makes them in `submit` or `wait`: all copies of a kernel in
/// one launch.
///
/// Kernels read and write pinned host memory themselves. Elements of other host memory pass through
/// a pinned buffer. Copies that kernels do not support are made by a `staged_device`.
///
/// \tparam Backend the functions of the device:
///         - `space()`, its memory
///         - `read(host, memory, bytes)` and `write(memory, host, bytes)`, complete at return
///         - `host_memory(bytes)`, pinned, as `device::host_memory`
///         - `message_memory(bytes, mpi_reads_it)`, as `device::message_memory`
///         - `can_use(address)`, whether kernels can use that address of host memory
///         - `run(batch)`, launches the kernels of a `unit_batch`; `wait` is called before the next
///           one
///         - `keep(batch)`, returns the tables of a batch in the device's memory, or throws
///           errc::limit_exceeded if it has no room
///         - `start(tables)`, launches the kernels of such tables, any number of times
///         - `wait()`, until all launched kernels are complete
///         - `is_captured()`, whether launches are only noted, so that nobody can wait for them
template <class Backend>
class batch_device final : public device {
public:
    /// \param buffer_bytes of the pinned buffer
    explicit batch_device(Backend backend, std::size_t buffer_bytes = std::size_t{1} << 23)
        : backend_(std::move(backend)),
          buffer_bytes_(buffer_bytes),
          staged_(
              backend_.space(),
              [this](void* host, void const* memory, std::size_t bytes) {
                  backend_.read(host, memory, bytes);
              },
              [this](void* memory, void const* host, std::size_t bytes) {
                  backend_.write(memory, host, bytes);
              }) {}
    batch_device(batch_device const&) = delete;
    batch_device& operator=(batch_device const&) = delete;

    memory_space space() const override { return backend_.space(); }

    std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
        return backend_.host_memory(bytes);
    }

    std::shared_ptr<std::byte[]> message_memory(std::size_t bytes, bool mpi_reads_it) override {
        return backend_.message_memory(bytes, mpi_reads_it);
    }

    void copy(device_copy const& work) override {
        if (element_count(work.loop) == 0)
            return;
        bool const is_within = work.reads_device && work.writes_device;
        if ((is_within || can_use_host_end(work)) && batch_.add(work))
            return;
        if (is_recording_)
            has_all_ = false;
        else
            is_within ? staged_.copy(work) : copy_through_buffer(work);
    }

    void submit() override {
        unit_batch const batch = std::exchange(batch_, {});
        if (batch.empty())
            return;
        if (is_running_)
            backend_.wait();
        is_running_ = true; // if the launch fails, too
        backend_.run(batch);
    }

    void wait() override {
        flush();
        staged_.wait();
    }

    /// If the caller captures the stream, its order is enough.
    void finish() override {
        if (batch_.empty() && arrivals_.empty() && backend_.is_captured())
            is_running_ = false;
        else
            wait();
    }

    std::unique_ptr<recording> record(std::function<void()> const& start) override {
        unit_batch recorded = std::exchange(batch_, {});
        is_recording_ = has_all_ = true;
        auto const end = [&] {
            is_recording_ = false;
            std::swap(batch_, recorded);
        };
        try {
            start();
        } catch (...) {
            end();
            throw;
        }
        end();
        if (!has_all_ || recorded.empty())
            return nullptr;
        try {
            return std::make_unique<kept_batch>(*this, backend_.keep(recorded));
        } catch (error const& problem) {
            if (problem.code() != errc::limit_exceeded)
                throw;
            return nullptr; // the device has no room: each run makes the tables
        }
    }

private:
    class kept_batch final : public recording {
    public:
        using tables = decltype(std::declval<Backend&>().keep(std::declval<unit_batch const&>()));

        kept_batch(batch_device& owner, tables kept) : owner_(owner), tables_(std::move(kept)) {}

        void start() override {
            owner_.is_running_ = true; // if the launch fails, too
            owner_.backend_.start(tables_);
        }

    private:
        batch_device& owner_;
        tables tables_;
    };

    /// Whether kernels can use the host end of a copy, from its first to its last byte.
    bool can_use_host_end(device_copy const& work) const {
        bool const is_source = !work.reads_device;
        byte_range const range =
            byte_range_of(work.loop, is_source ? source_of_loop : target_of_loop,
                          is_source ? work.conversion.source : work.conversion.target());
        auto const* const host =
            static_cast<std::byte const*>(is_source ? work.source : work.target);
        return backend_.can_use(host + range.first) &&
               backend_.can_use(host + range.first + range.bytes - 1);
    }

    /// Copies between the device and host memory that kernels cannot use.
    void copy_through_buffer(device_copy const& work) {
        if (bits(work.conversion.source) < 8 || bits(work.conversion.target()) < 8 ||
            work.conversion.chain.dequantizes() ||
            (is_complex(work.conversion.source) && !work.conversion.chain.empty()))
            return staged_.copy(work);
        if (!buffer_)
            buffer_ = backend_.host_memory(buffer_bytes_);
        // Of the elements as the device has them: the processor converts nothing.
        data_type const dtype =
            work.reads_device ? work.conversion.target() : work.conversion.source;
        auto const most = static_cast<index_t>(buffer_bytes_) / 2;
        cut_in_halves(
            work.loop, source_of_loop,
            [&](affine_copy const& part) { return byte_count(element_count(part), dtype) <= most; },
            [&](affine_copy const& part) { copy_part(work, part, dtype); });
    }

    void copy_part(device_copy const& work, affine_copy const& part, data_type dtype) {
        auto const bytes = static_cast<std::size_t>(byte_count(element_count(part), dtype));
        if (used_ + bytes > buffer_bytes_)
            flush();
        std::byte* const dense = buffer_.get() + used_;
        used_ += (bytes + 63) / 64 * 64;
        index_vector const strides = row_major_strides(part.extent);
        device_copy moved = work;
        moved.loop = part;
        if (work.reads_device) {
            moved.target = dense;
            moved.loop.target_offset = 0;
            moved.loop.target_strides = strides;
            arrivals_.push_back({{part.extent, 0, strides, part.target_offset, part.target_strides},
                                 {dtype},
                                 dense,
                                 work.target,
                                 false,
                                 false});
        } else {
            copy_elements({part.extent, part.source_offset, part.source_strides, 0, strides},
                          {dtype}, work.source, dense);
            moved.source = dense;
            moved.loop.source_offset = 0;
            moved.loop.source_strides = strides;
        }
        moved.loop = fuse(moved.loop);
        BOOST_VERIFY(batch_.add(moved));
    }

    /// Runs the batch, then copies from the buffer to host memory.
    void flush() {
        vector<device_copy> const arrivals = std::exchange(arrivals_, {});
        used_ = 0;
        if (is_running_ || !batch_.empty() || backend_.is_captured()) // then the wait is an error
            run_and_wait(std::array{&backend_}, [&] { submit(); });
        is_running_ = false;
        for (device_copy const& arrival : arrivals)
            copy_elements(arrival.loop, arrival.conversion, arrival.source, arrival.target);
    }

    Backend backend_;
    std::size_t buffer_bytes_;
    staged_device staged_;
    unit_batch batch_;
    vector<device_copy> arrivals_; ///< from the buffer to host memory
    std::shared_ptr<std::byte[]> buffer_;
    std::size_t used_ = 0;    ///< bytes of the buffer
    bool is_running_ = false; ///< kernels were launched that nobody has waited for
    bool is_recording_ = false;
    bool has_all_ = false; ///< all copies since `record` are in the batch
};

} // namespace reshard::detail

#endif
