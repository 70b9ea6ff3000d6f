// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_KEY_CLASSES_HPP
#define RESHARD_EXPR_KEY_CLASSES_HPP

#include <reshard/expr/mapping.hpp>

#include <string>
#include <vector>

/// \file
/// What a mapping does to each key.

namespace reshard {

/// The keys of a mapping by what happens to them; those of the target, but for `removed`.
struct key_classes {
    std::vector<std::string> identity;    ///< the source's tensor of that name, unchanged
    std::vector<std::string> renamed;     ///< another tensor of the source, unchanged
    std::vector<std::string> transformed; ///< anything else
    std::vector<std::string> added;       ///< without a source
    std::vector<std::string> removed;     ///< of the source, by a statement

    bool operator==(key_classes const&) const = default;
};

namespace detail {

/// The source tensor that an output is, whole and unchanged, or null. A tensor without elements has
/// no pieces that would say so; it is the one of its name, if that is one like it.
inline mapping_source const* whole_source_of(mapping const& map, catalog const& source,
                                             mapping_output const& output) {
    expression const& value = output.value;
    if (value.pieces.size() == 0) {
        catalog_entry const* const entry = source.find(output.key);
        bool const is_same =
            entry && entry->shape == value.shape && entry->dtype == value.dtype &&
            static_cast<std::size_t>(entry - &source[0]) < map.sources().size() &&
            map.sources()[static_cast<std::size_t>(entry - &source[0])].key == output.key;
        return is_same ? &map.sources()[static_cast<std::size_t>(entry - &source[0])] : nullptr;
    }
    if (!is_source_box(value) || value.pieces.source(0) >= map.sources().size())
        return nullptr;
    mapping_source const& from = map.sources()[value.pieces.source(0)];
    return from.shape == value.shape ? &from : nullptr;
}

} // namespace detail

/// Sorts the keys of a mapping over `source` into classes.
inline key_classes classify(mapping const& map, catalog const& source) {
    key_classes classes;
    classes.removed = map.removed();
    for (mapping_output const& output : map.outputs()) {
        mapping_source const* const from = detail::whole_source_of(map, source, output);
        auto& list = output.added              ? classes.added
                     : !from                   ? classes.transformed
                     : from->key == output.key ? classes.identity
                                               : classes.renamed;
        list.push_back(output.key);
    }
    return classes;
}

} // namespace reshard

#endif
