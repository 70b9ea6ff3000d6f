// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SYNTAX_ADVICE_HPP
#define RESHARD_AOA_SYNTAX_ADVICE_HPP

#include <reshard/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// What stands where the grammar expects something else, and what to write instead.

namespace reshard::aoa::detail {

/// What stands at the place of a syntax error, in words.
RESHARD_DECL std::string found(std::string_view rest);

/// What to do about a syntax error, or nothing.
RESHARD_DECL std::string advice(std::string_view text, std::size_t offset,
                                std::string_view expected);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/syntax_advice.ipp>
#endif

#endif
