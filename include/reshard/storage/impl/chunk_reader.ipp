// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHUNK_READER_IPP
#define RESHARD_STORAGE_IMPL_CHUNK_READER_IPP

#include <reshard/storage/chunk_reader.hpp>

#include <reshard/device/device.hpp>
#include <reshard/format/delta_files.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

namespace reshard::detail {

/// The bytes to read at once. They are still in a near cache when their digest is taken.
inline constexpr std::uint64_t bytes_at_once = std::uint64_t{1} << 18;

RESHARD_DECL std::string describe(bad_chunk const& chunk) {
    return words(chunk.file, ": tensor '", chunk.key, "': bytes ", chunk.begin, " to ", chunk.end,
                 " of the file",
                 chunk.stored_in.empty() ? "" : ", which are in " + chunk.stored_in + ",",
                 " were changed: their digest is ", hex_text(chunk.found), ", but was ",
                 hex_text(chunk.expected), " when they were saved; load another checkpoint");
}

/// The files that contain bytes of a file of a delta; empty for other checkpoints.
inline std::string places_of(checkpoint const& source, holder_t file, std::uint64_t begin,
                             std::uint64_t end) {
    std::string text;
    if (auto const delta = std::dynamic_pointer_cast<delta_files const>(source.files()))
        for (std::string const& name :
             delta->files_with(source.metadata().files[file].path, begin, end))
            text += (text.empty() ? "" : " and ") + name;
    return text;
}

RESHARD_DECL shard_window window_of(data_type dtype, std::uint64_t chunk_size,
                                    std::uint64_t wanted_bytes) {
    auto const width = static_cast<std::uint64_t>(bits(dtype));
    std::uint64_t const more_than_any_shard = std::uint64_t{1} << 50;
    std::uint64_t const chunk = std::clamp<std::uint64_t>(chunk_size, 1, more_than_any_shard);
    std::uint64_t const unit = chunk * (width / std::gcd(width, 8 * chunk));
    std::uint64_t const bytes = unit * std::max<std::uint64_t>(1, wanted_bytes / unit);
    return {static_cast<index_t>(bytes * 8 / width), bytes};
}

RESHARD_DECL element_run whole_bytes(loop_span const& elements, data_type dtype) {
    int const width = bits(dtype);
    index_t const step = 8 / std::gcd(width, 8); // elements in the fewest whole bytes
    index_t const first = elements.first - elements.first % step;
    return {first,
            {static_cast<std::uint64_t>(first * width / 8),
             static_cast<std::uint64_t>((elements.end * width + 7) / 8)}};
}

RESHARD_DECL chunk_reader::chunk_reader(checkpoint const& source, bool verify, device* near)
    : source_(source),
      verify_(verify),
      unverified_(source.metadata().files.size(), false),
      near_(near) {}

RESHARD_DECL checkpoint_shard const& chunk_reader::shard_at(shard_place shard_place) const {
    return source_.metadata().tensors[shard_place.tensor].shards[shard_place.shard];
}

RESHARD_DECL std::uint64_t chunk_reader::chunk_bytes_of(checkpoint_shard const& shard) const {
    return source_.metadata().files[shard.file].chunk_bytes;
}

RESHARD_DECL bool chunk_reader::is_verified(checkpoint_shard const& shard) const {
    return verify_ && !shard.digests.empty();
}

RESHARD_DECL file_store::file const& chunk_reader::file(holder_t number) {
    if (file_store::file const* const kept = source_.kept_file(number))
        return *kept;
    if (!open_ || open_number_ != number) {
        open_ = source_.open_file(number);
        open_number_ = number;
    }
    return *open_;
}

RESHARD_DECL std::byte const* chunk_reader::mapped(shard_place shard_place) {
    if (source_.is_mapped() && queried_ != shard_place) {
        mapped_ = source_.mapped(shard_at(shard_place));
        queried_ = shard_place;
    }
    return mapped_;
}

RESHARD_DECL byte_run chunk_reader::whole_chunks(shard_place shard_place, byte_run run) const {
    checkpoint_shard const& shard = shard_at(shard_place);
    if (!is_verified(shard) || run.size() == 0)
        return run;
    std::uint64_t const size = chunk_bytes_of(shard), total = shard.end - shard.begin;
    std::uint64_t const last = (run.end - 1) / size * size; // the last chunk's begin
    return {run.begin - run.begin % size, total - last <= size ? total : last + size};
}

RESHARD_DECL std::optional<bad_chunk>
chunk_reader::read_chunk(shard_place shard_place, std::uint64_t number, std::byte* target) {
    checkpoint_shard const& shard = shard_at(shard_place);
    std::uint64_t const size = chunk_bytes_of(shard);
    std::uint64_t const first = shard.begin + number * size;
    std::uint64_t const end = shard.end - first <= size ? shard.end : first + size;
    std::byte const* const bytes = mapped(shard_place);
    for (std::uint64_t begin = first; begin < end; begin += bytes_at_once) {
        std::uint64_t const count = std::min(bytes_at_once, end - begin);
        if (!bytes)
            file(shard.file).read(begin, {target + (begin - first), count});
        digest_.add({bytes ? bytes + (begin - shard.begin) : target + (begin - first), count});
    }
    bytes_read_ += end - first;
    std::uint64_t const index = digest_.take();
    if (index == shard.digests[number])
        return std::nullopt;
    return bad_chunk{source_.file_names()[shard.file],
                     source_.metadata().tensors[shard_place.tensor].key,
                     first,
                     end,
                     shard.digests[number],
                     index,
                     places_of(source_, shard.file, first, end)};
}

RESHARD_DECL void chunk_reader::read_to(std::byte* target, shard_place shard_place, byte_run run) {
    checkpoint_shard const& shard = shard_at(shard_place);
    if (!is_verified(shard)) {
        unverified_[shard.file] = true;
        bytes_read_ += run.size();
        if (!mapped(shard_place))
            file(shard.file).read(shard.begin + run.begin, {target, run.size()});
        return;
    }
    std::uint64_t const size = chunk_bytes_of(shard);
    for (std::uint64_t begin = run.begin; begin < run.end; begin += size)
        if (auto const bad = read_chunk(shard_place, begin / size, target + (begin - run.begin)))
            fail(errc::corrupt_file, describe(*bad));
}

RESHARD_DECL bool chunk_reader::sees(shard_place shard_place, byte_run run) {
    checkpoint_shard const& shard = shard_at(shard_place);
    auto const* const opened = dynamic_cast<input_file const*>(source_.kept_file(shard.file));
    if (!opened || is_verified(shard))
        return false;
    leased_pages& pages = pages_.try_emplace(shard.file, *opened).first->second;
    return pages.is_in_memory(shard.begin + run.begin);
}

RESHARD_DECL std::byte const* chunk_reader::find_in_pages(shard_place shard_place, byte_run run) {
    checkpoint_shard const& shard = shard_at(shard_place);
    auto const leased = pages_.find(shard.file);
    if (leased == pages_.end() || is_verified(shard))
        return nullptr;
    if (seen_number_ && seen_number_ != shard.file) // files are read one after the other
        pages_.erase(*seen_number_);
    seen_number_ = shard.file;
    std::byte const* const bytes =
        leased->second.find({shard.begin + run.begin, shard.begin + run.end});
    if (bytes) {
        unverified_[shard.file] = true;
        bytes_read_ += run.size();
    }
    return bytes;
}

RESHARD_DECL std::byte* chunk_reader::reserve(std::size_t bytes) {
    if (near_)
        std::swap(buffer_, other_);
    if (!buffer_.memory || buffer_.bytes < bytes) {
        bytes = std::max(bytes, 2 * buffer_.bytes); // pinned memory is slow to get
        buffer_ = {};
        buffer_ = {near_ ? near_->host_memory(bytes)
                         : std::make_unique_for_overwrite<std::byte[]>(bytes),
                   bytes};
    }
    return buffer_.memory.get();
}

RESHARD_DECL std::byte const* chunk_reader::read(shard_place shard_place, byte_run run) {
    bool const is_held =
        held_ == shard_place && held_run_.begin <= run.begin && run.end <= held_run_.end;
    if (!is_held) {
        held_.reset();
        if (std::byte const* const pages = find_in_pages(shard_place, run))
            return pages; // valid only until the next call
        held_run_ = whole_chunks(shard_place, run);
        std::byte const* const bytes = mapped(shard_place);
        std::byte* const buffer = bytes ? buffer_.memory.get() : reserve(held_run_.size());
        read_to(buffer, shard_place, held_run_);
        held_bytes_ = bytes ? bytes + held_run_.begin : buffer;
        held_ = shard_place;
    }
    return held_bytes_ + (run.begin - held_run_.begin);
}

RESHARD_DECL vector<bad_chunk> chunk_reader::find_bad(shard_place shard_place,
                                                      progress_count& count) {
    vector<bad_chunk> chunks;
    checkpoint_shard const& shard = shard_at(shard_place);
    held_.reset();
    std::byte* const buffer = reserve(std::min(chunk_bytes_of(shard), shard.end - shard.begin));
    std::uint64_t const before = bytes_read_;
    index_t const done = count.done();
    for (std::uint64_t i = 0; i < shard.digests.size(); ++i) {
        if (auto bad = read_chunk(shard_place, i, buffer))
            chunks.push_back(std::move(*bad));
        count.reach(done + static_cast<index_t>(bytes_read_ - before));
    }
    return chunks;
}

RESHARD_DECL void chunk_reader::check_unchanged() const {
    for (holder_t i = 0; i < unverified_.size(); ++i)
        if (unverified_[i])
            source_.check_unchanged(i);
}

} // namespace reshard::detail

#endif
