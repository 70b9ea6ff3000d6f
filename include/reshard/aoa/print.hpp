// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_PRINT_HPP
#define RESHARD_AOA_PRINT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/words.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Program to text, so that `parse(print(p)) == p` up to the names of temporaries.

namespace reshard::aoa {

namespace detail {

/// Whether a text can stand in a program without quotes and then means itself.
constexpr bool is_plain(std::string_view text) {
    bool const digit_first = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return !text.empty() && text[0] != '.' && !digit_first && text != "_" && !is_reserved(text) &&
           std::ranges::all_of(text, is_plain_char);
}

/// The text of a key as it has to be written.
inline std::string quoted_name(std::string_view text) {
    if (is_plain(text))
        return std::string(text);
    bool const literal = text.find_first_of("$*\"") != std::string_view::npos;
    char const quote = literal ? '\'' : '"';
    return quote + std::string(text) + quote;
}

/// A segment as it has to be written, without the quotes that its name may need.
inline std::string segment_text(segment const& one) {
    std::string const sign = one.first > 0 ? "+" : "";
    switch (one.kind) {
    case segment::kind_type::text: return one.text;
    case segment::kind_type::star: return "*";
    case segment::kind_type::placeholder:
        return '$' + one.text + (one.first == 0 ? "" : sign + std::to_string(one.first));
    case segment::kind_type::array: break;
    }
    return '[' + std::to_string(one.first) + ':' + std::to_string(one.last) + ']';
}

/// A name of several segments as it has to be written: in quotes where its text needs them.
inline std::string pattern_text(std::vector<segment> const& segments) {
    std::string inside, array;
    bool plain = true;
    for (segment const& one : segments) {
        (one.kind == segment::kind_type::array ? array : inside) += segment_text(one);
        plain = plain && (one.kind != segment::kind_type::text ||
                          std::ranges::all_of(one.text, is_plain_char));
    }
    bool const starts_plain =
        !inside.empty() && inside[0] != '.' && (inside[0] < '0' || inside[0] > '9');
    bool const only_text = segments.front().kind == segment::kind_type::text &&
                           (segments.size() == 1 || segments[1].kind == segment::kind_type::array);
    if (only_text)
        return quoted_name(segments.front().text) + array;
    return (plain && starts_plain ? inside : '"' + inside + '"') + array;
}

/// An attribute as it has to be written, in the quotes in which it was.
inline std::string attribute_text(attribute const& one) {
    if (auto const* const number = std::get_if<index_t>(&one.value))
        return one.word + '=' + std::to_string(*number);
    if (auto const* const text = std::get_if<std::string>(&one.value))
        return one.word + '=' + one.quote + *text + one.quote;
    return one.word;
}

/// `left -> right, attributes`, with names as `spell` writes them.
template <class Spell>
std::string statement_text(program const& whole, statement const& one, Spell const& spell) {
    std::string line;
    for (std::size_t i = 0; i < whole.names(one).size(); ++i) {
        line += i == one.left ? " -> " : i > 0 ? ", " : "";
        name const& each = whole.names(one)[i];
        line += spell(each) + (each.transposed ? "^T" : "");
    }
    for (attribute const& each : whole.attributes(one))
        line += ", " + attribute_text(each);
    return line;
}

/// The first name is the text itself, the second one ends in `_2`, and so on.
inline std::string numbered(std::string_view text, std::size_t number) {
    return std::string(text) + (number == 1 ? "" : '_' + std::to_string(number));
}

/// A name as it has to be written, without `^T`.
inline std::string bare_name_text(program const& whole, name const& one) {
    switch (one.kind) {
    case name::kind_type::pattern: return pattern_text(whole.pattern(one));
    case name::kind_type::nothing: return "_";
    default: return quoted_name(whole.text(one));
    }
}

} // namespace detail

/// One statement as a line of text. Temporaries have the names that they would like to have.
inline std::string print(program const& whole, statement const& one) {
    return detail::statement_text(
        whole, one, [&](name const& each) { return detail::bare_name_text(whole, each); });
}

/// The names under which the temporaries of a program can be written, by their numbers.
///
/// A temporary is called as the engine of PaddlePaddle would call it. Where a tensor of the program
/// has that name, or another temporary that is still needed, or where `is_taken` says so, a number
/// is added.
inline std::vector<std::string>
fresh_names(program const& whole, std::function<bool(std::string_view)> const& is_taken = {}) {
    std::vector<std::size_t> last_use(whole.fresh_count(), 0);
    std::unordered_set<std::string_view> texts;
    for (std::size_t i = 0; i < whole.statements().size(); ++i)
        for (name const& each : whole.names(whole.statements()[i]))
            if (each.kind == name::kind_type::fresh)
                last_use[each.id] = i;
            else if (each.kind == name::kind_type::text)
                texts.insert(whole.text(each));
    std::unordered_map<std::string, std::size_t> needed_until;
    std::unordered_map<std::string_view, std::size_t> first_number; // none before it is ever free
    std::vector<std::string> names(whole.fresh_count());
    auto const is_another = [&](std::string const& candidate) {
        return texts.contains(candidate) || (is_taken && is_taken(candidate));
    };
    auto const is_needed = [&](std::string const& candidate, std::size_t now) {
        auto const holder = needed_until.find(candidate);
        return holder != needed_until.end() && holder->second >= now;
    };
    for (std::size_t i = 0; i < whole.statements().size(); ++i)
        for (name const& each : whole.right(whole.statements()[i]))
            if (each.kind == name::kind_type::fresh && names[each.id].empty()) {
                std::size_t& first = first_number.try_emplace(whole.text(each), 1).first->second;
                std::string candidate = detail::numbered(whole.text(each), first);
                for (; is_another(candidate); candidate = detail::numbered(whole.text(each), first))
                    ++first;
                for (std::size_t k = first; is_another(candidate) || is_needed(candidate, i);)
                    candidate = detail::numbered(whole.text(each), ++k);
                needed_until[candidate] = last_use[each.id];
                names[each.id] = std::move(candidate);
            }
    return names;
}

/// The statements as lines of text.
inline std::vector<std::string>
print_lines(program const& whole, std::function<bool(std::string_view)> const& is_taken = {}) {
    std::vector<std::string> const fresh = fresh_names(whole, is_taken);
    std::vector<std::string> lines;
    lines.reserve(whole.statements().size());
    for (statement const& one : whole.statements())
        lines.push_back(detail::statement_text(whole, one, [&](name const& each) {
            return each.kind == name::kind_type::fresh ? detail::quoted_name(fresh[each.id])
                                                       : detail::bare_name_text(whole, each);
        }));
    return lines;
}

/// The program as text, a statement a line.
///
/// \post `parse(print(p)) == p` when `p` has no temporaries, else the same up to their names
inline std::string print(program const& whole,
                         std::function<bool(std::string_view)> const& is_taken = {}) {
    std::string text;
    for (std::string const& line : print_lines(whole, is_taken))
        text += line + '\n';
    return text;
}

} // namespace reshard::aoa

#endif
