// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_SHORT_LIST_HPP
#define RESHARD_CORE_SHORT_LIST_HPP

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

/// \file
/// A list that usually has few elements.

namespace reshard::detail {

/// A list that allocates no memory while it has at most `Short` elements.
///
/// Most tensors of a program are one piece: each list of a matrix then has two numbers.
template <class T, std::size_t Short = 1>
    requires std::is_trivially_copyable_v<T>
class short_list {
public:
    constexpr short_list() = default;
    constexpr short_list(std::initializer_list<T> elements) {
        append(elements.begin(), elements.size());
    }
    constexpr short_list(short_list const& shorts) { append(shorts.data(), shorts.size()); }
    constexpr short_list(short_list&& shorts) noexcept { swap(shorts); }
    constexpr short_list& operator=(short_list&& shorts) noexcept {
        swap(shorts);
        return *this;
    }
    constexpr short_list& operator=(short_list const& shorts) { return *this = short_list(shorts); }
    constexpr ~short_list() { free_block(); }

    constexpr std::size_t size() const { return size_; }
    constexpr T const* data() const { return is_short() ? elements_.few : elements_.many; }
    constexpr T const* begin() const { return data(); }
    constexpr T const* end() const { return data() + size_; }

    /// \pre `i < size()`
    constexpr T const& operator[](std::size_t i) const {
        BOOST_ASSERT(i < size_);
        return data()[i];
    }

    /// \pre `i < size()`
    constexpr T& operator[](std::size_t i) {
        BOOST_ASSERT(i < size_);
        return begin()[i];
    }

    constexpr T* begin() { return is_short() ? elements_.few : elements_.many; }
    constexpr T* end() { return begin() + size_; }
    constexpr bool empty() const { return size_ == 0; }

    /// Keeps the first `elements`, or appends zeros up to that number.
    ///
    /// \throws std::length_error when it is more than 4 billion elements
    constexpr void resize(std::size_t elements) {
        reserve(elements);
        for (std::size_t i = size_; i < elements; ++i)
            std::construct_at(begin() + i, T{});
        size_ = static_cast<std::uint32_t>(elements);
    }

    constexpr void clear() { size_ = 0; }

    /// \throws std::length_error when it is more than 4 billion elements
    constexpr void reserve(std::size_t elements) {
        if (elements > capacity_)
            move_to_block(elements);
    }

    /// \throws std::length_error when there would be more than 4 billion elements
    constexpr void push_back(T const& element) { append(&element, 1); }

    /// Appends elements that are not this list's own.
    ///
    /// \throws std::length_error when there would be more than 4 billion elements
    constexpr void append(T const* first, std::size_t count) {
        if (count > capacity_ - size_)
            move_to_block(std::max(size_ + count, 2 * std::size_t{capacity_}));
        T* const end = begin() + size_;
        for (std::size_t i = 0; i < count; ++i)
            std::construct_at(end + i, first[i]);
        size_ += static_cast<std::uint32_t>(count);
    }

    /// The memory that the elements take beside this object.
    constexpr std::size_t bytes() const { return is_short() ? 0 : capacity_ * sizeof(T); }

    constexpr bool operator==(short_list const& shorts) const {
        return std::equal(begin(), end(), shorts.begin(), shorts.end());
    }

private:
    union storage {
        T few[Short];
        T* many;

        constexpr storage() : few{} {}
        constexpr explicit storage(T* block) : many(block) {}
    };

    constexpr bool is_short() const { return capacity_ == Short; }

    constexpr void swap(short_list& shorts) noexcept {
        std::swap(size_, shorts.size_);
        std::swap(capacity_, shorts.capacity_);
        std::swap(elements_, shorts.elements_);
    }

    constexpr void free_block() {
        if (!is_short())
            std::allocator<T>().deallocate(elements_.many, capacity_);
    }

    constexpr void move_to_block(std::size_t capacity) {
        if (capacity > 0xffffffff)
            throw std::length_error("a list of more than 4294967295 elements");
        T* const block = std::allocator<T>().allocate(capacity);
        for (std::size_t i = 0; i < size_; ++i)
            std::construct_at(block + i, (*this)[i]);
        free_block();
        elements_ = storage(block);
        capacity_ = static_cast<std::uint32_t>(capacity);
    }

    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = Short;
    storage elements_;
};

} // namespace reshard::detail

#endif
