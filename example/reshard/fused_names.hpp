// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FUSED_NAMES_HPP
#define RESHARD_TOOL_FUSED_NAMES_HPP

#include "job.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The names that public models give to fused tensors, and the order of the members' rows in each.
/// The members are the tensors that are fused.

namespace tool {

/// The order in which a fused tensor has the rows of its members.
enum class fused_order {
    parts,   ///< all rows of the first member, then all rows of the next
    by_head, ///< for each head, group of heads or pair: some rows of each member
    heads,   ///< not fused; the rows are in heads
    unknown, ///< `parts` or `by_head`, or not fused in all models
    plain,   ///< not fused, although other models use the name for a fused tensor
};

/// The axis that has the rows of the members.
enum class fused_side {
    first,  ///< the first axis, as for convolutions by channel
    out_in, ///< the last axis but one, as for weights `[out, in]`
    in_out, ///< the last axis, as for weights `[in, out]`
    longer, ///< stored both ways; in a matrix probably the longer axis
    either, ///< as `longer`, but there may be fewer rows than the hidden size, as for experts
};

/// A name, and its meaning in one type of model.
struct fused_name {
    std::string_view name;  ///< parts of the key, optionally with `_weight`, `_bias` and so on
    std::string_view model; ///< `model_type` in `config.json`; empty: any other model
    fused_side side;
    fused_order order;
    std::string_view heads;  ///< for orders by heads: entries of `config.json` with the number
    std::string_view source; ///< the library and its file
};

/// The row of the table for a key in a model of type `model`, or null.
fused_name const* find_fused_name(std::string_view key, std::string_view model);

/// The facts in a checkpoint's `config.json`; empty if it has none.
struct model_facts {
    std::string type; ///< `model_type`, of the text model if there is one
    /// Entries with integers.
    reshard::vector<std::pair<std::string, reshard::index_t>> numbers;
    /// Entries with integers of the models beside the text model, for example of an image model.
    reshard::vector<std::pair<std::string, reshard::index_t>> of_others;

    /// The number of the first existing entry among `names`, which are separated by `|`.
    std::optional<reshard::index_t> number(std::string_view names) const;

    /// Whether a model beside the text model has one of these entries. Then a key may belong to
    /// either model.
    bool is_of_others(std::string_view names) const;

    /// Whether an entry `name` of any of the models has this number.
    bool has(std::string_view name, reshard::index_t number) const;
};

/// Reads the `config.json` of a checkpoint. \param source the path of the checkpoint
model_facts facts_beside(std::string const& source);

/// The axis of a cut in a tensor with a fused tensor's name, and the order of the rows there.
struct fused_cut {
    std::size_t axis;
    fused_order order;
};

/// The cut that separates, or may separate, rows that belong together, if a layout cuts a tensor
/// along `axes`. std::nullopt for cuts along other axes, and for cuts between heads.
std::optional<fused_cut> find_fused_cut(reshard::catalog_entry const& wanted,
                                        reshard::vector<std::size_t> const& axes,
                                        model_facts const& model);

/// A note about the source tensors in parts that a program uses like plain tensors although they
/// may be fused by their names, if the layout does not say how they were fused. Empty if there are
/// none.
std::string text_of_parts(reshard::mapping const& program, reshard::layout const& layout,
                          reshard::catalog const* target, job_files const& files);

} // namespace tool

#endif
