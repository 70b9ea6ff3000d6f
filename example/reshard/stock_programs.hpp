// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_STOCK_PROGRAMS_HPP
#define RESHARD_TOOL_STOCK_PROGRAMS_HPP

#include <reshard/core/vector.hpp>

#include <string>
#include <string_view>

/// \file
/// The programs that come with the tool. A text may be several programs, each with its name.

namespace tool {

/// The switch that `--set NAME=1` turns on.
struct program_switch {
    std::string_view name;
    std::string_view description;
};

/// A text, and one of its names.
struct stock_program {
    std::string_view name; ///< for example `llama-hf-to-megatron`
    std::string_view description;
    std::string text;          ///< with the names of this program, and of its other direction
    bool is_backwards = false; ///< the text is written in the other direction
    reshard::vector<program_switch> switches = {};
};

/// All programs, ordered by name.
reshard::vector<stock_program> const& stock_programs();

/// \throws error with errc::usage for an unknown name; it proposes the nearest name
stock_program const& find_stock_program(std::string_view name);

/// The beginnings of lines in which a text gives its names. `#! program NAME: description` is for
/// the direction in which it is written, `#! backwards NAME: description` for the other direction.
/// Below them, `#! switch NAME: description` is a switch of the program (in both directions) that is
/// named last, and `#! names OLD -> NEW, OLD -> NEW` replaces texts in it.
inline constexpr std::string_view program_line = "#! program ", backwards_line = "#! backwards ",
                                  names_line = "#! names ", switch_line = "#! switch ";

/// The texts. The build makes them from the files in `example/programs`.
extern reshard::vector<std::string_view> const stock_texts;

} // namespace tool

#endif
