// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FUSED_OUTPUTS_HPP
#define RESHARD_EXPR_FUSED_OUTPUTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Fused tensors on their way through a mapping, and whether a layout may cut them as it does.

namespace reshard::detail {

/// Whether a key is one that frameworks give to fused weights.
inline bool is_named_fused(std::string_view key) {
    constexpr std::string_view known_names[] = {"qkv", "linear_fc1", "gate_up", "fused_"};
    return std::ranges::any_of(known_names, [&](auto part) { return key.find(part) != key.npos; });
}

/// Declares the facts of the fused tensors of `source` for each output that is made of them. They
/// have to be fused in the same way, and the fused axis of each has to be an axis of the output.
/// Such an output is a fused tensor with its other axes in any order and shape, some of its
/// columns, columns with zeros, or several fused tensors stacked along another axis. The state of a
/// fused output gets the facts of the output.
RESHARD_DECL void carry_fused(mapping& program, layout const& source);

/// The extents of the tensors that were fused into a tensor of that extent along its axis, as its
/// macro says. Empty if the macro does not say them, or if they do not divide into the blocks.
RESHARD_DECL vector<index_t> member_sizes(fused_tensor const& tensor, index_t extent);

/// Rearranges each output that is interleaved in several blocks and that `target` does not cut
/// along that axis: its tensors come one after the other, as its macro puts them for one block. Its
/// scales follow. Without a target, all outputs count as whole.
///
/// \param source the layout that the program reads
/// \return a message about these outputs; empty if there are none
/// \throws error with errc::bad_layout if the extents of an output's tensors are not known, or if a
///         scale is for elements of several of its tensors
RESHARD_DECL std::string deinterleave_whole(mapping& program, layout const& source,
                                            layout const* target);

/// The fault of the first fused output that `target` does not cut into the parts that it was made
/// for, one for each rank, with the statement that adapts it to the layout; std::nullopt if there
/// is none. An output of one part is for ranks that have all of it.
RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target);

/// \throws error with errc::bad_layout, which says the first fault
RESHARD_DECL void check_fused(mapping const& program, layout const& target);

/// The fault of the first output that tears a fused tensor of `source`, with the statement that
/// takes the tensor apart; std::nullopt if there is none. An output tears a fused tensor if
///
/// - it has different numbers of elements from its parts;
/// - it has several of its tensors in one piece or in turns, and is not known as fused;
/// - it interleaves the tensor once more as if it were a plain one.
///
/// Macros that took the tensor apart may put its tensors in turns.
///
/// \pre `carry_fused` has declared the facts of the outputs
RESHARD_DECL std::optional<std::string> find_torn_fused(mapping const& program,
                                                        layout const& source);

/// \throws error with errc::bad_layout, which says the first fault
RESHARD_DECL void check_torn(mapping const& program, layout const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/deinterleave.ipp>
#include <reshard/expr/impl/fused_outputs.ipp>
#endif

#endif
