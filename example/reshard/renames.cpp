// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "renames.hpp"
#include "report.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tool {

using namespace reshard;

namespace {

/// A key in the form in which a statement can name it, with any characters.
///
/// \throws error with errc::unsupported for a key that cannot be quoted
std::string literal(std::string const& key, std::string_view where) {
    bool const has_quote = key.find('\'') != key.npos;
    if (key.empty() || key.find_first_of("\r\n") != key.npos ||
        (has_quote && key.find_first_of("$*\"") != key.npos))
        fail(errc::unsupported, where, ": '", key,
             "' is a key that no statement can name; omit it (--without)");
    return key == "_" ? "\"_\"" : aoa::detail::quoted_name(key);
}

std::string literal_statement(std::string const& from, std::string const& to,
                              std::string_view where, std::string_view ending = {}) {
    return detail::words(literal(from, where), " -> ", literal(to, where), ending, "\n");
}

constexpr std::string_view no_cast = "keep";

/// A cast `PATTERN=DTYPE`.
struct cast_pattern {
    detail::given_pattern pattern;
    std::optional<data_type> dtype; ///< std::nullopt: keeps its type
};

/// \pre `complaint_about_cast(text)` is empty
cast_pattern cast_of(std::string const& text) {
    std::size_t const sign = text.rfind('=');
    return {detail::given_pattern(text.substr(0, sign)),
            data_type_from_name(text.substr(sign + 1))};
}

/// True if the cast can apply to a tensor: both types are floating point, or both are complex.
bool is_meant(cast_pattern const& cast, data_type dtype) {
    return !cast.dtype ? detail::is_floating(dtype) || detail::is_complex(dtype)
           : detail::is_complex(*cast.dtype) ? detail::is_complex(dtype)
                                             : detail::is_floating(dtype);
}

/// The last matching cast that can apply to a tensor, or null.
cast_pattern* last_match(reshard::vector<cast_pattern>& casts, catalog_entry const& entry) {
    cast_pattern* last = nullptr;
    for (cast_pattern& cast : casts)
        if (is_meant(cast, entry.dtype) && cast.pattern.matches(entry.key))
            last = &cast;
    return last;
}

/// Whether a tensor is the state of a tensor whose data type it follows, and no pattern is for the
/// state alone.
bool follows_parameter(std::string const& key, cast_pattern& cast,
                       reshard::vector<aoa::state_suffix> const& states, catalog const& yielded) {
    return aoa::detail::any_parameter(
        key, states, [&](std::string_view parameter, aoa::state_suffix const& state) {
            bool const is_meant = state.is_found && !cast.pattern.matches(parameter);
            return yielded.find(parameter) && !is_meant;
        });
}

/// Whether a pattern with `*` does not apply to a matching tensor: to scales, and to states whose
/// parameter is unknown, for example because the optimizer numbers its parameters.
bool keeps_type(std::string const& key, cast_pattern const& cast, catalog const& yielded) {
    std::string const& pattern = cast.pattern.text();
    if (pattern.find('*') == pattern.npos)
        return false;
    bool const is_for_any = pattern.starts_with('*') && pattern.ends_with('*');
    return !detail::pattern_of_scales(key, yielded).empty() ||
           (is_for_any && !aoa::detail::optimizer_readings(key).empty());
}

/// Refuses a pattern that applies to no tensor.
[[noreturn]] void refuse_missed(cast_pattern& cast, catalog const& yielded) {
    for (catalog_entry const& entry : yielded)
        if (cast.dtype && (detail::is_floating(entry.dtype) || detail::is_complex(entry.dtype)) &&
            cast.pattern.matches(entry.key))
            fail(errc::unsupported, "--cast: '", entry.key, "' is of ", name(entry.dtype),
                 ", and cannot be cast to ", name(*cast.dtype),
                 ": floating-point and complex types do not mix");
    fail(errc::unknown_key, "--cast: no floating-point tensor that is written matches '",
         cast.pattern.text(), "'");
}

} // namespace

bool has_renames(job_files const& files) { return files.program == renames_program; }

reshard::vector<aoa::state_suffix> states_in(catalog const& tensors) {
    return aoa::detail::with_conventions(aoa::default_state_suffixes(), tensors, nullptr);
}

bool has_renames_beside(job_files const& files) {
    return !files.renames.empty() && !has_renames(files);
}

key_set keys_of(catalog const& tensors, job_files const& files) {
    key_set keys(files.objects.begin(), files.objects.end());
    for (catalog_entry const& entry : tensors)
        keys.insert(entry.key);
    return keys;
}

std::map<std::string, std::string> object_renames(job_files const& files) {
    rename_rules const rules(files.renames);
    std::map<std::string, std::string> renames;
    for (std::string const& key : files.objects)
        if (auto const renamed = rules.rename(key); renamed && *renamed != key)
            renames.emplace(key, *renamed);
    return renames;
}

program_source program_of_renames(job_files const& files, catalog const& source,
                                  reshard::vector<std::string> const& wanted) {
    program_source program;
    program.object_names = object_renames(files);
    for (auto const& [from, to] :
         rename_rules(files.renames).pairs(keys_of(source, files), states_in(source), "the source"))
        if (source.find(from) || !program.object_names.contains(from))
            program.text += literal_statement(from, to, "--rename");
    reshard::vector<std::string> lacking = wanted;
    for (std::string const& name : files.names) {
        auto const renamed = model::renamed_by(model::find_name_table(name), lacking, source);
        for (model::renamed_key const& renamed_key : renamed) {
            program.text += literal_statement(renamed_key.stored, renamed_key.wanted, "--names");
            erase_if(lacking, [&](std::string const& key) { return key == renamed_key.wanted; });
        }
        program.note += std::string(program.note.empty() ? "" : "; ") + "in the name table '" +
                        name + "', " + counted(renamed.size(), "key") + " renamed";
        if (!renamed.empty())
            program.note += ": '" + renamed.front().wanted + "' is '" + renamed.front().stored +
                            (renamed.size() > 1 ? "', and so on" : "'");
    }
    return program;
}

written_casts cast_statements(job_files const& files, catalog const& yielded) {
    reshard::vector<cast_pattern> casts;
    for (std::string const& text : files.casts)
        casts.push_back(cast_of(text));
    written_casts written;
    auto const states = states_in(yielded);
    for (catalog_entry const& entry : yielded) {
        cast_pattern* const last = last_match(casts, entry);
        if (!last || !last->dtype || *last->dtype == entry.dtype ||
            follows_parameter(entry.key, *last, states, yielded))
            continue;
        if (keeps_type(entry.key, *last, yielded)) {
            written.kept.push_back(entry.key);
            continue;
        }
        if (bits(entry.dtype) < 16)
            fail(errc::unsupported, "--cast: '", entry.key, "' is of ", name(entry.dtype),
                 ", and a cast does not apply scales; keep its type (--cast '", entry.key,
                 "=keep'), or multiply values by scales first (--program @dequantize)");
        written.text += literal_statement(entry.key, entry.key, "--cast",
                                          detail::words(", dtype=\"", name(*last->dtype), "\""));
    }
    for (cast_pattern& cast : casts)
        if (cast.pattern.is_missed())
            refuse_missed(cast, yielded);
    return written;
}

void add_hints_of_names(reshard::vector<aoa::finding>& findings, catalog const& source) {
    for (aoa::finding& finding : findings)
        if (finding.level == aoa::severity::error && finding.code == name(errc::unknown_key) &&
            !finding.key.empty())
            if (std::string const hint = detail::hint_of_names({finding.key}, source);
                !hint.empty())
                finding.message += "; " + hint + " (--names)";
}

std::string complaint_about_rename(std::string const& text) {
    std::size_t const sign = text.find('=');
    bool const is_pair =
        sign != text.npos && sign > 0 && sign + 1 < text.size() && text.find('"') == text.npos;
    return is_pair || is_rename_file(text)
               ? ""
               : "'" + text +
                     "' is neither two names nor a file of names; write old=new, or names.json";
}

std::string complaint_about_cast(std::string const& text) {
    std::size_t const sign = text.rfind('=');
    bool const is_pair = sign != text.npos && sign > 0;
    std::string const to = is_pair ? text.substr(sign + 1) : "";
    auto const dtype = data_type_from_name(to);
    return to == no_cast || (dtype && (detail::is_floating(*dtype) || detail::is_complex(*dtype)) &&
                             bits(*dtype) >= 16)
               ? ""
               : "'" + text +
                     "' is not a pattern of keys with a data type; write, for example, "
                     "'**=bfloat16'; the types are bfloat16, float16, float32 and float64, "
                     "complex64 and complex128 for complex numbers, and keep";
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
