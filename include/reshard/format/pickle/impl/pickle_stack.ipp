// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_STACK_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_STACK_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/pickle/pickle.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace reshard::detail {

/// The state of a pickle's machine: a stack of values with marks, values that are stored by number,
/// and containers that grow.
class pickle_stack {
protected:
    using kind = pickle_value::kind;

    explicit pickle_stack(pickle& result) : result_(result) {}

    [[noreturn]] void refuse(std::string const& text, errc code = errc::corrupt_file) const {
        fail(code, result_.file_, ": byte ", code_at_, " ", text);
    }

    /// Refuses values that take far more memory than the state of any training. A list is moved
    /// when it grows, so two copies of it may exist for a moment.
    void check_memory(std::uint64_t bytes_read) const {
        std::uint64_t const taken =
            result_.memory() + (stack_.size() + memo_.size()) * sizeof(pickle_value) +
            sparse_memo_.size() * 4 * sizeof(pickle_value) + marks_.size() * sizeof(std::size_t);
        if (taken > pickle::most_memory(bytes_read) / 2)
            fail(errc::limit_exceeded, result_.file_, ": byte ", code_at_, ": the ", bytes_read,
                 " bytes of the pickle up to here would take ", taken,
                 " bytes of memory; the file is damaged, or not a checkpoint");
    }

    /// Reserves addresses for the values of a large pickle, so that growth copies nothing. Memory
    /// is allocated as it is used.
    void reserve(std::uint64_t bytes) {
        auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1u << 28));
        result_.values_.reserve(count / 4);
        result_.objects_.reserve(count / 40);
        memo_.reserve(count / 10);
    }

    void push(pickle_value value) { stack_.push_back(value); }

    /// The value on top, above the last mark.
    pickle_value& top() {
        if (stack_.size() <= floor())
            refuse("takes a value, but there is none");
        return stack_.back();
    }

    pickle_value pop() {
        pickle_value const value = top();
        stack_.pop_back();
        return value;
    }

    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

    /// Removes the last mark and returns the values above it. They stay on the stack until `drop`.
    std::span<pickle_value const> above_mark() {
        if (marks_.empty())
            refuse("takes all values up to a mark, but there is none");
        std::size_t const first = marks_.back();
        marks_.pop_back();
        return std::span<pickle_value const>(stack_).subspan(first);
    }

    void drop(std::size_t count) { stack_.resize(stack_.size() - count); }

    /// The top values. They stay on the stack until `drop`.
    std::span<pickle_value const> take(std::size_t count) {
        if (stack_.size() - floor() < count)
            refuse("takes " + std::to_string(count) + " values, but there are fewer");
        return std::span<pickle_value const>(stack_).last(count);
    }

    void push_tuple(std::span<pickle_value const> elements) {
        std::size_t const first = result_.values_.size();
        result_.values_.insert(result_.values_.end(), elements.begin(), elements.end());
        std::size_t const count = elements.size();
        drop(count);
        push({kind::tuple, static_cast<std::uint32_t>(count), first});
    }

    void push_run(kind type, std::span<pickle_value const> values, std::uint32_t frozen = 0) {
        if (type == kind::dict && values.size() % 2 != 0)
            refuse("makes a dict from an odd number of keys and values");
        result_.runs_.emplace_back();
        pickle_value const run{type, frozen, result_.runs_.size() - 1};
        std::size_t const count = values.size();
        extend(run, values);
        drop(count);
        push(run);
    }

    /// Adds values to a list or a dict. Moves the existing values if other values follow them.
    void extend(pickle_value container, std::span<pickle_value const> values) {
        vector<pickle_value>& pickle_values = result_.values_;
        pickle::run& run = result_.runs_[container.position];
        if (run.first + run.capacity == pickle_values.size()) {
            pickle_values.resize(run.first + run.count);
            run.capacity = run.count;
        }
        if (run.count + values.size() > run.capacity) {
            bool const is_last = run.first + run.count == pickle_values.size();
            std::size_t const needed = run.count + values.size();
            std::size_t const capacity = is_last ? needed : std::max(needed, 2 * run.capacity);
            std::size_t const first = is_last ? run.first : pickle_values.size();
            pickle_values.resize(first + capacity);
            std::copy_n(pickle_values.begin() + static_cast<std::ptrdiff_t>(run.first), run.count,
                        pickle_values.begin() + static_cast<std::ptrdiff_t>(first));
            run = {first, run.count, capacity};
        }
        std::copy(values.begin(), values.end(),
                  pickle_values.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
        run.count += values.size();
    }

    pickle_value push_pair(pickle_value first, pickle_value second) {
        result_.values_.push_back(std::move(first));
        result_.values_.push_back(std::move(second));
        return {kind::tuple, 2, result_.values_.size() - 2};
    }

    /// The number for the next value that is stored.
    std::uint64_t next_number() const { return memo_.size(); }

    /// Stores the top value by its number. Most writers use the next number. Higher numbers come
    /// from other writers, and go into a table.
    void memorize(std::uint64_t number) {
        if (number == memo_.size())
            memo_.push_back(top());
        else if (number < memo_.size())
            memo_[number] = top();
        else
            sparse_memo_[number] = top();
    }

    pickle_value remembered(std::uint64_t number) const {
        if (number < memo_.size())
            return memo_[number];
        auto const match = sparse_memo_.find(number);
        if (match == sparse_memo_.end())
            refuse("reads memo entry " + std::to_string(number) + ", which was never stored");
        return match->second;
    }

    pickle& result_;
    std::uint64_t code_at_ = 0; ///< position of the current opcode
    vector<pickle_value> stack_;
    vector<std::size_t> marks_; ///< the size of the stack at each mark

private:
    vector<pickle_value> memo_;
    std::unordered_map<std::uint64_t, pickle_value> sparse_memo_;
};

} // namespace reshard::detail

#endif
