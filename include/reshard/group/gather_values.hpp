// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_VALUES_HPP
#define RESHARD_GROUP_GATHER_VALUES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/solo.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Sends a value of every rank to every rank.

namespace reshard::detail {

/// Converts the `content_bytes` of all ranks back to values: numbers, lists, or values that list
/// their members.
///
/// \throws error with errc::corrupt_file for other bytes
template <class T>
vector<T> values_of_ranks(vector<std::string> const& texts) {
    vector<T> values;
    for (std::string const& bytes : texts)
        values.push_back(content_from<T>(bytes, "value of another rank"));
    return values;
}

/// The values that all ranks pass to this call, in the order of ranks.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `values_of_ranks`
template <class T, group Group>
vector<T> gather_values(Group const& world, T const& value) {
    return values_of_ranks<T>(world.all_gather(content_bytes(value)));
}

/// A named value: `iteration`, `args`. Only the caller knows its meaning.
struct common_value {
    std::string_view name;
    std::string_view bytes;
};

/// The name, size and digest of a value.
struct value_digest {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.name, self.bytes, self.digest);
    }

    bool operator==(value_digest const&) const = default;
};

/// Digests of values in the order of their names, each name once.
using value_digests = vector<value_digest>;

RESHARD_DECL value_digests digests_of(vector<common_value> const& values);

/// Throws for the first name, in alphabetical order, whose value differs between rank 0 and `rank`.
RESHARD_DECL void compare_values(value_digests const& first, value_digests const& digests,
                                 std::size_t rank);

/// Throws if values are not the same on every rank.
///
/// Ranks exchange only digests, and names only if a digest differs.
///
/// \par Collective every rank of the group, in the same order
/// \throws     error with errc::ranks_disagree that names the value and two ranks, or says that
///             ranks make different calls; on every rank
/// \par Source common state of Megatron-Core, which writes the value of rank 0 even if other values
///             differ
void check_common(group auto const& world, vector<common_value> const& values) {
    agree_to_run(world, "check_common", 0); // differing values need another exchange for names
    value_digests const own_digests = digests_of(values);
    auto const digests = gather_values(world, digest_of_all(own_digests));
    if (std::count(digests.begin(), digests.end(), digests.front()) ==
        static_cast<std::ptrdiff_t>(digests.size()))
        return;
    auto const elements = gather_values(world, own_digests);
    for (std::size_t rank = 1; rank < elements.size(); ++rank)
        compare_values(elements.front(), elements[rank], rank);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/gather_values.ipp>
#endif

#endif
