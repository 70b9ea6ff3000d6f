// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REVERSE_OPTIONS_HPP
#define RESHARD_AOA_REVERSE_OPTIONS_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/expr/losses.hpp>

#include <optional>
#include <vector>

/// \file
/// What `reverse` may be told, and what it gives.

namespace reshard::aoa {

/// What `reverse` may be told. What it does not allow is an error.
struct reverse_options {
    lower_options lowering = {}; ///< of the program as it stands, and of the reversed one
    bool allow_rounding = false; ///< a cast that rounds is reversed to the cast back
    bool allow_removed = false;  ///< what is removed comes back without its content: `_ -> key`
    bool allow_copies = true;    ///< of several copies the first is taken back
};

/// A program in the other direction, and what there is to say of it.
struct reversal {
    program code;                  ///< over the text of the program that was reversed
    std::vector<finding> findings; ///< `describe(code, finding)` has the words
    std::optional<errc> first_error;
    std::vector<reshard::detail::loss> losses =
        {}; ///< of the program as it stands, those that are allowed too
};

} // namespace reshard::aoa

#endif
