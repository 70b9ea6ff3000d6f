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

/// \file
/// The definition of a target tensor, as a type, and the sentences for errors.

namespace reshard::typed {

/// Defines the target tensor `Key` as the result of the typed expression.
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

/// Reports the error in a source tensor that an expression names.
template <class Source, class Named>
struct named_source {
    static constexpr typed::kind const* there = kind_of_key<Source>(Named::hashed);
    static_assert(there != nullptr, "a typed::source names a tensor that the source does not have");
    static_assert(there == nullptr || there->shape == Named::shape,
                  "a typed::source has another shape than the tensor of the source");
    static_assert(there == nullptr || there->dtype == Named::dtype,
                  "a typed::source has another data type than the tensor of the source");
};

/// Reports the error in a definition.
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

/// The first target tensor without a definition that is not a source tensor, if any.
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

/// Reports the error in a target tensor that is not defined.
template <class Tensor, name_fault::kind What>
struct target_by_name {
    static_assert(What != name_fault::kind::unknown,
                  "a tensor of the target is neither in the source nor defined; define it with a "
                  "typed::definition");
    static_assert(What != name_fault::kind::shape,
                  "a tensor of the target has another shape than its key in the source; define it "
                  "with a typed::definition");
    static_assert(What != name_fault::kind::dtype,
                  "a tensor of the target has another data type than its key in the source; "
                  "convert it with typed::cast in a typed::definition");
};

/// Says which tensor is defined twice.
template <class First, class Second>
struct definitions_of_one_key {
    static_assert(First::hashed != Second::hashed, "a tensor of the target is defined twice");
};

/// True; does not compile if a target tensor contradicts its definition or its key.
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

} // namespace reshard::detail

namespace reshard::typed {

/// The tensor of that key of a typed layout, as an expression.
template <class Layout, detail::fixed_string Key>
using source_of = typename detail::source_in<Layout, Key>::type;

} // namespace reshard::typed

#endif
