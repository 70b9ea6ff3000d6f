// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TYPED_DEFINITION_HPP
#define RESHARD_PLAN_TYPED_DEFINITION_HPP

#include <reshard/expr/typed_source.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

/// \file
/// What a target tensor is, as a type, and the sentences for what does not fit.

namespace reshard::typed {

/// Says that the target tensor `Key` is what the typed expression yields.
template <detail::fixed_string Key, expression Value>
struct definition {
    using value_type = Value;
    static constexpr detail::hashed_key hashed = detail::hashed_key(Key.view());
};

} // namespace reshard::typed

namespace reshard::detail {

/// The tensor of that key without its key, or null.
template <class Layout>
constexpr typed::kind const* kind_of_key(hashed_key const& key) {
    std::size_t const index = Layout::keys.find(key);
    return index < Layout::keys.size() ? Layout::kinds[index] : nullptr;
}

/// Says what is wrong with a source tensor that an expression names.
template <class Source, class Named>
struct named_source {
    static constexpr typed::kind const* there = kind_of_key<Source>(Named::hashed);
    static_assert(there != nullptr, "a typed::source names a tensor that the source does not have");
    static_assert(there == nullptr || there->shape == Named::shape,
                  "a typed::source has another shape than the tensor of the source");
    static_assert(there == nullptr || there->dtype == Named::dtype,
                  "a typed::source has another data type than the tensor of the source");
};

/// Says what is wrong with a definition.
template <class Source, class Target, class Definition>
struct defined_target {
    using value = typename Definition::value_type;
    static constexpr typed::kind const* there = kind_of_key<Target>(Definition::hashed);
    static_assert(there != nullptr,
                  "a typed::definition defines a tensor that the target does not have");
    static_assert(there == nullptr || there->shape == value::shape,
                  "a typed::definition has another shape than the tensor of the target");
    static_assert(there == nullptr || there->dtype == value::dtype,
                  "a typed::definition has another data type than the tensor of the target; "
                  "convert it with typed::cast");

    template <class... Named>
    static constexpr std::size_t check(boost::mp11::mp_list<Named...>) {
        return (sizeof(named_source<Source, Named>) + ... + 0);
    }
    static constexpr std::size_t checked = check(typename value::sources{});
};

/// What keeps a target tensor from being the source tensor of its key.
struct name_fault {
    enum class kind { unknown, shape, dtype } type{};
    std::size_t target = 0;
};

/// The first target tensor without a definition that is no source tensor, or nothing.
template <class Source, class Target, class... Definitions>
constexpr std::optional<name_fault> find_name_fault() {
    constexpr typed_keys<sizeof...(Definitions)> defined(
        std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...});
    for (std::size_t i = 0; i < Target::keys.size(); ++i) {
        if (defined.find(Target::keys[i]) != defined.size())
            continue;
        typed::kind const* const source = kind_of_key<Source>(Target::keys[i]);
        if (source == nullptr)
            return name_fault{name_fault::kind::unknown, i};
        if (source->shape != Target::kinds[i]->shape)
            return name_fault{name_fault::kind::shape, i};
        if (source->dtype != Target::kinds[i]->dtype)
            return name_fault{name_fault::kind::dtype, i};
    }
    return std::nullopt;
}

/// Says what is wrong with a target tensor that is not defined.
template <class Tensor, name_fault::kind What>
struct target_by_name {
    static_assert(What != name_fault::kind::unknown,
                  "a tensor of the target is neither in the source nor defined; "
                  "say with a typed::definition what it is");
    static_assert(What != name_fault::kind::shape,
                  "a tensor of the target has another shape than that of its key in the source; "
                  "say with a typed::definition what it is");
    static_assert(What != name_fault::kind::dtype,
                  "a tensor of the target has another data type than that of its key in the "
                  "source; convert it with typed::cast in a typed::definition");
};

/// Says which tensor is defined twice.
template <class First, class Second>
struct definitions_of_one_key {
    static_assert(First::hashed != Second::hashed, "a tensor of the target is defined twice");
};

/// True; does not compile where a target tensor is not what its definition or its key say.
template <class Source, class Target, class... Definitions>
consteval bool definitions_fit() {
    using all = boost::mp11::mp_list<Definitions...>;
    constexpr auto twice =
        typed_keys<sizeof...(Definitions)>(
            std::array<hashed_key, sizeof...(Definitions)>{Definitions::hashed...})
            .twice();
    if constexpr (twice)
        definitions_of_one_key<boost::mp11::mp_at_c<all, twice->first>,
                               boost::mp11::mp_at_c<all, twice->second>>{};
    [[maybe_unused]] constexpr std::array<std::size_t, sizeof...(Definitions)> each = {
        defined_target<Source, Target, Definitions>::checked...};
    if constexpr (constexpr auto fault = find_name_fault<Source, Target, Definitions...>(); fault)
        target_by_name<boost::mp11::mp_at_c<typename Target::tensors, fault->target>,
                       fault->type>{};
    return true;
}

/// The source tensor of a layout, as an expression.
template <class Layout, fixed_string Key>
struct source_in {
    static constexpr std::size_t position = Layout::keys.find(hashed_key(Key.view()));
    static_assert(position < Layout::keys.size(),
                  "typed::source_of names a tensor that the layout does not have");
    using tensor = boost::mp11::mp_at_c<typename Layout::tensors, position>;
    using type = typed::source<Key, typename tensor::element_type, tensor::shape>;
};

/// A type that says of each tensor of a target what it is, such as `typed::program`.
template <class T>
concept program_type = requires { T::statements; };

/// A list of the definition of a tensor, or an empty one for the source tensor of its key.
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

/// The definitions of all tensors that a program makes; none if it is wrong.
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

/// A definition, or all of a program, as a list.
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

/// The tensor of that key of a typed layout, as an expression.
template <class Layout, detail::fixed_string Key>
using source_of = typename detail::source_in<Layout, Key>::type;

} // namespace reshard::typed

#endif
