// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_RENAME_RULES_HPP
#define RESHARD_TOOL_RENAME_RULES_HPP

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/vector.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The rules of `--rename`, and the names that they give.

namespace tool {

/// An old name and a new name.
using rename_pair = std::pair<std::string, std::string>;

/// A sorted set of keys that can be searched without a copy.
using key_set = std::set<std::string, std::less<>>;

/// A rule `FROM=TO`. FROM is a name, or a pattern with `**` or with placeholders such as
/// `$LAYER_ID`, as in programs.
class rename_rule {
public:
    /// \throws error with errc::usage if `**` does not occur equally often on both sides
    rename_rule(std::string from, std::string to);

    std::string const& from() const { return from_; }
    std::string const& to() const { return to_; }

    /// The new name of a key that matches; std::nullopt for any other key.
    std::optional<std::string> rename(std::string_view key) const;

    /// The key that the rule renames to `name`; std::nullopt if there is none.
    std::optional<std::string> undo(std::string_view name) const;

    /// Whether the rule is for a single key.
    bool is_exact() const { return !is_pattern_; }

    /// Whether the rule has `**`.
    bool has_anything() const { return has_anything_; }

    /// Refuses a rule that is not a valid pattern. It may still match a key with exactly these
    /// characters.
    ///
    /// \throws error with errc::usage
    void check() const;

    /// Whether `?` at the end of FROM allows that no key matches.
    bool is_optional() const { return is_optional_; }

private:
    void read_pattern();
    std::optional<std::string> convert(std::string_view key, bool is_undone) const;

    std::string from_;
    std::string to_;
    bool is_optional_ = false;
    std::string problem_; ///< why the rule is not a valid pattern, or empty
    bool is_pattern_ = false;
    bool has_anything_ = false;
    reshard::vector<reshard::aoa::segment> sides_[2]; ///< of a pattern: the old name, the new name
};

/// All renames of a command. For each key, the first matching rule applies.
class rename_rules {
public:
    /// \param texts each is `FROM=TO`, or a `.json` file with an object of such pairs
    /// \throws error with errc::usage or errc::corrupt_file
    explicit rename_rules(reshard::vector<std::string> const& texts);

    /// The keys that get a new name, each once, except states that follow their tensor, as
    /// `w.moment1_0` follows `w`.
    ///
    /// \param states  the states that follow, by endings and by conventions
    /// \param whose   the noun for the owner of the keys in messages
    /// \throws error with errc::unknown_key for a rename that matches no key; with errc::usage for
    ///         a rename whose keys are all taken by earlier renames, and for conflicting names
    reshard::vector<rename_pair> pairs(key_set const& keys,
                                       reshard::vector<reshard::aoa::state_suffix> const& states,
                                       std::string_view whose) const;

    /// The new name by the first matching rule; std::nullopt if no rule matches.
    std::optional<std::string> rename(std::string_view key) const;

    /// The key that the rules rename to `name`; std::nullopt if there is none.
    std::optional<std::string> undo(std::string_view name) const;

private:
    rename_rule const* first_match(std::string_view key) const;

    reshard::vector<rename_rule> rules_;
};

/// Whether an argument of `--rename` is a file of names.
bool is_rename_file(std::string const& rename);

} // namespace tool

#endif
