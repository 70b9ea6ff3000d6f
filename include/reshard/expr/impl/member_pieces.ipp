// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_MEMBER_PIECES_IPP
#define RESHARD_EXPR_IMPL_MEMBER_PIECES_IPP

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

/// \file
/// How an output arranges the tensors of a fused tensor.

namespace reshard::detail {

/// A piece of an output with elements of only one of the tensors that were fused.
struct member_piece {
    index_t member = 0;
    index_t part = 0;
    box target, source;
};

/// Whether two boxes overlap along all axes except one.
inline bool overlap_beside(box const& a, box const& b, std::size_t axis) {
    for (std::size_t i = 0; i < a.ndim(); ++i)
        if (i != axis && (a.offset[i] >= b.end(i) || b.offset[i] >= a.end(i)))
            return false;
    return true;
}

/// Whether tensors alternate along an axis of an output, as they do along the fused axis `along`.
inline bool are_in_turns(vector<member_piece>& pieces, std::size_t axis, std::size_t along) {
    std::ranges::sort(pieces, {}, [&](auto const& element) { return element.target.offset[axis]; });
    auto const is_behind = [&](member_piece const& a, member_piece const& b) {
        return b.target.offset[axis] >= a.target.end(axis) &&
               overlap_beside(a.target, b.target, axis);
    };
    auto const is_repeated = [&](std::size_t n) { // a further copy of an earlier piece
        return &*std::ranges::find(pieces, pieces[n].source, &member_piece::source) != &pieces[n];
    };
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        member_piece const& first = pieces[i];
        vector<member_piece const*> others; // between the first piece and the next one
        for (std::size_t n = i + 1; n < pieces.size(); ++n) {
            member_piece const& next = pieces[n];
            if (!is_behind(first, next) || is_repeated(n))
                continue;
            if (next.member != first.member)
                others.push_back(&next);
            else if (next.part != first.part && overlap_beside(first.source, next.source, along) &&
                     std::ranges::any_of(others,
                                         [&](auto* element) { return is_behind(*element, next); }))
                return true;
        }
    }
    return false;
}

/// Whether the output has the fused axis `along` as two axes: the parts and their rows. Then one
/// line along `axis` has several rows of one tensor and rows of another; other lines have the rows
/// of other parts.
inline bool are_parts_on_lines(vector<member_piece> const& pieces, std::size_t axis,
                               std::size_t along) {
    std::set<std::pair<index_t, index_t>> pairs; // one piece for each tensor and part is enough
    for (member_piece const& piece : pieces) {
        if (!pairs.emplace(piece.member, piece.part).second)
            continue;
        bool has_own = false, has_other = false, is_split = false;
        for (member_piece const& next : pieces) {
            bool const is_on_line = overlap_beside(piece.target, next.target, axis);
            bool const is_same_part = next.part == piece.part;
            has_own |= is_on_line && is_same_part && next.member == piece.member &&
                       next.source.offset[along] != piece.source.offset[along];
            has_other |= is_on_line && is_same_part && next.member != piece.member;
            is_split |= !is_on_line && !is_same_part && next.member == piece.member;
        }
        if (has_own && has_other && is_split)
            return true;
    }
    return false;
}

/// \param is_sized whether the tensors' extents are known, not only that each part has rows of
///        every tensor
inline bool are_interleaved(vector<member_piece>& pieces, std::size_t axis, std::size_t along,
                            bool is_sized) {
    return are_in_turns(pieces, axis, along) ||
           (is_sized && are_parts_on_lines(pieces, axis, along));
}

} // namespace reshard::detail

#endif
