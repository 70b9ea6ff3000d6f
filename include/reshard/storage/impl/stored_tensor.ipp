// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_STORED_TENSOR_IPP
#define RESHARD_STORAGE_IMPL_STORED_TENSOR_IPP

#include <reshard/storage/stored_tensor.hpp>

#include <reshard/core/index_vector.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/plan/cyclic_cuts.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/target_files.hpp>
#include <reshard/storage/window_reads.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Two readers, of one checkpoint or of two. They compare pairs of shards.
struct stored_pair {
    stored_pair(checkpoint const& source_of_a, checkpoint const& source_of_b,
                progress_count* counted)
        : a(source_of_a, false), b(source_of_b, false), count(counted) {}

    /// As `first_difference` for two tensors in memory.
    std::optional<index_t> first_difference(affine_copy const& loop, shard_place in_a,
                                            shard_place in_b);

    chunk_reader a;
    chunk_reader b;
    progress_count* count; ///< may be null
};

inline std::optional<index_t> stored_pair::first_difference(affine_copy const& loop,
                                                            shard_place in_a, shard_place in_b) {
    data_type const dtype = a.metadata().tensors[in_a.tensor].dtype;
    index_t const window = window_of(dtype, 1, std::uint64_t{1} << 20).elements;
    std::optional<index_t> index;
    auto const look_at = [&](index_t, affine_copy part) {
        if (index)
            return;
        element_run const run_a = whole_bytes(span_of(part, source_of_loop), dtype);
        element_run const run_b = whole_bytes(span_of(part, target_of_loop), dtype);
        part.source_offset -= run_a.first;
        part.target_offset -= run_b.first;
        index = detail::first_difference(
            part, const_tensor_view{a.read(in_a, run_a.bytes), dtype, {}, {}},
            const_tensor_view{b.read(in_b, run_b.bytes), dtype, {}, {}});
        if (index)
            *index += run_b.first;
        if (count)
            count->add(static_cast<std::uint64_t>(byte_count(element_count(part.extent), dtype)));
    };
    cut_to_windows(loop, source_of_loop, window, [&](index_t, affine_copy const& part) {
        if (!index)
            cut_to_windows(part, target_of_loop, window, look_at);
    });
    return index;
}

/// The global index of the element at `position` in the memory of a shard.
inline index_vector global_index(shard_table const& table, std::size_t shard, index_t position) {
    box const region = table.region(shard);
    auto const flat = table.flat(shard);
    axis_cycles const& cycles = table.cycles(shard);
    index_vector index = region_index(
        cycles, unravel_index(position + (flat ? flat->begin : 0), held_shape(region, cycles)));
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        index[axis] += region.offset[axis];
    return index;
}

RESHARD_DECL void check_total_bytes(checkpoint_metadata const& source,
                                    function_ref<bool(checkpoint_tensor const&)> is_checked) {
    std::uint64_t available = 0;
    for (checkpoint_file const& file : source.files)
        available += file.bytes;
    for (checkpoint_tensor const& tensor : source.tensors) {
        if (!is_checked(tensor))
            continue;
        index_vector const shape = tensor.shape;
        index_t bytes = 0;
        at_path(source.path.string() + ": '" + std::string(tensor.key) + "'",
                [&] { bytes = byte_count(element_count(shape), tensor.dtype); });
        if (static_cast<std::uint64_t>(bytes) > available)
            fail(errc::not_covered, source.path.string(), ": '", tensor.key,
                 "': the metadata states the shape ", shape, " of ", tensor.dtype, " (", bytes,
                 " bytes), but all files together have ", available,
                 " bytes; is a file missing, or is the metadata damaged?");
    }
}

RESHARD_DECL stored_tensor::stored_tensor(checkpoint const& source, std::size_t number)
    : source_(source),
      number_(number),
      tensor_(source.files_layout().tensors[number]),
      spread_(source.files_layout().spread_of(tensor_)),
      parts_(index_shards(shards())) {}

RESHARD_DECL box_index const& stored_tensor::boxes() const { return parts_.boxes; }

RESHARD_DECL std::uint32_t stored_tensor::shard(std::size_t i) const {
    return parts_.replica(i, 0).shard;
}

RESHARD_DECL std::string stored_tensor::element(index_vector const& global,
                                                element_writer* text) const {
    box const wanted{global, index_vector::filled(global.size(), 1)};
    std::size_t i = 0;
    while (!shares_elements(boxes()[i], cycles(i), wanted))
        ++i;
    index_t const number = place(i, global).offset;
    element_run const run = whole_bytes({number, number + 1}, tensor_.dtype);
    chunk_reader reader(source_, false);
    return text(const_tensor_view{reader.read(stored_at(i), run.bytes), tensor_.dtype, {}, {}},
                number - run.first);
}

RESHARD_DECL void stored_tensor::check_cover() const {
    auto const fault = find_cover_fault(shape(), parts_);
    if (!fault)
        return;
    bool const is_gap = fault->type == cover_fault::kind::gap;
    fail(is_gap ? errc::not_covered : errc::overlap, source_.metadata().path.string(), ": '",
         tensor_.key, "': elements ", fault->where, " are held by ",
         is_gap ? "no file" : "more than one shard");
}

RESHARD_DECL bool stored_tensor::has_equal_digests(std::uint32_t first,
                                                   std::uint32_t second) const {
    checkpoint_metadata const& metadata = source_.metadata();
    checkpoint_shard const& a = metadata.tensors[number_].shards[first];
    checkpoint_shard const& b = metadata.tensors[number_].shards[second];
    std::uint64_t const chunk = metadata.files[a.file].chunk_bytes;
    return chunk != 0 && chunk == metadata.files[b.file].chunk_bytes && is_same_part(a, b) &&
           a.digests == b.digests;
}

RESHARD_DECL void stored_tensor::check_copies(bool all, stored_pair& pair) const {
    for (std::size_t i = 0; i < boxes().size(); ++i)
        for (std::size_t which = 1; which < parts_.replicas(i); ++which) {
            std::uint32_t const other = parts_.replica(i, which).shard;
            if (!is_empty(boxes()[i]) && (all || !has_equal_digests(shard(i), other)))
                check_copy(i, other, pair);
        }
}

RESHARD_DECL void stored_tensor::check_replicas(progress_count* count) const {
    stored_pair pair(source_, source_, count);
    check_copies(true, pair);
}

RESHARD_DECL void stored_tensor::check_saved_replicas() const {
    stored_pair pair(source_, source_, nullptr);
    check_copies(false, pair);
}

RESHARD_DECL void stored_tensor::add_digests(merged_directories const& files, int rank,
                                             vector<box_digest>& digests) const {
    chunk_reader reader(source_, false);
    vector<std::byte> buffer;
    for (std::size_t i = 0; i < boxes().size(); ++i)
        for (std::size_t which = 0; parts_.replicas(i) > 1 && which < parts_.replicas(i); ++which) {
            std::uint32_t const part = parts_.replica(i, which).shard;
            auto const& path = source_.metadata().files[shards().holder(part)].path;
            if (is_empty(boxes()[i]) || files.ranks_of(path).front() != rank)
                continue;
            memory_place const at = place_in(part, boxes()[i].offset);
            index_vector const shape = held_shape(boxes()[i], cycles(i));
            index_t const bytes = byte_count(element_count(shape), tensor_.dtype);
            buffer.assign(static_cast<std::size_t>(bytes), std::byte{0});
            run(reader, {{place_of(part),
                          {shape, at.offset, at.strides, 0, row_major_strides(shape)},
                          {tensor_.dtype, {}},
                          buffer.data()}});
            digests.push_back({static_cast<std::uint32_t>(number_), static_cast<std::uint32_t>(i),
                               part, digest_of_bytes(buffer)});
        }
}

RESHARD_DECL void compare_replicas(checkpoint const& source,
                                   vector<vector<box_digest>> const& by_rank) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, box_digest> first;
    for (auto const& of_rank : by_rank)
        for (box_digest const& digest : of_rank) {
            auto const [match, is_new] = first.try_emplace({digest.tensor, digest.box}, digest);
            if (match->second.digest == digest.digest)
                continue;
            auto const& shards = source.metadata().tensors[digest.tensor].shards;
            fail(errc::overlap, source.file_names()[shards[digest.shard].file], ": '",
                 source.metadata().tensors[digest.tensor].key, "': the digest of the elements ",
                 hex_text(digest.digest), " differs from the digest of the copy in ",
                 source.file_names()[shards[match->second.shard].file], ", ",
                 hex_text(match->second.digest));
        }
}

RESHARD_DECL memory_place stored_tensor::place_in(std::uint32_t shard,
                                                  index_vector const& global) const {
    return place_in_shard(shards(), shard, global,
                          source_.shapes().at(static_cast<std::uint32_t>(number_), shard).strides);
}

RESHARD_DECL std::string const& stored_tensor::file(std::uint32_t shard) const {
    return source_.file_names()[shards().holder(shard)];
}

RESHARD_DECL void stored_tensor::check_copy(std::size_t i, std::uint32_t other,
                                            stored_pair& pair) const {
    std::uint32_t const first = shard(i);
    box const region = boxes()[i];
    memory_place const a = place_in(first, region.offset), b = place_in(other, region.offset);
    auto const first_difference = pair.first_difference(
        {held_shape(region, cycles(i)), a.offset, a.strides, b.offset, b.strides}, place_of(first),
        place_of(other));
    if (first_difference)
        fail(errc::overlap, file(other), ": '", tensor_.key, "': element ",
             global_index(shards(), other, *first_difference), " differs from the copy in ",
             file(first));
}

/// Calls `take(i, j, cut)` for the common elements of box `i` of `a` and box `j` of `b`.
inline void for_each_common(stored_tensor const& a, stored_tensor const& b, auto&& take) {
    index_vector const none = index_vector::filled(a.shape().size(), 0);
    piece same;
    same.order = permutation::identity(none.size());
    same.source_offset = same.target_offset = none;
    same.extent = a.shape();
    for (std::size_t i = 0; i < a.boxes().size(); ++i)
        b.boxes().for_each_overlap(a.boxes()[i], [&](std::uint32_t j, box const& common) {
            if (a.cycles(i).empty() && b.cycles(j).empty())
                return take(i, j, cut{same.order, common.offset, common.offset, common.shape});
            cut_cyclic(same, b.boxes()[j], b.cycles(j), a.boxes()[i], a.cycles(i),
                       [&](cut const& part) { take(i, j, part); });
        });
}

RESHARD_DECL std::optional<index_vector>
first_difference(stored_tensor const& a, stored_tensor const& b, progress_count* count) {
    std::optional<index_vector> first;
    stored_pair pair(a.source(), b.source(), count);
    for_each_common(a, b, [&](std::size_t i, std::size_t j, cut const& common) {
        memory_place const in_a = a.place(i, common.source_offset),
                           in_b = b.place(j, common.target_offset);
        auto const difference = pair.first_difference(
            {common.loop_extent(), in_a.offset, common.source_strides(in_a.strides, a.cycles(i)),
             in_b.offset, common.target_strides(in_b.strides, b.cycles(j))},
            a.stored_at(i), b.stored_at(j));
        if (!difference)
            return;
        index_vector const at = global_index(b.shards(), b.shard(j), *difference);
        if (!first || at < *first)
            first = at;
    });
    return first;
}

RESHARD_DECL vector<std::size_t> tensors_used(plan_problem const& work, mapping const& program,
                                              layout const& layout) {
    vector<bool> is_used(layout.tensors.size(), false);
    auto const use = [&](std::string_view key) {
        if (tensor_layout const* const tensor = layout.find(key))
            is_used[static_cast<std::size_t>(tensor - layout.tensors.data())] = true;
    };
    for (target_side const& target : work.targets)
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            key_id const source = target.pieces->source(i);
            if (source != zero_source)
                use(work.sources[source].key);
        }
    for (relation const& related : program.relations())
        if (related.is_of_values())
            use(related.companion);
    for (quantised_value const& quantised : program.quantised())
        quantised.for_each_source([&](key_id source) { use(program.sources().key(source)); });
    vector<std::size_t> used;
    for (std::size_t i = 0; i < is_used.size(); ++i)
        if (is_used[i])
            used.push_back(i);
    return used;
}

RESHARD_DECL void check_saved_replicas(checkpoint const& source, vector<std::size_t> const& numbers,
                                       int rank, int ranks) {
    auto const step = static_cast<std::size_t>(ranks);
    for (auto i = static_cast<std::size_t>(rank); i < numbers.size(); i += step)
        stored_tensor(source, numbers[i]).check_saved_replicas();
}

} // namespace reshard::detail

#endif
