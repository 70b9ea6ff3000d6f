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
/// Names that public models give to tensors that have several others in them, and in which order.

namespace tool {

/// In which order a fused tensor has the rows of the others.
enum class fused_order {
    parts,   ///< all of the first tensor, then all of the next
    by_head, ///< of each head, or group of heads, or pair, the rows of each
    heads,   ///< it is one tensor, whose rows are heads
    unknown, ///< one or the other, or it is not fused in all models
    plain,   ///< it is not fused, though other models have such a name for one that is
};

/// Which axis has the rows of the tensors.
enum class fused_side {
    first,  ///< the first one, as of convolutions by channel
    out_in, ///< the one before the last, as of weights `[out, in]`
    in_out, ///< the last, as of weights `[in, out]`
    longer, ///< weights of that name are stored both ways: of a matrix likely the longer one
    either, ///< the same, but rows may be fewer than the hidden size, as with experts
};

/// A name, and its meaning in a kind of model.
struct fused_name {
    std::string_view name; ///< parts of the key, the last also with `_weight`, `_bias` and the like
    std::string_view model; ///< `model_type` of `config.json`; empty: of any other
    fused_side side;
    fused_order order;
    std::string_view heads;  ///< of an order by heads: the entries of `config.json` that count them
    std::string_view source; ///< the library and its file
};

/// The rows of the table for a key in a model of that kind, or null.
fused_name const* find_fused_name(std::string_view key, std::string_view model);

/// The facts in a checkpoint's `config.json`; empty if it has none.
struct model_facts {
    std::string type; ///< `model_type`, of the text model if there is one
    /// Entries with whole numbers.
    reshard::vector<std::pair<std::string, reshard::index_t>> numbers;
    /// The same of models beside the text model, as one of images.
    reshard::vector<std::pair<std::string, reshard::index_t>> of_others;

    /// The first number of a list of entries, `a|b`, that exists.
    std::optional<reshard::index_t> number(std::string_view names) const;

    /// Whether another model has one of these entries, so that a key may be of either.
    bool is_of_others(std::string_view names) const;

    /// Whether an entry, of the text model or another one, has that number.
    bool has(std::string_view name, reshard::index_t number) const;
};

/// \param source the path of a checkpoint
model_facts facts_beside(std::string const& source);

/// How a layout cuts a tensor that is named like a fused one.
struct fused_cut {
    std::size_t axis;
    fused_order order;
};

/// How a layout that cuts a tensor along these axes parts, or may part, the tensors in it; nullopt
/// if it cuts another axis, or between heads.
std::optional<fused_cut> find_fused_cut(reshard::catalog_entry const& wanted,
                                        reshard::vector<std::size_t> const& axes,
                                        model_facts const& model);

/// Of tensors that the source has in parts, and that a program uses like plain ones: those that may
/// be fused by their names, if nothing says how they were made.
std::string text_of_parts(reshard::mapping const& program, reshard::layout const& layout,
                          reshard::catalog const* target, job_files const& files);

} // namespace tool

#endif
