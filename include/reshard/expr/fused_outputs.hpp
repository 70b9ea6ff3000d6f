// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_FUSED_OUTPUTS_HPP
#define RESHARD_EXPR_FUSED_OUTPUTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Fused tensors on their way through a mapping, and whether a layout may cut them so.

namespace reshard::detail {

/// Whether a key is one that frameworks give to fused weights.
inline bool is_named_fused(std::string_view key) {
    constexpr std::string_view known_names[] = {"qkv", "linear_fc1", "gate_up", "fused_"};
    return std::ranges::any_of(known_names, [&](auto part) { return key.find(part) != key.npos; });
}

/// Declares the facts of fused tensors in `source` for each output that is made of these, all fused
/// in the same way, with the fused axis of each as one axis: one of them with its other axes in any
/// order and any shape, some of its columns, with columns of zeros, or several of them stacked
/// along another axis; and for the state of a fused output the facts of the output.
RESHARD_DECL void carry_fused(mapping& program, layout const& source);

/// The extents along its axis of the tensors that a fused tensor of that extent was made of, as its
/// macro says; none if that does not say it, or if they do not divide into the blocks.
RESHARD_DECL std::vector<index_t> member_sizes(fused_tensor const& tensor, index_t extent);

/// Gives each output that is interleaved in several blocks, and that `target` does not cut along
/// that axis, its tensors one after the other, as its macro does for one block; its scales follow.
/// Without a target, all outputs are whole.
///
/// \param source of the program
/// \return what to say of it; empty without such an output
/// \throws error with errc::bad_layout for one of whose tensors the extents are not known, or whose
///         scales are for elements of several of them
RESHARD_DECL std::string deinterleave_whole(mapping& program, layout const& source,
                                            layout const* target);

/// The first of the fused outputs that `target` does not cut into the parts that it was made for,
/// one a rank, with the statement that adapts it to the layout; std::nullopt if there is none. An
/// output of one part is for ranks that have all of it.
RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target);

/// \throws error with errc::bad_layout, saying the first fault
RESHARD_DECL void check_fused(mapping const& program, layout const& target);

/// The first output that has elements of a fused tensor of `source`, and not the same number from
/// each of its parts, or several of its tensors in one piece or in turns without being known as
/// fused, or that interleaves such a tensor once more as if it were a plain one, with the statement
/// that takes the tensor apart; std::nullopt if there is none. Macros that took the tensor apart
/// may put it in turns.
///
/// \pre `carry_fused` has declared the facts of the outputs
RESHARD_DECL std::optional<std::string> find_torn_fused(mapping const& program,
                                                        layout const& source);

/// \throws error with errc::bad_layout, saying that
RESHARD_DECL void check_torn(mapping const& program, layout const& source);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/deinterleave.ipp>
#include <reshard/expr/impl/fused_outputs.ipp>
#endif

#endif
