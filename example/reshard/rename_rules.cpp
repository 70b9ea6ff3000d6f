// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "rename_rules.hpp"

#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>

namespace tool {

using namespace reshard;

namespace {

constexpr std::string_view any_text = "**";

/// Whether a name contains `$` and a capital letter, like the beginning of `$LAYER_ID`.
bool has_placeholder(std::string_view name) {
    for (std::size_t sign = name.find('$'); sign != name.npos; sign = name.find('$', sign + 1))
        if (sign + 1 < name.size() && name[sign + 1] >= 'A' && name[sign + 1] <= 'Z')
            return true;
    return false;
}

/// The names of the placeholders in a name.
std::set<std::string_view> placeholders_of(reshard::vector<aoa::segment> const& segments) {
    std::set<std::string_view> all;
    for (aoa::segment const& segment : segments)
        if (segment.kind == aoa::segment::kind_type::placeholder)
            all.insert(segment.text);
    return all;
}

std::ptrdiff_t count_of(reshard::vector<aoa::segment> const& segments,
                        aoa::segment::kind_type kind) {
    return std::ranges::count(segments, kind, &aoa::segment::kind);
}

/// The segments of a name: texts, `*`, `**` and placeholders.
reshard::vector<aoa::segment> segments_of(std::string_view written) {
    if (written.empty())
        return {};
    aoa::program const code = aoa::parse(detail::words('"', written, "\" -> x\n"), "--rename");
    aoa::name const called = code.left(code.statements().front())[0];
    if (called.kind == aoa::name::kind_type::pattern)
        return code.pattern(called);
    return {{aoa::segment::kind_type::text, std::string(code.text(called))}};
}

/// Refuses a name that a statement cannot quote.
void check_quotable(std::string const& name, std::string const& where) {
    if (name.empty() || name == "_" || name.find_first_of("\"\n\r") != name.npos)
        fail(errc::usage, where, ": '", name, "' cannot be renamed here; rename it in a program");
}

/// The pairs `FROM: TO` in a JSON file.
reshard::vector<rename_pair> pairs_of_file(std::string const& path) {
    boost::system::error_code failure;
    boost::json::value const document = boost::json::parse(detail::read_text_file(path), failure);
    boost::json::object const* const pairs = document.if_object();
    if (failure || !pairs)
        fail(errc::corrupt_file, path,
             ": this is not a JSON object that maps old names to new "
             "ones");
    reshard::vector<rename_pair> rename_pairs;
    for (auto const& [from, to] : *pairs) {
        if (!to.is_string())
            fail(errc::corrupt_file, path, ": '", std::string_view(from.data(), from.size()),
                 "' has a new name that is not a string");
        rename_pairs.emplace_back(std::string(from.data(), from.size()),
                                  std::string(to.get_string().data(), to.get_string().size()));
        check_quotable(rename_pairs.back().first, path);
        check_quotable(rename_pairs.back().second, path);
    }
    return rename_pairs;
}

/// Refuses renames that depend on each other, since they run one after the other, and a rename to
/// an existing name.
void check_independent(reshard::vector<rename_pair> const& pairs, key_set const& keys,
                       std::string_view whose) {
    std::map<std::string_view, rename_pair const*> by_old, by_new;
    for (rename_pair const& pair : pairs)
        by_old.emplace(pair.first, &pair);
    auto const check = [](rename_pair const& pair, rename_pair const* other_pair,
                          char const* manner) {
        if (other_pair != &pair)
            fail(errc::usage, "--rename: '", pair.first, "' is to become '", pair.second, manner,
                 other_pair->first,
                 "'; give renames that do not depend on each other, or a program with "
                 "intermediate names");
    };
    for (rename_pair const& pair : pairs) {
        check(pair, by_new.emplace(pair.second, &pair).first->second, "', and so is '");
        if (auto const renamed = by_old.find(pair.second); renamed != by_old.end())
            check(pair, renamed->second, "', which is renamed too: '");
        if (keys.contains(pair.second))
            fail(errc::usage, "--rename: '", pair.first, "' is to become '", pair.second,
                 "', which is already a key of ", whose, "; omit one of them (--without)");
    }
}

/// The tensor whose state a key is; in programs, the key follows its name. Empty for any other key.
std::string_view parameter_of(std::string_view key) {
    static auto const suffixes = aoa::default_state_suffixes();
    std::string_view const parameter = aoa::detail::parameter_of(key, suffixes);
    return parameter == key ? std::string_view() : parameter;
}

/// Finds the new names of keys, one rename after the other.
class rename_search {
public:
    rename_search(key_set const& keys, reshard::vector<aoa::state_suffix> const& states,
                  std::string_view whose)
        : keys_(keys), states_(states), whose_(whose) {
        for (std::string_view const key : keys)
            if (std::string_view const parameter = parameter_of(key);
                !parameter.empty() && !keys.contains(parameter))
                unstored_.emplace(parameter);
    }

    void add(rename_rule const& rule) {
        is_matched_ = acts_ = false;
        first_taken_.clear();
        if (!rule.has_anything() && keys_.contains(rule.from()))
            take(rule.from(), rule);
        else
            take_all(rule);
        if (!rule.is_optional() && !acts_)
            refuse(rule);
    }

    reshard::vector<rename_pair> pairs() && {
        check_independent(pairs_, keys_, whose_);
        return std::move(pairs_);
    }

private:
    void take_all(rename_rule const& rule) {
        rule.check();
        if (rule.is_exact())
            return take(rule.from(), rule);
        for (std::string const& key : keys_)
            take(key, rule);
        if (!rule.has_anything()) // with `**`, the states' own keys match
            for (std::string const& key : unstored_)
                take(key, rule);
    }

    void take(std::string const& key, rename_rule const& rule) {
        auto renamed = rule.rename(key);
        if (!renamed || (!keys_.contains(key) && !unstored_.contains(key)))
            return;
        is_matched_ = true;
        if (!taken_.emplace(key, *renamed).second) {
            first_taken_ = first_taken_.empty() ? key : first_taken_;
            return;
        }
        acts_ = true;
        if (*renamed != key && (rule.is_exact() || !follows(key, rule)))
            pairs_.emplace_back(key, std::move(*renamed));
    }

    /// Whether a key is the state of a tensor that this rename or an earlier one renames.
    bool follows(std::string_view key, rename_rule const& rule) const {
        return aoa::detail::any_parameter(
            key, states_, [&](std::string_view parameter, aoa::state_suffix const&) {
                return (keys_.contains(parameter) || unstored_.contains(parameter)) &&
                       (taken_.contains(parameter) || rule.rename(parameter));
            });
    }

    [[noreturn]] void refuse(rename_rule const& rule) const {
        if (is_matched_)
            fail(errc::usage, "--rename: '", rule.from(), "' is to become '", rule.to(),
                 "', but earlier renames already apply to all matching keys, such as '",
                 first_taken_, "' to '", taken_.find(first_taken_)->second,
                 "': the first matching rename applies; give this one before them, or write '",
                 rule.from(), "?' if it need not match");
        fail(errc::unknown_key, "--rename: no key of ", whose_, " matches '", rule.from(), "'",
             detail::did_you_mean_key(rule.from(), keys_));
    }

    key_set const& keys_;
    reshard::vector<aoa::state_suffix> const& states_;
    std::string_view whose_;
    key_set unstored_; ///< tensors of which only states are stored
    std::map<std::string, std::string, std::less<>> taken_;
    reshard::vector<rename_pair> pairs_;
    bool is_matched_ = false, acts_ = false; ///< about the last rename
    std::string first_taken_;                ///< first key that an earlier rename took
};

} // namespace

bool is_rename_file(std::string const& rename) {
    return rename.ends_with(".json") && rename.find('=') == rename.npos;
}

rename_rule::rename_rule(std::string from, std::string to)
    : from_(std::move(from)), to_(std::move(to)), is_optional_(from_.ends_with('?')) {
    if (is_optional_)
        from_.pop_back();
    if (from_.find_first_of("$*") != from_.npos)
        read_pattern();
    else if (to_.find('*') != to_.npos || has_placeholder(to_)) {
        problem_ = "the new name has * or a placeholder, but the old name has none: write it on "
                   "both sides, or on neither";
        check();
    }
}

void rename_rule::check() const {
    if (!problem_.empty())
        fail(errc::usage, "--rename: '", from_, "' is to become '", to_, "'; ", problem_);
}

void rename_rule::read_pattern() {
    using enum aoa::segment::kind_type;
    has_anything_ = from_.find(any_text) != from_.npos;
    sides_[0] = segments_of(from_);
    sides_[1] = segments_of(to_);
    auto const placeholders = placeholders_of(sides_[0]);
    if (count_of(sides_[0], star) + count_of(sides_[1], star) > 0)
        problem_ = "write ** for any text, equally often on both sides, or $LAYER_ID for a number";
    else if (count_of(sides_[0], anything) != count_of(sides_[1], anything))
        problem_ = "write ** equally often on both sides, for the same texts";
    else if (placeholders != placeholders_of(sides_[1]))
        problem_ = "both sides need the same placeholders";
    else
        is_pattern_ = has_anything_ || !placeholders.empty();
    if (has_anything_)
        check();
}

std::optional<std::string> rename_rule::convert(std::string_view key, bool is_undone) const {
    std::string const &from = is_undone ? to_ : from_, &to = is_undone ? from_ : to_;
    if (!has_anything_ && key == from)
        return to;
    auto const match =
        is_pattern_ ? aoa::detail::match_name(sides_[is_undone], key, is_undone) : std::nullopt;
    return match ? aoa::detail::fill_name(sides_[!is_undone], *match, !is_undone) : std::nullopt;
}

std::optional<std::string> rename_rule::rename(std::string_view key) const {
    return convert(key, false);
}

std::optional<std::string> rename_rule::undo(std::string_view name) const {
    return convert(name, true);
}

rename_rules::rename_rules(reshard::vector<std::string> const& texts) {
    for (std::string const& text : texts) {
        if (is_rename_file(text)) {
            for (auto& [from, to] : pairs_of_file(text))
                rules_.emplace_back(std::move(from), std::move(to));
            continue;
        }
        std::size_t const sign = text.find('=');
        rules_.emplace_back(text.substr(0, sign), text.substr(sign + 1));
    }
}

reshard::vector<rename_pair> rename_rules::pairs(key_set const& keys,
                                                 reshard::vector<aoa::state_suffix> const& states,
                                                 std::string_view whose) const {
    rename_search search(keys, states, whose);
    for (rename_rule const& rule : rules_)
        search.add(rule);
    return std::move(search).pairs();
}

rename_rule const* rename_rules::first_match(std::string_view key) const {
    auto const match = std::ranges::find_if(
        rules_, [&](rename_rule const& rule) { return rule.rename(key).has_value(); });
    return match == rules_.end() ? nullptr : &*match;
}

std::optional<std::string> rename_rules::rename(std::string_view key) const {
    rename_rule const* const rule = first_match(key);
    return rule ? rule->rename(key) : std::nullopt;
}

std::optional<std::string> rename_rules::undo(std::string_view name) const {
    for (rename_rule const& rule : rules_)
        if (auto key = rule.undo(name); key && first_match(*key) == &rule)
            return key;
    return first_match(name) ? std::nullopt : std::optional(std::string(name));
}

} // namespace tool
