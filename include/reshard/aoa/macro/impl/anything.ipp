// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_ANYTHING_IPP
#define RESHARD_AOA_MACRO_IMPL_ANYTHING_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/aoa/macro/impl/placeholder.ipp>
#include <reshard/expr/check.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace reshard::aoa::detail {

/// A statement with `**`, and the keys that it takes.
struct anything_statement {
    std::size_t number = 0;   ///< index of the statement
    std::size_t deciding = 0; ///< index of the name that is compared with keys
    bool on_right = false;    ///< that name is on the right of the arrow
    vector<std::pair<std::string_view, name_match>> taken = {};
    vector<std::string_view> missed = {}; ///< keys that an earlier statement has taken
    vector<std::string_view> read = {};   ///< keys that statements without `**` read
};

/// Expands the statements with `**` of a program.
class text_expander {
public:
    text_expander(macro_context& context, vector<statement>& statements)
        : context_(context), statements_(statements) {}

    /// Inspects the statements with `**`; returns whether there are any.
    bool collect() {
        bool has_any = false;
        for (std::size_t i = 0; i < statements_.size(); ++i)
            if (has_segment(context_.code, statements_[i], segment::kind_type::anything)) {
                has_any = true;
                attempt(context_, statements_[i], [&] { open_.push_back(inspect(i)); });
            }
        return has_any;
    }

    /// Gives each key of a side to the first statement that matches it, with its deciding name or
    /// another one, except keys that a statement without `**` reads. A later statement that reads
    /// the result of the same name does not read the key.
    void take_keys(bool on_right) {
        catalog const* const keys = on_right ? context_.right : context_.left;
        auto const read = names_of_others(on_right);
        auto const beside = names_beside(*keys, on_right, read);
        for (catalog_entry const& entry : *keys) {
            if (is_followed(*keys, entry.key))
                continue;
            auto const reader = read.find(entry.key);
            auto const reader_beside = beside.find(entry.key);
            precedence first = reader != read.end() ? precedence::other : precedence::none;
            for (anything_statement& open : open_) {
                if (open.on_right != on_right)
                    continue;
                bool const is_result = first == precedence::other && !on_right &&
                                       reader->second > open.number && keeps_name(open, entry.key);
                bool const is_beside = first == precedence::none && reader_beside != beside.end() &&
                                       reader_beside->second < open.number;
                precedence const by = is_result   ? precedence::none
                                      : is_beside ? precedence::earlier
                                                  : first;
                if (fits(open, entry.key, by))
                    first = by == precedence::none ? precedence::earlier : first;
            }
        }
    }

    bool has_side(bool on_right) const {
        return std::ranges::find(open_, on_right, &anything_statement::on_right) != open_.end();
    }

    vector<statement> expanded() {
        vector<statement> result;
        auto open = open_.begin();
        for (std::size_t i = 0; i < statements_.size(); ++i)
            if (open == open_.end() || open->number != i)
                result.push_back(statements_[i]);
            else
                attempt(context_, statements_[i], result,
                        [&, current = open++](statement const& statement) {
                            append(statement, *current, result);
                        });
        return result;
    }

private:
    anything_statement inspect(std::size_t i) const {
        program const& code = context_.code;
        statement const& current = statements_[i];
        anything_statement open{i, deciding_place(context_, current, segment::kind_type::anything)};
        open.on_right = open.deciding >= current.left;
        name const deciding = code.names(current)[open.deciding];
        for (name const& each_name : code.names(current))
            if (each_name.kind != name::kind_type::nothing)
                check(deciding, each_name);
        vector<segment> const& segments = code.pattern(deciding);
        if (static_cast<std::ptrdiff_t>(placeholders(segments).size()) !=
            std::ranges::count(segments, segment::kind_type::placeholder, &segment::kind))
            refuse_repeats(code, deciding);
        if (!(open.on_right ? context_.right : context_.left))
            throw statement_error{errc::bad_macro,
                                  words("'", bare_name_text(code, deciding), "' refers to keys ",
                                        unknown_keys_text(context_)),
                                  deciding.where};
        return open;
    }

    std::size_t count_in(name const& name) const {
        return name.kind != name::kind_type::pattern
                   ? 0
                   : static_cast<std::size_t>(std::ranges::count(context_.code.pattern(name),
                                                                 segment::kind_type::anything,
                                                                 &segment::kind));
    }

    void check(name const& deciding, name const& other) const {
        program const& code = context_.code;
        check_has_all(code, deciding, other);
        check_has_all(code, other, deciding);
        if (count_in(deciding) != count_in(other))
            throw statement_error{errc::bad_macro,
                                  words("'**' occurs ", times(count_in(deciding)), " in '",
                                        bare_name_text(code, deciding), "' and ",
                                        times(count_in(other)), " in '",
                                        bare_name_text(code, other),
                                        "'; all names of a statement must have it equally often"),
                                  other.where};
    }

    static std::string times(std::size_t count) {
        return count == 1 ? "once" : std::to_string(count) + " times";
    }

    /// The names on a side of the statements without `**`, and the first statement that has each.
    std::unordered_map<std::string_view, std::size_t> names_of_others(bool on_right) const {
        std::unordered_map<std::string_view, std::size_t> names;
        for (std::size_t i = 0; i < statements_.size(); ++i)
            for (name const& name : on_right ? context_.code.right(statements_[i])
                                             : context_.code.left(statements_[i]))
                if (name.kind == name::kind_type::text)
                    names.emplace(context_.code.text(name), i);
        return names;
    }

    /// The keys that statements with `**` read beside those that decide, and the first statement
    /// that reads each.
    ///
    /// \param read the names that statements without `**` have
    std::unordered_map<std::string, std::size_t>
    names_beside(catalog const& keys, bool on_right,
                 std::unordered_map<std::string_view, std::size_t> const& read) {
        std::unordered_map<std::string, std::size_t> names;
        program const& code = context_.code;
        auto const side = [&](anything_statement const& open) {
            statement const& about = statements_[open.number];
            return on_right ? code.right(about) : code.left(about);
        };
        auto const has_several = [&](anything_statement const& open) {
            return open.on_right == on_right && side(open).size() > 1;
        };
        if (std::ranges::none_of(open_, has_several))
            return names;
        for (catalog_entry const& entry : keys) {
            if (is_followed(keys, entry.key) || read.contains(entry.key))
                continue;
            for (anything_statement const& open : open_) {
                statement const& about = statements_[open.number];
                auto const& deciding = code.pattern(code.names(about)[open.deciding]);
                auto const match = open.on_right == on_right
                                       ? match_name(deciding, entry.key, on_right)
                                       : std::nullopt;
                if (!match || !is_divisible(about, *match))
                    continue;
                for (name const& other : side(open))
                    if (other.kind == name::kind_type::pattern)
                        if (auto key = fill_name(code.pattern(other), *match, on_right);
                            key && *key != entry.key)
                            names.emplace(std::move(*key), open.number);
                break;
            }
        }
        return names;
    }

    /// Whether a statement makes a tensor of the name that it matches.
    bool keeps_name(anything_statement const& open, std::string_view key) const {
        statement const& about = statements_[open.number];
        auto const match = match_name(
            context_.code.pattern(context_.code.names(about)[open.deciding]), key, false);
        return match && std::ranges::any_of(context_.code.right(about), [&](name const& result) {
                   return result.kind == name::kind_type::pattern &&
                          fill_name(context_.code.pattern(result), *match, true) == key;
               });
    }

    /// Whether a key is a state that follows its parameter.
    bool is_followed(catalog const& keys, std::string_view key) const {
        return any_parameter(
            key, context_.options.state_suffixes,
            [&](std::string_view parameter, state_suffix const&) { return keys.find(parameter); });
    }

    /// Which statement has a key already.
    enum class precedence { none, earlier, other };

    /// Compares a statement with a key, and records the result; returns whether it matches.
    bool fits(anything_statement& open, std::string_view key, precedence by) {
        statement const& about = statements_[open.number];
        context_.spend(about, context_.steps, 1);
        name const deciding = context_.code.names(about)[open.deciding];
        auto match = match_name(context_.code.pattern(deciding), key, open.on_right);
        if (!match || !is_divisible(about, *match) || is_scale_of(about, key))
            return false;
        if (by == precedence::none)
            open.taken.emplace_back(key, std::move(*match));
        else
            (by == precedence::other ? open.read : open.missed).push_back(key);
        return true;
    }

    void append(statement const& current, anything_statement const& open,
                vector<statement>& result) {
        note_missed(current, open);
        if (open.taken.empty())
            return report_no_match(context_, current, open.deciding);
        statement const like = context_.derive(current, "**");
        vector<name> names;
        for (auto const& [key, match] : open.taken) {
            names.clear();
            for (std::size_t i = 0; i < current.left + current.right; ++i)
                names.push_back(i == open.deciding ? decided(current, i, key)
                                                   : filled(current, i, match));
            std::span<name const> const all_names(names);
            result.push_back(context_.make(all_names.first(current.left),
                                           all_names.subspan(current.left), like));
        }
    }

    /// Whether a statement dequantizes, and a key names scales, which it removes.
    bool is_scale_of(statement const& about, std::string_view key) const {
        return find_attribute(context_.code.attributes(about), "dequantize") && context_.left &&
               !pattern_of_scales(std::string(key), *context_.left).empty();
    }

    /// Whether the formulas of all names give integers.
    bool is_divisible(statement const& about, name_match const& match) const {
        return for_all_placeholders(
            context_.code, about, [&](std::size_t i, segment const& placeholder) {
                return number_of(placeholder, match.values.at(placeholder.text), i >= about.left)
                    .has_value();
            });
    }

    /// The deciding name is the matching key, whose numbers may have leading zeros.
    name decided(statement const& current, std::size_t i, std::string_view key) {
        name const open = context_.code.names(current)[i];
        name result = context_.code.make_text(key, open.where);
        result.transposed = open.transposed;
        return result;
    }

    /// Another name, with what the deciding name matched.
    name filled(statement const& current, std::size_t i, name_match const& match) {
        name const open = context_.code.names(current)[i];
        if (open.kind == name::kind_type::nothing)
            return open;
        bool const on_right = i >= current.left;
        for (segment const& each_segment : context_.code.pattern(open))
            if (each_segment.kind == segment::kind_type::placeholder)
                if (index_t const number =
                        *number_of(each_segment, match.values.at(each_segment.text), on_right);
                    number < 0)
                    refuse_negative(context_, current, each_segment, open, number);
        std::string const text = *fill_name(context_.code.pattern(open), match, on_right);
        if (text.empty())
            fail_in(current, {errc::bad_macro,
                              words("'**' matches nothing here, so that '",
                                    bare_name_text(context_.code, open),
                                    "' is empty; write text beside '**'"),
                              open.where});
        name result = context_.code.make_text(text, open.where);
        result.transposed = open.transposed;
        return result;
    }

    /// Lists keys that a statement matches and does not get. It is a warning if the statement
    /// computes, as some of its tensors then have other values than a reader expects.
    void note_missed(statement const& current, anything_statement const& open) {
        bool const computes =
            std::ranges::any_of(context_.code.attributes(current),
                                [](attribute const& each) { return changes_values(each.word); });
        name const deciding = context_.code.names(current)[open.deciding];
        auto const note = [&](vector<std::string_view> const& keys, std::string_view by) {
            if (keys.empty())
                return;
            constexpr std::size_t most = 5;
            std::string list;
            for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
                list += (list.empty() ? "'" : ", '") + std::string(keys[i]) + "'";
            if (keys.size() > most)
                list += words(" and ", keys.size() - most, " more");
            context_.findings.push_back(
                {computes ? severity::warning : severity::note, "taken",
                 bare_name_text(context_.code, deciding),
                 words(by, keys.size() == 1 ? " this key: " : " these keys: ", list,
                       "; a key goes to one statement with '**', so write both changes there"),
                 current.where, current.origin});
        };
        note(open.missed, "an earlier statement with '**' takes");
        note(open.read, "a statement without '**' reads");
    }

    macro_context& context_;
    vector<statement>& statements_;
    vector<anything_statement> open_;
};

RESHARD_DECL void expand_anything(macro_context& context, vector<statement>& statements) {
    text_expander expander(context, statements);
    if (!expander.collect())
        return;
    for (bool const on_right : {false, true})
        if (expander.has_side(on_right))
            expander.take_keys(on_right);
    statements = expander.expanded();
}

} // namespace reshard::aoa::detail

#endif
