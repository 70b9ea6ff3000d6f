// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PATTERNS_HPP
#define RESHARD_PLAN_MAKE_PATTERNS_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/senders.hpp>
#include <reshard/plan/target_kinds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

/// \file
/// Makes the patterns of some holders' transfers from two layouts and a mapping.

namespace reshard {

namespace detail {

/// The fewest elements in a stripe: a smaller stripe is not worth a transfer.
inline constexpr index_t least_stripe = 4096;

/// The axis along which a cut is divided into stripes; std::nullopt if it is not divided.
constexpr std::optional<std::size_t> axis_of_stripes(cut const& whole, std::uint32_t stripes) {
    if (stripes == 1 || whole.joins.any() || whole.repeats.any() ||
        whole.elements() / least_stripe < index_t{stripes})
        return std::nullopt;
    for (std::size_t axis = 0; axis < whole.ndim(); ++axis)
        if (whole.extent[axis] / 8 >= index_t{stripes})
            return axis;
    return std::nullopt;
}

/// Adds the stripes of a cut, which end at whole bytes for any data type, or the undivided cut.
constexpr void add_stripes(placed_cut const& whole, std::uint32_t stripes, placed_pattern& cuts) {
    auto const axis = axis_of_stripes(whole.geometry, stripes);
    if (!axis)
        return cuts.push_back(whole);
    index_t const extent = whole.geometry.extent[*axis];
    index_t const each = ((extent - 1) / index_t{stripes} + 8) / 8 * 8;
    placed_cut part = whole;
    for (index_t begin = 0; begin < extent; begin += each) {
        part.geometry.extent[*axis] = std::min(each, extent - begin);
        part.geometry.target_offset[*axis] = whole.geometry.target_offset[*axis] + begin;
        std::size_t const from = whole.geometry.order[*axis];
        part.geometry.source_offset[from] = whole.geometry.source_offset[from] + begin;
        cuts.push_back(part);
        ++part.at.replica;
        part.at.is_rest = true;
    }
}

/// Finds equal tensors and plans each kind once.
class pattern_finder {
public:
    constexpr pattern_finder(plan_problem const& problem, plan_scope const& scope,
                             source_indices const& sources, target_turns const& turns)
        : problem_(problem),
          sources_(sources),
          turns_(turns),
          parts_(scope, turns.options(), sources, turns.targets()),
          kinds_(problem, sources, turns.targets(), parts_) {}

    constexpr pattern_plan find() const {
        pattern_plan result;
        result.source_dtypes.reserve(problem_.sources.size());
        result.target_dtypes.reserve(problem_.targets.size());
        for (source_side const& source : problem_.sources)
            result.source_dtypes.push_back(source.dtype);
        for (target_side const& target : problem_.targets)
            result.target_dtypes.push_back(target.dtype);
        equal_classes kinds = classes();
        for (std::uint32_t const t : kinds.representative)
            result.patterns.push_back(pattern_of(t));
        result.pattern_of = std::move(kinds.class_of);
        return result;
    }

private:
    using numbers = scope_parts::numbers;

    /// The classes of tensors that share a pattern. Tensors of one kind that are cut into different
    /// numbers of stripes are in different classes.
    constexpr equal_classes classes() const {
        equal_classes kinds = kinds_.classes();
        if (!turns_.stripes().any())
            return kinds;
        vector<std::pair<std::uint32_t, std::uint32_t>> cut_kinds; // kinds with their stripes
        auto const whole = static_cast<std::uint32_t>(kinds.representative.size());
        for (std::uint32_t t = 0; t < kinds.class_of.size(); ++t) {
            std::uint32_t& kind = kinds.class_of[t];
            std::pair const cut{kind, turns_.stripes().cuts(t)};
            if (cut.second == 1) {
                kinds.representative[kind] = t;
                continue;
            }
            auto const at = std::find(cut_kinds.begin(), cut_kinds.end(), cut);
            kind = whole + static_cast<std::uint32_t>(at - cut_kinds.begin());
            if (at == cut_kinds.end()) {
                cut_kinds.push_back(cut);
                kinds.representative.push_back(t);
            }
        }
        return kinds;
    }

    constexpr placed_pattern pattern_of(std::uint32_t t) const {
        target_side const& target = problem_.targets[t];
        placed_pattern cuts(target.shards.ndim());
        if (kinds_.is_idle(t))
            return cuts;
        cut_finder const finder(problem_, target, sources_);
        for (std::uint32_t const shard : kinds_.wanted(t))
            finder.find_sources_of(shard, cuts);
        find_given(t, finder, cuts);
        cuts.sort();
        return in_stripes(std::move(cuts), turns_.stripes().cuts(t));
    }

    static constexpr placed_pattern in_stripes(placed_pattern whole, std::uint32_t stripes) {
        if (stripes == 1)
            return whole;
        placed_pattern cuts(whole.geometry().ndim());
        for (std::size_t i = 0; i < whole.size(); ++i)
            add_stripes(whole[i], stripes, cuts);
        cuts.sort();
        return cuts;
    }

    static constexpr bool is_among(std::uint32_t number, numbers const& ascending) {
        return std::binary_search(ascending.begin(), ascending.end(), number);
    }

    /// The elements that sources in the scope send to target shards outside it.
    constexpr void find_given(std::uint32_t t, cut_finder const& finder,
                              placed_pattern& cuts) const {
        target_side const& target = problem_.targets[t];
        numbers sources;
        for (std::size_t i = 0; i < target.pieces->size(); ++i)
            if (key_id const id = target.pieces->source(i);
                id != zero_source && !kinds_.given(id).empty())
                sources.push_back(id);
        if (sources.empty())
            return;
        std::sort(sources.begin(), sources.end());
        sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
        shard_index const targets(target.shards);
        numbers const& wanted = kinds_.wanted(t);
        auto const outside = [&](std::uint32_t shard) { return !is_among(shard, wanted); };
        for (key_id const id : sources)
            for (std::uint32_t const source_box : kinds_.given(id))
                finder.find_targets_of(id, source_box, targets, outside, cuts);
    }

    plan_problem const& problem_;
    source_indices const& sources_;
    target_turns const& turns_;
    scope_parts parts_;
    target_kinds kinds_;
};

/// The cuts of some holders' transfers, and the rule for their senders.
///
/// Refers to its arguments, which must outlive it.
struct given_cuts {
    source_indices sources;
    shard_kinds targets;
    plan_options options; ///< with the choice for or against relays
    bool is_balanced;     ///< senders are balanced; then the patterns have all transfers
    target_turns turns;
    sender_finder senders;
    any_relays* relays = nullptr; ///< null if no rank passes elements on
    pattern_plan patterns;

    /// Each shard in the scope is looked up in search trees or grids, and tensors with equal
    /// geometry are planned once: the time depends on the number of cuts. The constructor is
    /// constexpr: if layouts are types, the result is a constant.
    ///
    /// \throws error with errc::not_covered if nobody holds elements of a wanted shard, with
    ///         errc::overlap if source shards that are not replicas share elements
    constexpr given_cuts(plan_problem const& problem, plan_scope const& scope,
                         plan_options const& given)
        : sources(problem),
          targets(problem.targets),
          options(chosen(problem, given, sources, targets)),
          is_balanced(can_balance(problem, options, sources)),
          turns(problem, options, sources, targets, !is_balanced),
          senders(problem, options, sources, turns) {
        if (is_balanced) {
            patterns = pattern_finder(problem, {}, sources, turns).find();
            options.between_nodes.steps->balance(problem, options, sources, targets, patterns);
            return;
        }
        patterns = pattern_finder(problem, scope, sources, turns).find();
        // Last, because an error after it would leak them: no destructor would run.
        if (options.between_nodes.has_relays() && !options.shared_sources)
            relays =
                steps_of(options).find_relays(problem, options, sources, targets, turns).release();
    }

    given_cuts(given_cuts const&) = delete; // members refer to each other
    given_cuts& operator=(given_cuts const&) = delete;

    constexpr ~given_cuts() { delete relays; } // a constant has no smart pointers

    /// std::nullopt if the source sends that cut of a tensor directly.
    constexpr std::optional<relay_place> find_relay(std::uint32_t tensor, cut_place const& at) {
        return relays ? relays->find(tensor, at) : std::nullopt;
    }

private:
    /// \throws error with errc::usage if the choice was read from a file, which has no functions
    static constexpr node_steps const& steps_of(plan_options const& options) {
        if (!options.between_nodes.steps)
            fail(errc::usage, "a choice of senders cannot be read from a file or set by hand; set "
                              "plan_options::between_nodes to balanced_senders() or relays()");
        return *options.between_nodes.steps;
    }

    static constexpr plan_options chosen(plan_problem const& problem, plan_options const& given,
                                         source_indices const& sources,
                                         shard_kinds const& targets) {
        return given.between_nodes.choice == sender_choice::faster && !given.shared_sources
                   ? steps_of(given).faster(problem, given, sources, targets)
                   : given;
    }

    /// A constant plan is not balanced.
    static constexpr bool can_balance(plan_problem const& problem, plan_options const& options,
                                      source_indices const& sources) {
        return !std::is_constant_evaluated() &&
               options.between_nodes.choice == sender_choice::balanced &&
               steps_of(options).can_balance(problem, options, sources);
    }
};

} // namespace detail

} // namespace reshard

#endif
