// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DEFINE_OUTPUTS_HPP
#define RESHARD_AOA_DEFINE_OUTPUTS_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The second half of `lower`: the keys of the target, or what the program leaves over, are
/// defined.

namespace reshard::aoa::detail {

/// The statements of a program whose placeholders match nothing, by the keys that they would make.
class missing_makers {
public:
    /// Refers to the program, which must live as long.
    explicit missing_makers(program const& code);

    /// Advice for a user who wants `parameter`, which no statement makes: to look at the statement
    /// that would make it, if there is one that matches nothing, or else to add it.
    std::string advice(std::string_view parameter);

private:
    void add(statement const& one, name const& made);

    program const& code_;
    pattern_index index_;
    std::vector<std::size_t> makers_;          ///< by pattern, which unmatched statement
    mutable std::int64_t searches_left_ = 256; ///< each looks at many patterns
};

/// Defines each key of the target, in order; where the target is unknown, each tensor that nothing
/// reads: the source's, and what statements have made.
///
/// \par Source 4.10 of the description of AOA; there `a -> c, axis=0` does not count as reading `a`
RESHARD_DECL void define_outputs(lower_context& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/define_outputs.ipp>
#endif

#endif
