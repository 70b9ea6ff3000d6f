// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "renames.hpp"
#include "report.hpp"

#include <reshard/format/names/variable_names.hpp>
#include <reshard/format/text_file.hpp>

#include <boost/json/parse.hpp>

namespace tool {

using namespace reshard;

namespace {

std::string statement_of(std::string_view from, std::string_view to) {
    return "\"" + std::string(from) + "\" -> \"" + std::string(to) + "\"\n";
}

bool is_file(std::string const& rename) {
    return rename.ends_with(".json") && rename.find('=') == rename.npos;
}

/// The statements of a file `{FROM: TO}`.
std::string statements_of_file(std::string const& path) {
    boost::system::error_code failure;
    boost::json::value const document = boost::json::parse(detail::read_text_file(path), failure);
    boost::json::object const* const pairs = document.if_object();
    if (failure || !pairs)
        fail(errc::corrupt_file, path, ": is not a JSON object of names by names");
    std::string text;
    for (auto const& [from, to] : *pairs) {
        if (!to.is_string())
            fail(errc::corrupt_file, path, ": '", std::string_view(from.data(), from.size()),
                 "' is not renamed to a text");
        text += statement_of({from.data(), from.size()},
                             {to.get_string().data(), to.get_string().size()});
    }
    return text;
}

std::string statements_of(std::string const& rename) {
    std::size_t const sign = rename.find('=');
    return is_file(rename) ? statements_of_file(rename)
                           : statement_of(rename.substr(0, sign), rename.substr(sign + 1));
}

} // namespace

bool has_renames(job_files const& files) { return !files.names.empty() || !files.renames.empty(); }

program_source program_of_renames(job_files const& files, catalog const& source,
                                  std::vector<std::string> const& wanted) {
    program_source program;
    for (std::string const& rename : files.renames)
        program.text += statements_of(rename);
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
