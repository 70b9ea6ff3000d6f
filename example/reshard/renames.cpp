// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "renames.hpp"
#include "report.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

using namespace reshard;

namespace {

/// A statement on names as the command line has them, with `$LAYER_ID` where a number stands.
std::string statement_of(std::string_view from, std::string_view to) {
    return detail::words("\"", from, "\" -> \"", to, "\"\n");
}

/// A key as a statement names it, whatever its characters are.
///
/// \throws error with errc::unsupported for one that no quotes hold
std::string literal(std::string const& key, std::string_view where) {
    bool const has_quote = key.find('\'') != key.npos;
    if (key.empty() || key.find_first_of("\r\n") != key.npos ||
        (has_quote && key.find_first_of("$*\"") != key.npos))
        fail(errc::unsupported, where, ": '", key,
             "' is a key that no statement can name; leave it out (--without)");
    return key == "_" ? "\"_\"" : aoa::detail::quoted_name(key);
}

std::string literal_statement(std::string const& from, std::string const& to,
                              std::string_view where, std::string_view ending = {}) {
    return detail::words(literal(from, where), " -> ", literal(to, where), ending, "\n");
}

bool is_file(std::string const& rename) {
    return rename.ends_with(".json") && rename.find('=') == rename.npos;
}

/// An old name, and the new one.
using rename_pair = std::pair<std::string, std::string>;

/// Refuses a name that could end the text of a statement.
void check_quotable(std::string const& name, std::string const& where) {
    if (name.empty() || name == "_" || name.find_first_of("\"\n\r") != name.npos)
        fail(errc::usage, where, ": '", name,
             "' is no name that can be renamed; rename it in a program");
}

/// Refuses renames that depend on one another, since they are done one after the other, and one to
/// the name of what is there. Of those with `$LAYER_ID` the program warns.
void check_independent(std::vector<rename_pair> const& all,
                       std::set<std::string, std::less<>> const& keys) {
    std::map<std::string_view, rename_pair const*> by_old, by_new;
    for (rename_pair const& one : all)
        if (auto const [other, is_new] = by_old.emplace(one.first, &one); !is_new)
            fail(errc::usage, "--rename: '", one.first, "' is to become '", other->second->second,
                 "', and '", one.second, "' as well");
    auto const check = [](rename_pair const& one, rename_pair const* other, char const* how) {
        if (other != &one)
            fail(errc::usage, "--rename: '", one.first, "' is to become '", one.second, how,
                 other->first,
                 "'; give renames that do not meet, or a program with names in between");
    };
    for (rename_pair const& one : all) {
        check(one, by_new.emplace(one.second, &one).first->second, "', and so is '");
        if (auto const renamed = by_old.find(one.second); renamed != by_old.end())
            check(one, renamed->second, "', which is renamed too: '");
        if (one.first != one.second && keys.contains(one.second))
            fail(errc::usage, "--rename: '", one.first, "' is to become '", one.second,
                 "', and the source has that as well; leave one of them out (--without)");
    }
}

/// The pairs of a file `{FROM: TO}`.
std::vector<rename_pair> pairs_of_file(std::string const& path) {
    boost::system::error_code failure;
    boost::json::value const document = boost::json::parse(detail::read_text_file(path), failure);
    boost::json::object const* const pairs = document.if_object();
    if (failure || !pairs)
        fail(errc::corrupt_file, path, ": is not a JSON object of names by names");
    std::vector<rename_pair> all;
    for (auto const& [from, to] : *pairs) {
        if (!to.is_string())
            fail(errc::corrupt_file, path, ": '", std::string_view(from.data(), from.size()),
                 "' is not renamed to a text");
        all.emplace_back(std::string(from.data(), from.size()),
                         std::string(to.get_string().data(), to.get_string().size()));
        check_quotable(all.back().first, path);
        check_quotable(all.back().second, path);
    }
    return all;
}

std::vector<rename_pair> pairs_of(std::string const& rename) {
    if (is_file(rename))
        return pairs_of_file(rename);
    std::size_t const sign = rename.find('=');
    return {{rename.substr(0, sign), rename.substr(sign + 1)}};
}

constexpr std::string_view anything = "**";
constexpr std::string_view no_cast = "keep";

/// A name with `**` in it: what is before and behind.
struct name_around {
    std::string_view before;
    std::string_view behind;
};

/// \throws error with errc::usage where `**` does not stand once
name_around around_anything(std::string_view name, rename_pair const& rename) {
    std::size_t const place = name.find(anything);
    if (place == name.npos || name.find('*', place + anything.size()) != name.npos)
        fail(errc::usage, "--rename: '", rename.first, "' is to become '", rename.second,
             "'; ** stands once on each side, for the same text");
    return {name.substr(0, place), name.substr(place + anything.size())};
}

bool is_around(std::string_view key, name_around const& text) {
    return key.size() >= text.before.size() + text.behind.size() && key.starts_with(text.before) &&
           key.ends_with(text.behind);
}

/// The tensor that a key is the state of, which it follows in programs; nothing for any other key.
///
/// \param is_there of a key
std::optional<std::string_view> followed_by(std::string_view key, auto&& is_there) {
    static auto const suffixes = aoa::default_state_suffixes();
    std::string_view const parameter = aoa::detail::parameter_of(key, suffixes);
    return parameter != key && is_there(parameter) ? std::optional(parameter) : std::nullopt;
}

/// Adds a rename for each key of the source that has the form of one with `**`, and that no other
/// renames.
void add_renames_of_pattern(std::vector<rename_pair>& all, rename_pair const& rename,
                            std::set<std::string, std::less<>> const& keys) {
    auto const from = around_anything(rename.first, rename);
    auto const to = around_anything(rename.second, rename);
    std::set<std::string_view> known;
    for (rename_pair const& other : all)
        known.insert(other.first);
    std::vector<rename_pair> added;
    bool has_matched = false;
    for (std::string_view const key : keys) {
        if (!is_around(key, from))
            continue;
        has_matched = true;
        std::string_view const same =
            key.substr(from.before.size(), key.size() - from.before.size() - from.behind.size());
        std::string renamed = detail::words(to.before, same, to.behind);
        auto const parameter =
            followed_by(key, [&](std::string_view one) { return keys.contains(one); });
        bool const follows = parameter && is_around(*parameter, from);
        if (!known.contains(key) && renamed != key && !follows)
            added.emplace_back(key, std::move(renamed));
    }
    if (!has_matched)
        fail(errc::unknown_key, "--rename: no key of the source matches '", rename.first, "'");
    std::ranges::move(added, std::back_inserter(all));
}

/// All renames, those with `**` last: what names a key counts before what matches it.
std::vector<rename_pair> all_renames(std::vector<std::string> const& texts,
                                     std::set<std::string, std::less<>> const& keys) {
    std::vector<rename_pair> all, of_patterns;
    for (std::string const& text : texts)
        for (rename_pair& rename : pairs_of(text))
            (rename.first.find(anything) == rename.first.npos ? all : of_patterns)
                .push_back(std::move(rename));
    for (rename_pair const& rename : of_patterns)
        add_renames_of_pattern(all, rename, keys);
    return all;
}

/// `PATTERN=DTYPE`, and whether a tensor matched.
struct cast_pattern {
    key_pattern pattern;
    std::optional<data_type> dtype; ///< nothing: it stays what it is
    bool has_matched = false;
};

bool is_floating(data_type dtype) {
    return dtype != data_type::boolean && name(dtype).find("int") == std::string_view::npos &&
           !detail::is_complex(dtype);
}

/// \pre `complaint_about_cast(text)` is empty
cast_pattern cast_of(std::string const& text) {
    std::size_t const sign = text.rfind('=');
    return {key_pattern(text.substr(0, sign)), data_type_from_name(text.substr(sign + 1))};
}

/// True where a cast to that type is for a tensor: of floating point alike, or of complex numbers.
bool is_meant(cast_pattern const& cast, data_type dtype) {
    return !cast.dtype                       ? is_floating(dtype) || detail::is_complex(dtype)
           : detail::is_complex(*cast.dtype) ? detail::is_complex(dtype)
                                             : is_floating(dtype);
}

/// The last pattern that is meant for a tensor, or null.
cast_pattern* last_match(std::vector<cast_pattern>& casts, catalog_entry const& entry) {
    cast_pattern* last = nullptr;
    for (cast_pattern& cast : casts)
        if (is_meant(cast, entry.dtype) && cast.pattern.matches(entry.key)) {
            cast.has_matched = true;
            last = &cast;
        }
    return last;
}

} // namespace

bool has_renames(job_files const& files) { return files.program == renames_program; }

program_source program_of_renames(job_files const& files, catalog const& source,
                                  std::vector<std::string> const& wanted) {
    program_source program;
    std::set<std::string, std::less<>> keys(files.objects.begin(), files.objects.end());
    for (catalog_entry const& entry : source)
        keys.insert(entry.key);
    std::vector<rename_pair> const renames = all_renames(files.renames, keys);
    check_independent(renames, keys);
    for (auto const& [from, to] : renames)
        if (source.find(from))
            program.text += literal_statement(from, to, "--rename");
        else if (keys.contains(from))
            program.object_names.emplace(from, to);
        else
            program.text += statement_of(from, to);
    std::vector<std::string> lacking = wanted;
    for (std::string const& name : files.names) {
        auto const renamed = model::renamed_by(model::find_name_table(name), lacking, source);
        for (model::renamed_key const& one : renamed) {
            program.text += literal_statement(one.stored, one.wanted, "--names");
            std::erase(lacking, one.wanted);
        }
        program.note += std::string(program.note.empty() ? "" : "; ") + "by the names of '" + name +
                        "' " + counted(renamed.size(), "key") + " renamed";
        if (!renamed.empty())
            program.note += ": '" + renamed.front().wanted + "' is '" + renamed.front().stored +
                            (renamed.size() > 1 ? "', and so on" : "'");
    }
    return program;
}

std::string cast_statements(job_files const& files, catalog const& yielded) {
    std::vector<cast_pattern> casts;
    for (std::string const& text : files.casts)
        casts.push_back(cast_of(text));
    std::string text;
    for (catalog_entry const& entry : yielded) {
        cast_pattern* const last = last_match(casts, entry);
        bool const is_state = followed_by(entry.key, [&](std::string_view key) {
                                  return yielded.find(key) != nullptr;
                              }).has_value();
        if (!last || !last->dtype || *last->dtype == entry.dtype || is_state)
            continue;
        if (bits(entry.dtype) < 16)
            fail(errc::unsupported, "--cast: '", entry.key, "' is of ", name(entry.dtype),
                 ", and a cast does not apply scales; let it be (--cast '", entry.key, "=keep')");
        text += literal_statement(entry.key, entry.key, "--cast",
                                  detail::words(", dtype=\"", name(*last->dtype), "\""));
    }
    for (cast_pattern const& cast : casts)
        if (!cast.has_matched)
            fail(errc::unknown_key, "--cast: no tensor of floating point that is written matches '",
                 cast.pattern.text(), "'");
    return text;
}

void add_hints_of_names(std::vector<aoa::finding>& findings, catalog const& source) {
    for (aoa::finding& one : findings)
        if (one.level == aoa::severity::error && one.code == name(errc::unknown_key) &&
            !one.key.empty())
            if (std::string const hint = detail::hint_of_names({one.key}, source); !hint.empty())
                one.message += "; " + hint + " (--names)";
}

std::string complaint_about_rename(std::string const& text) {
    std::size_t const sign = text.find('=');
    bool const is_pair =
        sign != text.npos && sign > 0 && sign + 1 < text.size() && text.find('"') == text.npos;
    return is_pair || is_file(text)
               ? ""
               : "'" + text +
                     "' is no two names and no file of names; write old=new, or names.json";
}

std::string complaint_about_cast(std::string const& text) {
    std::size_t const sign = text.rfind('=');
    bool const is_pair = sign != text.npos && sign > 0;
    std::string const to = is_pair ? text.substr(sign + 1) : "";
    auto const dtype = data_type_from_name(to);
    return to == no_cast || (dtype && (is_floating(*dtype) || detail::is_complex(*dtype)) &&
                             bits(*dtype) >= 16)
               ? ""
               : "'" + text +
                     "' is no pattern of keys and a data type; write '**=bfloat16', with bfloat16, "
                     "float16, float32, float64, or complex64 or complex128 for complex numbers, "
                     "or keep";
}

std::string complaint_about_names(std::string const& name) {
    try {
        model::find_name_table(name);
        return {};
    } catch (error const& problem) {
        return problem.what();
    }
}

} // namespace tool
