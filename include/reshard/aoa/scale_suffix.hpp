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
/// Finds the keys of a tensor's scales, from the attributes `scales="_scale_inv", blocks="[128,
/// 128]"` or `scales="*.weight_packed => *.weight_scale"`.

namespace reshard::aoa::detail {

/// The maximum number of suffixes that a program may add: each key is compared with all of them.
inline constexpr std::size_t max_scale_endings = 64;

/// `suffixes`, and the suffixes that a program's statements add, each once, up to the limit.
/// Invalid attributes are skipped, since they are reported when their statement runs.
RESHARD_DECL vector<state_suffix> with_scales(vector<state_suffix> suffixes, program const& code);

/// A key with `*` or `**`, which match any text.
struct starred_key {
    std::string before;
    std::string after;

    /// The text that matches the star in a key; std::nullopt if the key does not match.
    std::optional<std::string_view> text_in(std::string_view key) const;

    std::string with(std::string_view text) const { return before + std::string(text) + after; }
};

/// The names of a tensor and of its scales, for example `*.weight_packed => *.weight_scale`.
struct scale_pattern {
    starred_key tensor;
    starred_key scales;
    bool is_optional = false;               ///< `*.weight_scale?`: the source may lack them
    std::optional<index_vector> block = {}; ///< value of `blocks`, if given

    std::optional<std::string> scales_of(std::string_view key) const;
    std::optional<std::string> tensor_of(std::string_view key) const;

    /// The facts for these scales that `blocks` determines.
    quantisation_facts facts() const;
};

/// The patterns in the attributes of a statement; empty if they give a suffix.
///
/// \throws statement_error with errc::syntax for an invalid list of patterns
RESHARD_DECL vector<scale_pattern> scale_patterns(vector<attribute> const& list);

/// The patterns of all statements. Invalid patterns are skipped, since they are reported when their
/// statement runs.
RESHARD_DECL vector<scale_pattern> scale_patterns(program const& code);

/// The program, with additional names for the scales of each tensor that it names.
RESHARD_DECL program with_scale_names(program code, vector<scale_pattern> const& patterns);

/// Finds, for each suffix, the first statement in a program that declares it as a suffix of scales.
class scale_places {
public:
    explicit scale_places(program const& code) : code_(code) {}

    /// For example ` in the statement at model.aoa:1:1`; empty for a suffix that no statement adds.
    ///
    /// The first call searches the full program.
    std::string text(state_suffix const& suffix);

    /// Refuses attributes that name scales if the source has no such scales.
    ///
    /// \throws statement_error with errc::unknown_key
    void check_matched(vector<attribute> const& list, catalog const& source);

private:
    void note(statement const& statement);

    program const& code_;
    std::map<std::string, text_span> places_;
    std::set<std::string> matched_; ///< texts that have already been checked
};

/// Refuses invalid attributes for scales, and attributes that contradict another statement.
///
/// \pre    `suffixes` is the result of `with_scales` for the program
/// \throws statement_error with errc::syntax, or with errc::limit_exceeded for more than
///         `max_scale_endings` suffixes
RESHARD_DECL void check_scales(vector<attribute> const& list, vector<state_suffix> const& suffixes,
                               scale_places& places);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/scale_suffix.ipp>
#endif

#endif
