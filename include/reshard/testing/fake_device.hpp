// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TESTING_FAKE_DEVICE_HPP
#define RESHARD_TESTING_FAKE_DEVICE_HPP

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/os/shared_segment.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

/// \file
/// A device without hardware, for tests. A program that treats its memory like host memory fails.

namespace reshard::testing {

/// When a fake device makes its copies, and in which order.
enum class fake_order {
    at_once,  ///< in `copy`
    reversed, ///< in `wait`, the last one first
    shuffled, ///< in `wait`, in a random order, the same in each run of a program
};

/// Memory that the processor and system calls cannot use, and copies that are made late.
///
/// The memory is mapped twice. The addresses that callers see allow no access, so the processor
/// gets SIGSEGV there, in any thread, and a system call EFAULT. Copies use the other mapping.
///
/// `copy` and `wait` throw an error with errc::usage for a copy that the interface does not allow:
/// an end that is not in one allocation of this device, a host end in a device's memory, and
/// (except with `at_once`) elements that two copies write between two waits, or that one writes and
/// another one reads.
class fake_device final : public device {
public:
    /// \param capacity the number of bytes of all allocations together
    explicit fake_device(std::size_t capacity, int number = 0,
                         fake_order order = fake_order::shuffled)
        : number_(number), order_(order), capacity_(capacity) {
        int const file = reshard::detail::system_calls().create_unnamed("fake_device");
        if (file < 0 || ::ftruncate(file, static_cast<::off_t>(capacity)) != 0)
            fail(errc::io, "cannot make a fake device of ", capacity, " bytes");
        seen_ = map(file, PROT_NONE);
        own_ = map(file, PROT_READ | PROT_WRITE);
        ::close(file);
    }
    fake_device(fake_device const&) = delete;
    fake_device& operator=(fake_device const&) = delete;
    ~fake_device() override {
        ::munmap(seen_, capacity_);
        ::munmap(own_, capacity_);
    }

    /// A new address that is a multiple of 64. Freed memory is not used again while other
    /// allocations exist.
    void* allocate(std::size_t bytes) {
        std::size_t const begin = (used_ + 63) / 64 * 64;
        if (begin + bytes > capacity_)
            fail(errc::limit_exceeded, "a fake device of ", capacity_, " bytes has no ", bytes,
                 " bytes left");
        used_ = begin + bytes;
        allocations_[begin] = bytes;
        return seen_ + begin;
    }

    /// \throws error with errc::usage for an address that `allocate` did not return, or that was
    ///         freed
    void deallocate(void* memory) {
        if (allocations_.erase(offset_of(memory)) == 0)
            fail(errc::usage, "fake device ", number_, ": no allocation begins at this address");
        if (allocations_.empty())
            used_ = 0;
    }

    /// Copies bytes to the device, or from it, at once. For tests that prepare and compare tensors.
    void write(void* memory, void const* host, std::size_t bytes) {
        std::copy_n(static_cast<std::byte const*>(host), bytes, own(memory, bytes));
    }
    void read(void* host, void const* memory, std::size_t bytes) {
        std::copy_n(own(memory, bytes), bytes, static_cast<std::byte*>(host));
    }

    memory_space space() const override { return {memory_space::device, number_}; }

    /// Whether messages are in the memory of this device, as with an MPI that reads and writes it.
    /// Such jobs end before this object.
    void set_message_memory(bool is_here) { has_messages_ = is_here; }
    /// How often `message_memory` has returned memory.
    std::size_t message_memories() const { return message_memories_; }

    std::shared_ptr<std::byte[]> message_memory(std::size_t bytes, bool) override {
        if (!has_messages_)
            return nullptr;
        ++message_memories_;
        void* const memory = allocate(bytes);
        std::size_t const begin = offset_of(memory);
        messages_[begin] = bytes;
        return {own_ + begin, [this, memory, begin](std::byte*) {
                    messages_.erase(begin);
                    deallocate(memory);
                }};
    }

    void copy(device_copy const& work) override {
        started_ = true;
        if (element_count(work.loop) == 0)
            return;
        check_end(work.source, work.loop, reshard::detail::source_of_loop, work.conversion.source,
                  work.reads_device);
        check_end(work.target, work.loop, reshard::detail::target_of_loop, work.conversion.target(),
                  work.writes_device);
        if (order_ == fake_order::at_once)
            make(work);
        else
            pending_.push_back(work);
    }

    void wait() override {
        vector<device_copy> copies = std::exchange(pending_, {});
        if (order_ == fake_order::reversed)
            std::reverse(copies.begin(), copies.end());
        else
            for (std::size_t left = copies.size(); left > 1; --left)
                std::swap(copies[left - 1], copies[random() % left]);
        check_apart(copies);
        for (device_copy const& work : copies)
            make(work);
    }

    /// Whether `copy` was ever called.
    bool was_used() const { return started_; }
    /// The number of copies that wait for `wait`.
    std::size_t pending() const { return pending_.size(); }

private:
    std::byte* map(int file, int access) const {
        void* const memory = ::mmap(nullptr, capacity_, access, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED)
            fail(errc::io, "cannot map a fake device of ", capacity_, " bytes");
        return static_cast<std::byte*>(memory);
    }

    bool is_in(std::byte const* mapping, void const* memory) const {
        auto const at = reinterpret_cast<std::uintptr_t>(memory);
        auto const begin = reinterpret_cast<std::uintptr_t>(mapping);
        return at >= begin && at - begin < capacity_;
    }

    /// By offset, the number of bytes.
    using byte_counts = std::map<std::size_t, std::size_t>;

    /// Whether one of the ranges has these bytes.
    static bool has_bytes(byte_counts const& ranges, std::size_t begin, std::size_t bytes) {
        auto const next = ranges.upper_bound(begin);
        return next != ranges.begin() &&
               begin + bytes <= std::prev(next)->first + std::prev(next)->second;
    }

    std::size_t offset_of(void const* memory) const {
        auto const at = reinterpret_cast<std::uintptr_t>(memory);
        std::size_t const in_own = at - reinterpret_cast<std::uintptr_t>(own_);
        if (has_bytes(messages_, in_own, 1))
            return in_own;
        return at - reinterpret_cast<std::uintptr_t>(seen_);
    }

    /// The processor's address of bytes that callers see at `memory`.
    std::byte* own(void const* memory, std::size_t bytes) const {
        check_allocated(offset_of(memory), bytes);
        return own_ + offset_of(memory);
    }

    void check_allocated(std::size_t begin, std::size_t bytes) const {
        if (begin >= capacity_)
            fail(errc::usage, "fake device ", number_,
                 ": an end on the device has an address that is not in its memory; does the tensor "
                 "name the right device?");
        if (!has_bytes(allocations_, begin, bytes))
            fail(errc::usage, "fake device ", number_, ": bytes ", begin, " to ", begin + bytes,
                 " are not in one allocation: they were freed, or exceed it");
    }

    void check_end(void const* memory, reshard::detail::affine_copy const& loop,
                   reshard::detail::loop_side side, data_type dtype, bool is_on_device) const {
        auto const range = byte_range_of(loop, side, dtype);
        auto const* const first = static_cast<std::byte const*>(memory) + range.first;
        if (is_on_device)
            check_allocated(offset_of(memory) + static_cast<std::size_t>(range.first),
                            static_cast<std::size_t>(range.bytes));
        else if (is_in(seen_, first) || is_in(own_, first))
            fail(errc::usage, "fake device ", number_,
                 ": a host end is in its memory; does the tensor name its device?");
    }

    /// By byte: the number of the copy that writes it.
    using byte_writers = std::unordered_map<std::size_t, std::size_t>;

    /// Refuses copies that depend on their order. Compares byte by byte.
    void check_apart(vector<device_copy> const& copies) const {
        if (copies.size() < 2)
            return;
        byte_writers writers;
        for (bool const reads : {false, true})
            for (std::size_t number = 0; number < copies.size(); ++number)
                compare(copies[number], reads, number, writers);
    }

    /// Notes the bytes that a copy writes, or compares those that it reads.
    void compare(device_copy const& work, bool reads, std::size_t number,
                 byte_writers& writers) const {
        auto const& strides = reads ? work.loop.source_strides : work.loop.target_strides;
        index_t const width = bits(reads ? work.conversion.source : work.conversion.target());
        if (!(reads ? work.reads_device : work.writes_device) || width < 8)
            return; // elements below 8 bits share bytes
        std::size_t const base = offset_of(reads ? work.source : work.target);
        index_t const offset = reads ? work.loop.source_offset : work.loop.target_offset;
        for (index_t i = 0; i < element_count(work.loop); ++i) {
            index_t const at =
                (offset + reshard::detail::linear_offset(
                              reshard::detail::unravel_index(i, work.loop.extent), strides)) *
                width / 8;
            std::size_t const byte = base + static_cast<std::size_t>(at);
            auto const writer = reads ? writers.find(byte) : writers.emplace(byte, number).first;
            if (writer != writers.end() && writer->second != number)
                fail(errc::usage, "fake device ", number_, ": byte ", byte,
                     reads ? " is read and written" : " is written twice",
                     " by copies without a wait between them");
        }
    }

    void make(device_copy const& work) {
        reshard::detail::element_conversion conversion = work.conversion;
        void const* source = work.source;
        void* target = work.target;
        if (work.reads_device) {
            check_end(source, work.loop, reshard::detail::source_of_loop, conversion.source, true);
            void const* const seen = std::exchange(source, own_ + offset_of(source));
            conversion.first +=
                reinterpret_cast<std::uintptr_t>(source) - reinterpret_cast<std::uintptr_t>(seen);
        }
        if (work.writes_device) {
            check_end(target, work.loop, reshard::detail::target_of_loop, conversion.target(),
                      true);
            target = own_ + offset_of(target);
        }
        copy_elements(work.loop, conversion, source, target);
    }

    std::uint32_t random() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state_ >> 33);
    }

    int number_;
    fake_order order_;
    std::size_t capacity_;
    std::size_t used_ = 0;
    std::byte* seen_ = nullptr; ///< without access
    std::byte* own_ = nullptr;
    byte_counts allocations_;
    byte_counts messages_; ///< allocations with addresses in the other mapping
    vector<device_copy> pending_;
    bool started_ = false;
    bool has_messages_ = false;
    std::size_t message_memories_ = 0;
    std::uint64_t state_ = 1;
};

} // namespace reshard::testing

#endif
