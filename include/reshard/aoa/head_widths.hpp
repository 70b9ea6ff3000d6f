// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_HEAD_WIDTHS_HPP
#define RESHARD_AOA_HEAD_WIDTHS_HPP

#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// Whether the numbers of heads that a program gives can be those of its tensors.

namespace reshard::aoa {

/// Compares the heads that `q, k, v -> d, fused_qkv` cuts its queries and its keys into: attention
/// multiplies one with the other, so they are of one size.
///
/// \par Source in the original any numbers that divide the extents are taken
class head_widths {
public:
    /// Looks at a statement and what it has made, in the order of the program; what is wrong with the
    /// heads, if something is.
    std::optional<std::string> look_at(program const& code, statement const& one,
                                       std::span<expression const> made) {
        if (one.left != 1 || code.origin(one.origin).macro != "fused_qkv")
            return std::nullopt;
        heads const found{one.origin, made.size(), made[0].shape,
                          shown_name(code, one, code.left(one)[0])};
        if (queries_.origin != one.origin) {
            queries_ = found;
            is_compared_ = false;
            return std::nullopt;
        }
        bool const is_values = std::exchange(is_compared_, true); // these may have another size
        if (is_values || found.shape == queries_.shape)
            return std::nullopt;
        return "fused_qkv cuts " + text(queries_) + " and " + text(found) +
               "; queries and keys have heads of one size: are num_heads and "
               "num_key_value_groups right?";
    }

private:
    struct heads {
        std::uint32_t origin = 0; ///< of the statement, never 0 for one of a macro
        std::size_t count = 0;
        index_vector shape = {};
        std::string key = {};
    };

    static std::string text(heads const& of) {
        return "'" + of.key + "' into " + std::to_string(of.count) + " heads of " +
               to_string(of.shape);
    }

    heads queries_;
    bool is_compared_ = false;
};

} // namespace reshard::aoa

#endif
