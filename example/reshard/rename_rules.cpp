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

constexpr std::string_view anything = "**";

/// The texts before and after the `**` in a name.
struct name_around {
    std::string_view before;
    std::string_view after;
};

name_around around_anything(std::string_view name) {
    std::size_t const index = name.find(anything);
    return {name.substr(0, index), name.substr(index + anything.size())};
}

/// The new name of a key: the texts around `**` are replaced, the text between them stays.
/// std::nullopt if the key does not match.
std::optional<std::string> between(std::string_view key, name_around const& old,
                                   name_around const& renamed) {
    std::size_t const around = old.before.size() + old.after.size();
    if (key.size() < around || !key.starts_with(old.before) || !key.ends_with(old.after))
        return std::nullopt;
    return detail::words(renamed.before, key.substr(old.before.size(), key.size() - around),
                         renamed.after);
}

/// Whether a name contains `$` and a capital letter, like the beginning of `$LAYER_ID`.
bool has_placeholder(std::string_view name) {
    for (std::size_t sign = name.find('$'); sign != name.npos; sign = name.find('$', sign + 1))
        if (sign + 1 < name.size() && name[sign + 1] >= 'A' && name[sign + 1] <= 'Z')
            return true;
    return false;
}

bool has_anything_once(std::string_view name) {
    std::size_t const index = name.find(anything);
    return index != name.npos && name.find('*', index + anything.size()) == name.npos;
}

/// The names of the placeholders in two lists of segments.
std::set<std::string_view> placeholders_of(reshard::vector<aoa::segment> const (&names)[2]) {
    std::set<std::string_view> all;
    for (auto const& segments : names)
        for (aoa::segment const& segment : segments)
            if (segment.kind == aoa::segment::kind_type::placeholder)
                all.insert(segment.text);
    return all;
}

bool has_star(reshard::vector<aoa::segment> const& segments) {
    return std::ranges::find(segments, aoa::segment::kind_type::star, &aoa::segment::kind) !=
           segments.end();
}

/// The segments of a name, or of a part of a name. Each is a text, a `*` or a placeholder.
reshard::vector<aoa::segment> segments_of(std::string_view written) {
    if (written.empty())
        return {};
    aoa::program const code = aoa::parse(detail::words('"', written, "\" -> x\n"), "--rename");
    aoa::name const called = code.left(code.statements().front())[0];
    if (called.kind == aoa::name::kind_type::pattern)
        return code.pattern(called);
    return {{aoa::segment::kind_type::text, std::string(code.text(called))}};
}

/// The number that is added to a placeholder's value.
index_t shift_of(aoa::segment const& placeholder, bool is_right) {
    return placeholder.first - (is_right && placeholder.text == "LAYER_ID_OFFSET" ? 1 : 0);
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
    if (from_.find(anything) != from_.npos)
        read_anything();
    else if (from_.find_first_of("$*") != from_.npos)
        read_numbers();
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

void rename_rule::read_anything() {
    kind_ = kind_type::anything;
    has_anything_ = true;
    if (!has_anything_once(from_) || !has_anything_once(to_)) {
        problem_ = "write ** once on each side, for the same text";
        check();
    }
    if (has_placeholder(from_) || has_placeholder(to_))
        read_numbers();
}

void rename_rule::read_numbers() {
    bool has_stars = false;
    for (std::size_t i = 0; i < 2; ++i) {
        std::string const& name = i == 0 ? from_ : to_;
        auto const around = has_anything_ ? around_anything(name) : name_around{name, {}};
        sides_[i].segments[0] = segments_of(around.before);
        sides_[i].segments[1] = segments_of(around.after);
        for (auto const& segments : sides_[i].segments)
            has_stars = has_stars || has_star(segments);
    }
    auto const placeholders = placeholders_of(sides_[0].segments);
    if (has_stars)
        problem_ = "write ** once on each side, for the same text, or $LAYER_ID for a number";
    else if (placeholders != placeholders_of(sides_[1].segments))
        problem_ = "both sides need the same placeholders";
    else if (!placeholders.empty())
        make_patterns();
}

void rename_rule::make_patterns() {
    for (side& element : sides_)
        for (std::size_t i = 0; i < 2; ++i) {
            std::size_t count = 0;
            try {
                element.patterns[i] =
                    aoa::detail::make_key_pattern(element.segments[i], [&](aoa::segment const&) {
                        return std::optional(count++);
                    });
            } catch (aoa::statement_error const& thrown) {
                problem_ = thrown.message;
                return;
            }
        }
    kind_ = kind_type::numbers;
}

std::optional<std::string> rename_rule::convert(std::string_view key, bool is_undone) const {
    std::string const &from = is_undone ? to_ : from_, &to = is_undone ? from_ : to_;
    if (kind_ == kind_type::anything)
        return between(key, around_anything(from), around_anything(to));
    if (key == from)
        return to;
    return kind_ == kind_type::numbers ? convert_numbers(key, is_undone) : std::nullopt;
}

std::optional<std::string_view> rename_rule::match(side const& names, std::string_view key,
                                                   reshard::vector<index_t>& numbers) const {
    auto const& [before, after] = names.patterns;
    numbers.resize(before.captures + after.captures);
    auto const of_before = std::span(numbers).first(before.captures);
    if (!has_anything_)
        return aoa::detail::match(before, key, of_before) ? std::optional(std::string_view())
                                                          : std::nullopt;
    if (!key.starts_with(before.pieces.front().text) || !key.ends_with(after.pieces.back().text))
        return std::nullopt;
    std::size_t begin = key.size(); // takes all digits of a number before **
    while (!aoa::detail::match(before, key.substr(0, begin), of_before))
        if (begin-- == 0)
            return std::nullopt;
    std::size_t end = begin;
    while (!aoa::detail::match(after, key.substr(end), std::span(numbers).last(after.captures)))
        if (++end > key.size())
            return std::nullopt;
    return key.substr(begin, end - begin);
}

std::optional<std::string> rename_rule::convert_numbers(std::string_view key,
                                                        bool is_undone) const {
    reshard::vector<index_t> numbers;
    auto const between = match(sides_[is_undone], key, numbers);
    if (!between)
        return std::nullopt;
    std::map<std::string_view, index_t> values;
    auto number = numbers.begin();
    for (auto const& segments : sides_[is_undone].segments)
        for (aoa::segment const& segment : segments)
            if (segment.kind == aoa::segment::kind_type::placeholder) {
                index_t const value = *number++ - shift_of(segment, is_undone);
                if (values.emplace(segment.text, value).first->second != value)
                    return std::nullopt;
            }
    std::string name;
    for (auto const& segments : sides_[!is_undone].segments) {
        for (aoa::segment const& segment : segments) {
            bool const is_text = segment.kind == aoa::segment::kind_type::text;
            index_t const value =
                is_text ? 0 : values[segment.text] + shift_of(segment, !is_undone);
            if (value < 0)
                return std::nullopt;
            name += is_text ? segment.text : std::to_string(value);
        }
        if (&segments == sides_[!is_undone].segments)
            name += *between;
    }
    return name;
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
