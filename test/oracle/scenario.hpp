// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_SCENARIO_HPP
#define RESHARD_TEST_ORACLE_SCENARIO_HPP

#include "spread.hpp"

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

/// \file
/// A program, the tensors on both sides, and what of the language it uses.

namespace reshard::oracle {

/// The features that a program can use.
enum class operation {
    rename,
    identity,
    concat,
    even_split,
    sized_split,
    permute,
    cast,
    cast_pair,
    slice,
    resize,
    reshape,
    add,
    remove,
    transpose,
    array,
    star,
    layer_id,
    expert_id,
    made_id,
    shifted_id,
    fused_qkv,
    fused_qkv_old,
    fused_ffn,
    compute,
};

inline constexpr std::array<char const*, 24> operation_names{
    "rename",    "identity",  "concat",    "split",         "sized split", "permute",
    "cast",      "src_dtype", "slice",     "resize",        "reshape",     "add",
    "remove",    "^T",        "array",     "star",          "$LAYER_ID",   "$EXPERT_ID",
    "$ of made", "$NAME + k", "fused_qkv", "fused_qkv_old", "fused_ffn",   "add, scale"};

/// The effect of a statement, without the language: names are keys, and macros are written out.
struct step {
    operation type;
    std::vector<std::string> left;
    std::vector<std::string> right;
    std::size_t axis = 0;
    numbers sizes;     ///< of a sized split; the extents of a slice, resize or reshape
    numbers order;     ///< of a permutation; the offset of a slice
    std::string dtype; ///< of a cast
};

/// One program with its sides.
struct scenario {
    std::string text;
    std::vector<step> steps; ///< the same program; without meaning if `only_text`
    bool only_text = false;  ///< it uses macros whose meaning depends on the layout
    std::int64_t source_ranks = 1;
    std::int64_t target_ranks = 1;
    std::vector<tensor> sources; ///< in random order
    std::vector<tensor> targets;
    std::set<operation> used;
    bool is_deep =
        false; ///< a target passes three operations or more, and is cut unevenly, as its source
};

} // namespace reshard::oracle

#endif
