// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_INSPECT_PAGE_HPP
#define RESHARD_TOOL_PAGE_INSPECT_PAGE_HPP

#include <reshard/format/checkpoint_metadata.hpp>

#include <boost/json/object.hpp>

#include <string>

/// \file
/// Shows a checkpoint on a page.

namespace tool {

/// \param document the document of `--json`
std::string inspect_page(reshard::checkpoint_metadata const& checkpoint,
                         boost::json::object const& document);

} // namespace tool

#endif
