// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PLAN_HPP
#define RESHARD_PLAN_PLAN_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/shard_table.hpp>
#include <reshard/plan/pattern.hpp>
#include <reshard/plan/relays.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// The plan as a value: senders, receivers and elements.

namespace reshard {

/// The elements of one source tensor that one holder sends to another for one target tensor: 32
/// bytes of numbers.
struct transfer {
    holder_t source_holder =
        detail::no_holder; ///< `no_holder`: zeros, written by the target's own process
    holder_t target_holder = 0;
    detail::key_id source_key = detail::zero_source;
    detail::key_id target_key = 0;
    std::uint32_t source_shard = 0; ///< index in the source tensor's shard table
    std::uint32_t target_shard = 0;
    std::uint32_t cut = 0;        ///< index in the target tensor's pattern
    std::uint8_t source_part = 0; ///< number of a box of a flat shard
    std::uint8_t target_part = 0;
    std::uint16_t chain = 0; ///< index in the plan's chains of steps

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source_holder, self.target_holder, self.source_key, self.target_key,
              self.source_shard, self.target_shard, self.cut, self.source_part, self.target_part,
              self.chain);
    }

    constexpr bool operator==(transfer const&) const = default;
};

/// The transfers of some holders and the geometry that they share.
///
/// \invariant `transfers` is sorted by target key, target shard, and offset in the target shard, so
///            that sender and receiver list their transfers in the same order
struct plan {
    vector<data_type> source_dtypes;  ///< by source key
    vector<data_type> target_dtypes;  ///< by target key
    vector<std::uint32_t> pattern_of; ///< by target key
    vector<detail::pattern> patterns;
    vector<detail::step_chain> chains;
    vector<transfer> transfers;
    detail::relay_trees trees = {};
    vector<detail::relay> relays = {}; ///< by transfer; the source sends every other transfer

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source_dtypes, self.target_dtypes, self.pattern_of, self.patterns, self.chains,
              self.transfers, self.trees, self.relays);
    }

    constexpr bool operator==(plan const&) const = default;
};

namespace detail {

template <>
inline constexpr stored_form form_of<plan>{"plan", 5};

/// The reason why `part` is not a valid transfer of `plan`, or null.
constexpr char const* transfer_fault(plan const& plan, transfer const& part) {
    if (part.target_key >= plan.target_dtypes.size())
        return "a target that does not exist";
    if (part.cut >= plan.patterns[plan.pattern_of[part.target_key]].size())
        return "a cut that does not exist";
    if (part.chain >= plan.chains.size())
        return "a chain of steps that does not exist";
    if ((part.source_key == zero_source) != (part.source_holder == no_holder))
        return "a source without a holder, or a holder without a source";
    if (part.source_key == zero_source)
        return nullptr;
    if (part.source_key >= plan.source_dtypes.size())
        return "a source that does not exist";
    return result(plan.source_dtypes[part.source_key], plan.chains[part.chain]) ==
                   plan.target_dtypes[part.target_key]
               ? nullptr
               : "steps that do not end in the target's data type";
}

/// The geometry of one transfer.
///
/// \pre `t` is a transfer of `plan`
constexpr cut cut_of(plan const& plan, transfer const& t) {
    return plan.patterns[plan.pattern_of[t.target_key]][t.cut];
}

/// The data type of elements on the wire: the narrower of the two types, so that the fewest bytes
/// move.
///
/// The sender runs a chain of steps that does not widen; the receiver runs any other chain.
constexpr data_type wire_dtype(data_type source, data_type target) {
    return bits(target) <= bits(source) ? target : source;
}

/// The same. Elements that are dequantized travel in the target's type, since only the sender has
/// their scales.
constexpr data_type wire_dtype(data_type source, data_type target, bool dequantizes) {
    return dequantizes ? target : wire_dtype(source, target);
}

/// The same for a transfer; without a source, the target's data type.
///
/// \pre `t` is a transfer of `plan`
constexpr data_type wire_dtype(plan const& plan, transfer const& t) {
    data_type const target = plan.target_dtypes[t.target_key];
    return t.source_key == zero_source ? target
                                       : wire_dtype(plan.source_dtypes[t.source_key], target,
                                                    plan.chains[t.chain].dequantizes());
}

/// Whether `input` brings all elements that `t` passes on, in the same type.
///
/// \pre both are transfers of `plan`
constexpr bool brings(plan const& plan, transfer const& input, transfer const& t) {
    cut const cut = cut_of(plan, input), wanted = cut_of(plan, t);
    return input.target_key == t.target_key && input.source_key == t.source_key &&
           input.chain == t.chain && cut.target_box() == wanted.target_box() &&
           cut.source_box() == wanted.source_box() && cut.extent == wanted.extent &&
           cut.joins == wanted.joins && cut.repeats == wanted.repeats &&
           wire_dtype(plan, t) == plan.target_dtypes[t.target_key];
}

/// Whether the relay's input brings the elements that the relay passes on, one step earlier in the
/// tree.
///
/// \pre the relay's transfer and position exist
constexpr bool has_input(plan const& plan, relay const& current_relay) {
    relay const* const before = current_relay.input < plan.transfers.size()
                                    ? find_relay(plan.relays, current_relay.input)
                                    : nullptr;
    return before && current_relay.is_passed_on() && before->tree == current_relay.tree &&
           before->box == current_relay.box &&
           before->position ==
               step_of(plan.trees[current_relay.tree], current_relay.position).parent &&
           brings(plan, plan.transfers[current_relay.input],
                  plan.transfers[current_relay.transfer]);
}

/// The reason why `step` is not a valid relay of `plan`, or null.
constexpr char const* relay_fault(plan const& plan, relay const& step) {
    if (step.transfer >= plan.transfers.size())
        return "for a transfer that does not exist";
    if (step.tree >= plan.trees.size())
        return "in a tree that does not exist";
    relay_receivers const receivers = plan.trees[step.tree].receivers;
    if (step.position >= receivers.size() ||
        receivers[step.position] != plan.transfers[step.transfer].target_holder)
        return "to a holder at another position";
    if (plan.trees[step.tree].source != plan.transfers[step.transfer].source_holder)
        return "from another source than its tree";
    if (step.input != relay::no_input && !has_input(plan, step))
        return "for elements that its input does not bring";
    return nullptr;
}

/// \throws error with errc::bad_layout
constexpr void check_relays(plan const& plan) {
    if (char const* const fault = tree_fault(plan.trees))
        fail(errc::bad_layout, "it has ", fault);
    for (std::size_t i = 1; i < plan.relays.size(); ++i)
        if (plan.relays[i - 1].transfer >= plan.relays[i].transfer)
            fail(errc::bad_layout, "it has relays out of order");
    for (relay const& relay : plan.relays)
        if (char const* const fault = relay_fault(plan, relay))
            fail(errc::bad_layout, "it has a relay ", fault);
}

/// The number of a chain; adds a new chain.
///
/// \throws error with errc::limit_exceeded for more chains than 16 bits can number
constexpr std::uint16_t chain_number(vector<step_chain>& chains, step_chain const& chain) {
    auto const number =
        static_cast<std::size_t>(std::find(chains.begin(), chains.end(), chain) - chains.begin());
    if (number > std::numeric_limits<std::uint16_t>::max())
        fail(errc::limit_exceeded, "a plan has more than 65536 different chains of steps");
    if (number == chains.size())
        chains.push_back(chain);
    return static_cast<std::uint16_t>(number);
}

} // namespace detail

/// Checks that a plan is consistent. The check does not know the numbers of holders and shards:
/// code that reads a plan must use it with the layouts that it was made for.
///
/// \throws error with errc::bad_layout if a number exceeds the plan's lists, or if transfers are
///         out of order
constexpr void validate(plan const& plan) {
    if (plan.pattern_of.size() != plan.target_dtypes.size())
        fail(errc::bad_layout, "it has patterns for ", plan.pattern_of.size(), " of ",
             plan.target_dtypes.size(), " targets");
    for (std::uint32_t const which : plan.pattern_of)
        if (which >= plan.patterns.size())
            fail(errc::bad_layout, "it refers to pattern ", which, " of ", plan.patterns.size());
    for (transfer const& part : plan.transfers)
        if (char const* const fault = detail::transfer_fault(plan, part))
            fail(errc::bad_layout, "it has a transfer with ", fault);
    auto const position_of = [](transfer const& part) {
        return std::pair{part.target_key, part.target_shard};
    };
    if (!std::is_sorted(
            plan.transfers.begin(), plan.transfers.end(),
            [&](auto const& a, auto const& b) { return position_of(a) < position_of(b); }))
        fail(errc::bad_layout, "it has transfers out of order");
    detail::check_relays(plan);
}

namespace detail {

/// The sender of a transfer: its source, or a target holder that relays it.
///
/// \param step the relay of the transfer, null if there is none
constexpr holder_t sender_of(plan const& plan, transfer const& t, relay const* step) {
    return step ? sender_of(plan.trees[step->tree], step->position) : t.source_holder;
}

/// The bytes of a transfer on the wire.
///
/// \par Units bytes, the last byte filled up
/// \pre       `t` is a transfer of `plan`
constexpr index_t wire_bytes(plan const& plan, transfer const& t) {
    return byte_count(cut_of(plan, t).elements(), wire_dtype(plan, t));
}

} // namespace detail

} // namespace reshard

#endif
