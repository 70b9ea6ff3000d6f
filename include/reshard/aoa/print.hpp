// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PRINT_HPP
#define RESHARD_AOA_PRINT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Program to text, so that `parse(print(p)) == p` up to the names of temporaries.

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

namespace reshard::aoa {

/// The statements as lines of text.
RESHARD_DECL std::vector<std::string>
print_lines(program const& whole, std::function<bool(std::string_view)> const& is_taken = {});

/// The program as text, a statement a line.
///
/// \post `parse(print(p)) == p` when `p` has no temporaries, else the same up to their names
RESHARD_DECL std::string print(program const& whole,
                               std::function<bool(std::string_view)> const& is_taken = {});

/// The same for a program that is read again with those tensors: no temporary is called like one of
/// them, which the program would then make.
RESHARD_DECL std::string print(program const& whole, catalog const& source, catalog const& target);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/print.ipp>
#endif

#endif
