// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_LAYOUT_RULES_HPP
#define RESHARD_FORMAT_LAYOUT_RULES_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/layout_table.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/layout/mesh.hpp>
#include <reshard/layout/placement.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The rules form of a layout file: a mesh, pipeline stages, and how keys of a pattern are cut.

namespace reshard::detail {

/// Calls `make`; its errors are refused at `place`.
auto checked_at(json_cursor const& place, auto make) {
    try {
        return make();
    } catch (error const& thrown) {
        place.refuse(thrown.what());
    }
}

/// The most ranks of a layout file: each takes memory as soon as a plan is made.
///
/// \par Source ours; some ten times the largest clusters, and 160 megabytes for what a plan costs
inline constexpr index_t most_ranks = index_t{1} << 22;

/// \throws error with errc::limit_exceeded where `place` asks for more ranks than `most_ranks`
RESHARD_DECL void check_rank_count(json_cursor const& place, index_t ranks);

/// How the keys of a pattern are cut.
struct layout_rule {
    key_pattern match;
    std::vector<placement> placements; ///< one for each axis of the mesh
};

/// Which keys stand on one coordinate of a mesh axis only.
///
/// A key `<layer_prefix><number><layer_suffix>...` belongs to that layer; stage i has the next
/// `counts[i]` layers.
struct layout_stages {
    std::size_t axis = 0; ///< of the mesh
    bool has_layers = false;
    std::string layer_prefix;
    std::string layer_suffix;
    std::vector<index_t> counts;
    std::vector<key_pattern> first;
    std::vector<key_pattern> last;
};

/// A layout file in the rules form.
struct layout_rules {
    std::string file;
    mesh ranks;
    std::optional<layout_stages> stages;
    std::vector<layout_rule> rules;
};

/// The rules of a layout file; `apply` gives the layout of a catalog.
///
/// \throws error with errc::bad_layout, or errc::limit_exceeded for a mesh of more than 2^22 ranks,
///         that names the file and the place in it
RESHARD_DECL layout_rules layout_rules_from(json_cursor const& root, std::string_view file);

} // namespace reshard::detail

namespace reshard {

/// The layout that the rules give the tensors of a catalog.
///
/// The first rule that matches a key counts. A key without one is replicated, on its stage or over
/// the mesh, and noted; so is a rule, a pattern of stages, or a layer of a stage without a key. A
/// key of several stages stands on each of them.
///
/// \throws error with errc::bad_layout that names file, key, axis and both numbers where a rule
///         does not fit a tensor
RESHARD_DECL detail::layout_table apply(detail::layout_rules const& rules, catalog const& tensors);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/layout_rules.ipp>
#endif

#endif
