// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_LOSSES_HPP
#define RESHARD_EXPR_LOSSES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>

#include <optional>
#include <string>

/// \file
/// The source elements that do not reach the target: they make a mapping irreversible.

namespace reshard::detail {

/// A fault of an output.
struct piece_fault {
    errc code;
    std::string message;
};

/// Whether a box lies in a tensor of shape `shape`; the box may be invalid.
RESHARD_DECL bool lies_in(box const& region, index_vector const& shape);

/// Describes elements that no piece, or more than one piece, makes up; std::nullopt if there are
/// none.
RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value);

/// The first fault of an output, or std::nullopt. One fault shows that the output is wrong.
RESHARD_DECL std::optional<piece_fault> find_piece_fault(mapping_output const& output,
                                                         source_list const& sources);

/// The lost elements of a source tensor, and the reason. A mapping without losses can be undone.
struct loss {
    enum class kind {
        removed, ///< a statement declares it unused
        unused,  ///< some elements have no target
        rounded, ///< a cast to a type that cannot hold every value, or arithmetic
    } type;
    key_id source = 0;
    std::string key;                     ///< of the source tensor
    vector<box> boxes = {};              ///< the lost boxes, or only the first few
    bool has_more = false;               ///< whether `boxes` is incomplete
    std::optional<chain_step> step = {}; ///< the cast, or the arithmetic

    bool operator==(loss const&) const = default;
};

/// The elements of one source tensor that a mapping uses.
struct source_usage {
    box_list read;                      ///< boxes whose elements arrive, perhaps rounded
    box_list kept;                      ///< boxes whose elements arrive unchanged
    std::optional<chain_step> rounding; ///< a step that may change values
};

/// The first step of a piece that computes, or that casts to a type that cannot hold every value of
/// the source.
RESHARD_DECL std::optional<chain_step> find_rounding(piece const& p);

/// The loss of a source tensor's elements that are outside `boxes`, or std::nullopt.
RESHARD_DECL std::optional<loss> loss_beyond(box_list const& boxes, key_id id,
                                             mapping_source const& source);

/// The lost boxes, as text for messages.
RESHARD_DECL std::string boxes_text(loss const& loss);

/// The used elements of each source tensor of a mapping.
RESHARD_DECL vector<source_usage> usages_of(mapping const& map);

/// All losses, at most one for each source tensor, in the order of the sources. Tensors without
/// elements lose nothing.
RESHARD_DECL vector<loss> losses_of(mapping const& map, vector<source_usage> const& usages);

/// The same for callers without usages.
inline vector<loss> losses_of(mapping const& map) { return losses_of(map, usages_of(map)); }

/// The words that follow a lost tensor's key in a message.
RESHARD_DECL std::string describe(loss const& loss, mapping_source const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/losses.ipp>
#endif

#endif
