// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_CHECK_PAGE_HPP
#define RESHARD_TOOL_PAGE_CHECK_PAGE_HPP

#include <reshard/core/vector.hpp>

#include <boost/json/object.hpp>

#include <string>

/// \file
/// Shows the findings about a program on a page.

namespace tool {

/// \param document the document of `--json`
/// \param texts    the findings as text, each with its line
/// \param program  the file and its text
std::string check_page(boost::json::object const& document,
                       reshard::vector<std::string> const& texts, std::string const& file,
                       std::string const& program);

} // namespace tool

#endif
