// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_SHORT_LIST_HPP
#define RESHARD_CORE_SHORT_LIST_HPP

#include <boost/assert.hpp>

#include <cstddef>
#include <vector>

/// \file
/// A list that mostly has one element.

namespace reshard {

/// A list whose first element, as long as it is the only one, takes no memory of its own.
template <class T>
class short_list {
public:
    constexpr std::size_t size() const { return size_; }

    constexpr void reserve(std::size_t elements) {
        if (elements > 1)
            many_.reserve(elements);
    }

    constexpr void push_back(T const& element) {
        if (size_ == 0) {
            first_ = element;
        } else {
            if (size_ == 1) {
                many_.push_back(first_);
                first_ = {};
            }
            many_.push_back(element);
        }
        ++size_;
    }

    /// \pre `i < size()`
    constexpr T const& operator[](std::size_t i) const {
        BOOST_ASSERT(i < size_);
        return size_ == 1 ? first_ : many_[i];
    }

    /// The memory that the elements take beside this.
    constexpr std::size_t bytes() const { return many_.capacity() * sizeof(T); }

    constexpr bool operator==(short_list const&) const = default;

private:
    std::size_t size_ = 0;
    T first_{}; ///< empty unless it is the only one, so that equal lists are equal
    std::vector<T> many_;
};

} // namespace reshard

#endif
