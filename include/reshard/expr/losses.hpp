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
/// The source elements that do not reach the target: why a mapping cannot be undone.

namespace reshard::detail {

/// A fault of an output.
struct piece_fault {
    errc code;
    std::string message;
};

/// Whether a box lies in a tensor of that shape; the box may have any numbers.
RESHARD_DECL bool lies_in(box const& region, index_vector const& shape);

/// A fault for elements that no piece, or more than one piece, makes up; std::nullopt if there are
/// none.
RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value);

/// The first fault of an output, or std::nullopt. One fault is enough to show that it is wrong.
RESHARD_DECL std::optional<piece_fault> find_piece_fault(mapping_output const& output,
                                                         source_list const& sources);

/// The lost elements of a source tensor, and the reason. A mapping without losses can be undone.
struct loss {
    enum class kind {
        removed, ///< a statement says that nothing uses it
        unused,  ///< no target uses all of it
        rounded, ///< a data type on the way does not hold every value
    } type;
    key_id source = 0;
    std::string key;                     ///< of the source tensor
    vector<box> boxes = {};              ///< the lost boxes; only the first ones of many
    bool has_more = false;               ///< whether there are more than `boxes`
    std::optional<data_type> dtype = {}; ///< the type that does not hold every value

    bool operator==(loss const&) const = default;
};

/// The elements of one source tensor that a mapping uses.
struct source_usage {
    box_list read;                     ///< boxes whose elements arrive, rounded or not
    box_list kept;                     ///< boxes whose elements arrive as they are
    std::optional<data_type> rounding; ///< a data type on the way that does not hold every value
};

/// The first data type on the way of a piece that does not hold every value of the source.
RESHARD_DECL std::optional<data_type> find_rounding(piece const& p);

/// The loss of the elements of a source tensor that `boxes` lacks, or std::nullopt.
RESHARD_DECL std::optional<loss> loss_beyond(box_list const& boxes, key_id id,
                                             mapping_source const& source);

/// The lost boxes, as messages list them.
RESHARD_DECL std::string boxes_text(loss const& loss);

/// The used elements of each source tensor of a mapping.
RESHARD_DECL vector<source_usage> usages_of(mapping const& map);

/// All losses, at most one for each source tensor, in their order. Tensors without elements lose
/// nothing.
RESHARD_DECL vector<loss> losses_of(mapping const& map, vector<source_usage> const& usages);

/// The same for callers that do not need the usages.
inline vector<loss> losses_of(mapping const& map) { return losses_of(map, usages_of(map)); }

/// The words that follow the key of a lost tensor.
RESHARD_DECL std::string describe(loss const& loss, mapping_source const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/losses.ipp>
#endif

#endif
