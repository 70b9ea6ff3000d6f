// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "page/html.hpp"

#include "report.hpp"

#include <reshard/core/error.hpp>

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace tool {

namespace {

constexpr char const style[] = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--page:#fff;--line:#d0d7de;--box:#f6f8fa;
--bad:#b42318;--warn:#8a5a00;--good:#1a7f37;--free:#f2f2f2;--grid:#ddd}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--page:#0f1318;--line:#30363d;
--box:#171c23;--bad:#ff8177;--warn:#e3b341;--good:#56d364;--free:#262c34;--grid:#363d46}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:68rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--page);overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 .5rem}
h2{font-size:1.2rem;margin:0 0 .6rem}
h3{font-size:1rem;margin:1rem 0 .4rem}
section{margin:1.8rem 0;padding-top:1.2rem;border-top:1px solid var(--line)}
p{margin:.4rem 0}
.soft,caption,footer{color:var(--soft)}
table{border-collapse:collapse;margin:.6rem 0 1rem;width:100%;font-size:.9rem}
caption{text-align:left;padding-bottom:.3rem}
th,td{text-align:left;vertical-align:top;padding:.28rem .5rem .28rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
details{border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;margin:.5rem 0;background:var(--box)}
summary{cursor:pointer}
summary,.legend span{word-break:break-all}
pre{margin:.5rem 0;padding:.6rem;background:var(--box);border-radius:6px;overflow-x:auto;
font:.82rem/1.5 ui-monospace,monospace;white-space:pre}
.n:first-child{text-align:left}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:.8rem 0}
.facts div{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem}
.facts b{display:block;font-size:1.15rem;font-variant-numeric:tabular-nums}
.mesh{display:grid;gap:4px;margin:.6rem 0}
.mesh div{border-radius:4px;padding:.3rem;color:#14181d;font-size:.85rem;line-height:1.25;min-width:0}
.mesh small{display:block;overflow-wrap:normal}
.bar{display:flex;height:1.1rem;border-radius:3px;overflow:hidden;background:var(--free)}
.bar i{display:block;min-width:0}
.bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:.35rem .7rem;align-items:center;font-size:.9rem}
.bars span:first-child{overflow-wrap:anywhere}
.legend span{display:inline-block;margin-right:1rem}
.dot{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin-right:.4em}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--ink);font-family:system-ui,sans-serif}
svg .on{fill:#14181d}
rect[fill="#f2f2f2"]{fill:var(--free)}
line[stroke="#ddd"]{stroke:var(--grid)}
.map{max-width:34rem}.key{max-width:12rem;margin-top:1rem}.time{max-width:46rem}.boxes{max-width:26rem}
.map text,.key text{font-size:13px}.time text{font-size:13px}
@media(max-width:640px){table{font-size:.8rem}th,td{padding-right:.3rem}
.map text,.key text{font-size:16px}.time text{font-size:17px}.time text[transform]{display:none}
body{padding:.7rem}.bars{grid-template-columns:1fr max-content}.bars .bar{grid-column:1/3}.bars{grid-auto-flow:dense}}
.error{color:var(--bad)}.warning{color:var(--warn)}.note{color:var(--soft)}.ok{color:var(--good)}
.finding{margin:.9rem 0;padding-left:.8rem;border-left:3px solid currentColor}
.finding>*{color:var(--ink)}.finding>b:first-child{color:inherit}
.place{margin:.2rem 0;font-size:.85rem}
.code{counter-reset:line}
.code span{display:block;min-height:1.5em}
.code span::before{counter-increment:line;content:counter(line);display:inline-block;width:2.6em;color:var(--soft)}
.code .hit{background:color-mix(in srgb,var(--bad) 18%,transparent)}
)";

/// True for digits with signs, commas and points.
bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789,.-") == std::string_view::npos &&
           text.find_first_of("0123456789") != std::string_view::npos;
}

/// A number; a long one may be broken after its commas.
html number_text(std::string_view number) {
    constexpr std::size_t most = 11; // for example `999,999,999`
    if (number.size() <= most)
        return html_text(number);
    html shown;
    for (char const c : number)
        shown.text += c == ',' ? std::string(",<wbr>") : std::string(1, c);
    return shown;
}

bool is_column_of_numbers(reshard::vector<reshard::vector<std::string>> const& rows,
                          std::size_t column) {
    return rows.size() > 1 && std::all_of(rows.begin() + 1, rows.end(), [&](auto const& row) {
               return is_number(row[column]) || row[column].empty();
           });
}

/// JSON that is safe inside an HTML element.
std::string json_in_html(boost::json::value const& data) {
    std::string safe;
    for (char const c : boost::json::serialize(data))
        switch (c) {
        case '<': safe += "\\u003c"; break;
        case '>': safe += "\\u003e"; break;
        case '&': safe += "\\u0026"; break;
        default: safe += c;
        }
    return safe;
}

} // namespace

std::string html_escaped(std::string_view text) {
    std::string safe;
    for (char const c : reshard::detail::printable(std::string(text)))
        switch (c) {
        case '&': safe += "&amp;"; break;
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        case '"': safe += "&quot;"; break;
        case '\'': safe += "&#39;"; break;
        default: safe += c;
        }
    return safe;
}

html html_text(std::string_view text) { return {html_escaped(text)}; }

html element(std::string_view name, html const& inner, std::string_view attributes) {
    std::string const word(name);
    bool const is_in_line = name == "span" || name == "i" || name == "b" || name == "small";
    return {"<" + word + (attributes.empty() ? "" : " ") + std::string(attributes) + ">" +
            inner.text + "</" + word + (is_in_line ? ">" : ">\n")};
}

html html_table(std::string_view caption,
                reshard::vector<reshard::vector<std::string>> const& rows) {
    html lines;
    reshard::vector<bool> numeric;
    for (std::size_t column = 0; column < rows[0].size(); ++column)
        numeric.push_back(is_column_of_numbers(rows, column));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        html cells;
        for (std::size_t column = 0; column < rows[i].size(); ++column) {
            bool const is_numeric = numeric[column];
            std::string const& text = rows[i][column];
            cells.text += element(i == 0 ? "th" : "td",
                                  is_numeric && i > 0 ? number_text(text) : html_text(text),
                                  is_numeric ? "class=\"n\"" : "")
                              .text;
        }
        lines.text += element("tr", cells).text;
    }
    return element("table", element("caption", html_text(caption)) + lines);
}

html section(std::string_view heading, html const& inner) {
    return element("section", element("h2", html_text(heading)) + inner);
}

html fact(std::string_view value, std::string_view noun, std::string_view kind) {
    std::string const attributes = kind.empty() ? "" : "class=\"" + std::string(kind) + "\"";
    html shown = html_text(value);
    for (std::size_t at = 0; (at = shown.text.find('_', at)) != shown.text.npos; at += 6)
        shown.text.insert(at + 1, "<wbr>"); // a long name may be broken here
    return element("div", element("b", shown, attributes) + html_text(noun));
}

html count_fact(std::size_t count, std::string const& noun, std::string_view kind) {
    return fact(grouped(static_cast<index_t>(count)), count == 1 ? noun : noun + "s", kind);
}

html on_demand(std::string_view summary, html const& inner, bool open) {
    return element("details", element("summary", html_text(summary)) + inner, open ? "open" : "");
}

std::string colour_of(std::size_t i) {
    constexpr std::size_t golden_angle = 137; // in degrees; gives distant colours
    return "hsl(" + std::to_string((210 + golden_angle * i) % 360) + " 62% " +
           std::to_string(i % 2 == 0 ? 68 : 76) + "%)";
}

std::string html_page(std::string_view title, html const& body, boost::json::value const& data) {
    return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'\">\n" +
           element("title", html_text(title)).text + "<style>" + style + "</style>\n</head>\n" +
           "<body>\n" + element("h1", html_text(title)).text + body.text +
           "<script type=\"application/json\" id=\"reshard-data\">" + json_in_html(data) +
           "</script>\n" +
           element("footer", html_text("Made by reshard. For programs, the element "
                                       "reshard-data has the contents of this page as JSON."))
               .text +
           "</body>\n</html>\n";
}

std::string complaint_about_report(std::string const& path) {
    return path.ends_with(".html")
               ? ""
               : "'" + path + "' is not the name of a page; it must end in .html";
}

} // namespace tool
