// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_ZERO_HPP
#define RESHARD_MODEL_ZERO_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/model/rank_group.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string_view>

/// \file
/// How data-parallel ranks share the tensors that each of them would otherwise hold: ZeRO 1 to 3,
/// sharding V1 and V2.

namespace reshard::detail {

/// The data-parallel axes of a mesh: `dp`, `cp` and `edp`, if they exist.
constexpr detail::axis_set data_axes(mesh const& ranks) {
    unsigned axes = 0;
    for (std::string_view const name : {"dp", "cp", "edp"})
        if (auto const axis = find_axis(ranks, name))
            axes |= 1u << *axis;
    return static_cast<detail::axis_set>(axes);
}

/// A group of tensors that share buffers: they have the same stage, expert-parallel rank and data
/// type.
struct buffer_group {
    bool is_expert = false;
    index_t stage = 0;  ///< -1: every stage
    index_t expert = 0; ///< expert-parallel rank; -1: no experts
    data_type dtype{};

    auto operator<=>(buffer_group const&) const = default;
};

RESHARD_DECL buffer_group group_of(sharding_part const& segment, data_type dtype);

/// The lowest rank that holds elements of a distribution.
RESHARD_DECL holder_t first_holder(distribution const& distribution);

/// A tensor in a group, and the number of its elements that each rank stores.
struct group_member {
    std::size_t tensor = 0;
    index_t elements = 0;
};

/// The tensors of each group, in order, and the offset of each part in a rank's memory of the
/// tensor.
class group_table {
public:
    explicit group_table(vector<tensor_sharding> const& tensors);

    std::map<buffer_group, vector<group_member>> const& groups() const { return groups_; }

    /// The offset of part `segment` in a rank's memory of tensor `tensor`, in elements.
    index_t begin_of(std::size_t tensor, std::size_t segment) const {
        return begins_[tensor][segment];
    }

private:
    void add(tensor_sharding const& tensor, std::size_t number);

    std::map<buffer_group, vector<group_member>> groups_;
    vector<vector<index_t>> begins_;
};

/// The indices of a tensor's parts that belong to a group.
RESHARD_DECL vector<std::size_t> parts_in(tensor_sharding const& tensor, buffer_group const& group);

} // namespace reshard::detail

namespace reshard {

namespace model {

/// How tensors are packed into buffers.
///
/// \par Units elements
struct buffer_rules {
    index_t alignment = 1;    ///< tensors begin at multiples of this number
    index_t end_multiple = 1; ///< buffers end at multiples of this number; `ranks` must divide it
    index_t target = 0;    ///< a buffer that reaches this number is closed; 0: there is one buffer
    bool reversed = false; ///< the last tensor comes first

    constexpr bool operator==(buffer_rules const&) const = default;
};

/// The buckets of Megatron-Core's distributed optimizer over `ranks` data-parallel ranks.
///
/// Tensors begin at multiples of 64, in the reverse order of the model. A bucket has at least
/// 40,000,000 elements, or a million for each rank if that is more. It ends at a multiple of 128
/// and of the number of ranks.
///
/// \pre `ranks > 0`
constexpr buffer_rules megatron_buckets(index_t ranks) {
    return {64, std::lcm(ranks, index_t{128}),
            std::max(index_t{40'000'000}, detail::checked_multiply(ranks, 1'000'000)), true};
}

/// The same buckets, padded for large messages: they also end at a multiple of 65,536.
///
/// \pre `ranks > 0`
constexpr buffer_rules megatron_large_buckets(index_t ranks) {
    buffer_rules rules = megatron_buckets(ranks);
    rules.end_multiple = std::lcm(rules.end_multiple, index_t{65'536});
    return rules;
}

/// The position of a tensor: its buffer, its first element there, and the length of each rank's
/// slice of the buffer.
///
/// \par Units elements
struct buffer_slot {
    index_t buffer = 0;
    index_t begin = 0;
    index_t length = 0;

    constexpr bool operator==(buffer_slot const&) const = default;
};

} // namespace model

namespace detail {

constexpr index_t rounded_up(index_t number, index_t multiple) {
    index_t const remainder = number % multiple;
    return remainder == 0 ? number
                          : checked_add(number, multiple - remainder, "the buffer's elements");
}

/// \throws error with errc::bad_layout for rules that do not give ranks equal slices
constexpr void check_rules(model::buffer_rules const& rules, index_t ranks) {
    if (rules.alignment < 1 || rules.end_multiple < 1 || rules.target < 0)
        fail(errc::bad_layout, "invalid buffer rules: alignment ", rules.alignment,
             ", end multiple ", rules.end_multiple, ", target ", rules.target, " elements");
    if (ranks < 1 || rules.end_multiple % ranks != 0)
        fail(errc::bad_layout, "buffers that end at multiples of ",
             detail::counted(rules.end_multiple, "element"), " cannot be shared equally by ",
             detail::counted(ranks, "rank"));
}

} // namespace detail

namespace model {

/// Packs tensors with these numbers of elements. The slots are in the order of `sizes`.
///
/// \par Units  elements
/// \post       no two tensors of a buffer overlap, and the ranks' slices cover all tensors
/// \throws     error with errc::bad_layout for rules that do not suit the ranks, with
///             errc::overflow for buffers of more than 2^63 - 1 elements
/// \par Source `_ParamAndGradBuffer` of Megatron-Core, `FusedCommBuffer` of PaddlePaddle
constexpr vector<buffer_slot> pack(vector<index_t> const& sizes, index_t ranks,
                                   buffer_rules const& rules) {
    detail::check_rules(rules, ranks);
    vector<buffer_slot> slots(sizes.size());
    vector<std::size_t> open;
    index_t buffer = 0, end = 0;
    auto const close = [&] {
        for (std::size_t const i : open)
            slots[i].length = detail::rounded_up(end, rules.end_multiple) / ranks;
        open.clear();
        ++buffer;
        end = 0;
    };
    for (std::size_t n = 0; n < sizes.size(); ++n) {
        std::size_t const i = rules.reversed ? sizes.size() - 1 - n : n;
        index_t const begin = detail::rounded_up(end, rules.alignment);
        slots[i] = {buffer, begin, 0};
        end = detail::checked_add(begin, sizes[i], "the buffer's elements");
        open.push_back(i);
        if (rules.target > 0 && end >= rules.target)
            close();
    }
    close();
    return slots;
}

/// A tensor by name and number of elements.
struct named_size {
    std::string_view key;
    index_t elements = 0;
};

/// The rank that owns each tensor, in the order of `tensors`: each tensor goes to the rank that has
/// the fewest elements so far.
///
/// The largest tensors are assigned first, and tensors of equal size in the order of their keys.
/// Among ranks with the same number of elements, the lowest rank gets the next tensor. So the order
/// of `tensors` does not matter.
///
/// \throws     error with errc::bad_layout if `ranks` is less than 1
/// \par Source sharding V1 of PaddlePaddle, which takes parameters in the order in which they were
///             made
RESHARD_DECL vector<index_t> least_loaded_owners(vector<named_size> const& tensors, index_t ranks);

} // namespace model

namespace detail {

/// The number of elements that a rank stores of each tensor of a group, in order.
RESHARD_DECL vector<index_t> sizes_of(vector<group_member> const& members);

/// The number of ranks that share the tensors of a group.
RESHARD_DECL index_t sharing_count(vector<tensor_sharding> const& tensors,
                                   buffer_group const& group, group_member const& member);

} // namespace detail

namespace model {

/// The layout of tensors that are packed into buffers, if each data-parallel rank holds a slice of
/// each buffer: optimizer state under ZeRO-1, ZeRO-2 and sharding V2. `tensors` have the layout
/// without sharing, and are in the order of the model.
///
/// Each stage, expert-parallel rank and data type has separate buffers, packed by `rules(ranks)`,
/// such as `megatron_buckets`. A rank's ranges end with the tensors: no rank holds padding.
///
/// \throws     error with errc::bad_layout for rules that do not suit the ranks, and for a tensor
///             that data-parallel ranks cut already
/// \par Source the distributed optimizer of Megatron-Core; sharding V2 of PaddlePaddle, whose
///             ranges include the padding
vector<tensor_sharding> shard_buffers(vector<tensor_sharding> tensors, auto const& rules) {
    detail::group_table const table(tensors);
    for (auto const& [group, members] : table.groups()) {
        index_t const ranks = detail::sharing_count(tensors, group, members.front());
        auto const slots = pack(detail::sizes_of(members), ranks, rules(ranks));
        for (std::size_t i = 0; i < members.size(); ++i) {
            tensor_sharding& tensor = tensors[members[i].tensor];
            for (std::size_t const n : detail::parts_in(tensor, group))
                tensor.parts[n].flat = {
                    detail::data_axes(tensor.parts[n].spread.ranks()),
                    detail::flat_slices{slots[i].begin + table.begin_of(members[i].tensor, n),
                                        slots[i].length}};
        }
    }
    for (tensor_sharding const& tensor : tensors)
        check(tensor);
    return tensors;
}

/// The layout of tensors that data-parallel ranks share in equal, padded slices: ZeRO-3.
///
/// A tensor stays whole if each rank stores at most `largest_whole` elements of it.
///
/// \par Source stage 3 of PaddlePaddle's group sharding (`segment_size`) and of DeepSpeed
///             (`param_persistence_threshold`)
RESHARD_DECL vector<tensor_sharding> shard_slices(vector<tensor_sharding> tensors,
                                                  index_t largest_whole = 0);

/// The layout of tensors if one data-parallel rank holds each tensor whole: sharding V1.
///
/// The tensors of each stage, expert-parallel rank and data type are assigned separately: see
/// `least_loaded_owners`.
///
/// \par Source DygraphShardingOptimizer of PaddlePaddle
RESHARD_DECL vector<tensor_sharding> shard_whole(vector<tensor_sharding> tensors);

} // namespace model

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/zero.ipp>
#endif

#endif
