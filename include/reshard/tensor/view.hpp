// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_VIEW_HPP
#define RESHARD_TENSOR_VIEW_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/traits.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

/// \file
/// Views of tensors without their types, and the address ranges of their elements. All code below
/// the façade works on views.

namespace reshard {

/// Elements that may be read: their address and their strides.
///
/// \par Units strides in elements; `data` is the address of the element at index 0, 0, ...
/// \invariant `shape.size() == strides.size()`
struct const_tensor_view {
    void const* data = nullptr;
    data_type dtype{};
    index_vector shape;
    index_vector strides;
    memory_space memory = {};

    constexpr std::size_t ndim() const { return shape.size(); }

    constexpr bool operator==(const_tensor_view const&) const = default;
};

/// Elements that may be read and written.
///
/// \par Units strides in elements; `data` is the address of the element at index 0, 0, ...
/// \invariant `shape.size() == strides.size()`
struct tensor_view {
    void* data = nullptr;
    data_type dtype{};
    index_vector shape;
    index_vector strides;
    memory_space memory = {};

    constexpr std::size_t ndim() const { return shape.size(); }

    constexpr operator const_tensor_view() const { return {data, dtype, shape, strides, memory}; }

    constexpr bool operator==(tensor_view const&) const = default;
};

namespace detail {

/// A view of the elements at `data`. Writable unless they are `const`.
template <tensor T, class Element>
constexpr auto view_through(T const& t, Element* data) {
    using result = std::conditional_t<std::is_const_v<Element>, const_tensor_view, tensor_view>;
    return result{data, dtype_of(t), tensor_traits<T>::shape(t), tensor_traits<T>::strides(t),
                  memory_of(t)};
}

} // namespace detail

/// A view of the elements of `t`: a `const_tensor_view` if they are `const`.
template <tensor T>
constexpr auto view(T& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// A read-only view of the elements of `t`.
template <tensor T>
constexpr const_tensor_view view(T const& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// A view of the elements to which a temporary such as a `std::span` refers.
template <borrowed_tensor T>
constexpr auto view(T&& t) {
    return detail::view_through(t, tensor_traits<T>::data(t));
}

/// Deleted for a temporary that owns its elements, because they would be destroyed with it.
template <tensor T>
    requires(!borrowed_tensor<T>)
void view(T const&&) = delete;

namespace detail {

/// The elements of an argument of type `T` outlive the call: the argument is an lvalue, owns no
/// elements, or is a handle, of which the callee keeps a copy.
template <class T>
concept outlives_call = std::is_lvalue_reference_v<T> || borrowed_tensor<std::remove_cvref_t<T>> ||
                        tensor_handle<std::remove_cvref_t<T>>;

/// A type whose `view` converts to `View`. For a `tensor_view`, its elements may be written.
template <class T, class View>
concept seen_through = requires(std::remove_reference_t<T>& t) {
    { reshard::view(t) } -> std::convertible_to<View>; // xtensor has a `view`, too
};

/// A type that `add` accepts.
template <class T, class View>
concept addable = tensor<std::remove_cvref_t<T>> && outlives_call<T> && seen_through<T, View>;

/// Always fails to compile, with the reason.
///
/// \pre not `addable<T, View>`
template <class T, class View>
constexpr void refuse_to_add() {
    constexpr bool has_traits = tensor<std::remove_cvref_t<T>>;
    static_assert(has_traits, "state_dict::add: this type is not a tensor: include its header of "
                              "reshard/adapt/, or specialise reshard::tensor_traits for it, then "
                              "static_assert(reshard::tensor<T>) names the missing parts");
    static_assert(!has_traits || outlives_call<T>,
                  "state_dict::add: this temporary owns its elements, which are gone after the "
                  "call: give the tensor a name, and let it live as long as the state dict");
    static_assert(!has_traits || !outlives_call<T> || seen_through<T, View>,
                  "state_dict::add: a state_dict is written to, and this tensor or its elements "
                  "are const: add it to a const_state_dict, or pass it without const");
}

} // namespace detail

/// As text: `bfloat16 [4, 6] strides [6, 1]`. Never contains an address or an element.
RESHARD_DECL std::string to_string(const_tensor_view const& elements);

} // namespace reshard

namespace reshard::detail {

/// The bytes from `begin` up to `end`, which is not included.
///
/// \par Units bytes
struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    constexpr std::uintptr_t bytes() const { return end - begin; }
    constexpr bool empty() const { return begin == end; }
    constexpr bool contains(address_range const& other_range) const {
        return begin <= other_range.begin && other_range.end <= end;
    }

    constexpr bool operator==(address_range const&) const = default;
};

/// True if the ranges have a byte in common.
constexpr bool overlap(address_range const& a, address_range const& b) {
    return !a.empty() && !b.empty() && a.begin < b.end && b.begin < a.end;
}

/// The number of elements before and after the element at index 0, 0, ...; neither is negative.
struct element_reach {
    index_t before = 0;
    index_t behind = 0;
};

/// The noun in the message if strides overflow 64 bits.
inline constexpr std::string_view strides_reach = "a tensor's extents and strides";

/// The distances from the element at index 0, 0, ... to the first and the last element in memory.
///
/// \pre    there is at least one element
/// \throws error with errc::overflow if strides overflow 64 bits
constexpr element_reach reach_of(index_vector const& shape, index_vector const& strides) {
    element_reach reach;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const stride = std::max(strides[axis], -std::numeric_limits<index_t>::max());
        index_t& side = stride < 0 ? reach.before : reach.behind;
        side = checked_add(
            side, checked_multiply(shape[axis] - 1, stride < 0 ? -stride : stride, strides_reach),
            strides_reach);
    }
    return reach;
}

/// The smallest range that contains every byte of `elements`; empty if there are no elements.
///
/// The range includes the bytes between the elements of a strided tensor.
///
/// \throws error with errc::overflow if strides overflow 64 bits
RESHARD_DECL address_range addresses(const_tensor_view const& elements);

/// False if the tensors certainly share no memory.
///
/// Interleaved tensors, such as two column blocks of one row-major matrix, may share no memory
/// although their ranges overlap. Then the result is true: an exact answer is as hard as integer
/// programming.
///
/// \throws error with errc::overflow if strides overflow 64 bits
RESHARD_DECL bool may_share_memory(const_tensor_view const& a, const_tensor_view const& b);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/view.ipp>
#endif

#endif
