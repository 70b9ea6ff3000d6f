// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_TRACE_HPP
#define RESHARD_TEST_ORACLE_TRACE_HPP

#include "evaluate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What becomes of each element of the sources, found by running a program on their numbers.

namespace reshard::oracle {

using namespace reshard::detail;

/// The elements of one source tensor, row by row.
struct fate {
    std::string dtype;
    std::vector<bool> arrived; ///< some target has it, rounded or not
    std::vector<bool> kept;    ///< some target has it with all digits, in a type that holds its own
};

/// An integer with the number of binary digits of a type.
inline std::int64_t widest(std::string const& dtype) {
    int const digits = digits_of(dtype) > 0 ? digits_of(dtype) : integer_digits_of(dtype);
    return (std::int64_t{1} << (digits - 1)) + 1;
}

/// Runs a program on the numbers of the elements, digit by digit, and once on the widest values.
///
/// \par Source every data type has the integers 0 to 127, so a number arrives as it is, whatever it
///             is cast to; number 0 is nobody's
class trace {
public:
    trace(aoa::program const& code, world const& before) : code_(code), world_(before) {
        std::int64_t count = 1;
        for (auto const& [key, value] : before.sources) {
            first_[key] = count;
            count += static_cast<std::int64_t>(value.values.size());
            if (!value.values.empty())
                order_.push_back(key);
            fates_[key] = {value.dtype, std::vector<bool>(value.values.size()),
                           std::vector<bool>(value.values.size())};
        }
        for (std::int64_t unit = 1; unit < count; unit *= 128)
            add_digit(unit);
        find_fates();
    }

    std::map<std::string, fate> const& fates() const { return fates_; }

    /// True if the program makes the target of something.
    bool is_made(std::string const& target) const { return arrived_.contains(target); }

    /// The source tensor and the number in it of the element that is element `index` of a target;
    /// none if it is zero.
    std::optional<std::pair<std::string, std::size_t>> origin_of(std::string const& target,
                                                                 std::size_t index) const {
        std::int64_t const number = arrived_.at(target).at(index);
        if (number == 0)
            return std::nullopt;
        std::string const& key = source_of(number);
        return std::pair{key, static_cast<std::size_t>(number - first_.at(key))};
    }

private:
    void add_digit(std::int64_t unit) {
        world now = world_;
        for (auto& [key, source] : now.sources)
            for (std::size_t i = 0; i < source.values.size(); ++i)
                source.values[i] = (first_[key] + static_cast<std::int64_t>(i)) / unit % 128;
        evaluation const after(code_, now);
        for (std::string const& key : world_.target_keys)
            if (auto const result = after[key]) {
                numbers& all_numbers = arrived_[key];
                all_numbers.resize(result->values.size());
                for (std::size_t i = 0; i < all_numbers.size(); ++i)
                    all_numbers[i] += result->values[i] * unit;
            }
    }

    void find_fates() {
        world now = world_;
        for (auto& [key, source] : now.sources)
            source.values.assign(source.values.size(), widest(source.dtype));
        evaluation const after(code_, now);
        for (auto const& [key, elements] : arrived_) {
            array const array = *after[key];
            for (std::size_t i = 0; i < elements.size(); ++i)
                if (elements[i] != 0)
                    note(elements[i], array.dtype, array.values[i]);
        }
    }

    /// A target has element number `number`, and the rest of the widest value there.
    void note(std::int64_t number, std::string const& dtype, std::int64_t value) {
        std::string const& key = source_of(number);
        auto const index = static_cast<std::size_t>(number - first_[key]);
        fate& of = fates_[key];
        of.arrived.at(index) = true;
        if (value == widest(of.dtype) && holds(of.dtype, dtype))
            of.kept.at(index) = true;
    }

    /// The source that has element number `number`.
    std::string const& source_of(std::int64_t number) const {
        auto const after = std::ranges::upper_bound(
            order_, number, {}, [&](std::string const& key) { return first_.at(key); });
        return *std::prev(after);
    }

    aoa::program const& code_;
    world const& world_;
    std::map<std::string, std::int64_t> first_; ///< the number of the first element
    std::map<std::string, numbers> arrived_;    ///< numbers, by target element
    std::map<std::string, fate> fates_;
    std::vector<std::string> order_; ///< of the sources that have elements, by number
};

} // namespace reshard::oracle

#endif
