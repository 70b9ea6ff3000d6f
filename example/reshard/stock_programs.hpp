// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_STOCK_PROGRAMS_HPP
#define RESHARD_TOOL_STOCK_PROGRAMS_HPP

#include <reshard/core/vector.hpp>

#include <string>
#include <string_view>

/// \file
/// The programs that come with the tool, of which each may have several names.

namespace tool {

/// What `--set NAME=1` changes.
struct program_switch {
    std::string_view name;
    std::string_view description;
};

/// A text, and the value of one of its names.
struct stock_program {
    std::string_view name; ///< `llama-hf-to-megatron`
    std::string_view description;
    std::string_view text;
    bool is_backwards = false; ///< the text is written in the other direction
    reshard::vector<program_switch> switches = {};
};

/// All of them, ordered by name.
reshard::vector<stock_program> const& stock_programs();

/// \throws error with errc::usage for a name that none has, with the nearest one
stock_program const& find_stock_program(std::string_view name);

/// What begins the lines in which a text says its names: `#! program NAME: description` for the
/// direction in which it is written, `#! backwards NAME: description` for the other one; `#! switch
/// NAME: description` for a switch of all its programs.
inline constexpr std::string_view program_line = "#! program ", backwards_line = "#! backwards ",
                                  switch_line = "#! switch ";

/// The texts, which the build makes of the files in `example/programs`.
extern reshard::vector<std::string_view> const stock_texts;

} // namespace tool

#endif
