// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_IMPL_STAGED_DEVICE_IPP
#define RESHARD_DEVICE_IMPL_STAGED_DEVICE_IPP

#include <reshard/device/staged_device.hpp>

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <cstdint>
#include <utility>

namespace reshard {

RESHARD_DECL staged_device::staged_device(memory_space memory, read_function read,
                                          write_function write, std::function<void()> finish,
                                          std::size_t staging_bytes)
    : space_(memory),
      read_(std::move(read)),
      write_(std::move(write)),
      finish_(std::move(finish)),
      staging_bytes_(staging_bytes) {
    if (memory.is_host() || !read_ || !write_)
        fail(errc::usage, "a staged device of ", memory,
             " needs memory that is not the host's, and two functions that read and write it");
}

RESHARD_DECL void staged_device::copy(device_copy const& work) {
    using namespace detail;
    auto const most = static_cast<index_t>(staging_bytes_);
    data_type const source = work.conversion.source, target = work.conversion.target();
    auto const copy_nonempty = [&](affine_copy const& part) {
        if (element_count(part) > 0)
            copy_part(work, part);
    };
    auto const cut_by_target = [&](affine_copy const& part) {
        if (!work.writes_device || bits(target) >= 8)
            return copy_nonempty(part);
        cut_in_halves(
            part, target_of_loop,
            [&](affine_copy const& half) {
                return byte_range_of(half, target_of_loop, target).bytes <= most;
            },
            copy_nonempty);
    };
    cut_in_halves(
        work.loop, source_of_loop,
        [&](affine_copy const& part) {
            return (!work.reads_device ||
                    byte_range_of(part, source_of_loop, source).bytes <= most) &&
                   byte_count(element_count(part), target) <= most;
        },
        cut_by_target);
}

RESHARD_DECL void staged_device::copy_part(device_copy const& work,
                                           detail::affine_copy const& part) {
    using namespace detail;
    data_type const dtype = work.conversion.target();
    affine_copy loop = part;
    element_conversion conversion = work.conversion;
    void const* source = work.source;
    void* target = work.target;
    vector<std::byte> read, written;
    if (work.reads_device) {
        byte_range const range = byte_range_of(part, source_of_loop, conversion.source);
        read.resize(static_cast<std::size_t>(range.bytes));
        read_(read.data(), static_cast<std::byte const*>(source) + range.first, read.size());
        loop.source_offset = range.offset;
        // The processor finds scales by the distance to their first element.
        conversion.first += reinterpret_cast<std::uintptr_t>(read.data()) -
                            reinterpret_cast<std::uintptr_t>(source) -
                            static_cast<std::uintptr_t>(range.first);
        source = read.data();
    }
    if (!work.writes_device)
        return copy_elements(loop, conversion, source, target);
    if (bits(dtype) < 8) {
        byte_range const range = byte_range_of(part, target_of_loop, dtype);
        written.resize(static_cast<std::size_t>(range.bytes));
        std::byte* const memory = static_cast<std::byte*>(target) + range.first;
        wait(); // an earlier part may share a byte
        read_(written.data(), memory, written.size());
        loop.target_offset = range.offset;
        copy_elements(loop, conversion, source, written.data());
        return write_(memory, written.data(), written.size());
    }
    written.resize(static_cast<std::size_t>(byte_count(element_count(part), dtype)));
    loop.target_offset = 0;
    loop.target_strides = row_major_strides(loop.extent);
    copy_elements(loop, conversion, source, written.data());
    write_runs(work, part, written.data());
}

RESHARD_DECL void staged_device::write_runs(device_copy const& work,
                                            detail::affine_copy const& part,
                                            std::byte const* dense) {
    using namespace detail;
    index_t const size = bits(work.conversion.target()) / 8;
    affine_copy runs{part.extent, 0, row_major_strides(part.extent), part.target_offset,
                     part.target_strides};
    runs = fuse(runs);
    std::size_t const last = runs.ndim();
    bool const has_runs =
        last > 0 && runs.source_strides[last - 1] == 1 && runs.target_strides[last - 1] == 1;
    index_t const run = has_runs ? runs.extent[last - 1] : 1;
    for_each_place(
        runs, has_runs ? last - 1 : last,
        place_visitor([&, bytes = static_cast<std::size_t>(run * size)](index_t from, index_t to) {
            write_(static_cast<std::byte*>(work.target) + to * size, dense + from * size, bytes);
        }));
}

} // namespace reshard

#endif
