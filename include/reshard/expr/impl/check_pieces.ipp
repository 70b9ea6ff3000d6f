// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_CHECK_PIECES_IPP
#define RESHARD_EXPR_IMPL_CHECK_PIECES_IPP

#include <reshard/expr/check_pieces.hpp>

#include <reshard/layout/cover.hpp>

#include <cstddef>

namespace reshard::detail {

RESHARD_DECL bool lies_in(box const& region, index_vector const& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const first = region.offset[axis], extent = region.shape[axis];
        if (first < 0 || extent < 0 || first > shape[axis] || extent > shape[axis] - first)
            return false;
    }
    return true;
}

/// A box that exceeds its tensor, in words: its ends need not fit 64 bits.
inline std::string extent_text(box const& region) {
    return "a box of " + to_string(region.shape) + " at " + to_string(region.offset);
}

RESHARD_DECL std::optional<piece_fault> find_source_fault(piece const& p,
                                                          source_list const& sources) {
    if (p.source == zero_source)
        return std::nullopt;
    if (p.source >= sources.size())
        return piece_fault{errc::unknown_key,
                           "refers to source tensor number " + std::to_string(p.source) +
                               ", but there are only " + std::to_string(sources.size())};
    mapping_source const source = sources[p.source];
    std::string const key(source.key);
    box const region = p.source_box();
    if (region.offset.size() != source.shape.size() || region.ndim() != source.shape.size())
        return piece_fault{errc::shape_mismatch,
                           "takes a box of " + std::to_string(p.extent.size()) + " axes from '" +
                               key + "', shape " + to_string(source.shape)};
    if (!lies_in(region, source.shape))
        return piece_fault{errc::shape_mismatch, "takes " + extent_text(region) + " from '" + key +
                                                     "', shape " + to_string(source.shape)};
    if (p.stored != source.dtype)
        return piece_fault{errc::dtype_mismatch, "takes '" + key + "' as " +
                                                     std::string(name(p.stored)) + ", and it is " +
                                                     std::string(name(source.dtype))};
    return std::nullopt;
}

/// The same for a piece and its target.
inline std::optional<piece_fault> find_target_fault(piece const& p, expression const& value) {
    if (!lies_in(p.target_box(), value.shape))
        return piece_fault{errc::shape_mismatch, "has the shape " + to_string(value.shape) +
                                                     ", and a piece that is " +
                                                     extent_text(p.target_box())};
    data_type const dtype = result(p.stored, p.casts);
    if (dtype != value.dtype)
        return piece_fault{errc::dtype_mismatch,
                           "is " + std::string(name(value.dtype)) + ", and its piece " +
                               to_string(p.target_box()) + " is " + std::string(name(dtype))};
    return std::nullopt;
}

RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value) {
    box const all = whole(value.shape);
    if (is_empty(all) || (value.pieces.size() == 1 && value.pieces[0].target_box() == all))
        return std::nullopt;
    box_index const index(value.pieces.target_boxes());
    if (auto const fault = find_overlap(index))
        return piece_fault{errc::overlap, "has two sources for its elements " +
                                              to_string(fault->where) + ": the pieces " +
                                              to_string(index[fault->first]) + " and " +
                                              to_string(index[fault->second])};
    if (auto const gap = uncovered(all, index))
        return piece_fault{errc::not_covered, "has no source for its elements " + to_string(*gap) +
                                                  " of " + to_string(value.shape)};
    return std::nullopt;
}

RESHARD_DECL std::optional<piece_fault> find_piece_fault(mapping_output const& output,
                                                         source_list const& sources) {
    expression const& value = output.value;
    std::optional<piece_fault> fault;
    if (value.pieces.size() > 0 && value.pieces.ndim() != value.ndim())
        fault = {errc::shape_mismatch, "has " + std::to_string(value.ndim()) +
                                           " axes, and its pieces have " +
                                           std::to_string(value.pieces.ndim())};
    for (std::size_t i = 0; i < value.pieces.size() && !fault; ++i) {
        fault = find_target_fault(value.pieces[i], value);
        if (!fault)
            fault = find_source_fault(value.pieces[i], sources);
    }
    if (!fault)
        fault = find_cover_fault(value);
    if (fault)
        fault->message = "'" + output.key + "' " + fault->message;
    return fault;
}

} // namespace reshard::detail

#endif
