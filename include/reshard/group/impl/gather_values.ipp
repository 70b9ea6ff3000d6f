// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_GATHER_VALUES_IPP
#define RESHARD_GROUP_IMPL_GATHER_VALUES_IPP

#include <reshard/group/gather_values.hpp>

namespace reshard::detail {

RESHARD_DECL value_digests digests_of(vector<common_value> const& values) {
    value_digests digests;
    for (common_value const& value : values)
        digests.emplace(value.name, value_digest{value.bytes.size(), digest_of_all(value.bytes)});
    return digests;
}

RESHARD_DECL void compare_values(value_digests const& first, value_digests const& digests,
                                 std::size_t rank) {
    auto const on_other = " on rank " + std::to_string(rank);
    auto const only = [](std::string const& name, std::string const& here,
                         std::string const& there) {
        fail(errc::ranks_disagree, "'", name, "' is a common value", here, " but not", there,
             "; common values must be the same on every rank");
    };
    for (auto const& [name, value] : first) {
        auto const match = digests.find(name);
        if (match == digests.end())
            only(name, " on rank 0", on_other);
        else if (match->second != value)
            fail(errc::ranks_disagree, "the common value '", name, "' differs: it has ",
                 counted(value.bytes, "byte"), " on rank 0 and ",
                 counted(match->second.bytes,
                         match->second.bytes == value.bytes ? "different byte" : "byte"),
                 on_other);
    }
    for (auto const& [name, value] : digests)
        if (!first.contains(name))
            only(name, on_other, " on rank 0");
}

} // namespace reshard::detail

#endif
