// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_GATHER_LAYOUT_IPP
#define RESHARD_GROUP_IMPL_GATHER_LAYOUT_IPP

#include <reshard/group/gather_layout.hpp>

#include <reshard/core/digest.hpp>

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::optional<std::size_t> first_teller(std::vector<std::string> const& told,
                                                     std::string_view what) {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
        if (told[rank].empty())
            continue;
        if (!first)
            first = rank;
        if (told[rank] != told[*first])
            fail(errc::ranks_disagree, "ranks ", *first, " and ", rank,
                 " give different layouts of the ", what,
                 "; give all ranks the same one, in the same form, or none");
    }
    return first;
}

RESHARD_DECL std::string digest_text(std::string const& bytes) {
    return std::to_string(digest_of_all(bytes));
}

RESHARD_DECL layout_notice notice_of(std::optional<layout> const& known,
                                     std::vector<shard_descriptor> held) {
    if (known)
        return {digest_text(to_bytes(*known)), {}};
    return {{}, std::move(held)};
}

RESHARD_DECL std::vector<std::string> digests_of(std::vector<layout_notice> const& notices) {
    std::vector<std::string> digests;
    for (layout_notice const& notice : notices)
        digests.push_back(notice.digest);
    return digests;
}

RESHARD_DECL layout layout_of_notices(std::vector<layout_notice> const& notices) {
    std::vector<std::vector<shard_descriptor>> shards;
    for (layout_notice const& notice : notices)
        shards.push_back(notice.shards);
    return layout_of(shards);
}

/// A tensor of several ranks, and the rank that was the first to have it.
struct merged_tensor {
    cut_tensor cuts;
    std::size_t rank;
};

/// \throws error with errc::shape_mismatch or errc::dtype_mismatch
inline void check_same_tensor(merged_tensor const& first, cut_tensor const& other,
                              std::size_t rank) {
    auto const ranks = [&](std::string const& a, std::string const& b) {
        return a + " on rank " + std::to_string(first.rank) + " and " + b + " on rank " +
               std::to_string(rank);
    };
    if (first.cuts.shape != other.shape)
        fail(errc::shape_mismatch, "'", other.key, "' has the global shape ",
             ranks(to_string(first.cuts.shape), to_string(other.shape)));
    if (first.cuts.dtype != other.dtype)
        fail(errc::dtype_mismatch, "'", other.key, "' has the data type ",
             ranks(std::string(name(first.cuts.dtype)), std::string(name(other.dtype))));
}

/// Tensors by key; those of `rank` join them.
class tensor_merger {
public:
    void add(cut_tensor const& tensor, std::size_t rank) {
        auto const [place, is_new] = tensors_.try_emplace(tensor.key, merged_tensor{tensor, rank});
        if (is_new)
            return;
        check_same_tensor(place->second, tensor, rank);
        for (std::size_t axis = 0; axis < tensor.begins.size(); ++axis) {
            auto& begins = place->second.cuts.begins[axis];
            begins.insert(begins.end(), tensor.begins[axis].begin(), tensor.begins[axis].end());
        }
    }

    std::vector<cut_tensor> merged() && {
        std::vector<cut_tensor> result;
        for (auto& [key, tensor] : tensors_) {
            for (std::vector<index_t>& begins : tensor.cuts.begins)
                begins = sorted_once(std::move(begins));
            result.push_back(std::move(tensor.cuts));
        }
        return result;
    }

private:
    std::map<std::string, merged_tensor, std::less<>> tensors_;
};

RESHARD_DECL std::vector<cut_tensor> cuts_of(std::vector<shard_descriptor> const& shards) {
    tensor_merger all;
    for (shard_descriptor const& shard : shards) {
        cut_tensor tensor{shard.key, shard.dtype, shard.global_shape, {}};
        tensor.begins.resize(shard.global_shape.size());
        for (std::size_t axis = 0; axis < tensor.begins.size() && !is_empty(shard.region); ++axis)
            add_begins(tensor.begins[axis], shard.region, shard.cycles, axis);
        all.add(tensor, 0);
    }
    return std::move(all).merged();
}

/// Which rank first has several parts of a tensor along an axis, and how many.
struct several_parts {
    std::size_t rank;
    std::size_t held;
};

using several_by_axis = std::map<std::pair<std::string_view, std::size_t>, several_parts>;

inline several_by_axis several_of(std::vector<std::vector<cut_tensor>> const& ranks) {
    several_by_axis found;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (cut_tensor const& tensor : ranks[rank])
            for (std::size_t axis = 0; axis < tensor.begins.size(); ++axis)
                if (std::size_t const held = tensor.begins[axis].size(); held > 1)
                    found.try_emplace({tensor.key, axis}, several_parts{rank, held});
    return found;
}

RESHARD_DECL catalog merge_cuts(std::vector<std::vector<cut_tensor>> const& ranks) {
    tensor_merger all;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (cut_tensor const& tensor : ranks[rank])
            all.add(tensor, rank);
    several_by_axis const several = several_of(ranks);
    std::vector<catalog_entry> entries;
    for (cut_tensor& tensor : std::move(all).merged()) {
        catalog_entry entry{std::move(tensor.key), tensor.dtype, tensor.shape, {}};
        for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
            add_parts(entry, axis, tensor.begins[axis]);
            if (auto const one = several.find({entry.key, axis}); one != several.end())
                add_held(entry, axis, static_cast<holder_t>(one->second.rank), one->second.held);
        }
        entries.push_back(std::move(entry));
    }
    return catalog(std::move(entries));
}

} // namespace reshard::detail

#endif
