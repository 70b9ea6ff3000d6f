// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PLACED_TEXT_HPP
#define RESHARD_FORMAT_PLACED_TEXT_HPP

#include <cstdint>
#include <string>

/// \file
/// Bytes of a file that are known before it is written.

namespace reshard::detail {

/// Bytes, and where they stand in a file.
struct placed_text {
    std::uint64_t begin = 0;
    std::string text;
};

} // namespace reshard::detail

#endif
