// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_MASTER_NAMES_HPP
#define RESHARD_FORMAT_NAMES_MASTER_NAMES_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/layout/catalog.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Master weights that a checkpoint has under the names of another version.

namespace reshard {

/// The name that another version gives a master weight: `opt.w_fp32_master_0` for `opt.master_weights.w`, and the
/// reverse, in which the segment is the second. Nothing for other keys.
///
/// \par Source the loader of PaddlePaddle Flex Checkpoint, which tries these names for keys that are missing
inline std::optional<std::string> other_master_name(std::string_view key) {
    std::string name(key);
    if (detail::take_master_segment(name))
        return name + std::string(detail::master_suffix) + "_0";
    auto const rest = detail::without_ending(key, std::string(detail::master_suffix) + "_0");
    auto const dot = rest ? rest->find('.') : std::string_view::npos;
    if (dot == std::string_view::npos)
        return std::nullopt;
    return std::string(rest->substr(0, dot + 1)) + std::string(detail::master_segment) +
           std::string(rest->substr(dot + 1));
}

/// A key that is wanted, and the name under which the tensor is stored.
struct renamed_key {
    std::string wanted;
    std::string stored;

    bool operator==(renamed_key const&) const = default;
};

/// The wanted keys that `stored` has under another version's name only, in their order: to be reported, never
/// taken in silence.
inline std::vector<renamed_key> renamed_masters(std::vector<std::string> const& wanted,
                                                catalog const& stored) {
    std::vector<renamed_key> renamed;
    for (std::string const& key : wanted) {
        if (stored.find(key))
            continue;
        if (auto other = other_master_name(key); other && stored.find(*other))
            renamed.push_back({key, std::move(*other)});
    }
    return renamed;
}

/// Defines each of these keys as the tensor that is stored under its other name.
///
/// \throws error with errc::unknown_key for a stored name that the catalog does not have
inline void define_renamed(mapping& program, std::vector<renamed_key> const& renamed,
                           catalog const& stored) {
    for (renamed_key const& each : renamed) {
        catalog_entry const* const entry = stored.find(each.stored);
        if (!entry)
            fail(errc::unknown_key, "'" + each.wanted + "' is to be '" + each.stored +
                                        "', which the source does not have");
        program.define(each.wanted, program.source(entry->key, entry->shape, entry->dtype));
    }
}

} // namespace reshard

#endif
