// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_TYPED_REDISTRIBUTE_HPP
#define RESHARD_BIND_TYPED_REDISTRIBUTE_HPP

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/typed_addresses.hpp>
#include <reshard/copy/run_constant.hpp>
#include <reshard/plan/typed_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// \file
/// Runs a typed plan with every rank in this process: nothing is planned and nothing allocated.

namespace reshard {

namespace detail {

/// One of the copies of a pattern, as a constant of a type.
template <class Pattern, std::size_t Number>
struct pattern_copy {
    static constexpr constant_copy value = Pattern::copies()[Number];

    /// The moves that are this copy.
    static constexpr std::span<typed_move const> moves() {
        auto const [first, last] = std::ranges::equal_range(Pattern::moves(), std::uint32_t{Number},
                                                            {}, &typed_move::copy);
        return {first, last};
    }
};

/// The shards of the tensors that a target tensor is made of: by operand, the place of its
/// addresses.
template <class Byte>
struct operand_rows {
    Byte* const* addresses;
    std::uint32_t const* tensors;
    std::size_t ranks;

    Byte* at(std::uint32_t operand, holder_t rank) const {
        return addresses[tensors[operand] * ranks + rank];
    }
};

inline constexpr unsigned char zero_bytes[16] = {}; // as many as the widest element has

/// Runs the moves of a pattern that are its copy number `Number`.
template <class Pattern, std::size_t Number>
void run_copy(operand_rows<std::byte const> const& sources, std::byte* const* target) {
    using copy = pattern_copy<Pattern, Number>;
    static constexpr std::span<typed_move const> moves = copy::moves();
    static constexpr bool some_are_zeros = std::ranges::any_of(
        moves, [](typed_move const& move) { return move.source_holder == no_holder; });
    for (typed_move const& move : moves) {
        auto* const to =
            reinterpret_cast<unsigned char*>(target[move.target_holder] + move.target_bytes);
        if constexpr (some_are_zeros)
            if (move.source_holder == no_holder) {
                run_constant<copy>(zero_bytes, to);
                continue;
            }
        run_constant<copy>(reinterpret_cast<unsigned char const*>(
                               sources.at(move.operand, move.source_holder) + move.source_bytes),
                           to);
    }
}

/// Runs all moves of one target tensor; no fold, of which compilers take but a few hundred terms.
template <class Pattern, std::size_t... Number>
void run_pattern([[maybe_unused]] operand_rows<std::byte const> const& sources,
                 [[maybe_unused]] std::byte* const* target, std::index_sequence<Number...>) {
    [[maybe_unused]] bool const done[] = {true,
                                          (run_copy<Pattern, Number>(sources, target), true)...};
}

/// The function that makes target tensors of a pattern.
template <class Pattern>
struct pattern_function {
    static void run(operand_rows<std::byte const> const& sources, std::byte* const* target) {
        run_pattern<Pattern>(sources, target, std::make_index_sequence<Pattern::copies().size()>());
    }
    static constexpr auto value = &run;
};

using pattern_runner = void (*)(operand_rows<std::byte const> const&, std::byte* const*);

} // namespace detail

/// Fills the tensors of `target` from those of `source`, as the typed plan `Plan` says.
///
/// What is copied where is known to the compiler: the extents are constants, nothing is planned or
/// allocated, nothing fails.
///
/// \pre every shard of the layouts has an address and its elements there; the memory of a target
///      shard is that of no other shard
template <class Plan>
void run_locally(typed_addresses<typename Plan::source_layout, std::byte const> const& source,
                 typed_addresses<typename Plan::target_layout, std::byte> const& target) {
    static constexpr auto runners =
        Plan::template by_target<detail::pattern_function, detail::pattern_runner>();
    static constexpr auto operands = Plan::operands();
    if constexpr (Plan::size > 0)
        for (std::size_t i = 0; i < Plan::size; ++i)
            runners[i]({source.all(), operands.source.data() + operands.first[i], source.ranks},
                       target.of(i));
}

/// Fills the tensors of `target` from those of `source`, as the typed plan `Plan` says; element `r`
/// is rank `r`.
///
/// \throws error with errc::bad_layout where the ranks do not hold what the layouts give them, with
///         errc::memory_overlap where a target shares memory with another tensor; nothing is
///         written then
template <class Plan>
void redistribute_locally(std::span<const_state_dict const> source,
                          std::span<state_dict const> target) {
    typed_addresses<typename Plan::source_layout, std::byte const> const from(source);
    typed_addresses<typename Plan::target_layout, std::byte> const to(target);
    check_memory(source, target);
    run_locally<Plan>(from, to);
}

} // namespace reshard

#endif
