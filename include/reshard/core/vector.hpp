// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_VECTOR_HPP
#define RESHARD_CORE_VECTOR_HPP

#include <boost/assert.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Vectors: one that compiles fast, and one that usually has few elements.

namespace reshard {

/// A vector like `std::vector` that compiles faster: g++ 12 needs half the time for each element
/// type (`doc/rationale.md`), and a program that compiles this library has a hundred such types.
///
/// It converts from and to a `std::vector`, element by element. Iterators are pointers.
template <class T>
class vector {
public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = T const&;
    using iterator = T*;
    using const_iterator = T const*;

    constexpr vector() = default;
    constexpr explicit vector(std::size_t size) : vector() { resize(size); }
    constexpr vector(std::size_t size, T const& element) : vector() { resize(size, element); }
    constexpr vector(std::initializer_list<T> elements) : vector() {
        append(elements.begin(), elements.end());
    }
    template <class Iterator>
        requires requires(Iterator& i) {
            *i;
            ++i;
        }
    constexpr vector(Iterator first, Iterator last) : vector() {
        append(first, last);
    }
    template <std::convertible_to<T> Element, class Allocator>
    constexpr vector(std::vector<Element, Allocator> const& elements)
        : vector(elements.begin(), elements.end()) {}

    constexpr vector(vector const& elements) : vector() { append(elements.begin_, elements.end_); }
    constexpr vector(vector&& elements) noexcept
        : begin_(elements.begin_), end_(elements.end_), limit_(elements.limit_) {
        elements.begin_ = elements.end_ = elements.limit_ = nullptr;
    }
    constexpr vector& operator=(vector const& elements) { return *this = vector(elements); }
    constexpr vector& operator=(vector&& elements) noexcept {
        vector taken(std::move(elements));
        swap(taken);
        return *this;
    }
    constexpr ~vector() {
        cut(begin_);
        free_block();
    }

    template <class Allocator>
    constexpr operator std::vector<T, Allocator>() const {
        return std::vector<T, Allocator>(begin_, end_);
    }

    constexpr T* begin() { return begin_; }
    constexpr T* end() { return end_; }
    constexpr T const* begin() const { return begin_; }
    constexpr T const* end() const { return end_; }
    constexpr auto rbegin() { return std::reverse_iterator(end_); }
    constexpr auto rend() { return std::reverse_iterator(begin_); }
    constexpr auto rbegin() const { return std::reverse_iterator(end()); }
    constexpr auto rend() const { return std::reverse_iterator(begin()); }
    constexpr T* data() { return begin_; }
    constexpr T const* data() const { return begin_; }
    constexpr std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
    constexpr std::size_t capacity() const { return static_cast<std::size_t>(limit_ - begin_); }
    constexpr bool empty() const { return begin_ == end_; }

    /// \pre `i < size()`, and for the two after it, not `empty()`
    constexpr T& operator[](std::size_t i) { return begin_[i]; }
    constexpr T const& operator[](std::size_t i) const { return begin_[i]; }
    constexpr T& front() { return *begin_; }
    constexpr T const& front() const { return *begin_; }
    constexpr T& back() { return end_[-1]; }
    constexpr T const& back() const { return end_[-1]; }

    /// \throws std::out_of_range if `i >= size()`
    constexpr T& at(std::size_t i) { return begin_[checked(i)]; }
    constexpr T const& at(std::size_t i) const { return begin_[checked(i)]; }

    constexpr void reserve(std::size_t elements) {
        if (elements > capacity())
            move_to_block(elements);
    }
    constexpr void clear() { cut(begin_); }
    constexpr void pop_back() { cut(end_ - 1); }
    /// The element may belong to this vector: it is copied before the memory changes.
    constexpr void push_back(T element) {
        if (end_ == limit_)
            move_to_block(end_ == begin_ ? 1 : 2 * capacity());
        std::construct_at(end_, std::move(element));
        ++end_;
    }
    template <class Argument>
    constexpr T& emplace_back(Argument&& argument) {
        push_back(static_cast<T>(std::forward<Argument>(argument)));
        return back();
    }
    template <class... Arguments>
    constexpr T& emplace_back(Arguments&&... arguments) {
        push_back(T(std::forward<Arguments>(arguments)...));
        return back();
    }

    /// Keeps the first `size` elements, or appends zeros or copies of `element` up to that size.
    constexpr void resize(std::size_t size) { fill(size); }
    constexpr void resize(std::size_t size, T element) { fill(size, element); }

    /// Appends elements, which must not belong to this vector.
    template <class Iterator>
    constexpr void append(Iterator first, Iterator last) {
        if constexpr (std::is_trivially_copyable_v<T>)
            if constexpr (is_run_of_bytes<Iterator>)
                if (!std::is_constant_evaluated() && first != last)
                    return append_bytes(&*first, static_cast<std::size_t>(last - first));
        if constexpr (requires { last - first; })
            reserve_more(static_cast<std::size_t>(last - first));
        for (; first != last; ++first)
            emplace_back(*first);
    }

    /// Replaces all elements, and reuses the memory if possible. A range is not from this vector.
    constexpr void assign(std::size_t size, T element) {
        clear();
        fill(size, element);
    }
    template <class Iterator>
        requires requires(Iterator& i) {
            *i;
            ++i;
        }
    constexpr void assign(Iterator first, Iterator last) {
        clear();
        append(first, last);
    }

    constexpr T* insert(T const* place, T element) {
        std::ptrdiff_t const before = place - begin_;
        push_back(std::move(element));
        std::rotate(begin_ + before, end_ - 1, end_);
        return begin_ + before;
    }
    template <class Iterator>
    constexpr T* insert(T const* place, Iterator first, Iterator last) {
        std::ptrdiff_t const before = place - begin_, size = end_ - begin_;
        append(first, last);
        std::rotate(begin_ + before, begin_ + size, end_);
        return begin_ + before;
    }
    constexpr T* erase(T const* first, T const* last) {
        T* const to = begin_ + (first - begin_);
        if (first != last)
            cut(std::move(begin_ + (last - begin_), end_, to));
        return to;
    }
    constexpr T* erase(T const* place) { return erase(place, place + 1); }

    constexpr void swap(vector& elements) noexcept {
        T *const begin = begin_, *const end = end_, *const limit = limit_;
        begin_ = elements.begin_;
        end_ = elements.end_;
        limit_ = elements.limit_;
        elements.begin_ = begin;
        elements.end_ = end;
        elements.limit_ = limit;
    }

    friend constexpr bool operator==(vector const& a, vector const& b) {
        return std::equal(a.begin_, a.end_, b.begin_, b.end_);
    }
    friend constexpr auto operator<=>(vector const& a, vector const& b) {
        return std::lexicographical_compare_three_way(a.begin_, a.end_, b.begin_, b.end_);
    }

    /// Erases each element for which `is_bad` is true, and returns the number of erased elements.
    template <class Predicate> // nvcc 13 loses all that follows a friend with `auto` parameters
    friend constexpr std::size_t erase_if(vector& elements, Predicate const& is_bad) {
        T* const end = std::remove_if(elements.begin_, elements.end_, is_bad);
        auto const erased = static_cast<std::size_t>(elements.end_ - end);
        elements.cut(end);
        return erased;
    }

private:
    /// True for iterators over contiguous elements. Compiles faster than the standard's checks.
    template <class Iterator>
    static constexpr bool is_run_of_bytes =
        std::is_same_v<Iterator, T*> || std::is_same_v<Iterator, T const*> || requires {
            requires std::is_same_v<typename Iterator::iterator_concept,
                                    std::contiguous_iterator_tag>;
            requires std::is_same_v<typename Iterator::value_type, T>;
        };

    constexpr std::size_t checked(std::size_t i) const {
        if (i >= size())
            throw std::out_of_range("the index exceeds the size of the vector");
        return i;
    }

    constexpr void reserve_more(std::size_t elements) {
        if (elements > capacity() - size())
            move_to_block(std::max(size() + elements, 2 * capacity()));
    }

    void append_bytes(T const* first, std::size_t count) {
        reserve_more(count);
        std::memcpy(static_cast<void*>(end_), first, count * sizeof(T));
        end_ += count;
    }

    template <class... Arguments>
    constexpr void fill(std::size_t size, Arguments const&... arguments) {
        if (size <= this->size())
            return cut(begin_ + size);
        reserve_more(size - this->size());
        T* const end = begin_ + size;
        if constexpr (noexcept(T(arguments...))) {
            for (T* to = end_; to != end; ++to)
                std::construct_at(to, arguments...);
            end_ = end;
        } else {
            for (; end_ != end; ++end_)
                std::construct_at(end_, arguments...);
        }
    }

    /// Destroys the elements from `end` on.
    constexpr void cut(T* end) {
        if constexpr (!std::is_trivially_copyable_v<T>)
            for (T* at = end; at != end_; ++at)
                at->~T();
        end_ = end;
    }

    constexpr void free_block() {
        if (begin_)
            std::allocator<T>().deallocate(begin_, capacity());
    }

    constexpr void move_to_block(std::size_t capacity) {
        static_assert(noexcept(T(std::move(*begin_))));
        T* const block = std::allocator<T>().allocate(capacity);
        T* to = block;
        for (T* from = begin_; from != end_; ++from, ++to) {
            std::construct_at(to, std::move(*from));
            from->~T();
        }
        free_block();
        begin_ = block;
        end_ = to;
        limit_ = block + capacity;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* limit_ = nullptr; ///< the end of the memory
};

template <class Iterator>
vector(Iterator, Iterator) -> vector<std::iter_value_t<Iterator>>;

} // namespace reshard

namespace reshard::detail {

/// A list that allocates no memory while it has at most `Short` elements.
///
/// Most tensors of a program have one piece, so each list of a matrix has two numbers.
template <class T, std::size_t Short = 1>
    requires std::is_trivially_copyable_v<T>
class short_vector {
public:
    constexpr short_vector() = default;
    constexpr short_vector(std::initializer_list<T> elements) {
        append(elements.begin(), elements.size());
    }
    constexpr short_vector(short_vector const& shorts) { append(shorts.data(), shorts.size()); }
    constexpr short_vector(short_vector&& shorts) noexcept { swap(shorts); }
    constexpr short_vector& operator=(short_vector&& shorts) noexcept {
        swap(shorts);
        return *this;
    }
    constexpr short_vector& operator=(short_vector const& shorts) {
        return *this = short_vector(shorts);
    }
    constexpr ~short_vector() { free_block(); }

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

    /// Keeps the first `elements` elements, or appends zeros up to that number.
    ///
    /// \throws std::length_error for more than 4 billion elements
    constexpr void resize(std::size_t elements) {
        reserve(elements);
        for (std::size_t i = size_; i < elements; ++i)
            std::construct_at(begin() + i, T{});
        size_ = static_cast<std::uint32_t>(elements);
    }

    constexpr void clear() { size_ = 0; }

    /// \throws std::length_error for more than 4 billion elements
    constexpr void reserve(std::size_t elements) {
        if (elements > capacity_)
            move_to_block(elements);
    }

    /// \throws std::length_error if there would be more than 4 billion elements
    constexpr void push_back(T const& element) { append(&element, 1); }

    /// Appends elements, which must not belong to this vector.
    ///
    /// \throws std::length_error if there would be more than 4 billion elements
    constexpr void append(T const* first, std::size_t count) {
        if (count > capacity_ - size_)
            move_to_block(std::max(size_ + count, 2 * std::size_t{capacity_}));
        T* const end = begin() + size_;
        for (std::size_t i = 0; i < count; ++i)
            std::construct_at(end + i, first[i]);
        size_ += static_cast<std::uint32_t>(count);
    }

    /// The memory that the elements take outside this object.
    constexpr std::size_t bytes() const { return is_short() ? 0 : capacity_ * sizeof(T); }

    constexpr bool operator==(short_vector const& shorts) const {
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

    constexpr void swap(short_vector& shorts) noexcept {
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
            throw std::length_error("a list cannot have more than 4294967295 elements");
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
