// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_LOSSES_HPP
#define RESHARD_EXPR_LOSSES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/expr/mapping.hpp>

#include <optional>
#include <string>
#include <vector>

/// \file
/// What of the source does not reach the target: why a mapping cannot be undone.

namespace reshard::detail {

/// A fault of an output.
struct piece_fault {
    errc code;
    std::string message;
};

/// Whether a box lies in a tensor of that shape, for any numbers.
RESHARD_DECL bool lies_in(box const& region, index_vector const& shape);

/// Elements that no piece makes up, or several do.
RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value);

/// The first fault of an output, or std::nullopt; one is enough to say that it is wrong.
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
    std::vector<box> boxes = {};         ///< of it, that are lost; only the first ones of many
    bool has_more = false;               ///< than `boxes`
    std::optional<data_type> dtype = {}; ///< that does not hold every value

    bool operator==(loss const&) const = default;
};

/// What of one source tensor a mapping uses.
struct source_usage {
    box_list read;                     ///< boxes whose elements arrive, rounded or not
    box_list kept;                     ///< boxes whose elements arrive as they are
    std::optional<data_type> rounding; ///< a data type on the way that does not hold every value
};

/// The first data type on the way of a piece that does not hold all that the source does.
RESHARD_DECL std::optional<data_type> find_rounding(piece const& p);

/// The loss of what `boxes` does not have of a source tensor, or std::nullopt.
RESHARD_DECL std::optional<loss> loss_beyond(box_list const& boxes, key_id id,
                                             mapping_source const& source);

/// The boxes that are lost, as messages list them.
RESHARD_DECL std::string boxes_text(loss const& loss);

/// What of each source tensor a mapping uses.
RESHARD_DECL std::vector<source_usage> usages_of(mapping const& map);

/// All that is lost, once for each source tensor at most, in their order. Tensors without elements
/// lose nothing.
RESHARD_DECL std::vector<loss> losses_of(mapping const& map,
                                         std::vector<source_usage> const& usages);

/// The same for a mapping of which nothing else is to be known.
inline std::vector<loss> losses_of(mapping const& map) { return losses_of(map, usages_of(map)); }

/// The words that go on after the key of a lost tensor.
RESHARD_DECL std::string describe(loss const& loss, mapping_source const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/losses.ipp>
#endif

#endif
