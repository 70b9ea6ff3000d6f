// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_TARGET_FILES_HPP
#define RESHARD_STORAGE_TARGET_FILES_HPP

#include <reshard/core/digest.hpp>
#include <reshard/core/hasher.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/plan/part_index.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Which files a program's results go to.

namespace reshard {

/// How a checkpoint is written.
struct write_options {
    bool replace = false; ///< a checkpoint that is at the target gives way to the new one
    bool partial = false; ///< the target may leave elements out, and its shards may share some
    index_t most_file_bytes = 5'000'000'000; ///< of a Hugging Face file, one tensor at least

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.replace, self.partial, self.most_file_bytes);
    }
};

/// Refuses a layout that does not hold each element of its tensors once, replicas aside.
///
/// \throws error with errc::not_covered or errc::overlap, naming key, elements and ranks
inline void check_complete(layout const& wanted) {
    for (tensor_layout const& tensor : wanted.tensors) {
        part_index const index = index_parts(tensor.shards);
        auto const fault = find_cover_fault(whole(tensor.shape), index.boxes);
        if (!fault)
            continue;
        auto const rank = [&](std::uint32_t i) {
            return "rank " + std::to_string(tensor.shards.holder(index.replica(i, 0).shard)) + " " +
                   to_string(index.boxes[i]);
        };
        if (fault->what == cover_fault::kind::gap)
            fail(errc::not_covered, "'" + tensor.key + "': the target layout gives elements " +
                                        to_string(fault->where) + " of " + to_string(tensor.shape) +
                                        " to no rank; add a shard, or allow a partial target");
        fail(errc::overlap, "'" + tensor.key + "': the target layout gives elements " +
                                to_string(fault->where) + " to unequal shards, " +
                                rank(fault->first) + " and " + rank(fault->second) +
                                "; make them equal, or allow a partial target");
    }
}

/// What a program yields, as a catalog of whole tensors.
inline catalog catalog_of(mapping const& program) {
    std::vector<catalog_entry> entries;
    for (mapping_output const& output : program.outputs())
        entries.push_back({output.key, output.value.dtype, output.value.shape,
                           index_vector::filled(output.value.shape.size(), 1)});
    return catalog(std::move(entries));
}

/// The files of a checkpoint in the layout `wanted`, or, without one, of a Hugging Face directory of
/// everything that `program` yields.
///
/// \throws error as `check_complete` unless `options.partial`, and as `plan_sharded`
inline checkpoint_plan files_for(mapping const& program, std::optional<layout> const& wanted,
                                 write_options const& options) {
    if (!wanted)
        return plan_huggingface(catalog_of(program), options.most_file_bytes);
    if (!options.partial)
        check_complete(*wanted);
    return plan_sharded(*wanted);
}

/// The files that process `rank` of `size` writes: those of layout rank `r` with `r % size == rank`, and
/// of a Hugging Face directory, which has no ranks, each in turn.
inline std::vector<holder_t> files_of_process(checkpoint_plan const& files, int rank, int size) {
    bool const has_ranks = files.metadata.format == "sharded_safetensors";
    std::vector<holder_t> numbers;
    for (holder_t i = 0; i < files.ranks.size(); ++i)
        if ((has_ranks ? files.ranks[i] : i) % static_cast<holder_t>(size) ==
            static_cast<holder_t>(rank))
            numbers.push_back(i);
    return numbers;
}

} // namespace reshard

#endif
