// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_GATHER_VALUES_IPP
#define RESHARD_GROUP_IMPL_GATHER_VALUES_IPP

#include <reshard/group/gather_values.hpp>

#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <string>

namespace reshard::detail {

RESHARD_DECL value_digests digests_of(vector<common_value> const& values) {
    value_digests digests;
    for (common_value const& value : values)
        digests.push_back(
            {std::string(value.name), value.bytes.size(), digest_of_all(value.bytes)});
    sort_by(digests, [](value_digest const& a, value_digest const& b) { return a.name < b.name; });
    auto const is_same_name = [](value_digest const& a, value_digest const& b) {
        return a.name == b.name;
    };
    digests.erase(std::unique(digests.begin(), digests.end(), is_same_name), digests.end());
    return digests;
}

/// The digest of the value with that name, or null.
inline value_digest const* digest_named(value_digests const& digests, std::string const& name) {
    auto const position = std::lower_bound(
        digests.begin(), digests.end(), name,
        [](value_digest const& digest, std::string const& text) { return digest.name < text; });
    return position == digests.end() || position->name != name ? nullptr : &*position;
}

RESHARD_DECL void compare_values(value_digests const& first, value_digests const& digests,
                                 std::size_t rank) {
    auto const on_other = " on rank " + std::to_string(rank);
    auto const only = [](std::string const& name, std::string const& here,
                         std::string const& there) {
        fail(errc::ranks_disagree, "'", name, "' is a common value", here, " but not", there,
             "; common values must be the same on every rank");
    };
    for (value_digest const& value : first) {
        value_digest const* const match = digest_named(digests, value.name);
        if (!match)
            only(value.name, " on rank 0", on_other);
        else if (*match != value)
            fail(errc::ranks_disagree, "the common value '", value.name, "' differs: it has ",
                 counted(value.bytes, "byte"), " on rank 0 and ",
                 counted(match->bytes, match->bytes == value.bytes ? "different byte" : "byte"),
                 on_other);
    }
    for (value_digest const& value : digests)
        if (!digest_named(first, value.name))
            only(value.name, on_other, " on rank 0");
}

} // namespace reshard::detail

#endif
