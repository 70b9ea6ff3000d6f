// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_BUDGET_HPP
#define RESHARD_AOA_BUDGET_HPP

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Limits on the size of an expanded program, and on the work for it.

namespace reshard::aoa {

/// How much of something a stage may use up.
struct budget {
    std::size_t most;
    std::string_view noun;   ///< it is, for the message
    std::string_view option; ///< that raises it
    std::size_t spent = 0;

    constexpr std::size_t left() const { return most - spent; }

    /// Takes `amount`, and returns whether that much was left.
    constexpr bool take(std::size_t amount) {
        bool const is_left = amount <= left();
        spent += is_left ? amount : 0;
        return is_left;
    }

    /// What to say when there was not.
    std::string refusal() const {
        return "the program has more than " + std::to_string(most) + ' ' + std::string(noun) +
               " (option " + std::string(option) + ')';
    }
};

} // namespace reshard::aoa

#endif
