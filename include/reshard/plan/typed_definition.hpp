// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_DEFINITION_HPP
#define RESHARD_PLAN_TYPED_DEFINITION_HPP

#include <reshard/expr/typed_source.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

/// \file
/// The definition of a target tensor as a type, and the texts of errors.

namespace reshard::typed {

/// Defines the target tensor `Key` as the result of a typed expression.
template <detail::fixed_string Key, expression Value>
struct definition {
    using value_type = Value;
    using key_fact = detail::of_key<Key>;
    static constexpr detail::hashed_key hashed = detail::hashed_key(Key.view());
};

} // namespace reshard::typed

namespace reshard::detail {

/// The kind of the tensor with that key, or null.
template <class Layout>
constexpr typed::kind const* kind_of_key(hashed_key const& key) {
    std::size_t const index = Layout::keys.find(key);
    return index < Layout::keys.size() ? Layout::kinds[index] : nullptr;
}

/// How a tensor of a layout differs from the tensor that a plan refers to.
enum class misfit { none, missing, other_shape, other_dtype, twice };

/// The origin of the reference: a typed source, a definition, or the name of a target tensor.
enum class meant_by { source, definition, name };

/// Compares the layout's tensor of that key. Does not compare its address with null, because g++
/// does not do that in a constant with `-fsanitize=undefined`.
template <class Layout>
constexpr misfit compare(hashed_key const& key, index_vector const& shape, data_type dtype) {
    std::size_t const index = Layout::keys.find(key);
    if (index == Layout::keys.size())
        return misfit::missing;
    typed::kind const& there = *Layout::kinds[index];
    return there.shape != shape   ? misfit::other_shape
           : there.dtype != dtype ? misfit::other_dtype
                                  : misfit::none;
}

/// A rule of plans: the tensor that `whom` refers to must not differ in the way `how`.
struct plan_rule {
    meant_by whom;
    misfit how;

    constexpr bool operator==(plan_rule const&) const = default;
};

template <plan_rule Rule, class... Facts>
consteval bool check_rule(broken<Rule, Facts...>) {
    using enum misfit;
    using enum meant_by;
    static_assert(holds<Rule != plan_rule{source, missing}, Facts...>,
                  "a typed::source names a tensor that the source does not have");
    static_assert(holds<Rule != plan_rule{source, other_shape}, Facts...>,
                  "a typed::source has a different shape from the tensor of the source");
    static_assert(holds<Rule != plan_rule{source, other_dtype}, Facts...>,
                  "a typed::source has a different data type from the tensor of the source");
    static_assert(holds<Rule != plan_rule{definition, missing}, Facts...>,
                  "a typed::definition defines a tensor that the target does not have");
    static_assert(holds<Rule != plan_rule{definition, other_shape}, Facts...>,
                  "a typed::definition has a different shape from the tensor of the target");
    static_assert(holds<Rule != plan_rule{definition, other_dtype}, Facts...>,
                  "a typed::definition has a different data type from the tensor of the target; "
                  "convert it with typed::cast");
    static_assert(holds<Rule != plan_rule{definition, twice}, Facts...>,
                  "a tensor of the target is defined twice");
    static_assert(holds<Rule != plan_rule{name, missing}, Facts...>,
                  "a tensor of the target is neither in the source nor defined; "
                  "define it with a typed::definition");
    static_assert(
        holds<Rule != plan_rule{name, other_shape}, Facts...>,
        "a tensor of the target has a different shape from the source tensor of the same key; "
        "define it with a typed::definition");
    static_assert(holds<Rule != plan_rule{name, other_dtype}, Facts...>,
                  "a tensor of the target has a different data type from the source tensor of the "
                  "same key; convert it with typed::cast in a typed::definition");
    return true;
}

/// The shape and data type of a kind of tensor, as members.
template <typed::kind const* Kind>
struct of_kind {
    static constexpr index_vector shape = Kind->shape;
    static constexpr data_type dtype = Kind->dtype;
};

/// The broken rule with its facts, for a tensor `Actual` that has to be `Wanted`.
template <plan_rule Rule, class Key, typed::kind const* Wanted, class Actual>
consteval auto broken_by_tensor_of_plan() {
    if constexpr (Rule.how == misfit::missing)
        return broken<Rule, Key, decltype(fact_of<actual, Actual::shape>())>();
    else if constexpr (Rule.how == misfit::other_shape)
        return broken_by_shape<Rule, Key, Wanted->shape, Actual::shape>();
    else
        return broken<Rule, Key, wanted<Wanted->dtype>, actual<Actual::dtype>>();
}

template <fixed_string Key, class T, index_vector Shape>
of_key<Key> key_fact_of(typed::source<Key, T, Shape>);

/// The first mismatch of a definition's source tensors, and the index of that source.
template <class Source, class... Named>
constexpr std::pair<misfit, std::size_t> compare_sources(boost::mp11::mp_list<Named...>) {
    std::array<misfit, sizeof...(Named)> const all{
        compare<Source>(Named::hashed, Named::shape, Named::dtype)...};
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != misfit::none)
            return {all[i], i};
    return {misfit::none, 0};
}

/// The mismatch of a definition: first of its target, then of its sources.
template <class Source, class Target, class Definition>
struct fit_of_definition {
    using value = typename Definition::value_type;
    static constexpr misfit target =
        compare<Target>(Definition::hashed, value::shape, value::dtype);
    static constexpr auto source = compare_sources<Source>(typename value::sources());
    static constexpr bool is_good = target == misfit::none && source.first == misfit::none;

    static consteval auto rule() {
        if constexpr (target != misfit::none) {
            return broken_by_tensor_of_plan<plan_rule{meant_by::definition, target},
                                            typename Definition::key_fact,
                                            kind_of_key<Target>(Definition::hashed), value>();
        } else {
            using named = boost::mp11::mp_at_c<typename value::sources, source.second>;
            return broken_by_tensor_of_plan<plan_rule{meant_by::source, source.first},
                                            decltype(key_fact_of(named())),
                                            kind_of_key<Source>(named::hashed), named>();
        }
    }
};

/// The first mismatch of a target tensor without a definition and the source tensor of its key;
/// `misfit::none` if there is no mismatch.
template <class Source, class Target, class... Definitions>
constexpr std::pair<misfit, std::size_t> compare_by_name() {
    constexpr typed_keys<sizeof...(Definitions)> defined(
        std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...});
    for (std::size_t i = 0; i < Target::keys.size(); ++i) {
        if (defined.find(Target::keys[i]) != defined.size())
            continue;
        misfit const how =
            compare<Source>(Target::keys[i], Target::kinds[i]->shape, Target::kinds[i]->dtype);
        if (how != misfit::none)
            return {how, i};
    }
    return {misfit::none, 0};
}

/// The first rule that layouts and definitions break, or `no_rule_broken`.
template <class Source, class Target, class... Definitions>
consteval auto broken_by_plan() {
    using all = boost::mp11::mp_list<Definitions...>;
    constexpr auto twice =
        typed_keys<sizeof...(Definitions)>(
            std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...})
            .twice();
    constexpr std::array<bool, sizeof...(Definitions)> good{
        fit_of_definition<Source, Target, Definitions>::is_good...};
    constexpr auto bad =
        static_cast<std::size_t>(std::find(good.begin(), good.end(), false) - good.begin());
    constexpr auto name = compare_by_name<Source, Target, Definitions...>();
    if constexpr (twice) {
        using second = boost::mp11::mp_at_c<all, twice->second>;
        return broken<plan_rule{meant_by::definition, misfit::twice}, typename second::key_fact,
                      actual<twice->first>, actual<twice->second>>();
    } else if constexpr (bad < good.size()) {
        return fit_of_definition<Source, Target, boost::mp11::mp_at_c<all, bad>>::rule();
    } else if constexpr (name.first != misfit::none) {
        using tensor = boost::mp11::mp_at_c<typename Target::tensors, name.second>;
        return broken_by_tensor_of_plan<plan_rule{meant_by::name, name.first},
                                        typename tensor::key_fact,
                                        kind_of_key<Source>(tensor::hashed), tensor>();
    } else {
        return no_rule_broken();
    }
}

template <class Source, class Target, class... Definitions>
concept is_plan =
    std::same_as<decltype(broken_by_plan<Source, Target, Definitions...>()), no_rule_broken>;

/// Both sides of a plan without transfers.
struct no_tensors : typed::layout<mesh{}> {};

/// The source tensor `Key` of a layout, as an expression.
template <class Layout, fixed_string Key>
struct source_in {
    static constexpr std::size_t position = Layout::keys.find(hashed_key(Key.view()));
    using tensors = boost::mp11::mp_push_back<typename Layout::tensors,
                                              typed::tensor<Key, float, index_vector{}>>;
    using tensor = boost::mp11::mp_at_c<tensors, position>;
    using type = typed::source<Key, typename tensor::element_type, tensor::shape>;

    static_assert(holds<(position < Layout::keys.size()), of_key<Key>>,
                  "typed::source_of names a tensor that the layout does not have");
};

/// A type that defines each tensor of a target, such as `typed::program`.
template <class T>
concept program_type = requires { T::statements; };

/// A list with the definition of a tensor; empty if the tensor is the source tensor of its key.
template <class Tensor, class Value>
struct tensor_definition {
    using type = boost::mp11::mp_list<>;
};

template <fixed_string Key, class T, index_vector Shape, auto... Placements,
          typed::expression Value>
struct tensor_definition<typed::tensor<Key, T, Shape, Placements...>, Value> {
    using type = boost::mp11::mp_list<typed::definition<Key, Value>>;
};

template <class Values, class... Tensors, std::size_t... I>
auto definitions_of(boost::mp11::mp_list<Tensors...>, std::index_sequence<I...>)
    -> boost::mp11::mp_append<
        boost::mp11::mp_list<>,
        typename tensor_definition<Tensors, decltype(Values::template value_of<I>())>::type...>;

/// The definitions of all tensors that a program makes; empty if the program has an error.
template <class Target, class Values, bool IsRight = Values::is_right>
struct program_definitions {
    static constexpr bool is_right = true;
    using type = decltype(definitions_of<Values>(typename Target::tensors(),
                                                 std::make_index_sequence<Target::keys.size()>()));
};

template <class Target, class Values>
struct program_definitions<Target, Values, false> {
    static constexpr bool is_right = false;
    using type = boost::mp11::mp_list<>;
};

/// A list of one definition, or of all definitions of a program.
template <class Source, class Target, class Item>
struct definition_list {
    static constexpr bool is_right = true;
    using type = boost::mp11::mp_list<Item>;
};

template <class Source, class Target, program_type Program>
struct definition_list<Source, Target, Program>
    : program_definitions<Target, typename Program::template values<Source, Target>> {};

} // namespace reshard::detail

namespace reshard::typed {

/// The tensor `Key` of a typed layout, as an expression.
template <class Layout, detail::fixed_string Key>
using source_of = typename detail::source_in<Layout, Key>::type;

} // namespace reshard::typed

#endif
