// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_MATRIX_PART_HPP
#define RESHARD_TEST_SUPPORT_MATRIX_PART_HPP

#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

/// \file
/// A rank's part of a matrix that knows its expected values.

namespace reshard::test {

using namespace reshard::detail;

/// Part of a matrix of 32-bit integers with `gap` elements after each row; each is its number in
/// the matrix.
class matrix_part {
public:
    matrix_part(index_vector const& global, box region, index_t gap = 0,
                std::pmr::memory_resource* where = std::pmr::get_default_resource())
        : descriptor_{"w", data_type::i32, global, std::move(region), {}},
          pitch_(descriptor_.region.shape[1] + gap),
          elements_(static_cast<std::size_t>(descriptor_.region.shape[0] * pitch_), -1, where) {}

    void number() {
        for_each([](std::int32_t& element, std::int32_t number) { element = number; });
    }

    /// Makes all elements 0.
    void clear() {
        for_each([](std::int32_t& element, std::int32_t) { element = 0; });
    }

    /// Elements that are not their number, and gaps that were written.
    std::size_t wrong() {
        std::size_t count = 0, kept = 0, elements = 0;
        for_each([&](std::int32_t& element, std::int32_t number) {
            count += element != number;
            ++elements;
        });
        for (std::int32_t const element : elements_)
            kept += element == -1;
        return count + (elements_.size() - elements - kept);
    }

    state_dict views() {
        state_dict tensors;
        tensors.add(
            descriptor_,
            tensor_view{elements_.data(), data_type::i32, descriptor_.region.shape, {pitch_, 1}});
        return tensors;
    }

    index_t bytes() const { return 4 * element_count(descriptor_.region.shape); }

private:
    template <class Visit>
    void for_each(Visit const& visit) {
        auto const& [offset, shape] = descriptor_.region;
        for (index_t i = 0; i < shape[0]; ++i)
            for (index_t k = 0; k < shape[1]; ++k)
                visit(elements_[static_cast<std::size_t>(i * pitch_ + k)],
                      static_cast<std::int32_t>((offset[0] + i) * descriptor_.global_shape[1] +
                                                offset[1] + k));
    }

    shard_descriptor descriptor_;
    index_t pitch_;
    std::pmr::vector<std::int32_t> elements_;
};

} // namespace reshard::test

#endif
