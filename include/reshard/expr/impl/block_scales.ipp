// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_BLOCK_SCALES_IPP
#define RESHARD_EXPR_IMPL_BLOCK_SCALES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/block_scales.hpp>

#include <reshard/core/error.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reshard::detail {

/// A range of elements along an axis of one of the two tensors of a piece.
struct axis_span {
    char const* side; ///< source or target, for messages
    std::size_t axis = 0;
    index_t first = 0;
    index_t last = 0; ///< the end
    index_t extent = 0;

    static axis_span of(char const* side, std::size_t axis, box const& region,
                        index_vector const& shape) {
        return {side, axis, region.offset[axis], region.end(axis), shape[axis]};
    }
};

/// Refuses a piece that begins or ends inside a block. It may end inside a block at the end of
/// either tensor: if a tensor is cropped or extended, the elements of its last block may change.
inline void check_blocks(axis_span const& span, axis_span const& axis_span, index_t block) {
    bool const is_at_end = span.last == span.extent || axis_span.last == axis_span.extent;
    for (index_t const cut : {span.first, is_at_end ? span.first : span.last})
        if (cut % block != 0) {
            index_t const first = cut - cut % block;
            fail(errc::shape_mismatch, "axis ", span.axis, " of the ", span.side, " is cut at ",
                 cut, ", inside the block from ", first, " to ", first + block,
                 ", which has one scale; cut at multiples of ", block);
        }
}

/// Computes the scales of a piece whose axes consist of several factors. If an axis of the source
/// is an axis of the target, it keeps its blocks. Along other axes, blocks have to consist of whole
/// factors.
class reshaped_scales {
public:
    reshaped_scales(piece const& p, index_vector const& shape, scale_source const& from)
        : p_(p),
          shape_(shape),
          from_(from),
          source_(p.source_box()),
          target_(p.target_box()),
          partner_(shape.size(), none),
          is_kept_(source_.ndim(), false),
          shared_(p.extent.size(), 1) {}

    scaled_piece run() {
        find_partners();
        for (std::size_t axis = 0; axis < source_.ndim(); ++axis)
            if (!is_kept_[axis])
                share_out(axis);
        scaled_piece piece;
        for (std::size_t axis = 0; axis < target_.ndim(); ++axis) {
            auto const [block, count] = form_along(axis);
            piece.form.block.push_back(block);
            piece.form.count.push_back(count);
        }
        check_cuts(piece.form);
        piece.scales = scales(scales_of_box(target_, piece.form));
        return piece;
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    std::size_t source_axis(std::size_t k) const {
        return axis_of_factor(p_.joins.source, p_.order[k]);
    }
    std::size_t target_axis(std::size_t k) const { return axis_of_factor(p_.joins.target, k); }

    [[noreturn]] void refuse(std::size_t axis) const {
        index_t const block = from_.form.block[axis];
        fail(errc::unsupported, "a reshape splits or merges axis ", axis, " of the source",
             block > 1
                 ? words(", and breaks up its blocks of ", block, ", which have one scale each")
                 : std::string(", whose elements have several scales, or share one"),
             "; reshape other axes, or between blocks, or dequantise the model first");
    }

    void find_partners() {
        for (std::size_t from = 0; from < source_.ndim(); ++from)
            if (auto const axis = same_axis(p_, from); axis && partner_[*axis] == none) {
                partner_[*axis] = from;
                is_kept_[from] = true;
            }
    }

    /// The factors of an axis of the source, innermost first.
    vector<std::size_t> factors_of_source(std::size_t axis) const {
        vector<std::size_t> matches;
        for (std::size_t index = p_.extent.size(); index-- > 0;)
            for (std::size_t k = 0; k < p_.extent.size(); ++k)
                if (p_.order[k] == index && source_axis(k) == axis)
                    matches.push_back(k);
        return matches;
    }

    /// Finds how many elements of each factor of an axis share one scale.
    void share_out(std::size_t axis) {
        index_t const count = from_.form.count_of(axis);
        index_t remainder = from_.form.block[axis];
        if (count > 1)
            refuse(axis);
        bool const is_one_block = count == 0 || remainder == 0;
        for (std::size_t const k : factors_of_source(axis)) {
            index_t const extent = p_.extent[k];
            if (!is_one_block && extent % remainder != 0 && remainder % extent != 0)
                refuse(axis);
            shared_[k] = is_one_block ? extent : std::min(remainder, extent);
            remainder = is_one_block ? 1 : remainder / shared_[k];
        }
        if (remainder > 1 && source_.shape[axis] != from_.shape[axis])
            refuse(axis);
    }

    /// The form along an axis of the target: the elements of a block, and its number of scales.
    std::pair<index_t, index_t> form_along(std::size_t axis) const {
        if (std::size_t const from = partner_[axis]; from != none)
            return {from_.form.block[from], from_.form.count_of(from)};
        index_t block = 1;
        bool is_shared = true, has_scales = false, has_factors = false;
        for (std::size_t k = p_.extent.size(); k-- > 0;) {
            if (target_axis(k) != axis || p_.extent[k] == 1)
                continue;
            if (!is_shared && shared_[k] > 1)
                refuse(source_axis(k));
            block *= shared_[k];
            is_shared = is_shared && shared_[k] == p_.extent[k];
            has_scales = has_scales || from_.form.count_of(source_axis(k)) > 0;
            has_factors = true;
        }
        return has_factors && !has_scales ? std::pair<index_t, index_t>{0, 0}
                                          : std::pair<index_t, index_t>{block, 1};
    }

    void check_cuts(block_form const& form) const {
        auto const span_of_source = [&](std::size_t axis) {
            return axis_span::of("source", axis, source_, from_.shape);
        };
        for (std::size_t axis = 0; axis < target_.ndim(); ++axis) {
            auto const own = axis_span::of("target", axis, target_, shape_);
            bool const has_partner = partner_[axis] != none;
            auto const other = has_partner ? span_of_source(partner_[axis]) : own;
            if (form.block[axis] > 0) {
                check_blocks(own, other, form.block[axis]);
                check_blocks(other, own, form.block[axis]);
            }
        }
        for (std::size_t axis = 0; axis < source_.ndim(); ++axis)
            if (index_t const block = from_.form.block[axis]; block > 0 && !is_kept_[axis])
                check_blocks(span_of_source(axis), span_of_source(axis), block);
    }

    /// The number of scales of a factor.
    index_t scales_along(std::size_t k, box const& scales) const {
        std::size_t const axis = source_axis(k);
        if (axis >= source_.ndim() || from_.form.count_of(axis) == 0)
            return 1;
        if (!is_kept_[axis])
            return p_.extent[k] / shared_[k];
        std::size_t of_scales = 0;
        for (std::size_t before = 0; before < axis; ++before)
            of_scales += from_.form.count_of(before) > 0;
        return p_.extent[k] == source_.shape[axis] ? scales.shape[of_scales] : 1;
    }

    /// The scales of the piece as pieces of `new_box`, a box of the target's scales.
    piece_list scales(box const& new_box) const {
        box const read = scales_of_box(source_, from_.form);
        index_vector extents, order; // of factors with several scales, in the order of the source
        vector<std::size_t> places;
        for (std::size_t index = 0; index < p_.extent.size(); ++index)
            for (std::size_t k = 0; k < p_.extent.size(); ++k)
                if (p_.order[k] == index && scales_along(k, read) > 1) {
                    extents.push_back(scales_along(k, read));
                    places.push_back(index);
                }
        for (std::size_t k = 0; k < p_.extent.size(); ++k)
            for (std::size_t i = 0; i < places.size(); ++i)
                if (places[i] == p_.order[k])
                    order.push_back(static_cast<index_t>(i));
        expression const expression = reshape(
            permute(reshape(one_piece(from_.scales, read.shape, from_.dtype), extents), order),
            new_box.shape);
        piece_list moved(new_box.ndim());
        for (std::size_t i = 0; i < expression.pieces.size(); ++i) {
            piece piece = expression.pieces[i];
            for (std::size_t axis = 0; axis < read.ndim(); ++axis)
                piece.source_offset[axis] += read.offset[axis];
            for (std::size_t axis = 0; axis < new_box.ndim(); ++axis)
                piece.target_offset[axis] += new_box.offset[axis];
            moved.push_back(piece);
        }
        return moved;
    }

    piece const& p_;
    index_vector const& shape_;
    scale_source const& from_;
    box source_, target_;
    vector<std::size_t> partner_; ///< by axis of the target: the same axis of the source
    vector<bool> is_kept_;        ///< by axis of the source: whether it is an axis of the target
    vector<index_t> shared_;      ///< by factor of other axes: how many elements share a scale
};

RESHARD_DECL scaled_piece scales_of_piece(piece p, index_vector const& shape,
                                          scale_source const& from) {
    if (p.joins.any())
        return reshaped_scales(p, shape, from).run();
    scaled_piece piece{permuted(from.form, p.order), {}};
    box const target = p.target_box(), source = p.source_box();
    for (std::size_t axis = 0; axis < p.ndim(); ++axis)
        if (index_t const block = piece.form.block[axis]; block > 0) {
            auto const own = axis_span::of("target", axis, target, shape);
            auto const of = axis_span::of("source", p.order[axis], source, from.shape);
            check_blocks(own, of, block);
            check_blocks(of, own, block);
        }
    box const scales = scales_of_box(target, piece.form);
    p.source_offset = scales_of_box(source, from.form).offset;
    p.source = from.scales;
    p.stored = from.dtype;
    p.order = order_of_scales(from.form, p.order);
    p.target_offset = scales.offset;
    p.extent = scales.shape;
    piece.scales = piece_list(scales.ndim());
    piece.scales.push_back(p);
    return piece;
}

RESHARD_DECL void add_scales(piece_list& pieces, piece const& p, block_form const& form) {
    bool const may_meet =
        std::find(form.block.begin(), form.block.end(), index_t{0}) != form.block.end();
    for (std::size_t i = 0; may_meet && i < pieces.size(); ++i) {
        if (pieces[i] == p)
            return;
        if (intersect(pieces.target_box(i), p.target_box()))
            fail(errc::overlap,
                 "tensors with different scales cannot be combined along an axis that has only "
                 "one scale");
    }
    pieces.push_back(p);
}

/// Adds zeros for the elements of a box that are in no piece from number `i` on.
inline void add_zeros(piece_list& pieces, box const& region, data_type dtype, std::size_t i) {
    box box = region;
    for (; i < pieces.size(); ++i)
        if (auto const common = intersect(pieces.target_box(i), region)) {
            for (std::size_t axis = 0; axis < box.ndim(); ++axis) {
                index_t const ends[] = {box.offset[axis], common->offset[axis], common->end(axis),
                                        box.end(axis)};
                for (std::size_t k : {0u, 2u}) {
                    box.offset[axis] = ends[k];
                    box.shape[axis] = ends[k + 1] - ends[k];
                    add_zeros(pieces, box, dtype, i + 1);
                }
                box.offset[axis] = ends[1];
                box.shape[axis] = ends[2] - ends[1];
            }
            return;
        }
    if (is_empty(region))
        return;
    piece zero = zeros(region.shape, dtype).pieces[0];
    zero.target_offset = region.offset;
    pieces.push_back(zero);
}

/// The scales of blocks that begin in a box.
inline box scales_from_box(box region, block_form const& form) {
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        if (index_t const block = form.block[axis]; block > 0) {
            index_t const skipped = (block - region.offset[axis] % block) % block;
            region.offset[axis] += skipped;
            region.shape[axis] = std::max(region.shape[axis] - skipped, index_t{0});
        }
    return scales_of_box(region, form);
}

RESHARD_DECL void add_zero_scales(piece_list& pieces, box const& region, block_form const& form,
                                  data_type dtype) {
    add_zeros(pieces, scales_from_box(region, form), dtype, 0);
}

} // namespace reshard::detail

#endif
