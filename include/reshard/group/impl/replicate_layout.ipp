// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_REPLICATE_LAYOUT_IPP
#define RESHARD_GROUP_IMPL_REPLICATE_LAYOUT_IPP

#include <reshard/group/replicate_layout.hpp>

#include <reshard/core/hasher.hpp>

namespace reshard::detail {

RESHARD_DECL std::optional<std::size_t> first_teller(std::vector<std::string> const& told,
                                                     std::string_view what) {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
        if (told[rank].empty())
            continue;
        if (!first)
            first = rank;
        if (told[rank] != told[*first])
            fail(errc::ranks_disagree,
                 "ranks " + std::to_string(*first) + " and " + std::to_string(rank) +
                     " give different layouts of the " + std::string(what) +
                     "; give all ranks the same one, in the same form, or none");
    }
    return first;
}

RESHARD_DECL std::string digest_text(std::string const& bytes) {
    hasher digest;
    digest.add(bytes);
    return std::to_string(digest.value());
}

} // namespace reshard::detail

#endif
