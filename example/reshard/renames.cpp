// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "renames.hpp"
#include "report.hpp"

#include <reshard/format/names/variable_names.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

using namespace reshard;

namespace {

std::string statement_of(std::string_view from, std::string_view to) {
    return "\"" + std::string(from) + "\" -> \"" + std::string(to) + "\"\n";
}

bool is_file(std::string const& rename) {
    return rename.ends_with(".json") && rename.find('=') == rename.npos;
}

/// An old name, and the new one.
using rename_pair = std::pair<std::string, std::string>;

/// Refuses a name that could end the text of a statement.
void check_quotable(std::string const& name, std::string const& where) {
    if (name.empty() || name == "_" || name.find_first_of("\"\n\r\\") != name.npos)
        fail(errc::usage, where, ": '", name,
             "' is no name that can be renamed; rename it in a program");
}

/// Refuses renames that depend on one another: they are done one after the other.
void check_independent(std::vector<rename_pair> const& all) {
    std::map<std::string_view, rename_pair const*> by_old, by_new;
    for (rename_pair const& one : all)
        by_old.emplace(one.first, &one);
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

} // namespace

bool has_renames(job_files const& files) { return !files.names.empty() || !files.renames.empty(); }

program_source program_of_renames(job_files const& files, catalog const& source,
                                  std::vector<std::string> const& wanted) {
    program_source program;
    std::vector<rename_pair> renames;
    for (std::string const& rename : files.renames)
        for (rename_pair& one : pairs_of(rename))
            renames.push_back(std::move(one));
    check_independent(renames);
    for (auto const& [from, to] : renames)
        program.text += statement_of(from, to);
    std::vector<std::string> lacking = wanted;
    for (std::string const& name : files.names) {
        auto const renamed = model::renamed_by(model::find_name_table(name), lacking, source);
        for (model::renamed_key const& one : renamed) {
            program.text += statement_of(one.stored, one.wanted);
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

std::string complaint_about_names(std::string const& name) {
    try {
        model::find_name_table(name);
        return {};
    } catch (error const& problem) {
        return problem.what();
    }
}

} // namespace tool
