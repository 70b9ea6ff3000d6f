// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_EXPLAIN_IPP
#define RESHARD_EXPR_IMPL_EXPLAIN_IPP

#include <reshard/expr/explain.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/layout/replica.hpp>

#include <algorithm>
#include <cstdint>

namespace reshard {

namespace detail {

RESHARD_DECL void check_region(std::string const& key, index_vector const& shape,
                               box const& region) {
    if (region.ndim() != shape.size())
        fail(errc::shape_mismatch, "'", key, "' has ", counted(shape.size(), "axis"), ", shape ",
             shape, ", and the box of ", region.shape, " from ", region.offset, " has ",
             region.ndim());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const first = region.offset[axis], extent = region.shape[axis];
        if (first < 0 || extent < 0 || first > shape[axis] || extent > shape[axis] - first)
            fail(errc::shape_mismatch, "'", key, "': axis ", axis, ": a box of ",
                 detail::counted(extent, "element"), " at offset ", first, " exceeds the extent ",
                 shape[axis]);
    }
}

} // namespace detail

RESHARD_DECL vector<piece> explain(mapping const& program, std::string_view key,
                                   std::optional<box> const& region) {
    mapping_output const* const output = program.find(key);
    if (!output)
        fail(errc::unknown_key, "'", key, "' is not a tensor of the target",
             detail::did_you_mean_key(key, program.outputs(), &mapping_output::key));
    box const wanted = region.value_or(whole(output->value.shape));
    detail::check_region(output->key, output->value.shape, wanted);
    vector<piece> pieces;
    for (std::size_t i = 0; i < output->value.pieces.size(); ++i) {
        piece const p = output->value.pieces[i];
        if (auto const common = intersect(p.target_box(), wanted))
            detail::cut_to_target(p, *common, [&](piece const& piece) { pieces.push_back(piece); });
    }
    std::sort(pieces.begin(), pieces.end(),
              [](piece const& a, piece const& b) { return a.target_offset < b.target_offset; });
    return pieces;
}

namespace detail {

RESHARD_DECL vector<destination> explain_source(mapping const& program, std::string_view key,
                                                std::optional<box> const& region) {
    source_list const& sources = program.sources();
    key_id id = 0;
    while (id < sources.size() && sources.key(id) != key)
        ++id;
    if (id == sources.size())
        fail(errc::unknown_key, "'", key, "' is not a tensor of the source",
             did_you_mean_key(key, sources, &mapping_source::key));
    box const wanted = region.value_or(whole(sources[id].shape));
    check_region(std::string(key), sources[id].shape, wanted);
    vector<destination> destinations;
    for (mapping_output const& output : program.outputs())
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            if (output.value.pieces.source(i) != id)
                continue;
            piece const p = output.value.pieces[i];
            if (auto const common = intersect(p.source_box(), wanted))
                cut_to_source(p, *common, [&](piece const& piece) {
                    destinations.push_back({output.key, piece});
                });
        }
    std::ranges::stable_sort(destinations, {}, [](destination const& destination) {
        return destination.part.source_offset;
    });
    return destinations;
}

RESHARD_DECL vector<located_piece> locate(piece const& p, shard_table const& source) {
    vector<located_piece> pieces;
    for (std::uint32_t const i : main_copies(source))
        for (box const& box : source.boxes(i))
            if (auto const common = intersect(p.source_box(), box))
                cut_to_source(p, *common, [&](piece const& piece) {
                    pieces.push_back({piece, i});
                });
    std::sort(pieces.begin(), pieces.end(), [](located_piece const& a, located_piece const& b) {
        return a.part.target_offset < b.part.target_offset;
    });
    return pieces;
}

} // namespace detail

} // namespace reshard

#endif
