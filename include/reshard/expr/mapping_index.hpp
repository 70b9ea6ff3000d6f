// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_MAPPING_INDEX_HPP
#define RESHARD_EXPR_MAPPING_INDEX_HPP

#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/piece_index.hpp>

#include <cstddef>
#include <unordered_map>

/// \file
/// Which pieces make up a box of any tensor of a mapping, for frequent queries.

namespace reshard::detail {

/// A mapping prepared for queries.
///
/// A tensor of a few pieces takes no place in it: they are looked at one by one. `explain` answers
/// a single question without one.
class mapping_index {
public:
    /// Refers to `program`, which must live as long and stay what it is.
    explicit mapping_index(mapping const& program);

    /// Calls `visit(p)` for each piece that makes up `region` of a target tensor, cut to it.
    ///
    /// \pre `output` is one of the mapping, and `region` is a box of its tensor
    template <class Visitor>
    void for_each_piece(mapping_output const& output, box const& region, Visitor&& visit) const {
        piece_list const& pieces = output.value.pieces;
        auto const cut = [&](std::size_t i, box const& common) {
            cut_to_target(pieces[i], common, visit);
        };
        if (pieces.size() > few)
            return indices_.at(&output).for_each_overlap(region, cut);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (auto const common = intersect(pieces.target_box(i), region))
                cut(i, *common);
    }

private:
    static constexpr std::size_t few = 4;

    std::unordered_map<mapping_output const*, piece_index> indices_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/mapping_index.ipp>
#endif

#endif
