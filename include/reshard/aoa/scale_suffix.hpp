// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SCALE_SUFFIX_HPP
#define RESHARD_AOA_SCALE_SUFFIX_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// \file
/// `scales="_scale_inv", blocks="[128, 128]"`: which keys are the scales of a block-scaled tensor.

namespace reshard::aoa::detail {

/// How many endings the statements of a program may add: each key is compared with all of them.
inline constexpr std::size_t max_scale_endings = 64;

/// The endings with those that a program's statements add, each once, and no more than there may
/// be. What is wrong with an attribute is said when its statement runs.
RESHARD_DECL std::vector<state_suffix> with_scales(std::vector<state_suffix> suffixes,
                                                   program const& code);

/// The statements of a program that say first what the keys of an ending are scales of.
class scale_places {
public:
    explicit scale_places(program const& code) : code_(code) {}

    /// ` in the statement at model.aoa:1:1`, or nothing for an ending that no statement adds.
    ///
    /// The first question goes through the whole program.
    std::string text(state_suffix const& known);

private:
    void note(statement const& one);

    program const& code_;
    std::map<std::string, text_span> places_;
};

/// Refuses attributes of scales that cannot be, or contradict those of another statement.
///
/// \pre    `suffixes` are `with_scales` of the program that the attributes stand in
/// \throws statement_error with errc::syntax, or errc::limit_exceeded for more than
///         `max_scale_endings`
RESHARD_DECL void check_scales(std::vector<attribute> const& list,
                               std::vector<state_suffix> const& suffixes, scale_places& places);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/scale_suffix.ipp>
#endif

#endif
