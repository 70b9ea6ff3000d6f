// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_NUMBERED_NAMES_IPP
#define RESHARD_FORMAT_NAMES_IMPL_NUMBERED_NAMES_IPP

#include <reshard/format/names/numbered_names.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace reshard::detail {

RESHARD_DECL std::optional<model::numbered_name> number_behind(std::string_view name,
                                                               std::string_view before) {
    for (std::size_t at = name.find(before); at != std::string_view::npos;
         at = before.empty() ? std::string_view::npos : name.find(before, at + 1)) {
        std::string_view const remainder = name.substr(at + before.size());
        std::size_t const digits =
            std::min(remainder.find_first_not_of("0123456789"), remainder.size());
        if ((at > 0 && name[at - 1] != '.') || digits == 0 ||
            (digits < remainder.size() && remainder[digits] != '.'))
            continue;
        index_t number = 0;
        if (std::from_chars(remainder.data(), remainder.data() + digits, number).ec != std::errc())
            fail(errc::overflow, "'", name, "': the number ", remainder.substr(0, digits),
                 " does not fit in 64 bits");
        return model::numbered_name{name.substr(0, at + before.size()), number,
                                    remainder.substr(digits)};
    }
    return std::nullopt;
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       pipeline const& stages, layer_place chunk) {
    return detail::renumbered(name, before, [&](index_t layer) {
        return stages.layer_at({chunk.stage, chunk.chunk, layer});
    });
}

RESHARD_DECL std::string name_on_stage(std::string_view name, std::string_view before,
                                       pipeline const& stages) {
    return detail::renumbered(name, before,
                              [&](index_t layer) { return stages.place_of(layer).local; });
}

RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       expert_numbers const& experts, index_t rank) {
    return detail::renumbered(name, before,
                              [&](index_t local) { return experts.global(rank, local); });
}

} // namespace reshard::model

#endif
