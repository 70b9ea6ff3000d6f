// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TESTING_CHECK_ADAPTER_HPP
#define RESHARD_TESTING_CHECK_ADAPTER_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

/// \file
/// Checks the laws of `tensor_traits`, for any tensor type and any test framework.

namespace reshard::testing {

/// The options of `check_adapter` for a tensor type.
template <tensor T>
struct adapter_case {
    /// Returns a new tensor. Elements that the tensor does not own have to outlive it.
    std::function<T(index_vector const& shape, data_type dtype)> make;
    /// Write and read one element with the functions of the type itself. The numbers are 0 and 1.
    std::function<void(T& t, index_vector const& index, int number)> write;
    std::function<int(T const& t, index_vector const& index)> read;

    /// The numbers of axes that the type can have.
    vector<std::size_t> ndims = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    /// Shapes to use instead of those for `ndims`.
    vector<index_vector> shapes = {};
    /// Data types to use; empty for a type that is known at compile time.
    vector<data_type> dtypes = {};
    /// The memory of the elements of `make`'s tensors. Elements on a device are not accessed.
    memory_space memory = {};
};

} // namespace reshard::testing

namespace reshard::testing::detail {

using namespace reshard::detail;

/// A tensor without its static type.
struct adapted {
    index_vector shape; ///< the requested shape
    data_type dtype{};
    const_tensor_view seen;
    std::optional<tensor_view> writable = {};
    std::function<void(index_vector const&, int)> write = {};
    std::function<int(index_vector const&)> read = {};

    index_t count() const { return element_count(shape); }
    index_vector index(index_t i) const { return unravel_index(i, shape); }
    std::size_t bytes() const { return static_cast<std::size_t>(bits(dtype)) / 8; }

    std::byte const* element(index_t i) const {
        return static_cast<std::byte const*>(seen.data) +
               linear_offset(index(i), seen.strides) * static_cast<index_t>(bytes());
    }
    bool has(index_t i, vector<std::byte> const& value) const {
        return std::memcmp(element(i), value.data(), bytes()) == 0;
    }
    vector<std::byte> copy_of(index_t i) const { return {element(i), element(i) + bytes()}; }

    void set(index_t i, vector<std::byte> const& value) const {
        auto const offset = element(i) - static_cast<std::byte const*>(seen.data);
        std::memcpy(static_cast<std::byte*>(writable->data) + offset, value.data(), bytes());
    }
};

/// Throws because a law does not hold for a tensor.
template <class... Words>
[[noreturn]] void broken(std::string_view law, adapted const& t, Words const&... words) {
    fail(errc::usage, "check_adapter: ", law, ": for a tensor of ", t.dtype, " ", t.shape, ", ",
         words...);
}

inline void check_description(adapted const& t, memory_space memory) {
    if (t.seen.shape != t.shape)
        broken("shape", t, "shape(t) is ", t.seen.shape);
    if (t.seen.strides.size() != t.shape.size())
        broken("strides", t, "the length of strides(t) is ", t.seen.strides.size(),
               ", but the number of axes is ", t.shape.size());
    if (t.seen.dtype != t.dtype)
        broken("dtype", t, "dtype(t) is ", t.seen.dtype);
    if (t.seen.memory != memory)
        broken("memory", t, "memory(t) is ", t.seen.memory, ", but ", memory, " was expected");
    if (t.seen.data == nullptr && t.count() != 0)
        broken("data", t, "data(t) is null, but there are ", t.count(), " elements");
}

/// Refuses two elements at the same address, since they would be written twice.
inline void check_apart(adapted const& t) {
    if (auto const crowded = self_overlap(t.shape, t.seen.strides); t.writable && crowded)
        broken("strides", t, "elements share addresses: axis ", crowded->axis, " has stride ",
               t.seen.strides[crowded->axis], ", but the axes within it span ", crowded->taken,
               " elements");
}

/// The first element whose value in the view differs from `bytes`, or -1.
inline index_t changed_element(adapted const& t, vector<std::byte> const& bytes) {
    for (index_t i = 0; i < t.count(); ++i)
        if (!t.has(i, bytes))
            return i;
    return -1;
}

/// Checks that the view shows each written element, and that no other element changes.
inline void check_writes(adapted const& t) {
    for (index_t i = 0; i < t.count(); ++i)
        t.write(t.index(i), 0);
    auto const zero = t.copy_of(0);
    for (index_t i = 0; i < t.count(); ++i) {
        t.write(t.index(i), 1);
        index_t const count = changed_element(t, zero);
        if (count < 0)
            broken("write", t, "a 1 that the tensor writes to element ", t.index(i),
                   " is not seen through the view");
        if (count != i)
            broken("write", t, "a 1 that the tensor writes to element ", t.index(i),
                   " is seen through the view at ", t.index(count));
        t.write(t.index(i), 0);
        if (index_t const left = changed_element(t, zero); left >= 0)
            broken("write", t, "a 0 that the tensor writes to element ", t.index(i),
                   " changes element ", t.index(left), " of the view");
    }
}

/// Checks that the tensor reads each element that is written through the view.
inline void check_reads(adapted const& t) {
    auto const zero = t.copy_of(0);
    t.write(t.index(0), 1);
    auto const item = t.copy_of(0);
    t.write(t.index(0), 0);
    for (index_t i = 0; i < t.count(); ++i)
        for (int const number : {1, 0, 1}) {
            t.set(i, number == 1 ? item : zero);
            if (int const read = t.read(t.index(i)); read != number)
                broken("read", t, "the view writes ", number, " to element ", t.index(i),
                       ", but the tensor reads ", read);
        }
}

/// The elements of a tensor in row-major order. Each byte differs from its neighbours.
inline vector<std::byte> numbered_bytes(adapted const& t) {
    vector<std::byte> bytes(static_cast<std::size_t>(t.count()) * t.bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(t.dtype == data_type::boolean ? i % 2 : i % 251);
    return bytes;
}

/// Checks that `redistribute` moves elements into the tensor and out of it.
inline void check_moves(adapted const& t) {
    auto bytes = numbered_bytes(t);
    vector<std::byte> back(bytes.size());
    shard_descriptor const descriptor = replicated("t", t.dtype, t.shape);
    index_vector const steps = row_major_strides(t.shape);
    state_dict tensors, filled, returned;
    tensors.add(descriptor, tensor_view{bytes.data(), t.dtype, t.shape, steps});
    filled.add(descriptor, *t.writable);
    returned.add(descriptor, tensor_view{back.data(), t.dtype, t.shape, steps});
    redistribute(solo{}, tensors, filled);
    redistribute(solo{}, filled, returned);
    for (index_t i = 0; i < t.count(); ++i) {
        std::size_t const index = static_cast<std::size_t>(i) * t.bytes();
        vector<std::byte> const expected(&bytes[index], &bytes[index] + t.bytes());
        if (!t.has(i, expected) || std::memcmp(&back[index], expected.data(), t.bytes()) != 0)
            broken("redistribute", t, "element ", t.index(i),
                   " has a different value after it was moved in and out");
    }
}

inline void check_elements(adapted const& t) {
    bool const is_packed = bits(t.dtype) % 8 != 0; // packed elements have no address
    if (t.count() != 0 && t.writable && !is_packed) {
        check_apart(t);
        check_writes(t);
        check_reads(t);
    }
    if (t.writable && !is_packed)
        check_moves(t);
}

/// Shapes with `ndim` axes: different extents, an extent of 1, and an extent of 0 at either end.
inline vector<index_vector> shapes_of(std::size_t ndim) {
    constexpr index_t extents[max_ndim] = {2, 3, 2, 1, 2, 1, 1, 2};
    index_vector const full(extents, extents + ndim);
    if (ndim == 0)
        return {full};
    index_vector first = full, last = full, single = full;
    first[0] = 0;
    last[ndim - 1] = 0;
    single[0] = 1;
    return {full, single, first, last};
}

template <class T>
vector<index_vector> shapes_of(adapter_case<T> const& adapter) {
    if (!adapter.shapes.empty())
        return adapter.shapes;
    vector<index_vector> values;
    for (std::size_t const ndim : adapter.ndims)
        for (index_vector const& shape : shapes_of(ndim))
            values.push_back(shape);
    return values;
}

template <class T>
vector<data_type> dtypes_of(adapter_case<T> const& adapter) {
    if constexpr (has_dtype<T>)
        return adapter.dtypes;
    else
        return {data_type_of<typename tensor_traits<T>::element_type>};
}

/// Checks that `element_type` has an element's size, or is a byte if `dtype` is a function.
template <class T>
void check_element_type(adapted const& t) {
    using element = std::remove_cv_t<typename tensor_traits<T>::element_type>;
    if (!(has_dtype<T> && sizeof(element) == 1) &&
        sizeof(element) * 8 != std::size_t(bits(t.dtype)))
        broken("element_type", t, "element_type has ", sizeof(element) * 8,
               " bits, but an element has ", bits(t.dtype));
}

/// Checks that a copy has the same address if the tensor is a handle or owns no element, and
/// another address otherwise.
template <class T>
void check_copy(T& t, adapted const& adapted) {
    constexpr bool shares = borrowed_tensor<T> || tensor_handle<T>;
    T copy(t);
    bool const is_same = reshard::view(copy).data == adapted.seen.data;
    if (shares && !is_same)
        broken("copies", adapted, "a copy has its own elements, but tensor_traits says ",
               tensor_handle<T> ? "is_handle" : "is_borrowed", ", so a copy must share them");
    if (!shares && is_same)
        broken("copies", adapted,
               "a copy shows the same elements, but tensor_traits says neither is_handle nor "
               "is_borrowed");
}

template <class T>
void check_one(adapter_case<T> const& adapter, index_vector const& shape, data_type dtype) {
    T t = adapter.make(shape, dtype);
    adapted adapted{shape, dtype, reshard::view(std::as_const(t))};
    check_element_type<T>(adapted);
    check_description(adapted, adapter.memory);
    auto const view = reshard::view(t);
    if (view.data != adapted.seen.data)
        broken("data", adapted, "data(t) returns another address for a const tensor");
    if constexpr (std::copy_constructible<T>)
        if (adapted.count() != 0)
            check_copy(t, adapted);
    if (!adapter.memory.is_host())
        return;
    if constexpr (std::same_as<decltype(view), tensor_view const>)
        adapted.writable = view;
    adapted.write = [&](index_vector const& index, int number) { adapter.write(t, index, number); };
    adapted.read = [&](index_vector const& index) { return adapter.read(t, index); };
    check_elements(adapted);
}

} // namespace reshard::testing::detail

namespace reshard::testing {

/// Checks that tensors behave as `tensor_traits<T>` describes. Shape, strides, data type and memory
/// are as requested. The view shows each element that the tensor writes, and vice versa. Copies
/// own, borrow or share elements, as `is_borrowed` and `is_handle` say. `redistribute` moves
/// elements in and out. The shapes are scalars, extents of 0 and 1, and each number of axes.
///
/// Call it again with a `make` that returns transposed or narrowed tensors.
///
/// \throws error with errc::usage that names the law, the tensor and both values; errors of `make`,
///         `write`, `read` and `redistribute`
template <tensor T>
void check_adapter(adapter_case<T> const& adapter) {
    if (reshard::detail::has_dtype<T> && adapter.dtypes.empty())
        fail(errc::usage, "check_adapter: the data type is known at run time; list it in dtypes");
    for (index_vector const& shape : detail::shapes_of(adapter))
        for (data_type const dtype : detail::dtypes_of(adapter))
            detail::check_one(adapter, shape, dtype);
}

} // namespace reshard::testing

#endif
