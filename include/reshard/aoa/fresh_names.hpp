// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_FRESH_NAMES_HPP
#define RESHARD_AOA_FRESH_NAMES_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What the temporaries of a program are called in its text.

namespace reshard::aoa::detail {

/// The first name is the text itself, the second one ends in `_2`, and so on.
inline std::string numbered(std::string_view text, std::size_t number) {
    return std::string(text) + (number == 1 ? "" : '_' + std::to_string(number));
}

/// The names under which the temporaries of a program can be written, by their numbers.
///
/// A temporary is called as the engine of PaddlePaddle would call it. Where a tensor of the program
/// has that name, or another temporary that is still needed, or where `is_taken` says so, a number
/// is added.
RESHARD_DECL std::vector<std::string>
fresh_names(program const& whole, std::function<bool(std::string_view)> const& is_taken = {});

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/fresh_names.ipp>
#endif

#endif
