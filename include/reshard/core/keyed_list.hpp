// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_KEYED_LIST_HPP
#define RESHARD_CORE_KEYED_LIST_HPP

#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

/// \file
/// Elements with keys, in the order of their keys.

namespace reshard::detail {

/// Elements with a member `key`, in the order of their keys, each key once.
///
/// Each element has memory of its own until its key is put again. Copies of a list share elements.
/// Only pointers are sorted, in leaves of at most `longest`. So a `put` in the middle moves few
/// pointers, and a loop over all elements can prefetch them.
template <class T>
class keyed_list {
    using pointer = std::shared_ptr<T const>;
    using leaf = vector<pointer>;

public:
    using value_type = T;

    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        iterator(leaf const* leaf, std::size_t index) : leaf_(leaf), index_(index) {}

        T const& operator*() const { return *(*leaf_)[index_]; }
        T const* operator->() const { return (*leaf_)[index_].get(); }
        iterator& operator++() {
            if (++index_ == leaf_->size())
                *this = {leaf_ + 1, 0};
            return *this;
        }
        iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
        iterator& operator--() {
            if (index_ == 0)
                *this = {leaf_ - 1, leaf_[-1].size()};
            --index_;
            return *this;
        }
        iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
        bool operator==(iterator const&) const = default;

    private:
        leaf const* leaf_ = nullptr;
        std::size_t index_ = 0;
    };

    keyed_list() = default;
    keyed_list(keyed_list const&) = default;
    keyed_list(keyed_list&& list) noexcept
        : leaves_(std::move(list.leaves_)), size_(std::exchange(list.size_, 0)) {}
    keyed_list& operator=(keyed_list list) noexcept {
        leaves_.swap(list.leaves_);
        std::swap(size_, list.size_);
        return *this;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return leaves_.empty(); }
    iterator begin() const { return {leaves_.begin(), 0}; }
    iterator end() const { return {leaves_.end(), 0}; }

    /// The element with that key, or the end.
    iterator find(std::string_view key) const {
        if (empty())
            return end();
        leaf const& near = leaves_[leaf_of(key)];
        auto const position = position_in(near, key);
        if (position == near.end() || (*position)->key != key)
            return end();
        return {&near, static_cast<std::size_t>(position - near.begin())};
    }

    /// Adds an element, or replaces the element with the same key.
    void put(T element) {
        auto added = std::make_shared<T const>(std::move(element));
        if (!empty() && !(leaves_.back().back()->key < added->key))
            return insert(std::move(added));
        if (empty() || leaves_.back().size() == longest)
            leaves_.push_back(leaf{std::move(added)});
        else
            leaves_.back().push_back(std::move(added));
        ++size_;
    }

    /// Also `put`. The archive reader calls it.
    void push_back(T element) { put(std::move(element)); }

    static auto value_comp() {
        return [](T const& a, T const& b) { return a.key < b.key; };
    }

    bool operator==(keyed_list const& list) const {
        return size_ == list.size_ && std::equal(begin(), end(), list.begin());
    }

private:
    static constexpr std::size_t longest = 256;

    /// The number of the only leaf that may have the key.
    ///
    /// \pre not `empty()`
    std::size_t leaf_of(std::string_view key) const {
        auto const later = std::upper_bound(
            leaves_.begin() + 1, leaves_.end(), key,
            [](std::string_view sought, leaf const& keys) { return sought < keys.front()->key; });
        return static_cast<std::size_t>(later - leaves_.begin()) - 1;
    }

    /// The first element of a leaf whose key is not less than `key`, or the end.
    static auto position_in(auto& leaf, std::string_view key) {
        return std::lower_bound(
            leaf.begin(), leaf.end(), key,
            [](pointer const& element, std::string_view sought) { return element->key < sought; });
    }

    void insert(pointer added) {
        std::size_t const number = leaf_of(added->key);
        leaf& near = leaves_[number];
        auto const position = position_in(near, added->key);
        if (position != near.end() && (*position)->key == added->key) {
            *position = std::move(added);
            return;
        }
        near.insert(position, std::move(added));
        ++size_;
        if (near.size() > longest)
            halve(number);
    }

    void halve(std::size_t number) {
        leaf const& full = leaves_[number];
        leaf later(full.begin() + longest / 2, full.end());
        leaves_.insert(&full + 1, std::move(later));
        leaves_[number].erase(leaves_[number].begin() + longest / 2, leaves_[number].end());
    }

    vector<leaf> leaves_; ///< none is empty
    std::size_t size_ = 0;
};

} // namespace reshard::detail

#endif
