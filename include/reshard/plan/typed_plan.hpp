// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_PLAN_HPP
#define RESHARD_PLAN_TYPED_PLAN_HPP

#include <reshard/plan/typed_definition.hpp>
#include <reshard/plan/typed_pattern.hpp>

#include <boost/mp11/algorithm.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// The plan from one typed layout to another as a type.

namespace reshard {

namespace detail {

/// Lists of numbers, one a target, behind each other.
template <std::size_t Targets, std::size_t Total>
struct operand_table {
    std::array<std::uint32_t, Targets> first{}; ///< where the list of a target begins
    std::array<std::uint32_t, Total> source{};

    constexpr explicit operand_table(std::vector<std::vector<std::uint32_t>> const& lists) {
        std::uint32_t next = 0;
        for (std::size_t target = 0; target < Targets; ++target) {
            first[target] = next;
            for (std::uint32_t const one : lists[target])
                source[next++] = one;
        }
    }
};

/// Which source tensor each target tensor is by its key: `Source::keys.size()` where it is defined.
template <class Source, class Target, class... Definitions>
constexpr auto sources_by_name() {
    std::array<std::size_t, Target::keys.size()> sources{};
    constexpr typed_keys<sizeof...(Definitions)> defined(
        std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...});
    for (std::size_t i = 0; i < sources.size(); ++i)
        sources[i] = defined.find(Target::keys[i]) == defined.size()
                         ? Source::keys.find(Target::keys[i])
                         : Source::keys.size();
    return sources;
}

/// `Of<pattern>::value` of the tensor that is what its source is, nothing where it is defined.
template <template <class> class Of, class Result, typed_kind const* Source,
          typed_kind const* Target>
constexpr Result by_name_value() {
    if constexpr (Source == nullptr)
        return {};
    else
        return Of<typed_pattern<Target, void, Source>>::value;
}

template <class Source, class... Operands>
constexpr std::vector<std::uint32_t> source_numbers(boost::mp11::mp_list<Operands...>) {
    return {static_cast<std::uint32_t>(Source::keys.find(Operands::hashed))...};
}

constexpr std::size_t total(std::vector<std::vector<std::uint32_t>> const& lists) {
    std::size_t sum = 0;
    for (auto const& one : lists)
        sum += one.size();
    return sum;
}

/// The pattern of a definition, given where its sources and its target are.
template <class Source, class Target, class Definition, class List>
struct defined_pattern;

template <class Source, class Target, class Definition, class... Operands>
struct defined_pattern<Source, Target, Definition, boost::mp11::mp_list<Operands...>> {
    using type = typed_pattern<Target::kinds[Target::keys.find(Definition::hashed)],
                               typename Definition::value_type::keyless,
                               Source::kinds[Source::keys.find(Operands::hashed)]...>;
};

} // namespace detail

/// How the tensors of the layout `Target` are made of those of `Source`, all of it constants.
///
/// A target tensor of which no `typed_definition` is given is the source tensor of its key. What
/// does not fit does not compile, and says why.
///
/// ```
/// using job = typed_plan<trained, served, typed_definition<"qk", typed_concat<0, q, k>>>;
/// static_assert(cost_of<job>(0).bytes_in == 4096);
/// ```
///
/// Tensors that are alike but for their keys have one `typed_pattern`, planned once. A layout that
/// has a name of its own, `struct trained : typed_layout<...> {};`, makes for shorter messages.
template <class Source, class Target, class... Definitions>
class typed_plan {
    static_assert(detail::definitions_fit<Source, Target, Definitions...>());

public:
    using source_layout = Source;
    using target_layout = Target;

    /// The number of target tensors.
    static constexpr std::size_t size = Target::keys.size();

    /// `Of<pattern>::value` for the pattern of each target tensor, in the layout's order.
    template <template <class> class Of, class Result>
    static constexpr std::array<Result, size> by_target() {
        std::array<Result, size> all = by_name<Of, Result>(std::make_index_sequence<size>());
        std::array<Result, sizeof...(Definitions)> const defined = {
            Of<pattern_of<Definitions>>::value...};
        for (std::size_t i = 0; i < defined.size(); ++i)
            all[Target::keys.find(definitions_[i])] = defined[i];
        return all;
    }

    /// The source tensors that the target tensors are made of, as operands of their patterns.
    static constexpr auto operands() {
        constexpr std::size_t count = detail::total(operand_lists());
        return detail::operand_table<size, count>(operand_lists());
    }

private:
    template <class Definition>
    using pattern_of =
        typename detail::defined_pattern<Source, Target, Definition,
                                         typename Definition::value_type::sources>::type;

    static constexpr auto definitions_ =
        std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...};
    static constexpr auto sources_ = detail::sources_by_name<Source, Target, Definitions...>();

    static constexpr std::vector<std::vector<std::uint32_t>> operand_lists() {
        std::vector<std::vector<std::uint32_t>> lists;
        for (std::size_t const source : sources_)
            lists.push_back({static_cast<std::uint32_t>(source)});
        std::array<std::vector<std::uint32_t>, sizeof...(Definitions)> defined = {
            detail::source_numbers<Source>(typename Definitions::value_type::sources())...};
        for (std::size_t i = 0; i < defined.size(); ++i)
            lists[Target::keys.find(definitions_[i])] = std::move(defined[i]);
        return lists;
    }

    static constexpr typed_kind const* source_kind(std::size_t target) {
        return sources_[target] == Source::keys.size() ? nullptr : Source::kinds[sources_[target]];
    }

    template <template <class> class Of, class Result, std::size_t... I>
    static constexpr std::array<Result, size> by_name(std::index_sequence<I...>) {
        return {detail::by_name_value<Of, Result, source_kind(I), Target::kinds[I]>()...};
    }
};

} // namespace reshard

#endif
