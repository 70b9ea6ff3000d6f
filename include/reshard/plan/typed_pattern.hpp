// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_PATTERN_HPP
#define RESHARD_PLAN_TYPED_PATTERN_HPP

#include <reshard/layout/distribution_grid.hpp>
#include <reshard/layout/typed_kind.hpp>
#include <reshard/plan/move_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// The moves of all tensors of a kind as a constant: what the compiler plans, once a kind.

namespace reshard {

namespace detail {

/// What a list of moves becomes when it has to outlive its making.
template <std::size_t Moves, std::size_t Copies>
struct move_table {
    std::size_t move_count = 0;
    std::size_t copy_count = 0;
    std::array<typed_move, Moves> moves{};
    std::array<constant_copy, Copies> copies{};

    constexpr explicit move_table(move_list const& all)
        : move_count(all.moves.size()), copy_count(all.copies.size()) {
        if (fits()) {
            std::copy(all.moves.begin(), all.moves.end(), moves.begin());
            std::copy(all.copies.begin(), all.copies.end(), copies.begin());
        }
    }

    constexpr bool fits() const { return move_count <= Moves && copy_count <= Copies; }
};

/// The expression of a tensor of that kind whose sources are of those kinds; `void` is the source
/// itself.
template <class Value>
constexpr expression expression_of(std::vector<typed_kind const*> const& sources) {
    if constexpr (std::is_void_v<Value>) {
        return source_tensor(0, sources[0]->shape, sources[0]->dtype);
    } else {
        return Value::value([&, next = key_id{0}](std::string_view) mutable {
            typed_kind const& source = *sources[next];
            return source_tensor(next++, source.shape, source.dtype);
        });
    }
}

/// Plans a tensor of that kind.
template <class Value>
constexpr move_list plan_kind(typed_kind const& target,
                              std::vector<typed_kind const*> const& sources) {
    expression const value = expression_of<Value>(sources);
    shard_grid const wanted = grid_of(target.how());
    std::vector<shard_grid> held;
    plan_problem problem{0, target.ranks.rank_count(), {}, {}};
    for (typed_kind const* const source : sources)
        held.push_back(grid_of(source->how()));
    for (std::size_t i = 0; i < sources.size(); ++i)
        problem.sources.push_back({"a source", sources[i]->dtype, &held[i]});
    problem.targets.push_back({"a target", target.dtype, &wanted, &value.pieces, false});
    return move_finder(problem).find();
}

} // namespace detail

/// All moves that make tensors of the kind `Target` of tensors of the kinds `Sources`: a constant.
///
/// `Value` is the typed expression without keys, `void` for the one source as it is. Whatever the
/// keys, equal kinds and expressions are one type, so that the compiler plans them once.
template <typed_kind const* Target, class Value, typed_kind const*... Sources>
class typed_pattern {
public:
    static constexpr typed_kind const& target = *Target;

    /// The moves, those of one copy behind each other.
    static constexpr std::span<typed_move const> moves() {
        return {table().moves.data(), table().move_count};
    }

    /// The different copies that they are.
    static constexpr std::span<constant_copy const> copies() {
        return {table().copies.data(), table().copy_count};
    }

private:
    /// Usually the first attempt is large enough.
    static constexpr detail::move_table<64, 8> small_{
        detail::plan_kind<Value>(*Target, {Sources...})};

    static constexpr auto const& table() {
        if constexpr (small_.fits())
            return small_;
        else
            return large_;
    }

    static constexpr detail::move_table<small_.move_count, small_.copy_count> large_{
        detail::plan_kind<Value>(*Target, {Sources...})};
};

} // namespace reshard

#endif
