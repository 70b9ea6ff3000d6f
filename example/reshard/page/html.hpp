// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_HTML_HPP
#define RESHARD_TOOL_PAGE_HTML_HPP

#include <reshard/core/vector.hpp>

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

/// \file
/// Makes self-contained HTML pages. They load no other files, and show file contents as text.

namespace tool {

/// Text escaped for an element or for double quotes. Control characters become visible.
std::string html_escaped(std::string_view text);

/// A fragment of a page: HTML with escaped text.
struct html {
    std::string text;
};

html html_text(std::string_view text);

/// `<name attributes>inner</name>`.
html element(std::string_view name, html const& inner, std::string_view attributes = {});

inline html operator+(html a, html const& b) {
    a.text += b.text;
    return a;
}

/// A table with a caption; the first row is the head. Columns of numbers are right-aligned.
html html_table(std::string_view caption,
                reshard::vector<reshard::vector<std::string>> const& rows);

/// A section of a page, with a heading.
html section(std::string_view heading, html const& inner);

/// A value with its name below it. `kind` is `ok`, `error`, `warning`, `note` or empty.
html fact(std::string_view value, std::string_view noun, std::string_view kind = {});

/// A count with its noun: `1 key`, `3 keys`.
html count_fact(std::size_t count, std::string const& noun, std::string_view kind = {});

/// A detail that is shown on demand.
html on_demand(std::string_view summary, html const& inner, bool open = false);

/// The `i`th colour; neighbours differ.
std::string colour_of(std::size_t i);

/// A complete page.
///
/// \param data the content of the page for programs: the document of `--json`
std::string html_page(std::string_view title, html const& body, boost::json::value const& data);

/// The error in the name of a page; empty if it is valid.
std::string complaint_about_report(std::string const& path);

} // namespace tool

#endif
