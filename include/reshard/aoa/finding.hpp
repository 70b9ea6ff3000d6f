// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_FINDING_HPP
#define RESHARD_AOA_FINDING_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Something that a stage has to say of a program, as a value.

namespace reshard::aoa {

/// How bad it is.
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

/// What was found, and where in the program.
///
/// `code` is for programs: of an error, the name of its `errc`; of a warning or note one of
/// `no_match`, `no_effect`, `unknown_parts`, `other_dtype`, `shadowed`, `overwritten`.
struct finding {
    severity level = severity::warning;
    std::string code;
    std::string key; ///< the tensor that it is about, or empty
    std::string message;
    text_span where;          ///< in the text that the user wrote
    std::uint32_t origin = 0; ///< of the statement that it is about

    bool operator==(finding const&) const = default;
};

/// The error of one statement, before anybody has said where the statement stands.
struct statement_error {
    errc code;
    std::string message;
    text_span where; ///< empty: the whole statement
    std::string key = {};
};

} // namespace reshard::aoa

#endif
