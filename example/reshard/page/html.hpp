// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PAGE_HTML_HPP
#define RESHARD_TOOL_PAGE_HTML_HPP

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Pages of HTML that stand alone: nothing is fetched, and what files say is shown as text.

namespace tool {

/// Text as it may stand in an element or between double quotes; control characters are written out.
std::string html_escaped(std::string_view text);

/// What is put into a page: HTML, and a text that was escaped on its way.
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

/// A table with a caption; the first row is its head. Columns of numbers stand at the right.
html html_table(std::string_view caption, std::vector<std::vector<std::string>> const& rows);

/// A part of a page, with a heading.
html section(std::string_view heading, html const& inner);

/// A value with what it is below it; `kind` is `ok`, `error`, `warning`, `note` or empty.
html fact(std::string_view value, std::string_view noun, std::string_view kind = {});

/// How many of a thing there are: `1 key`, `3 keys`.
html count_fact(std::size_t count, std::string const& noun, std::string_view kind = {});

/// What is shown when a reader asks for it.
html on_demand(std::string_view summary, html const& inner, bool open = false);

/// A colour for the `i`th of many; neighbours differ.
std::string colour_of(std::size_t i);

/// A whole page.
///
/// \param data what the page shows, for programs: the document of `--json`
std::string html_page(std::string_view title, html const& body, boost::json::value const& data);

/// Why a name is not that of a page, or an empty text.
std::string complaint_about_report(std::string const& path);

} // namespace tool

#endif
