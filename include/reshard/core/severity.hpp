// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_SEVERITY_HPP
#define RESHARD_CORE_SEVERITY_HPP

#include <cstddef>
#include <string_view>

/// \file
/// The severity of a finding.

namespace reshard::detail {

/// How severe a finding is.
enum class severity {
    note,    ///< worth knowing
    warning, ///< probably not what was meant
    error,   ///< the program cannot run
};

/// The word for it, as it stands in messages: `note`, `warning`, `error`.
constexpr std::string_view name_of(severity level) {
    constexpr std::string_view names[] = {"note", "warning", "error"};
    return names[static_cast<std::size_t>(level)];
}

} // namespace reshard::detail

#endif
