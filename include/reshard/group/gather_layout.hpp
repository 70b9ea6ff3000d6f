// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_GATHER_LAYOUT_HPP
#define RESHARD_GROUP_GATHER_LAYOUT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Every rank sends all others a description of its shards.

namespace reshard {

namespace detail {

/// The lowest rank with a digest, if any.
///
/// \throws error with errc::ranks_disagree if two ranks have different digests
RESHARD_DECL std::optional<std::size_t> first_teller(vector<std::string> const& digests,
                                                     std::string_view noun);

RESHARD_DECL std::string digest_text(std::string const& bytes);

/// Sends a layout that only some ranks know to every rank. Returns std::nullopt if no rank knows
/// it.
///
/// \param digests for each rank, `digest_text` of its layout, or an empty text
/// \par Collective every rank of the group, in the same order, if only some ranks know the layout
std::optional<layout> share_known(group auto const& world, std::optional<layout> own_layout,
                                  vector<std::string> const& digests, std::string_view noun) {
    auto const first = first_teller(digests, noun);
    if (!first || std::count(digests.begin(), digests.end(), std::string()) == 0)
        return own_layout;
    bool const tells = *first == static_cast<std::size_t>(world.rank());
    auto const layouts = world.all_gather(tells ? to_bytes(*own_layout) : std::string());
    if (!own_layout)
        own_layout = from_bytes<layout>(layouts[*first]);
    return own_layout;
}

/// A tensor on one rank, with the offsets of its shards.
struct cut_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape;             ///< global
    vector<vector<index_t>> begins; ///< the distinct offsets along each axis, ascending

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.begins);
    }
};

/// The tensors of these shards, in the order of their keys.
///
/// \throws error with errc::shape_mismatch or errc::dtype_mismatch if two shards with one key
///         belong to different tensors
RESHARD_DECL vector<cut_tensor> cuts_of(vector<shard_descriptor> const& shards);

/// The catalog of the tensors of all ranks; `ranks[r]` is from rank `r`.
///
/// \throws error with errc::shape_mismatch or errc::dtype_mismatch if two ranks have different
///         tensors with the same key; the message names both ranks
RESHARD_DECL catalog merge_cuts(vector<vector<cut_tensor>> const& ranks);

/// The known facts about one side of a call.
struct side_facts {
    layout const* known = nullptr; ///< null if no rank knows the layout
    vector<std::string> cuts;      ///< for each rank, its tensors as bytes; only if `known` is null
};

/// The result of `gather_layout`. All ranks have already agreed on the call.
///
/// \par Collective every rank of the group, in the same order
layout layout_of_all(group auto const& world, vector<shard_descriptor> const& shards) {
    return layout_of(gather_values(world, shards));
}

/// A rank's notice about one side: the digest of the layout that it knows, or its own shards.
struct layout_notice {
    std::string digest;              ///< empty if the rank knows no layout
    vector<shard_descriptor> shards; ///< empty if the rank knows the layout

    static constexpr void members(auto& self, auto&& visit) { visit(self.digest, self.shards); }
};

RESHARD_DECL layout_notice notice_of(std::optional<layout> const& layout,
                                     vector<shard_descriptor> shards);

/// The digest in each notice.
RESHARD_DECL vector<std::string> digests_of(vector<layout_notice> const& notices);

/// The layout of the shards in all notices.
///
/// \throws error as `layout_of`
RESHARD_DECL layout layout_of_notices(vector<layout_notice> const& notices);

/// The layout of a side, on every rank. `notices` are the notices of all ranks.
///
/// \par Collective every rank of the group, in the same order, if only some ranks know a layout
/// \throws error on every rank: as `layout_of`; errc::ranks_disagree if ranks know different
///         layouts
layout layout_told(group auto const& world, std::optional<layout> layout,
                   vector<layout_notice> const& notices, std::string_view noun) {
    auto match = share_known(world, std::move(layout), digests_of(notices), noun);
    return match ? *std::move(match) : layout_of_notices(notices);
}

/// The layout of a side, on every rank: the layout that ranks know, or else the layout of their
/// shards.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `layout_told`
layout layout_of_ranks(group auto const& world, std::optional<layout> layout,
                       vector<shard_descriptor> const& shards, std::string_view noun) {
    auto const notices = gather_values(world, notice_of(layout, shards));
    return layout_told(world, std::move(layout), notices, noun);
}

} // namespace detail

/// The layout of the shards of all ranks. It is equal on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \post   rank `r` is holder `r` of the result
/// \throws error as `layout_of`, on every rank, if a key has two global shapes or data types;
///         errc::ranks_disagree if ranks make different calls
layout gather_layout(group auto const& world, vector<shard_descriptor> const& shards) {
    detail::agree_to_run(world, "gather_layout", 0);
    return detail::layout_of_all(world, shards);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/gather_layout.ipp>
#endif

#endif
