// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SCALE_SUFFIX_HPP
#define RESHARD_AOA_SCALE_SUFFIX_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

/// \file
/// `scales="_scale_inv", blocks="[128, 128]"`, `scales="*.weight_packed => *.weight_scale"`: which
/// keys are the scales of a tensor.

namespace reshard::aoa::detail {

/// The number of endings that a program may add: each key is compared with all of them.
inline constexpr std::size_t max_scale_endings = 64;

/// The endings, and the endings that a program's statements add, each once, up to the limit. A
/// wrong attribute is reported when its statement runs.
RESHARD_DECL vector<state_suffix> with_scales(vector<state_suffix> suffixes, program const& code);

/// A key with `*`, or `**`, in place of any text.
struct starred_key {
    std::string before;
    std::string after;

    /// The text of a key in place of the star; std::nullopt for a key of another form.
    std::optional<std::string_view> text_in(std::string_view key) const;

    std::string with(std::string_view text) const { return before + std::string(text) + after; }
};

/// `*.weight_packed => *.weight_scale`: the names of a tensor and of its scales.
struct scale_pattern {
    starred_key tensor;
    starred_key scales;
    bool is_optional = false;               ///< `*.weight_scale?`: the source need not have any
    std::optional<index_vector> block = {}; ///< of `blocks`, if given

    std::optional<std::string> scales_of(std::string_view key) const;
    std::optional<std::string> tensor_of(std::string_view key) const;

    /// The facts that `blocks` decides.
    quantisation_facts facts() const;
};

/// The patterns in the attributes of a statement; empty if it names an ending.
///
/// \throws statement_error with errc::syntax if it is not a list of patterns
RESHARD_DECL vector<scale_pattern> scale_patterns(vector<attribute> const& list);

/// The patterns of all statements. A wrong pattern is reported when its statement runs.
RESHARD_DECL vector<scale_pattern> scale_patterns(program const& code);

/// The program with a name for the scales of each tensor that it names.
RESHARD_DECL program with_scale_names(program code, vector<scale_pattern> const& patterns);

/// The first statements of a program that declare the keys of an ending as scales.
class scale_places {
public:
    explicit scale_places(program const& code) : code_(code) {}

    /// ` in the statement at model.aoa:1:1`; empty for an ending that no statement adds.
    ///
    /// The first call searches the whole program.
    std::string text(state_suffix const& suffix);

    /// Refuses attributes that name scales if the source has no such scales.
    ///
    /// \throws statement_error with errc::unknown_key
    void check_matched(vector<attribute> const& list, catalog const& source);

private:
    void note(statement const& statement);

    program const& code_;
    std::map<std::string, text_span> places_;
    std::set<std::string> matched_; ///< texts that have been searched for
};

/// Refuses attributes of scales that are impossible, or contradict another statement.
///
/// \pre    `suffixes` are `with_scales` of the program with the attributes
/// \throws statement_error with errc::syntax, or errc::limit_exceeded for more than
///         `max_scale_endings`
RESHARD_DECL void check_scales(vector<attribute> const& list, vector<state_suffix> const& suffixes,
                               scale_places& places);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/scale_suffix.ipp>
#endif

#endif
