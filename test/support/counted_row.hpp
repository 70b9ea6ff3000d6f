// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_COUNTED_ROW_HPP
#define RESHARD_TEST_SUPPORT_COUNTED_ROW_HPP

#include <reshard/core/error.hpp>
#include <reshard/tensor/traits.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// A tensor as frameworks have it: a counted reference to elements of a type known at run time.

namespace reshard::test {

/// A row whose copies, and whose narrowed rows, show the same elements.
struct counted_row {
    std::shared_ptr<std::vector<float>> storage;
    std::size_t first = 0;
    std::size_t count = 0;
    bool is_read_only = false;

    explicit counted_row(std::vector<float> elements)
        : storage(std::make_shared<std::vector<float>>(std::move(elements))),
          count(storage->size()) {}

    counted_row narrow(std::size_t begin, std::size_t length) const {
        counted_row part = *this;
        part.first += begin;
        part.count = length;
        return part;
    }

    float* data() const { return storage->data() + first; }
};

} // namespace reshard::test

template <>
struct reshard::tensor_traits<reshard::test::counted_row> {
    using row = test::counted_row;
    using element_type = std::byte;
    static constexpr bool is_handle = true;

    static index_vector shape(row const& t) { return {static_cast<index_t>(t.count)}; }
    static index_vector strides(row const&) { return {1}; }
    static data_type dtype(row const&) { return data_type::f32; }
    static std::byte* data(row& t) {
        if (t.is_read_only)
            fail(errc::usage, "a row of ", t.count, " elements is read-only");
        return reinterpret_cast<std::byte*>(t.data());
    }
    static std::byte const* data(row const& t) { return reinterpret_cast<std::byte*>(t.data()); }
};

#endif
