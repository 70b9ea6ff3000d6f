// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_EXPLAINED_HPP
#define RESHARD_TOOL_EXPLAINED_HPP

#include "job.hpp"
#include "spec.hpp"

#include <reshard/aoa/ast.hpp>
#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>

#include <optional>
#include <string>

/// \file
/// The origin or destination of elements: pieces, with their holders and their statements.

namespace tool {

/// A piece with all known details.
struct explained {
    reshard::piece geometry;
    std::string target_key;
    std::string source_key; ///< empty: the elements are zeros
    std::string file;       ///< empty: the source is a layout
    reshard::index_t first_byte = 0;
    reshard::index_t last_byte = 0; ///< one past the last byte
    reshard::vector<std::string> statements;
    reshard::vector<reshard::aoa::text_span> written =
        {}; ///< the statements as the user wrote them, in order
    reshard::vector<reshard::holder_t> source_ranks = {}; ///< empty: the source is a checkpoint
    reshard::vector<reshard::holder_t> target_ranks = {}; ///< empty: the target is unknown
};

/// The pieces that fill a box of a target tensor, by target offset. They are cut at the borders of
/// shards if the source is a checkpoint, or with `cuts_at_ranks`.
///
/// \throws error as `reshard::explain`
reshard::vector<explained> explain_target(source_spec const& source, job const& full_job,
                                          std::string const& key,
                                          std::optional<reshard::box> const& region,
                                          bool cuts_at_ranks);

/// The pieces that use a box of a source tensor, by source offset.
reshard::vector<explained> explain_source(source_spec const& source, job const& full_job,
                                          std::string const& key,
                                          std::optional<reshard::box> const& region,
                                          bool cuts_at_ranks);

/// Joins pieces that are adjacent in both source and target.
reshard::vector<explained> joined(reshard::vector<explained> pieces);

} // namespace tool

#endif
