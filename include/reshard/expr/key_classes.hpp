// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_KEY_CLASSES_HPP
#define RESHARD_EXPR_KEY_CLASSES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>

#include <string>
#include <vector>

/// \file
/// What a mapping does to each key.

namespace reshard::detail {

/// The keys of a mapping by what happens to them; those of the target, but for `removed`.
struct key_classes {
    std::vector<std::string> identity;    ///< the source's tensor of that name, unchanged
    std::vector<std::string> renamed;     ///< another tensor of the source, unchanged
    std::vector<std::string> transformed; ///< anything else
    std::vector<std::string> added;       ///< without a source
    std::vector<std::string> removed;     ///< of the source, by a statement

    bool operator==(key_classes const&) const = default;
};

/// Sorts the keys of a mapping over `source` into classes. A tensor without elements that the
/// source has under another name is renamed.
RESHARD_DECL key_classes classify(mapping const& map, catalog const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/key_classes.ipp>
#endif

#endif
