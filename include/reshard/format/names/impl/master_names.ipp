// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_MASTER_NAMES_IPP
#define RESHARD_FORMAT_NAMES_IMPL_MASTER_NAMES_IPP

#include <reshard/format/names/master_names.hpp>

#include <reshard/format/names/variable_names.hpp>

#include <utility>

namespace reshard::model {

RESHARD_DECL std::optional<std::string> other_master_name(std::string_view key) {
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

RESHARD_DECL std::vector<renamed_key> renamed_masters(std::vector<std::string> const& wanted,
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

RESHARD_DECL void define_renamed(mapping& program, std::vector<renamed_key> const& renamed,
                                 catalog const& stored) {
    for (renamed_key const& each : renamed) {
        catalog_entry const* const entry = stored.find(each.stored);
        if (!entry)
            fail(errc::unknown_key, "'" + each.wanted + "' is to be '" + each.stored +
                                        "', which the source does not have");
        program.define(each.wanted, program.source(entry->key, entry->shape, entry->dtype));
    }
}

} // namespace reshard::model

#endif
