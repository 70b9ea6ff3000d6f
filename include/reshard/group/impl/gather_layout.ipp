// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_GATHER_LAYOUT_IPP
#define RESHARD_GROUP_IMPL_GATHER_LAYOUT_IPP

#include <reshard/group/gather_layout.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/sorting.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::optional<std::size_t> first_teller(vector<std::string> const& digests,
                                                     std::string_view noun) {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < digests.size(); ++rank) {
        if (digests[rank].empty())
            continue;
        if (!first)
            first = rank;
        if (digests[rank] != digests[*first])
            fail(errc::ranks_disagree, "ranks ", *first, " and ", rank,
                 " give different layouts of the ", noun,
                 "; pass the same layout, in the same form, on all ranks, or pass no layout");
    }
    return first;
}

RESHARD_DECL std::string digest_text(std::string const& bytes) {
    return std::to_string(digest_of_all(bytes));
}

RESHARD_DECL layout_notice notice_of(std::optional<layout> const& layout,
                                     vector<shard_descriptor> shards) {
    if (layout)
        return {digest_text(to_bytes(*layout)), {}};
    return {{}, std::move(shards)};
}

RESHARD_DECL vector<std::string> digests_of(vector<layout_notice> const& notices) {
    vector<std::string> digests;
    for (layout_notice const& notice : notices)
        digests.push_back(notice.digest);
    return digests;
}

RESHARD_DECL layout layout_of_notices(vector<layout_notice> const& notices) {
    vector<std::span<shard_descriptor const>> shards;
    for (layout_notice const& notice : notices)
        shards.emplace_back(notice.shards);
    return layout_of_spans(shards);
}

/// The first rank that has several parts of a tensor along an axis, and the number of its parts; 0
/// if there is no such rank.
struct several_parts {
    std::size_t rank = 0;
    std::size_t held = 0;
};

/// A tensor that several ranks have, and the first of these ranks.
struct merged_tensor {
    cut_tensor cuts;
    std::size_t rank;
    vector<several_parts> several; ///< by axis
};

/// \throws error with errc::shape_mismatch or errc::dtype_mismatch
inline void check_same_tensor(merged_tensor const& first, cut_tensor const& tensor,
                              std::size_t rank) {
    auto const ranks = [&](std::string const& a, std::string const& b) {
        return a + " on rank " + std::to_string(first.rank) + " and " + b + " on rank " +
               std::to_string(rank);
    };
    if (first.cuts.shape != tensor.shape)
        fail(errc::shape_mismatch, "'", tensor.key, "' has the global shape ",
             ranks(to_string(first.cuts.shape), to_string(tensor.shape)));
    if (first.cuts.dtype != tensor.dtype)
        fail(errc::dtype_mismatch, "'", tensor.key, "' has the data type ",
             ranks(std::string(name(first.cuts.dtype)), std::string(name(tensor.dtype))));
}

/// Merges tensors by key. `rank` is the rank whose tensors are added.
class tensor_merger {
public:
    void add(cut_tensor const& tensor, std::size_t rank) {
        auto const key_at = [&](std::uint32_t i) -> std::string_view {
            return tensors_[i].cuts.key;
        };
        std::size_t const number = places_.find_or_append(tensor.key, key_at, [&] {
            tensors_.push_back({{tensor.key, tensor.dtype, tensor.shape, {}}, rank, {}});
            tensors_.back().cuts.begins.resize(tensor.begins.size());
            tensors_.back().several.resize(tensor.begins.size());
            return static_cast<std::uint32_t>(tensors_.size() - 1);
        });
        merged_tensor& merged = tensors_[number];
        check_same_tensor(merged, tensor, rank);
        for (std::size_t axis = 0; axis < tensor.begins.size(); ++axis) {
            vector<index_t> const& added = tensor.begins[axis];
            vector<index_t>& begins = merged.cuts.begins[axis];
            begins.insert(begins.end(), added.begin(), added.end());
            if (added.size() > 1 && merged.several[axis].held == 0)
                merged.several[axis] = {rank, added.size()};
        }
    }

    /// The tensors, in the order of their keys.
    vector<merged_tensor> merged() && {
        sort_by(tensors_, [](merged_tensor const& a, merged_tensor const& b) {
            return a.cuts.key < b.cuts.key;
        });
        for (merged_tensor& tensor : tensors_)
            for (vector<index_t>& begins : tensor.cuts.begins)
                begins = sorted_once(std::move(begins));
        return std::move(tensors_);
    }

private:
    vector<merged_tensor> tensors_;
    key_index places_; ///< of `tensors_`
};

RESHARD_DECL vector<cut_tensor> cuts_of(vector<shard_descriptor> const& shards) {
    tensor_merger merger;
    for (shard_descriptor const& shard : shards) {
        cut_tensor tensor{shard.key, shard.dtype, shard.global_shape, {}};
        tensor.begins.resize(shard.global_shape.size());
        for (std::size_t axis = 0; axis < tensor.begins.size() && !is_empty(shard.region); ++axis)
            add_begins(tensor.begins[axis], shard.region, shard.cycles, axis);
        merger.add(tensor, 0);
    }
    vector<cut_tensor> cuts;
    for (merged_tensor& tensor : std::move(merger).merged())
        cuts.push_back(std::move(tensor.cuts));
    return cuts;
}

RESHARD_DECL catalog merge_cuts(vector<vector<cut_tensor>> const& ranks) {
    tensor_merger merger;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (cut_tensor const& tensor : ranks[rank])
            merger.add(tensor, rank);
    vector<catalog_entry> entries;
    for (auto& [tensor, first, several] : std::move(merger).merged()) {
        catalog_entry entry{std::move(tensor.key), tensor.dtype, tensor.shape, {}};
        for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
            add_parts(entry, axis, static_cast<index_t>(tensor.begins[axis].size()),
                      are_even(tensor.begins[axis], tensor.shape[axis]));
            if (several[axis].held > 0)
                add_held(entry, axis, static_cast<holder_t>(several[axis].rank),
                         several[axis].held);
        }
        entries.push_back(std::move(entry));
    }
    return catalog(std::move(entries));
}

} // namespace reshard::detail

#endif
