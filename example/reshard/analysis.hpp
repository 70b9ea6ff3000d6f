// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_ANALYSIS_HPP
#define RESHARD_TOOL_ANALYSIS_HPP

#include <reshard/expr/mapping.hpp>

#include <string>
#include <vector>

/// \file
/// What a mapping does to each key, and whether it can be undone.

namespace tool {

/// The keys of a mapping by what happens to them; those of the target, but for `removed`.
struct key_classes {
    std::vector<std::string> identity;    ///< the source's tensor of that name, unchanged
    std::vector<std::string> renamed;     ///< another tensor of the source, unchanged
    std::vector<std::string> transformed; ///< anything else
    std::vector<std::string> added;       ///< without a source
    std::vector<std::string> removed;     ///< of the source, by a statement
};

key_classes classify(reshard::mapping const& map);

/// What of a source tensor does not reach the target.
struct loss {
    std::string key;
    std::string text; ///< which elements, or by which cast
};

/// All that is lost, a line a source tensor at most. Nothing: the mapping can be undone.
std::vector<loss> losses_of(reshard::mapping const& map);

/// The source tensors that the target uses in part, each with elements that it does not use.
std::vector<loss> unread_parts(reshard::mapping const& map);

} // namespace tool

#endif
