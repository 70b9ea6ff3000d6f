// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_KEYED_LIST_HPP
#define RESHARD_CORE_KEYED_LIST_HPP

#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

/// \file
/// Elements with keys, in the order of their keys.

namespace reshard::detail {

/// Elements with a member `key`, in the order of their keys, each key once.
///
/// Each element has memory of its own until its key is put again. Copies of a list share elements.
/// Only pointers are sorted, in runs of at most `longest_run`. So a `put` in the middle moves few
/// pointers, and a loop over all elements can prefetch them.
template <class T>
class keyed_list {
    using pointer = std::shared_ptr<T const>;
    using run = vector<pointer>;

public:
    using value_type = T;

    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        iterator(run const* run, std::size_t index) : run_(run), index_(index) {}

        T const& operator*() const { return *(*run_)[index_]; }
        T const* operator->() const { return (*run_)[index_].get(); }
        iterator& operator++() {
            if (++index_ == run_->size())
                *this = {run_ + 1, 0};
            return *this;
        }
        iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
        iterator& operator--() {
            if (index_ == 0)
                *this = {run_ - 1, run_[-1].size()};
            --index_;
            return *this;
        }
        iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
        bool operator==(iterator const&) const = default;

    private:
        run const* run_ = nullptr;
        std::size_t index_ = 0;
    };

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    iterator begin() const { return {runs_.begin(), 0}; }
    iterator end() const { return {runs_.end(), 0}; }

    /// The element with that key, or the end.
    iterator find(std::string_view key) const {
        if (empty())
            return end();
        run const& near = runs_[run_of(key)];
        auto const position = position_in(near, key);
        if (position == near.end() || (*position)->key != key)
            return end();
        return {&near, static_cast<std::size_t>(position - near.begin())};
    }

    /// Adds an element, or replaces the element with the same key.
    void put(T element) {
        auto added = std::make_shared<T const>(std::move(element));
        if (!empty() && !(runs_.back().back()->key < added->key))
            return insert(std::move(added));
        if (empty() || runs_.back().size() == longest_run)
            runs_.emplace_back();
        runs_.back().push_back(std::move(added));
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
    static constexpr std::size_t longest_run = 256;

    /// The number of the only run that may have the key.
    ///
    /// \pre not `empty()`
    std::size_t run_of(std::string_view key) const {
        auto const later = std::upper_bound(
            runs_.begin() + 1, runs_.end(), key,
            [](std::string_view sought, run const& keys) { return sought < keys.front()->key; });
        return static_cast<std::size_t>(later - runs_.begin()) - 1;
    }

    /// The first element of a run whose key is not less than `key`, or the end.
    static auto position_in(auto& run, std::string_view key) {
        return std::lower_bound(
            run.begin(), run.end(), key,
            [](pointer const& element, std::string_view sought) { return element->key < sought; });
    }

    void insert(pointer added) {
        std::size_t const number = run_of(added->key);
        run& near = runs_[number];
        auto const position = position_in(near, added->key);
        if (position != near.end() && (*position)->key == added->key) {
            *position = std::move(added);
            return;
        }
        near.insert(position, std::move(added));
        ++size_;
        if (near.size() > longest_run)
            halve(number);
    }

    void halve(std::size_t number) {
        run& full = runs_[number];
        auto const half = full.begin() + longest_run / 2;
        run later(std::make_move_iterator(half), std::make_move_iterator(full.end()));
        full.erase(half, full.end());
        runs_.insert(&full + 1, std::move(later));
    }

    vector<run> runs_; ///< none is empty
    std::size_t size_ = 0;
};

} // namespace reshard::detail

#endif
