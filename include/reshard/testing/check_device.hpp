// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TESTING_CHECK_DEVICE_HPP
#define RESHARD_TESTING_CHECK_DEVICE_HPP

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

/// \file
/// Checks the laws of `device`, for any device and any test framework.

namespace reshard::testing {

/// The options of `check_device` for a device: functions that do not use `device::copy`.
struct device_case {
    std::function<void*(std::size_t bytes)> allocate;
    std::function<void(void* memory)> deallocate;
    /// Copy bytes between the device and host memory. They return when the bytes have arrived.
    std::function<void(void* host, void const* memory, std::size_t bytes)> read;
    std::function<void(void* memory, void const* host, std::size_t bytes)> write;
    /// The targets of casts from every type, and the sources of casts to every type.
    vector<data_type> cast_to = {data_type::bf16,   data_type::f16,     data_type::f32,
                                 data_type::f64,    data_type::f8_e4m3, data_type::i32,
                                 data_type::boolean};
};

} // namespace reshard::testing

namespace reshard::testing::detail {

using namespace reshard::detail;

/// A copy to check.
struct checked_copy {
    std::string_view law;
    affine_copy loop;
    element_conversion conversion;
    index_t skew = 0; ///< both memories begin that many bytes after an aligned address
};

/// The largest position on a side, plus one. Positions are not negative.
inline index_t reach_of(affine_copy const& loop, index_vector const& strides, index_t offset) {
    index_t reach = offset + 1;
    for (std::size_t axis = 0; axis < loop.ndim(); ++axis)
        reach += std::max<index_t>(0, (loop.extent[axis] - 1) * strides[axis]);
    return reach;
}

/// Bytes that look random, so that each element differs from most others.
inline vector<std::byte> pattern_bytes(index_t count, std::uint64_t seed) {
    vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (std::byte& each : bytes) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        each = static_cast<std::byte>(seed >> 56);
    }
    return bytes;
}

/// Memory of a device, for one check.
class device_bytes {
public:
    device_bytes(device_case const& functions, vector<std::byte> const& content)
        : functions_(functions), memory_(functions.allocate(content.size() + 1)) {
        functions.write(memory_, content.data(), content.size());
    }
    device_bytes(device_bytes const&) = delete;
    device_bytes& operator=(device_bytes const&) = delete;
    ~device_bytes() { functions_.deallocate(memory_); }

    std::byte* get() const { return static_cast<std::byte*>(memory_); }
    void fetch(vector<std::byte>& content) const {
        functions_.read(content.data(), memory_, content.size());
    }

private:
    device_case const& functions_;
    void* memory_;
};

/// Makes a copy on the device and in host memory, and compares all bytes of the targets.
inline void check_copy(device& checked, device_case const& functions, checked_copy const& of,
                       bool reads_device, bool writes_device) {
    auto const bytes_of = [&](index_vector const& strides, index_t offset, data_type dtype) {
        return byte_count(reach_of(of.loop, strides, offset), dtype) + 1;
    };
    data_type const target_type = of.conversion.target();
    vector<std::byte> source = pattern_bytes(
        bytes_of(of.loop.source_strides, of.loop.source_offset, of.conversion.source), 1);
    vector<std::byte> target =
        pattern_bytes(bytes_of(of.loop.target_strides, of.loop.target_offset, target_type), 2);
    vector<std::byte> expected = target;
    copy_elements(of.loop, of.conversion, source.data() + of.skew, expected.data() + of.skew);
    device_bytes const from(functions, source), to(functions, target);
    element_conversion conversion = of.conversion;
    conversion.devices = reshard::detail::ends_on(reads_device ? &checked : nullptr,
                                                  writes_device ? &checked : nullptr);
    copy_elements(of.loop, conversion, (reads_device ? from.get() : source.data()) + of.skew,
                  (writes_device ? to.get() : target.data()) + of.skew);
    checked.wait();
    if (writes_device)
        to.fetch(target);
    auto const differs = std::mismatch(target.begin(), target.end(), expected.begin()).first;
    if (differs != target.end())
        fail(errc::usage, "check_device: ", of.law, ", ", reads_device ? "device" : "host", " to ",
             writes_device ? "device" : "host", ": extents ", of.loop.extent, ", source strides ",
             of.loop.source_strides, ", target strides ", of.loop.target_strides, ", ",
             of.conversion.source, " to ", target_type, ": byte ", differs - target.begin(), " is ",
             static_cast<int>(*differs), ", but should be ",
             static_cast<int>(expected[static_cast<std::size_t>(differs - target.begin())]));
}

/// Starts many copies, from pinned and other host memory to the device, then from the device, and
/// waits once for each direction.
///
/// \param records whether the device records copies of pinned memory, and makes them twice
inline void check_copies_together(device& checked, device_case const& functions, bool records) {
    constexpr std::size_t count = 100, each = 256;
    vector<std::byte> const host = pattern_bytes(count * each, 3);
    auto const pinned = checked.host_memory(count * each);
    std::copy(host.begin(), host.end(), pinned.get());
    device_bytes const memory(functions, vector<std::byte>(count * each));
    element_conversion conversion{data_type::u8};
    auto const copy_all = [&](auto const& source_of, auto const& target_of) {
        auto const start = [&] {
            for (std::size_t i = 0; i < count; ++i)
                copy_elements({{each}, 0, {1}, 0, {1}}, conversion, source_of(i), target_of(i));
        };
        auto const recording = records ? checked.record(start) : nullptr;
        for (int run = 0; run < (recording ? 2 : 1); ++run) {
            recording ? recording->start() : start();
            checked.submit();
            checked.wait();
        }
    };
    auto const is_pinned = [&](std::size_t i) { return records || i % 2 != 0; };
    auto const on_device = [&](std::size_t i) { return memory.get() + i * each; };
    conversion.devices = ends_on(nullptr, &checked);
    copy_all(
        [&](std::size_t i) {
            return is_pinned(i) ? pinned.get() + i * each : host.data() + i * each;
        },
        on_device);
    vector<std::byte> result(count * each);
    std::fill_n(pinned.get(), count * each, std::byte{0});
    conversion.devices = ends_on(&checked, nullptr);
    copy_all(on_device, [&](std::size_t i) {
        return is_pinned(i) ? pinned.get() + i * each : result.data() + i * each;
    });
    for (std::size_t i = 0; i < count; ++i) {
        std::byte const* const arrived = is_pinned(i) ? pinned.get() : result.data();
        if (!std::equal(arrived + i * each, arrived + (i + 1) * each, host.data() + i * each))
            fail(errc::usage, "check_device: copies that are ", records ? "recorded" : "started",
                 " together are independent: copy ", i, " of ", count, " has other bytes");
    }
}

/// Copies of every kind of loop, without casts.
inline vector<checked_copy> copies_of(data_type dtype) {
    element_conversion const moved{dtype};
    return {
        {"a scalar is copied", {{}, 0, {}, 0, {}}, moved},
        {"nothing is copied", {{0, 3}, 0, {3, 1}, 0, {3, 1}}, moved},
        {"a run is copied", {{1000}, 8, {1}, 16, {1}}, moved},
        {"rows are copied", {{7, 33}, 0, {64, 1}, 8, {40, 1}}, moved},
        {"a matrix is transposed", {{37, 41}, 0, {1, 37}, 0, {41, 1}}, moved},
        {"strided elements are copied", {{9, 5}, 0, {10, 2}, 0, {15, 3}}, moved},
        {"axes are reversed", {{6, 20}, 119, {-20, -1}, 0, {20, 1}}, moved},
        {"axes are permuted", {{5, 6, 7}, 0, {1, 35, 5}, 0, {42, 7, 1}}, moved},
        {"an element is repeated", {{12, 9}, 0, {0, 0}, 8, {16, 1}}, moved},
        {"a large matrix is copied", {{300, 500}, 0, {512, 1}, 0, {500, 1}}, moved},
        {"a matrix at an odd address is transposed", {{9, 70}, 0, {1, 9}, 0, {70, 1}}, moved, 1},
        {"rows at an odd address are copied", {{7, 33}, 0, {64, 1}, 8, {40, 1}}, moved, 1},
    };
}

} // namespace reshard::testing::detail

namespace reshard::testing {

/// Checks that a device copies as the processor does, byte for byte: runs, rows, transposed,
/// strided and reversed loops, elements below 8 bits, casts, within the device and to and from the
/// host. Other bytes keep their values. Copies that are started together are independent.
///
/// \throws error with errc::usage that names the law, the loop and both values; errors of the
///         functions
inline void check_device(device& checked, device_case const& functions) {
    if (checked.space().is_host())
        fail(errc::usage, "check_device: space() is the host's memory");
    if (!functions.allocate || !functions.deallocate || !functions.read || !functions.write)
        fail(errc::usage, "check_device: give functions that allocate, deallocate, read and write");
    vector<detail::checked_copy> cases;
    for (data_type const dtype : {data_type::f4, data_type::f6_e2m3, data_type::u8, data_type::bf16,
                                  data_type::f32, data_type::c64, data_type::c128})
        for (detail::checked_copy const& each : detail::copies_of(dtype))
            cases.push_back(each);
    for (std::size_t i = 0; i < reshard::detail::data_type_count; ++i)
        for (data_type const other : functions.cast_to) {
            auto const dtype = static_cast<data_type>(i);
            for (auto const& [from, to] : {std::pair(dtype, other), std::pair(other, dtype)})
                if (from != to && !reshard::detail::is_complex(from) &&
                    !reshard::detail::is_complex(to)) {
                    auto const cast =
                        reshard::detail::casting(from, reshard::detail::then({}, from, to));
                    cases.push_back({"elements are cast", {{5, 40}, 0, {64, 1}, 8, {40, 1}}, cast});
                    for (index_t const skew : {0, 1})
                        cases.push_back({"transposed elements are cast",
                                         {{9, 10}, 0, {1, 9}, 0, {10, 1}},
                                         cast,
                                         skew});
                }
        }
    for (detail::checked_copy const& each : cases)
        for (int const way : {1, 2, 3})
            detail::check_copy(checked, functions, each, (way & 1) != 0, (way & 2) != 0);
    for (bool const records : {false, true})
        detail::check_copies_together(checked, functions, records);
}

} // namespace reshard::testing

#endif
