// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WINDOW_READS_IPP
#define RESHARD_STORAGE_IMPL_WINDOW_READS_IPP

#include <reshard/storage/window_reads.hpp>

#include <reshard/copy/cut_loop.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The elements that some parts read.
inline loop_span span_of(std::span<window_part const> parts) {
    loop_span all = span_of(parts.front().loop, source_of_loop);
    for (window_part const& part : parts.subspan(1)) {
        loop_span const span = span_of(part.loop, source_of_loop);
        all = {std::min(all.first, span.first), std::max(all.end, span.end)};
    }
    return all;
}

/// Non-temporal where all loops together fill more than caches hold: beside a direct read into
/// their memory this saves the reading of what is overwritten.
inline stores stores_of(std::vector<stored_loop> const& loops) {
    index_t bytes = 0;
    for (stored_loop const& one : loops)
        bytes += byte_count(element_count(one.loop), one.conversion.source);
    return bytes >= streaming_threshold ? stores::streaming : stores::by_size;
}

RESHARD_DECL window_reads::window_reads(checkpoint_metadata const& from,
                                        std::vector<stored_loop> loops)
    : from_(from), loops_(std::move(loops)), how_(stores_of(loops_)) {
    std::stable_sort(loops_.begin(), loops_.end(), [&](stored_loop const& a, stored_loop const& b) {
        return is_before(a.place, b.place);
    });
}

RESHARD_DECL bool window_reads::is_before(shard_place a, shard_place b) const {
    auto const place_in_files = [&](shard_place place) {
        checkpoint_shard const& shard = from_.tensors[place.tensor].shards[place.shard];
        return std::tuple(shard.file, shard.begin, place.tensor, place.shard);
    };
    return place_in_files(a) < place_in_files(b);
}

RESHARD_DECL bool window_reads::is_before(window_run const& a, window_run const& b) const {
    return a.place == b.place ? a.number < b.number : is_before(a.place, b.place);
}

RESHARD_DECL std::size_t window_reads::hold(std::size_t first) {
    shard_place const place = loops_[first].place;
    checkpoint_tensor const& tensor = from_.tensors[place.tensor];
    std::uint64_t const chunk = from_.files[tensor.shards[place.shard].file].chunk_bytes;
    index_t const window = window_of(tensor.dtype, chunk, window_bytes).elements;
    held_ = place;
    parts_.clear();
    std::size_t i = first;
    for (; i < loops_.size() && loops_[i].place == place; ++i)
        cut_to_windows(loops_[i].loop, source_of_loop, window,
                       [&](index_t number, affine_copy const& part) {
                           parts_.push_back({number, i, part});
                       });
    std::stable_sort(parts_.begin(), parts_.end(), [](window_part const& a, window_part const& b) {
        return a.window < b.window;
    });
    return i;
}

RESHARD_DECL void window_reads::hold(shard_place place) {
    if (held_ == place)
        return;
    auto const first =
        std::partition_point(loops_.begin(), loops_.end(),
                             [&](stored_loop const& loop) { return is_before(loop.place, place); });
    held_.reset();
    parts_.clear();
    if (first != loops_.end() && first->place == place)
        hold(static_cast<std::size_t>(first - loops_.begin()));
}

RESHARD_DECL window_run window_reads::window_at(std::size_t first, std::size_t last) const {
    data_type const dtype = loops_[parts_[first].number].conversion.source;
    return {*held_, parts_[first].window,
            whole_bytes(span_of(std::span(parts_).subspan(first, last - first)), dtype).bytes};
}

RESHARD_DECL void window_reads::run(window_run const& window, byte_run held,
                                    std::byte const* bytes) {
    hold(window.place);
    auto const [first, last] = std::equal_range(
        parts_.begin(), parts_.end(), window_part{window.number, 0, {}},
        [](window_part const& a, window_part const& b) { return a.window < b.window; });
    for (auto part = first; part != last; ++part) {
        stored_loop const& whole = loops_[part->number];
        affine_copy loop = part->loop;
        loop.source_offset -= static_cast<index_t>(held.begin) * 8 / bits(whole.conversion.source);
        detail::run(prepare(loop, whole.conversion, how_), bytes, whole.target);
    }
}

RESHARD_DECL std::vector<window_run> windows_without(window_reads const& reads,
                                                     std::vector<window_run> const& windows,
                                                     std::vector<window_run> const& others) {
    std::vector<window_run> left;
    std::set_difference(
        windows.begin(), windows.end(), others.begin(), others.end(), std::back_inserter(left),
        [&](window_run const& a, window_run const& b) { return reads.is_before(a, b); });
    return left;
}

RESHARD_DECL void run(chunk_reader& reader, window_reads& reads) {
    reads.for_each_window([&](window_run const& window) {
        reads.run(window, window.bytes, reader.read(window.place, window.bytes));
    });
}

RESHARD_DECL void run(chunk_reader& reader, std::vector<stored_loop> loops) {
    window_reads reads(reader.metadata(), std::move(loops));
    run(reader, reads);
}

} // namespace reshard::detail

#endif
