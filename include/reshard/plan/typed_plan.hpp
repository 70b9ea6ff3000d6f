// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_PLAN_HPP
#define RESHARD_PLAN_TYPED_PLAN_HPP

#include <reshard/core/vector.hpp>
#include <reshard/layout/distribution_grid.hpp>
#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/typed_definition.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// The plan from one typed layout to another, as a type; tensors of a kind are planned once.

namespace reshard::detail {

/// The contents of `kind_transfers` in arrays, as a constant needs them.
template <std::size_t Transfers, std::size_t Forms, std::size_t Chains>
struct kind_table {
    std::size_t transfer_count, form_count, chain_count;
    std::array<typed_transfer, Transfers> transfers{};
    std::array<cut_form, Forms> forms{};
    std::array<step_chain, Chains> chains{};

    constexpr explicit kind_table(kind_transfers const& kind_transfers)
        : transfer_count(kind_transfers.transfers.size()),
          form_count(kind_transfers.forms.size()),
          chain_count(kind_transfers.chains.size()) {
        if (fits()) {
            std::copy(kind_transfers.transfers.begin(), kind_transfers.transfers.end(),
                      transfers.begin());
            std::copy(kind_transfers.forms.begin(), kind_transfers.forms.end(), forms.begin());
            std::copy(kind_transfers.chains.begin(), kind_transfers.chains.end(), chains.begin());
        }
    }

    constexpr bool fits() const {
        return transfer_count <= Transfers && form_count <= Forms && chain_count <= Chains;
    }
    constexpr pattern_content content() const {
        return {{transfers.data(), transfer_count},
                {forms.data(), form_count},
                {chains.data(), chain_count}};
    }
};

/// The expression that makes a tensor from sources of the given kinds; if `Value` is `void`, the
/// source tensor itself.
template <class Value>
constexpr expression expression_of(vector<typed::kind const*> const& sources) {
    if constexpr (std::is_void_v<Value>) {
        return source_tensor(0, sources[0]->shape, sources[0]->dtype);
    } else {
        return Value::value([&, next = key_id{0}](std::string_view) mutable {
            typed::kind const& source = *sources[next];
            return source_tensor(next++, source.shape, source.dtype);
        });
    }
}

/// Plans a tensor of kind `target`.
template <class Value>
constexpr kind_transfers plan_kind(typed::kind const& target,
                                   vector<typed::kind const*> const& sources) {
    if constexpr (requires { Value::keeps_memory; })
        return {};
    expression const value = expression_of<Value>(sources);
    part_shards const wanted(target.part());
    vector<part_shards> held;
    vector<index_vector> shapes;
    plan_problem problem{0, target.part().spread.held_by().rank_end(), {}, {}};
    for (typed::kind const* const source : sources) {
        held.push_back(part_shards(source->part()));
        shapes.push_back(source->shape);
    }
    shapes.push_back(target.shape);
    for (std::size_t i = 0; i < sources.size(); ++i)
        problem.sources.push_back({"a source", sources[i]->dtype, held[i]});
    problem.targets.push_back({"a target", target.dtype, wanted, &value.pieces, false});
    return kind_planner(problem, shapes).find();
}

} // namespace reshard::detail

namespace reshard::typed {

/// All transfers that make tensors of the kind `Target` from tensors of the kinds `Sources`, as
/// constants.
///
/// `Value` is the typed expression without keys, or `void` for a copy of the only source. Equal
/// kinds and expressions are one type for any keys, so that the compiler plans them once.
template <kind const* Target, class Value, kind const*... Sources>
class pattern {
    /// Usually large enough.
    static constexpr detail::kind_table<64, 8, 2> small_{
        detail::plan_kind<Value>(*Target, {Sources...})};

    static constexpr auto const& table() {
        if constexpr (small_.fits())
            return small_;
        else
            return large_;
    }

    static constexpr detail::kind_table<small_.transfer_count, small_.form_count,
                                        small_.chain_count>
        large_{detail::plan_kind<Value>(*Target, {Sources...})};

public:
    static constexpr detail::pattern_content value = table().content();

    /// The bytes of a transfer on the wire.
    static constexpr index_t wire_bytes(detail::typed_transfer const& t) {
        constexpr std::array<data_type, sizeof...(Sources) + 1> sources{Sources->dtype...,
                                                                        Target->dtype};
        data_type const source =
            t.source_holder == detail::no_holder ? Target->dtype : sources[t.operand];
        return byte_count(value.forms[t.form].elements(),
                          detail::wire_dtype(source, Target->dtype));
    }
};

} // namespace reshard::typed

namespace reshard::detail {

/// The source tensors of each target tensor.
template <std::size_t Targets, std::size_t Total>
struct operand_table {
    std::array<std::uint32_t, Targets> first{}; ///< by target: index of its first source
    std::array<std::uint32_t, Total> source{};
};

/// For each target tensor, the number of the source tensor with the same key; `Source::keys.size()`
/// if a definition makes the target.
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

/// The address of `Of<pattern>::value` for a tensor that no definition makes, otherwise null.
///
/// \tparam Index the index of its source tensor, or the number of source tensors
template <template <class> class Of, class Result, class Source, std::size_t Index,
          typed::kind const* Target>
constexpr Result const* by_name_value() {
    if constexpr (Index == Source::keys.size())
        return nullptr;
    else
        return &Of<typed::pattern<Target, void, Source::kinds[Index]>>::value;
}

template <class Source, class... Operands>
constexpr auto source_numbers(boost::mp11::mp_list<Operands...>) {
    return std::array<std::uint32_t, sizeof...(Operands)>{
        static_cast<std::uint32_t>(Source::keys.find(Operands::hashed))...};
}

template <class Pattern>
using itself = Pattern;

/// The pattern of a definition.
template <class Source, class Target, class Definition, class List>
struct defined_pattern;

template <class Source, class Target, class Definition, class... Operands>
struct defined_pattern<Source, Target, Definition, boost::mp11::mp_list<Operands...>> {
    using type = typed::pattern<Target::kinds[Target::keys.find(Definition::hashed)],
                                typename Definition::value_type::keyless,
                                Source::kinds[Source::keys.find(Operands::hashed)]...>;
};

} // namespace reshard::detail

namespace reshard::typed {

/// A plan in constants: how the tensors of the layout `Target` are made of the tensors of `Source`.
///
/// A target tensor without a `definition` is the source tensor of its key. A `typed::program` gives
/// definitions as text. A mismatch is a compile error that says why.
///
/// ```
/// using job = plan<trained, served, definition<"qk", concat<0, q, k>>>;
/// static_assert(cost_of<job>(0).bytes_in == 4096);
/// ```
///
/// Tensors that differ only in their keys share one `pattern`, which is planned once. A layout with
/// a name, `struct trained : layout<...> {};`, makes messages shorter.
template <class Source, class Target, class... Definitions>
class plan {
public:
    using source_layout = Source;
    using target_layout = Target;

    /// The number of target tensors.
    static constexpr std::size_t size = Target::keys.size();

    /// The address of `Of<pattern>::value`, of type `Result`, for each target tensor in the
    /// layout's order. Tensors that share a pattern have the same address.
    template <template <class> class Of, class Result>
    static constexpr std::array<Result const*, size> by_target() {
        std::array<Result const*, size> values =
            by_name<Of, Result>(std::make_index_sequence<size>());
        std::array<Result const*, sizeof...(Definitions)> const defined = {
            &Of<pattern_of<Definitions>>::value...};
        for (std::size_t i = 0; i < defined.size(); ++i)
            values[Target::keys.find(definitions_[i])] = defined[i];
        return values;
    }

    /// The transfers of each target tensor, in the layout's order.
    static constexpr std::array<detail::pattern_content const*, size> contents() {
        return by_target<detail::itself, detail::pattern_content>();
    }

    /// The source tensors of the target tensors, as operands of their patterns: one operand for
    /// each target tensor, followed by the operands of the definitions.
    static constexpr auto operands() {
        constexpr auto defined = detail::source_numbers<Source>(
            boost::mp11::mp_append<boost::mp11::mp_list<>,
                                   typename Definitions::value_type::sources...>());
        detail::operand_table<size, size + defined.size()> table;
        for (std::uint32_t i = 0; i < size; ++i) {
            table.first[i] = i;
            table.source[i] = static_cast<std::uint32_t>(sources_[i]);
        }
        for (std::size_t i = 0; i < defined.size(); ++i)
            table.source[size + i] = defined[i];
        std::array<std::size_t, sizeof...(Definitions)> const counts = {
            boost::mp11::mp_size<typename Definitions::value_type::sources>::value...};
        auto next = static_cast<std::uint32_t>(size);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            table.first[Target::keys.find(definitions_[i])] = next;
            next += static_cast<std::uint32_t>(counts[i]);
        }
        return table;
    }

private:
    template <class Definition>
    using pattern_of =
        typename detail::defined_pattern<Source, Target, Definition,
                                         typename Definition::value_type::sources>::type;

    static constexpr auto definitions_ =
        std::array<detail::hashed_key, sizeof...(Definitions)>{Definitions::hashed...};
    static constexpr auto sources_ = detail::sources_by_name<Source, Target, Definitions...>();

    template <template <class> class Of, class Result, std::size_t... I>
    static constexpr std::array<Result const*, size> by_name(std::index_sequence<I...>) {
        return {detail::by_name_value<Of, Result, Source, sources_[I], Target::kinds[I]>()...};
    }
};

/// A plan with an error has no transfers, so that the error is the only message.
template <class Source, class Target, class... Definitions>
    requires(!(detail::program_type<Definitions> || ...) &&
             !detail::is_plan<Source, Target, Definitions...>)
class plan<Source, Target, Definitions...> : public plan<detail::no_tensors, detail::no_tensors> {
    static_assert(detail::check_rule(detail::broken_by_plan<Source, Target, Definitions...>()));

public:
    using source_layout = Source;
    using target_layout = Target;
};

/// The same with programs: the plan has their definitions. If a program has an error, the plan has
/// no transfers, because the error was already reported.
template <class Source, class Target, class... Items>
    requires(detail::program_type<Items> || ...)
class plan<Source, Target, Items...>
    : public boost::mp11::mp_append<
          plan<boost::mp11::mp_if_c<(detail::definition_list<Source, Target, Items>::is_right &&
                                     ...),
                                    Source, Target>,
               Target>,
          typename detail::definition_list<Source, Target, Items>::type...> {};

} // namespace reshard::typed

#endif
