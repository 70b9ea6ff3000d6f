// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WINDOW_READS_IPP
#define RESHARD_STORAGE_IMPL_WINDOW_READS_IPP

#include <reshard/storage/window_reads.hpp>

#include <reshard/copy/cut_loop.hpp>
#include <reshard/device/device.hpp>
#include <reshard/storage/stored_tensor.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The span of the elements that `parts` read.
inline loop_span span_of(std::span<window_part const> parts) {
    loop_span full_span = span_of(parts.front().loop, source_of_loop);
    for (window_part const& part : parts.subspan(1)) {
        loop_span const span = span_of(part.loop, source_of_loop);
        full_span = {std::min(full_span.first, span.first), std::max(full_span.end, span.end)};
    }
    return full_span;
}

/// Non-temporal stores if all loops together write more bytes than the caches hold. Such stores do
/// not read the overwritten bytes.
inline stores stores_of(vector<stored_loop> const& loops) {
    index_t bytes = 0;
    for (stored_loop const& loop : loops)
        bytes += byte_count(element_count(loop.loop), loop.conversion.source);
    return bytes >= streaming_threshold ? stores::streaming : stores::by_size;
}

RESHARD_DECL vector<stored_loop> loops_of(bound_plan const& bound) {
    vector<stored_loop> loops;
    for (transfer const& t : bound.whole.transfers)
        if (t.source_key != zero_source)
            loops.push_back({{bound.problem.sources[t.source_key].tensor, t.source_shard},
                             loop_of(bound, t),
                             conversion_of(bound, t),
                             target_end(bound, t).data});
    return loops;
}

RESHARD_DECL window_reads::window_reads(checkpoint_metadata const& from, vector<stored_loop> loops)
    : from_(from), loops_(std::move(loops)), write_mode_(stores_of(loops_)) {
    std::stable_sort(loops_.begin(), loops_.end(), [&](stored_loop const& a, stored_loop const& b) {
        return is_before(a.position, b.position);
    });
}

RESHARD_DECL bool window_reads::is_before(shard_place a, shard_place b) const {
    auto const place_in_files = [&](shard_place shard_place) {
        checkpoint_shard const& shard = from_.tensors[shard_place.tensor].shards[shard_place.shard];
        return std::tuple(shard.file, shard.begin, shard_place.tensor, shard_place.shard);
    };
    return place_in_files(a) < place_in_files(b);
}

RESHARD_DECL bool window_reads::is_before(window_run const& a, window_run const& b) const {
    return a.position == b.position ? a.number < b.number : is_before(a.position, b.position);
}

RESHARD_DECL std::size_t window_reads::hold(std::size_t first) {
    shard_place const shard_place = loops_[first].position;
    checkpoint_tensor const& tensor = from_.tensors[shard_place.tensor];
    std::uint64_t const chunk = from_.files[tensor.shards[shard_place.shard].file].chunk_bytes;
    index_t const window = window_of(tensor.dtype, chunk, window_bytes).elements;
    held_ = shard_place;
    parts_.clear();
    std::size_t i = first;
    for (; i < loops_.size() && loops_[i].position == shard_place; ++i)
        cut_to_windows(loops_[i].loop, source_of_loop, window,
                       [&](index_t number, affine_copy const& part) {
                           parts_.push_back({number, i, part});
                       });
    std::stable_sort(parts_.begin(), parts_.end(), [](window_part const& a, window_part const& b) {
        return a.window < b.window;
    });
    return i;
}

RESHARD_DECL void window_reads::hold(shard_place shard_place) {
    if (held_ == shard_place)
        return;
    auto const first =
        std::partition_point(loops_.begin(), loops_.end(), [&](stored_loop const& loop) {
            return is_before(loop.position, shard_place);
        });
    held_.reset();
    parts_.clear();
    if (first != loops_.end() && first->position == shard_place)
        hold(static_cast<std::size_t>(first - loops_.begin()));
}

RESHARD_DECL window_run window_reads::window_at(std::size_t first, std::size_t last) const {
    data_type const dtype = loops_[parts_[first].number].conversion.source;
    return {*held_, parts_[first].window,
            whole_bytes(span_of(std::span(parts_).subspan(first, last - first)), dtype).bytes};
}

RESHARD_DECL void window_reads::wait() {
    vector<device*> const devices = std::exchange(working_, {});
    run_and_wait(devices, [] {});
}

RESHARD_DECL void window_reads::run(window_run const& window, byte_run run,
                                    std::byte const* bytes) {
    wait();
    run_and_wait(working_, [&] { start(window, run, bytes); });
    working_.clear();
}

RESHARD_DECL void window_reads::read_and_start(chunk_reader& reader, window_run const& window) {
    std::byte const* const bytes = reader.read(window.position, window.bytes);
    wait(); // for the window before
    start(window, window.bytes, bytes);
    if (!reader.keeps_bytes())
        wait();
}

RESHARD_DECL void window_reads::start(window_run const& window, byte_run run,
                                      std::byte const* bytes) {
    hold(window.position);
    auto const [first, last] = std::equal_range(
        parts_.begin(), parts_.end(), window_part{window.number, 0, {}},
        [](window_part const& a, window_part const& b) { return a.window < b.window; });
    for (auto part = first; part != last; ++part) {
        stored_loop const& stored_loop = loops_[part->number];
        affine_copy loop = part->loop;
        loop.source_offset -=
            static_cast<index_t>(run.begin) * 8 / bits(stored_loop.conversion.source);
        element_conversion conversion = stored_loop.conversion;
        conversion.first =
            reinterpret_cast<std::uintptr_t>(bytes) - static_cast<std::uintptr_t>(run.begin);
        device* const target = conversion.devices.target;
        if (target && std::find(working_.begin(), working_.end(), target) == working_.end())
            working_.push_back(target);
        detail::run(prepare(loop, conversion, write_mode_), bytes, stored_loop.target);
    }
    for (device* const device : working_)
        device->submit();
}

RESHARD_DECL vector<window_run> windows_without(window_reads const& reads,
                                                vector<window_run> const& windows,
                                                vector<window_run> const& others) {
    vector<window_run> left;
    std::set_difference(
        windows.begin(), windows.end(), others.begin(), others.end(), std::back_inserter(left),
        [&](window_run const& a, window_run const& b) { return reads.is_before(a, b); });
    return left;
}

RESHARD_DECL void run(chunk_reader& reader, window_reads& reads) {
    reads.read(reader, [&](auto const& read) { reads.for_each_window(read); });
}

RESHARD_DECL void run(chunk_reader& reader, vector<stored_loop> loops) {
    window_reads reads(reader.metadata(), std::move(loops));
    run(reader, reads);
}

RESHARD_DECL stored_scales::stored_scales(checkpoint const& source, mapping const& program,
                                          bool verify)
    : scale_cache(dequantized_sources(program)), source_(source), reader_(source, verify) {}

RESHARD_DECL void stored_scales::trim() {
    if (bytes_ <= most_bytes)
        return;
    clear();
    values_.clear();
    bytes_ = 0;
}

RESHARD_DECL scale_values const& stored_scales::values_of(bound_plan const& bound,
                                                          dequantized_source const& from) {
    if (auto const match = values_.find(from.scales); match != values_.end())
        return match->second;
    auto const read_source = [&](key_id id) { return read(bound.problem.sources[id].tensor); };
    scale_values scales = read_source(from.scales);
    for (key_id const number : {from.factor, from.divisor})
        if (number != zero_source)
            scales.multiply(read_source(number), number == from.divisor);
    bytes_ += scales.values.size() * sizeof(float);
    return values_.emplace(from.scales, std::move(scales)).first->second;
}

RESHARD_DECL scale_values stored_scales::read(std::uint32_t tensor) {
    scale_values scales;
    stored_tensor const stored(source_, tensor);
    stored.check_cover();
    data_type const dtype = stored.tensor().dtype;
    scales.region = whole(stored.shape());
    vector<std::byte> bytes(
        static_cast<std::size_t>(byte_count(element_count(stored.shape()), dtype)));
    index_vector const dense = row_major_strides(stored.shape());
    vector<stored_loop> loops;
    for (std::size_t i = 0; i < stored.boxes().size(); ++i)
        for_each_block(stored.boxes()[i], stored.cycles(i), [&](box const& block) {
            memory_place const at = stored.place(i, block.offset);
            index_t const first = ravel_index(block.offset, stored.shape());
            loops.push_back(
                {stored.stored_at(i),
                 {block.shape, at.offset, strides_in_block(at.strides, block.ndim()), first, dense},
                 {dtype, {}},
                 bytes.data()});
        });
    run(reader_, std::move(loops));
    scales.assign(bytes.data(), dtype);
    return scales;
}

} // namespace reshard::detail

#endif
