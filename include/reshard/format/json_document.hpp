// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_JSON_DOCUMENT_HPP
#define RESHARD_FORMAT_JSON_DOCUMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// A whole JSON document in which no key stands twice.

namespace reshard::detail {

/// `line:column` of a byte, both counted from 1.
RESHARD_DECL std::string line_and_column(std::string_view text, std::size_t position);

/// The document that `text` holds.
///
/// \throws error with `code` for a text that is not JSON or has a key twice: `file:line:column:
///         ...`
RESHARD_DECL boost::json::value parse_json(std::string_view text, std::string_view file, errc code);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/json_document.ipp>
#endif

#endif
