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
/// What `--rename` makes of keys.

namespace tool {

/// An old name, and the new one.
using rename_pair = std::pair<std::string, std::string>;

/// Keys in order, which can be looked up without a copy.
using key_set = std::set<std::string, std::less<>>;

/// One `FROM=TO`: a name, or a pattern with `**` or with placeholders such as `$LAYER_ID`.
class rename_rule {
public:
    /// \throws error with errc::usage if `**` does not occur once on each side
    rename_rule(std::string from, std::string to);

    std::string const& from() const { return from_; }
    std::string const& to() const { return to_; }

    /// The new name of a key that matches, std::nullopt for any other.
    std::optional<std::string> rename(std::string_view key) const;

    /// The key of which the rule makes this name, std::nullopt if there is none.
    std::optional<std::string> undo(std::string_view name) const;

    /// Whether the rule is for one key.
    bool is_exact() const { return kind_ == kind_type::exact; }

    /// Whether the rule has `**`.
    bool has_anything() const { return has_anything_; }

    /// Refuses a rule that cannot be a pattern; it may be for a key with just these characters.
    ///
    /// \throws error with errc::usage
    void check() const;

    /// Whether `?` at the end of FROM says that no key need match.
    bool is_optional() const { return is_optional_; }

private:
    enum class kind_type { exact, anything, numbers };

    void read_anything();
    void read_numbers();
    void make_patterns();
    std::optional<std::string> convert(std::string_view key, bool is_undone) const;
    std::optional<std::string> convert_numbers(std::string_view key, bool is_undone) const;

    /// One side of a rule with placeholders: the name before `**`, or all of it, and the name after
    /// it, each with the pattern that matches it.
    struct side {
        reshard::vector<reshard::aoa::segment> segments[2];
        reshard::aoa::detail::key_pattern patterns[2];
    };

    /// The part of a key between the two names, and the numbers in them; none if it does not match.
    std::optional<std::string_view> match(side const& names, std::string_view key,
                                          reshard::vector<reshard::index_t>& numbers) const;

    std::string from_;
    std::string to_;
    kind_type kind_ = kind_type::exact;
    bool is_optional_ = false;
    std::string problem_; ///< why it is not a pattern, or empty
    bool has_anything_ = false;
    side sides_[2]; ///< of a rule with placeholders: the old name and the new one
};

/// All renames of a command, of which the first that matches a key counts.
class rename_rules {
public:
    /// \param texts `FROM=TO`, or files `.json` with an object of such pairs
    /// \throws error with errc::usage or errc::corrupt_file
    explicit rename_rules(reshard::vector<std::string> const& texts);

    /// The keys that get another name, each once. A state that follows its tensor, as `w.moment1_0`
    /// follows `w`, is not among them.
    ///
    /// \param states  the state that follows, by endings and by conventions
    /// \param whose   of which messages say that it has the keys
    /// \throws error with errc::unknown_key for a rename that matches no key, with errc::usage for
    ///         one that earlier ones leave nothing to, and for names that meet
    reshard::vector<rename_pair> pairs(key_set const& keys,
                                       reshard::vector<reshard::aoa::state_suffix> const& states,
                                       std::string_view whose) const;

    /// The key after the first rename that matches it, std::nullopt if none does.
    std::optional<std::string> rename(std::string_view key) const;

    /// The key of which the renames make this name, std::nullopt if there is none.
    std::optional<std::string> undo(std::string_view name) const;

private:
    rename_rule const* first_match(std::string_view key) const;

    reshard::vector<rename_rule> rules_;
};

/// Whether `--rename` has this text for a file of names.
bool is_rename_file(std::string const& rename);

} // namespace tool

#endif
