// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_DEVICE_MEMORY_HPP
#define RESHARD_TEST_SUPPORT_DEVICE_MEMORY_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/error.hpp>
#include <reshard/device/device.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>
#include <reshard/testing/fake_device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// \file
/// Tensors in host memory, again in the memory of fake devices.

namespace reshard::test {

using namespace reshard::detail;

/// The arrays of a state dict on devices. Array `i` is on device `i % (devices + 1)` of the list,
/// or stays in host memory if that is the number of devices and `mixes` is set.
template <class View>
class device_memory {
public:
    device_memory(basic_state_dict<View> const& tensors,
                  std::vector<testing::fake_device*> const& devices, bool mixes, std::size_t first)
        : tensors_(tensors) {
        for (auto const& [descriptor, tensor] : tensors)
            if (address_range const bytes = addresses(tensor); !bytes.empty())
                arrays_.push_back({bytes});
        join();
        std::size_t const ways = devices.size() + mixes;
        for (std::size_t i = 0; ways > 0 && i < arrays_.size(); ++i)
            if (std::size_t const way = (i + first) % ways; way < devices.size())
                put(arrays_[i], *devices[way]);
        store();
    }
    device_memory(device_memory const&) = delete;
    device_memory& operator=(device_memory const&) = delete;
    ~device_memory() {
        for (array const& held : arrays_)
            if (held.device)
                held.device->deallocate(held.memory);
    }

    /// The same shards on the devices.
    basic_state_dict<View> shards() const {
        basic_state_dict<View> result;
        for (auto const& [descriptor, tensor] : tensors_) {
            View moved = tensor;
            auto const at = reinterpret_cast<std::uintptr_t>(tensor.data);
            for (array const& held : arrays_)
                if (held.device && held.bytes.contains(addresses(tensor)) &&
                    !addresses(tensor).empty()) {
                    moved.data = static_cast<std::byte*>(held.memory) +
                                 static_cast<std::ptrdiff_t>(at - held.bytes.begin);
                    moved.memory = held.device->space();
                }
            result.add(descriptor, moved);
        }
        return result;
    }

    /// Copies all bytes from host memory again.
    void store() const {
        for (array const& held : arrays_)
            if (held.device)
                held.device->write(held.memory, reinterpret_cast<void const*>(held.bytes.begin),
                                   held.bytes.bytes());
    }

    /// Copies all bytes back to host memory.
    void fetch() const {
        for (array const& held : arrays_)
            if (held.device)
                held.device->read(reinterpret_cast<void*>(held.bytes.begin), held.memory,
                                  held.bytes.bytes());
    }

private:
    struct array {
        address_range bytes;
        testing::fake_device* device = nullptr;
        void* memory = nullptr;
    };

    /// Joins ranges that overlap: blocks of one array, tied tensors.
    void join() {
        std::sort(arrays_.begin(), arrays_.end(),
                  [](array const& a, array const& b) { return a.bytes.begin < b.bytes.begin; });
        std::vector<array> joined;
        for (array const& next : arrays_)
            if (!joined.empty() && next.bytes.begin < joined.back().bytes.end)
                joined.back().bytes.end = std::max(joined.back().bytes.end, next.bytes.end);
            else
                joined.push_back(next);
        arrays_ = joined;
    }

    static void put(array& held, testing::fake_device& device) {
        held.device = &device;
        held.memory = device.allocate(held.bytes.bytes());
    }

    basic_state_dict<View> tensors_;
    std::vector<array> arrays_;
};

/// The devices as options take them. They stay the caller's.
inline device_list listed(std::vector<testing::fake_device*> const& devices) {
    device_list list;
    for (testing::fake_device* const device : devices)
        list.push_back(std::shared_ptr<reshard::device>(std::shared_ptr<void>(), device));
    return list;
}

/// A device that records copies, and counts its recordings.
class recording_device final : public device {
public:
    explicit recording_device(device& next) : next_(next) {}
    memory_space space() const override { return next_.space(); }
    void copy(device_copy const& work) override {
        recorded_ ? recorded_->push_back(work) : next_.copy(work);
    }
    void wait() override { next_.wait(); }
    std::shared_ptr<std::byte[]> message_memory(std::size_t bytes, bool mpi_reads_it) override {
        return next_.message_memory(bytes, mpi_reads_it);
    }
    std::unique_ptr<recording> record(std::function<void()> const& start) override {
        auto kept = std::make_unique<kept_copies>(next_);
        recorded_ = &kept->copies;
        start();
        recorded_ = nullptr;
        ++recordings;
        return kept;
    }

    std::int64_t recordings = 0;

private:
    struct kept_copies final : recording {
        explicit kept_copies(device& of) : owner(of) {}
        void start() override {
            for (device_copy const& work : copies)
                owner.copy(work);
        }

        device& owner;
        vector<device_copy> copies;
    };

    device& next_;
    vector<device_copy>* recorded_ = nullptr; ///< null if copies are made
};

/// A device whose copies fail while `fails` is set.
class failing_device final : public device {
public:
    explicit failing_device(device& next) : next_(next) {}
    memory_space space() const override { return next_.space(); }
    void copy(device_copy const& work) override { next_.copy(work); }
    void wait() override {
        next_.wait();
        if (fails)
            fail(errc::io, "the device has failed");
    }

    bool fails = false;

private:
    device& next_;
};

/// Which arrays of a call are on its device, as `device_memory` takes it.
struct device_mix {
    bool mixes_sources = false;
    bool mixes_targets = false;
    std::size_t first = 0;
};

/// Redistributes tensors of the host by way of a fake device.
void redistribute_on_device(auto const& world, const_state_dict const& have, state_dict const& want,
                            any_program const& program, device_mix const& mix) {
    testing::fake_device fake(std::size_t{1} << 20);
    device_memory<const_tensor_view> const sources(have, {&fake}, mix.mixes_sources, mix.first);
    device_memory<tensor_view> const targets(want, {&fake}, mix.mixes_targets, 0);
    redistribute(world, sources.shards(), targets.shards(),
                 {.program = program, .devices = listed({&fake})});
    targets.fetch();
}

} // namespace reshard::test

#endif
