// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_COMPARE_HPP
#define RESHARD_STORAGE_COMPARE_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Are two checkpoints the same tensors, however each of them is cut?

namespace reshard {

namespace detail {

/// Where two checkpoints differ: an element, or shape and data type of a whole tensor.
struct tensor_difference {
    std::string key;
    std::optional<index_vector> index; ///< global; nothing where the tensors themselves differ
    std::string a;                     ///< what the first has there, as text
    std::string b;

    bool operator==(tensor_difference const&) const = default;
};

} // namespace detail

/// What `compare` found.
struct comparison {
    /// Of the lowest key that differs, the first element in row-major order.
    std::optional<detail::tensor_difference> first;
    std::vector<std::string> only_a; ///< keys of the first checkpoint alone, sorted
    std::vector<std::string> only_b;

    bool equal() const { return !first && only_a.empty() && only_b.empty(); }
};

namespace detail {

/// How a tensor that both checkpoints have differs, or nothing.
///
/// \pre both are sound (see `check`)
RESHARD_DECL std::optional<tensor_difference> difference_of(stored_tensor const& a,
                                                            stored_tensor const& b);

/// Refuses a tensor that has a gap, or of which there are two versions.
RESHARD_DECL void check(stored_tensor const& tensor);

/// The places in two checkpoints of the tensors that both have, by key.
using common_tensors = std::vector<std::pair<std::size_t, std::size_t>>;

/// Sorts the keys of two layouts into those of both, and those of one.
RESHARD_DECL common_tensors match_keys(layout const& a, layout const& b, comparison& result);

/// The lowest number that some rank has, or `none` where all have that.
template <group Group>
std::size_t lowest(Group const& world, std::size_t mine, std::size_t none) {
    std::size_t least = none;
    for (std::size_t const one : gather_values(world, mine))
        least = std::min(least, one);
    return least;
}

RESHARD_DECL std::uint64_t digest_of_pair(checkpoint const& a, checkpoint const& b);

} // namespace detail

/// Compares all tensors, bit by bit. Rank `r` looks at every `size`-th key.
///
/// \par Collective every rank of the group, with the same two checkpoints
/// \throws error on every rank alike, about the tensors that both have: errc::not_covered or
///         errc::overlap where the shards are not the whole tensor, naming checkpoint, key and
///         elements; errc::overlap where replicas differ, naming the files; or errc::ranks_disagree
template <group Group>
comparison compare(Group const& world, checkpoint const& a, checkpoint const& b) {
    detail::agree_to_run(
        world, "compare " + a.metadata().path.string() + " with " + b.metadata().path.string(),
        detail::digest_of_pair(a, b));
    comparison result;
    auto const common = detail::match_keys(a.files_layout(), b.files_layout(), result);
    std::size_t first = common.size();
    agree_on(world, [&] {
        auto const step = static_cast<std::size_t>(world.size());
        for (auto i = static_cast<std::size_t>(world.rank()); i < common.size(); i += step) {
            detail::stored_tensor const x(a, common[i].first), y(b, common[i].second);
            detail::check(x);
            detail::check(y);
            if (i < first && detail::difference_of(x, y))
                first = i;
        }
    });
    first = detail::lowest(world, first, common.size());
    if (first < common.size())
        result.first = detail::difference_of(detail::stored_tensor(a, common[first].first),
                                             detail::stored_tensor(b, common[first].second));
    return result;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/compare.ipp>
#endif

#endif
