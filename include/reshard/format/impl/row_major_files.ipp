// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_ROW_MAJOR_FILES_IPP
#define RESHARD_FORMAT_IMPL_ROW_MAJOR_FILES_IPP

#include <reshard/format/row_major_files.hpp>

#include <reshard/core/box.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace reshard::detail {

/// Reads boxes of a shard whose elements may be in any order.
class strided_reader {
public:
    /// Refers to its arguments.
    strided_reader(file_store::file const& file, strided_bytes const& bytes,
                   std::size_t element_bytes)
        : file_(file), place_(bytes), element_bytes_(element_bytes) {}

    /// Writes the elements of `region`, row-major, from `target` on.
    void read(box const& region, std::byte* target) {
        if (is_empty(region))
            return;
        index_vector const strides = row_major_strides(region.shape);
        read(region, target, strides);
    }

private:
    /// Small gaps between a box's elements are read too.
    static constexpr std::uint64_t most_per_element = 8, always_read = 64 << 10;

    index_t span_of(box const& region) const {
        index_t last = 0;
        for (std::size_t axis = 0; axis < region.ndim(); ++axis)
            last += (region.shape[axis] - 1) * place_.strides[axis];
        return last + 1;
    }

    void read(box const& region, std::byte* target, index_vector const& strides) {
        std::uint64_t const bytes = static_cast<std::uint64_t>(span_of(region)) * element_bytes_;
        std::uint64_t const used =
            static_cast<std::uint64_t>(element_count(region)) * element_bytes_;
        bool const is_dense = bytes <= always_read || bytes / most_per_element <= used;
        if (is_dense && bytes <= row_major_files::gathered_bytes)
            return gather(region, target, strides, bytes);
        std::size_t const axis = widest_axis(region);
        box front = region, back = region;
        front.shape[axis] = region.shape[axis] / 2;
        back.offset[axis] += front.shape[axis];
        back.shape[axis] -= front.shape[axis];
        read(front, target, strides);
        read(back,
             target + static_cast<std::size_t>(front.shape[axis] * strides[axis]) * element_bytes_,
             strides);
    }

    /// \pre at least one extent is more than 1
    std::size_t widest_axis(box const& region) const {
        std::size_t widest = 0;
        index_t most = -1;
        for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
            index_t const width = (region.shape[axis] - 1) * place_.strides[axis];
            if (region.shape[axis] > 1 && width > most) {
                most = width;
                widest = axis;
            }
        }
        return widest;
    }

    void gather(box const& region, std::byte* target, index_vector const& strides,
                std::uint64_t bytes) {
        index_t first = 0;
        for (std::size_t axis = 0; axis < region.ndim(); ++axis)
            first += region.offset[axis] * place_.strides[axis];
        held_.resize(static_cast<std::size_t>(bytes));
        file_.read(place_.begin + static_cast<std::uint64_t>(first) * element_bytes_, held_);
        copy(region.shape, 0, held_.data(), target, strides);
    }

    void copy(index_vector const& shape, std::size_t axis, std::byte const* source,
              std::byte* target, index_vector const& strides) const {
        if (axis == shape.size()) {
            std::memcpy(target, source, element_bytes_);
            return;
        }
        auto const step = static_cast<std::size_t>(place_.strides[axis]) * element_bytes_;
        auto const target_step = static_cast<std::size_t>(strides[axis]) * element_bytes_;
        for (index_t i = 0; i < shape[axis]; ++i, source += step, target += target_step)
            copy(shape, axis + 1, source, target, strides);
    }

    file_store::file const& file_;
    strided_bytes const& place_;
    std::size_t element_bytes_;
    vector<std::byte> held_;
};

/// A shown file. Refers to its description.
class row_major_file : public file_store::file {
public:
    row_major_file(std::unique_ptr<file_store::file> real, shown_file const& shown)
        : real_(std::move(real)), shown_(shown) {}

    file_store::identity facts() const override {
        file_store::identity full_identity = real_->facts();
        full_identity.bytes = shown_.bytes;
        return full_identity;
    }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position > shown_.bytes || target.size() > shown_.bytes - position)
            fail(errc::corrupt_file, "a file of shards ends at byte ", shown_.bytes,
                 ", before byte ", position + target.size());
        auto const& shards = shown_.shards;
        auto next = std::upper_bound(
            shards.begin(), shards.end(), position,
            [](std::uint64_t index, shown_shard const& shard) { return index < shard.begin; });
        while (!target.empty()) {
            auto const shard = std::prev(next);
            std::uint64_t const end = next == shards.end() ? shown_.bytes : next->begin;
            auto const count =
                static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), end - position));
            read_in(static_cast<std::size_t>(shard - shards.begin()), position - shard->begin,
                    target.first(count));
            target = target.subspan(count);
            position += count;
            ++next;
        }
    }

private:
    strided_bytes place_of(std::size_t shard) const {
        std::lock_guard const lock(mutex_);
        if (found_ != shard)
            place_ = shown_.find(*real_, shown_.shards[shard], shard);
        found_ = shard;
        return place_;
    }

    /// Reads some bytes of a shard.
    void read_in(std::size_t number, std::uint64_t position, std::span<std::byte> target) const {
        if (target.empty())
            return;
        strided_bytes const bytes = place_of(number);
        shown_shard const& shard = shown_.shards[number];
        index_vector const shape = shard.shape;
        if (is_row_major(shape, bytes.strides))
            return real_->read(bytes.begin + position, target);
        auto const element_bytes = static_cast<std::size_t>(bits(shard.dtype)) / 8;
        flat_range const range{
            static_cast<index_t>(position / element_bytes),
            static_cast<index_t>((position + target.size() + element_bytes - 1) / element_bytes)};
        vector<std::byte> whole_bytes;
        bool const is_whole = position % element_bytes == 0 && target.size() % element_bytes == 0;
        if (!is_whole)
            whole_bytes.resize(static_cast<std::size_t>(range.size()) * element_bytes);
        std::byte* const first = is_whole ? target.data() : whole_bytes.data();
        strided_reader reader(*real_, bytes, element_bytes);
        std::byte* next = first;
        for (box const& region : boxes_of(range, shape)) {
            reader.read(region, next);
            next += static_cast<std::size_t>(element_count(region)) * element_bytes;
        }
        if (!is_whole)
            std::copy_n(first + position % element_bytes, target.size(), target.data());
    }

    std::unique_ptr<file_store::file> real_;
    shown_file const& shown_;
    mutable std::mutex mutex_;
    mutable std::optional<std::size_t> found_; ///< the shard whose position is cached
    mutable strided_bytes place_;
};

RESHARD_DECL row_major_files::row_major_files(std::shared_ptr<file_store const> below,
                                              std::map<std::filesystem::path, shown_file> files)
    : below_(std::move(below)), files_(std::move(files)) {}

RESHARD_DECL file_store::kind row_major_files::find(std::filesystem::path const& path) const {
    return below_->find(path);
}

RESHARD_DECL vector<std::filesystem::path>
row_major_files::list(std::filesystem::path const& directory) const {
    return below_->list(directory);
}

RESHARD_DECL std::unique_ptr<file_store::file>
row_major_files::open(std::filesystem::path const& path) const {
    auto const match = files_.find(path);
    if (match == files_.end())
        return below_->open(path);
    return std::make_unique<row_major_file>(below(match->second).open(path), match->second);
}

RESHARD_DECL void row_major_files::add(row_major_files const& files) {
    for (auto const& [path, shown] : files.files_) {
        shown_file& added = files_.insert_or_assign(path, shown).first->second;
        if (!added.below && files.below_ != below_)
            added.below = files.below_;
    }
}

RESHARD_DECL void row_major_files::check_empty_shards() const {
    for (auto const& [path, shown] : files_) {
        std::unique_ptr<file> opened;
        for (std::size_t i = 0; i < shown.shards.size(); ++i) {
            if (element_count(index_vector(shown.shards[i].shape)) > 0)
                continue;
            if (!opened)
                opened = below(shown).open(path);
            shown.find(*opened, shown.shards[i], i);
        }
    }
}

RESHARD_DECL std::shared_ptr<file_store const> const& row_major_files::lowest() const {
    for (auto const& [path, shown] : files_)
        if (shown.below) // the common store may show the file in another form
            return shown.below;
    return next() ? next()->lowest() : below_;
}

RESHARD_DECL std::optional<byte_run> row_major_files::real_bytes(std::filesystem::path const& path,
                                                                 std::uint64_t begin) const {
    auto const match = files_.find(path);
    if (match == files_.end())
        return next() ? next()->real_bytes(path, begin) : std::nullopt;
    auto const real = lowest()->open(path);
    shown_file const& shown = match->second;
    auto const next = std::upper_bound(
        shown.shards.begin(), shown.shards.end(), begin,
        [](std::uint64_t index, shown_shard const& shard) { return index < shard.begin; });
    auto const shard = std::prev(next);
    strided_bytes const strided_bytes =
        shown.find(*real, *shard, static_cast<std::size_t>(shard - shown.shards.begin()));
    index_vector const shape = shard->shape;
    if (!is_row_major(shape, strided_bytes.strides))
        return std::nullopt;
    std::uint64_t const bytes = (next == shown.shards.end() ? shown.bytes : next->begin) - begin;
    if (std::uint64_t const total = real->facts().bytes;
        total < bytes || total - bytes < strided_bytes.begin)
        fail(errc::corrupt_file, path.string(), ": ends at byte ", total, ", but ", bytes,
             " bytes of a shard begin at byte ", strided_bytes.begin);
    return byte_run{strided_bytes.begin, strided_bytes.begin + bytes};
}

} // namespace reshard::detail

#endif
