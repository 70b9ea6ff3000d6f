// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_RANK_PLACEMENT_IPP
#define RESHARD_FORMAT_IMPL_RANK_PLACEMENT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/layout_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

/// \file
/// Places the ranks' tensors in whole tensors, by the rules of a layout file.

namespace reshard::detail {

/// A tensor in the file of a rank.
struct rank_tensor {
    holder_t rank = 0;
    checkpoint_tensor local;

    /// True if the file states the position of its shard in a larger tensor.
    bool is_placed() const {
        index_t stored = 0;
        for (checkpoint_shard const& shard : local.shards)
            stored += element_count(stored_shape(shard));
        return stored < element_count(index_vector(local.shape));
    }
};

using rank_tensors = vector<rank_tensor>; ///< the tensors of one key, by rank

/// The first byte that differs between two shards of the same size; std::nullopt if they are equal.
inline std::optional<std::uint64_t> first_different_byte(file_store const& files,
                                                         checkpoint_metadata const& opened,
                                                         checkpoint_shard const& a,
                                                         checkpoint_shard const& b) {
    constexpr std::uint64_t window = 1 << 20;
    std::uint64_t const size = a.end - a.begin;
    auto const file_of_a = files.open(opened.files[a.file].path);
    auto const file_of_b = files.open(opened.files[b.file].path);
    vector<std::byte> of_a(std::min(size, window)), of_b(of_a.size());
    for (std::uint64_t at = 0; at < size; at += window) {
        std::size_t const count = std::min(size - at, window);
        file_of_a->read(a.begin + at, std::span(of_a).first(count));
        file_of_b->read(b.begin + at, std::span(of_b).first(count));
        auto const end = of_a.begin() + static_cast<std::ptrdiff_t>(count);
        if (auto const position = std::mismatch(of_a.begin(), end, of_b.begin()).first;
            position != end)
            return at + static_cast<std::uint64_t>(position - of_a.begin());
    }
    return std::nullopt;
}

/// Compares the replicas of each box.
///
/// \param advice the end of the message
/// \throws error with errc::corrupt_file that names both files, the key and the first element that
///         differs
inline void check_replicas(file_store const& files, checkpoint_metadata const& opened,
                           checkpoint_tensor const& tensor, std::string const& advice) {
    vector<checkpoint_shard const*> different;
    for (checkpoint_shard const& shard : tensor.shards) {
        auto const same =
            std::ranges::find_if(different, [&](checkpoint_shard const* checkpoint_shard) {
                return is_same_part(*checkpoint_shard, shard);
            });
        if (same == different.end()) {
            different.push_back(&shard);
            continue;
        }
        auto const byte = first_different_byte(files, opened, **same, shard);
        if (!byte)
            continue;
        auto const element = static_cast<index_t>(*byte) * 8 / bits(tensor.dtype);
        fail(errc::corrupt_file, opened.files[(*same)->file].path.string(), " and ",
             opened.files[shard.file].path.string(), ": both have '", tensor.key,
             "', but they first differ in element ", unravel_index(element, stored_shape(shard)),
             " of shape ", stored_shape(shard), advice);
    }
}

/// Whether all slices of a tensor are equal, along its first axis of several elements. In that
/// case, replicas and shards of a larger tensor look the same. False for a tensor without elements.
inline bool has_equal_slices(file_store const& files, checkpoint_metadata const& opened,
                             checkpoint_tensor const& tensor) {
    checkpoint_shard most = tensor.shards.front(), shard = most;
    std::uint64_t const bytes = most.end - most.begin;
    for (index_t const extent : index_vector(tensor.shape))
        if (extent > 1 && bytes > 0) {
            auto const slice =
                std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(extent), 1);
            most.end -= slice;
            shard.begin += slice;
            return !first_different_byte(files, opened, most, shard);
        }
    return bytes > 0;
}

/// Places the tensors of ranks in whole tensors, as the rules cut them.
class rank_placer {
public:
    rank_placer(layout_rules const& rules, checkpoint_metadata const& opened)
        : rules_(rules), opened_(opened) {}

    /// The shape of the whole tensor.
    ///
    /// \throws error with errc::corrupt_file if a rank lacks the tensor
    index_vector global_shape(rank_tensors const& tensors) const {
        checkpoint_tensor const& first = tensors.front().local;
        index_vector shape = first.shape;
        auto const* const rule = rules_.rule_of(first.key);
        if (!rule || tensors.front().is_placed())
            return shape;
        check_present(tensors, *rule);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (axis_set const cuts = mesh_axes_of(*rule, axis); cuts != 0)
                shape[axis] = sum_of(tensors, cuts, axis);
        return shape;
    }

    /// \throws error with errc::corrupt_file if the shape of a rank's shard contradicts the rule,
    ///         or if stages place the tensor on a rank that lacks it
    checkpoint_tensor placed(rank_tensors const& tensors, layout_row const& row) const {
        checkpoint_tensor result = tensors.front().local;
        result.shape = row.shape;
        result.shards.clear();
        for (rank_tensor const& tensor : tensors)
            place(tensor, row, result);
        std::set<holder_t> const ranks = ranks_of(tensors);
        if (rules_.stages)
            for (holder_t const rank : row.shards.holders())
                if (!ranks.contains(rank))
                    refuse(tensors.front(),
                           words("rank ", rank, " lacks it, but ", rules_.file,
                                 " assigns it to rank ", rank, "; correct 'stages'"));
        return result;
    }

    /// How a tensor is interleaved, if its rule says that ranks have shards of several fused
    /// tensors.
    ///
    /// \throws error with errc::bad_layout for extents that cannot be divided in this way
    std::optional<fused_tensor> fused_of(layout_row const& row) const {
        auto const* const rule = rules_.rule_of(row.key);
        if (!rule || rule->fused.empty())
            return std::nullopt;
        index_t axis = 0, blocks = 1, sum = 0;
        for (std::size_t i = 0; i < rule->placements.size(); ++i)
            if (rule->placements[i].cuts()) {
                axis = static_cast<index_t>(rule->placements[i].axis);
                blocks *= rules_.ranks.all_axes[i].extent;
            }
        for (index_t const element : rule->fused)
            sum += element;
        index_t const extent = row.shape[static_cast<std::size_t>(axis)];
        index_vector sizes;
        for (index_t const element : rule->fused)
            sizes.push_back(extent / sum * element);
        bool const is_even =
            extent % sum == 0 &&
            std::ranges::all_of(sizes, [&](index_t size) { return size % blocks == 0; }) &&
            has_equal_blocks(row, static_cast<std::size_t>(axis), extent / blocks);
        if (!is_even)
            fail(errc::bad_layout, rules_.file, ": rule '", rule->match.text(), "': fused is ",
                 rule->fused, ", but axis ", axis, " of '", row.key, "' has ", extent,
                 " elements on ", blocks,
                 " ranks, which cannot be divided in this way; correct fused, or omit it");
        return fused_tensor{axis, blocks, words("fused, sizes=\"", sizes, "\", axis=", axis)};
    }

    [[noreturn]] void refuse(rank_tensor const& tensor, std::string const& text) const {
        fail(errc::corrupt_file, path_of(tensor), " (rank ", tensor.rank, "): '", tensor.local.key,
             "': ", text);
    }

    std::string path_of(rank_tensor const& tensor) const {
        return opened_.files[tensor.local.shards.front().file].path.string();
    }

private:
    static bool has_equal_blocks(layout_row const& row, std::size_t axis, index_t extent) {
        for (std::size_t i = 0; i < row.shards.size(); ++i)
            if (row.shards.region(i).shape[axis] != extent)
                return false;
        return true;
    }

    static std::set<holder_t> ranks_of(rank_tensors const& tensors) {
        std::set<holder_t> ranks;
        for (rank_tensor const& tensor : tensors)
            ranks.insert(tensor.rank);
        return ranks;
    }

    /// The mesh axes that cut an axis of the tensor.
    axis_set mesh_axes_of(layout_rule const& rule, std::size_t axis) const {
        axis_set axes = 0;
        for (std::size_t i = 0; i < rule.placements.size(); ++i)
            if (rule.placements[i].cuts() && rule.placements[i].axis == axis)
                axes = static_cast<axis_set>(axes | 1U << i);
        return axes;
    }

    /// True for ranks whose coordinates differ only along these axes.
    bool differ_only_along(axis_set axes, holder_t a, holder_t b) const {
        index_vector const of_a = rules_.ranks.coordinates_of(a);
        index_vector const of_b = rules_.ranks.coordinates_of(b);
        for (std::size_t i = 0; i < of_a.size(); ++i)
            if (!has_axis(axes, i) && of_a[i] != of_b[i])
                return false;
        return true;
    }

    index_t sum_of(rank_tensors const& tensors, axis_set axes, std::size_t axis) const {
        index_t sum = 0;
        for (rank_tensor const& tensor : tensors)
            if (differ_only_along(axes, tensors.front().rank, tensor.rank))
                sum = checked_add(sum, index_t{tensor.local.shape[axis]},
                                  words("axis ", axis, " of '", tensor.local.key, "'"));
        return sum;
    }

    /// Refuses a tensor if a rule cuts it over several ranks, and only some of these have it.
    void check_present(rank_tensors const& tensors, layout_rule const& rule) const {
        axis_set axes = 0;
        for (std::size_t i = 0; i < rule.placements.size(); ++i)
            if (rule.placements[i].cuts())
                axes = static_cast<axis_set>(axes | 1U << i);
        std::set<holder_t> const ranks = ranks_of(tensors);
        for (holder_t rank = 0; rank < rules_.ranks.rank_count(); ++rank) {
            if (ranks.contains(rank))
                continue;
            for (rank_tensor const& tensor : tensors)
                if (differ_only_along(axes, tensor.rank, rank))
                    refuse(tensor,
                           words("rank ", rank, " does not have it, but ", rules_.file,
                                 " cuts it across both ranks (rule '", rule.match.text(), "')"));
        }
    }

    void place(rank_tensor const& tensor, layout_row const& row, checkpoint_tensor& result) const {
        if (tensor.is_placed()) {
            std::ranges::copy(tensor.local.shards, std::back_inserter(result.shards));
            return;
        }
        std::optional<box> region;
        row.shards.for_each_of(tensor.rank, [&](std::size_t i) { region = row.shards.region(i); });
        index_vector const shape = tensor.local.shape;
        if (!region && element_count(shape) == 0)
            return;
        if (!region)
            refuse(tensor, words(rules_.file, " places no shard of it on this rank"));
        if (region->shape != shape)
            refuse_shape(tensor, row, *region);
        for (checkpoint_shard shard : tensor.local.shards) {
            shard.region = packed_box(*region);
            result.shards.push_back(std::move(shard));
        }
    }

    [[noreturn]] void refuse_shape(rank_tensor const& tensor, layout_row const& row,
                                   box const& region) const {
        index_vector const shape = tensor.local.shape;
        auto const* const rule = rules_.rule_of(row.key);
        if (!rule)
            refuse(tensor, words("its shape is ", shape, ", but a lower rank's is ", row.shape,
                                 "; no rule of ", rules_.file,
                                 " matches it: add one that says along which axis it is cut"));
        refuse(tensor,
               words("its shape is ", shape, ", but rule '", rule->match.text(), "' of ",
                     rules_.file, " cuts shape ", row.shape, ", the sum over all ranks, so that ",
                     region.shape, " is expected here; correct the rule, or its split"));
    }

    layout_rules const& rules_;
    checkpoint_metadata const& opened_;
};

} // namespace reshard::detail

#endif
