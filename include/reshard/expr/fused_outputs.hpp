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
/// Carries the facts about fused tensors through a mapping, and checks how layouts cut them.

namespace reshard::detail {

/// Whether a key contains a name that frameworks give to fused weights.
inline bool is_named_fused(std::string_view key) {
    constexpr std::string_view known_names[] = {"qkv", "linear_fc1", "gate_up", "fused_"};
    return std::ranges::any_of(known_names, [&](auto part) { return key.find(part) != key.npos; });
}

/// Declares the facts about the fused tensors of `source` for each output that is made of them.
/// They have to be fused in the same way, and the fused axis of each has to be an axis of the
/// output. The output may permute or reshape the other axes, take some of the columns, add columns
/// of zeros, or stack several fused tensors along another axis. The state of the output gets the
/// same facts.
RESHARD_DECL void carry_fused(mapping& program, layout const& source);

/// The extents, along the fused axis, of the tensors that were fused into a tensor of extent
/// `extent`. The macro states their ratio. Empty if the macro does not state it, or if the blocks
/// do not divide these extents.
RESHARD_DECL vector<index_t> member_sizes(fused_tensor const& tensor, index_t extent);

/// Rearranges each output that is interleaved in several blocks and that `target` does not cut
/// along the fused axis. Its tensors then follow each other in the order that its macro gives for
/// one block. Its scales are rearranged, too. Without a target, no output counts as cut.
///
/// \param source the layout that the program reads
/// \return a message about the rearranged outputs; empty if there are none
/// \throws error with errc::bad_layout if the extents of an output's tensors are not known, or if
///         one scale belongs to elements of several of these tensors
RESHARD_DECL std::string deinterleave_whole(mapping& program, layout const& source,
                                            layout const* target);

/// Describes the first fused output that `target` does not cut into the parts that it was fused
/// for, one for each rank, and a statement that adapts the output to the layout. An output of one
/// part has to be whole on each rank. std::nullopt if every output is right.
RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target);

/// \throws error with errc::bad_layout that describes the first fault
RESHARD_DECL void check_fused(mapping const& program, layout const& target);

/// Describes the first output that tears a fused tensor of `source`, and a statement that takes the
/// tensor apart; std::nullopt if no output does so. An output tears a fused tensor if
///
/// - it takes different numbers of elements from the tensor's parts;
/// - it contains several of the fused tensors in one piece or interleaved, and is not known as
///   fused;
/// - it interleaves the tensor a second time, as if the tensor were a plain one.
///
/// Macros that take the tensor apart may interleave its tensors.
///
/// \pre `carry_fused` has declared the facts of the outputs
RESHARD_DECL std::optional<std::string> find_torn_fused(mapping const& program,
                                                        layout const& source);

/// \throws error with errc::bad_layout that describes the first fault
RESHARD_DECL void check_torn(mapping const& program, layout const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/deinterleave.ipp>
#include <reshard/expr/impl/fused_outputs.ipp>
#endif

#endif
