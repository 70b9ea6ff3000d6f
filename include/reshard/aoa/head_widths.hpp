// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_HEAD_WIDTHS_HPP
#define RESHARD_AOA_HEAD_WIDTHS_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// \file
/// Whether the numbers of heads that a program gives can be those of its tensors.

namespace reshard::aoa::detail {

/// Compares the heads that `q, k, v -> d, fused_qkv` cuts its queries and its keys into: attention
/// multiplies one with the other, so they are of one size.
///
/// \par Source in the original any numbers that divide the extents are taken
class head_widths {
public:
    /// Looks at a statement and what it has made, in the order of the program; what is wrong with
    /// the heads, if something is.
    std::optional<std::string> look_at(program const& code, statement const& one,
                                       std::span<expression const> made);

private:
    struct heads {
        std::uint32_t origin = 0; ///< of the statement, never 0 for one of a macro
        std::size_t count = 0;
        index_vector shape = {};
        std::string key = {};
    };

    static std::string text(heads const& of);

    heads queries_;
    bool is_compared_ = false;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/head_widths.ipp>
#endif

#endif
