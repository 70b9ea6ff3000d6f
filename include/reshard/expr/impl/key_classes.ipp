// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_KEY_CLASSES_IPP
#define RESHARD_EXPR_IMPL_KEY_CLASSES_IPP

#include <reshard/expr/key_classes.hpp>

#include <optional>
#include <unordered_set>
#include <utility>

namespace reshard::detail {

/// The source tensor that an output is, whole and unchanged, or null. A tensor without elements has
/// no pieces that would say so; it is the one of its name, if that is one like it.
inline std::optional<key_id> whole_source_of(mapping const& map, catalog const& source,
                                             mapping_output const& output) {
    expression const& value = output.value;
    if (value.pieces.size() == 0) {
        catalog_entry const* const entry = source.find(output.key);
        if (!entry || entry->shape != value.shape || entry->dtype != value.dtype)
            return std::nullopt;
        auto const id = static_cast<key_id>(entry - &source[0]);
        bool const is_same = id < map.sources().size() && map.sources().key(id) == output.key;
        return is_same ? std::optional(id) : std::nullopt;
    }
    if (!is_source_box(value) || value.pieces.source(0) >= map.sources().size())
        return std::nullopt;
    key_id const id = value.pieces.source(0);
    return map.sources()[id].shape == value.shape ? std::optional(id) : std::nullopt;
}

/// The tensors of a source that have no elements, by shape and data type: all that is to know of
/// one.
class empty_tensors {
public:
    explicit empty_tensors(catalog const& source) : source_(source) {}

    /// Whether there is one like it.
    bool has(expression const& value) {
        if (!std::exchange(is_filled_, true))
            for (catalog_entry const& entry : source_)
                if (is_empty(whole(entry.shape)))
                    kinds_.insert(kind_of(entry.shape, entry.dtype));
        return kinds_.contains(kind_of(value.shape, value.dtype));
    }

private:
    static std::string kind_of(index_vector const& shape, data_type dtype) {
        return to_string(shape) + std::string(name(dtype));
    }

    catalog const& source_;
    bool is_filled_ = false;
    std::unordered_set<std::string> kinds_;
};

RESHARD_DECL key_classes classify(mapping const& map, catalog const& source) {
    key_classes classes;
    classes.removed = map.removed();
    empty_tensors empty(source);
    for (mapping_output const& output : map.outputs()) {
        auto const from = whole_source_of(map, source, output);
        bool const is_another = !from && output.value.pieces.size() == 0 && empty.has(output.value);
        auto& list = output.added                             ? classes.added
                     : is_another                             ? classes.renamed
                     : !from                                  ? classes.transformed
                     : map.sources().key(*from) == output.key ? classes.identity
                                                              : classes.renamed;
        list.push_back(output.key);
    }
    return classes;
}

} // namespace reshard::detail

#endif
