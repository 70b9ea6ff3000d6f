// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_SVG_HPP
#define RESHARD_TOOL_PICTURE_SVG_HPP

#include <reshard/core/vector.hpp>

#include <charconv>
#include <string>
#include <string_view>

/// \file
/// The few SVG elements that the pictures use, as functions from values to text.

namespace reshard {

/// A position in a picture, or a size.
///
/// \par Units pixels, to the right and downwards
struct svg_point {
    double x = 0;
    double y = 0;
};

/// A number with at most six digits, and with a point in every locale.
inline std::string svg_number(double value) {
    char digits[32];
    auto const end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr;
    return {digits, end};
}

/// Text escaped for an element or an attribute, without characters that XML does not allow.
inline std::string svg_escaped(std::string_view text) {
    std::string safe;
    for (char const c : text)
        switch (c) {
        case '&': safe += "&amp;"; break;
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        case '"': safe += "&quot;"; break;
        default:
            if (static_cast<unsigned char>(c) >= ' ')
                safe += c;
        }
    return safe;
}

namespace detail {

/// For example `  name="1.5"`.
inline std::string svg_attribute(std::string_view name, std::string_view value) {
    return " " + std::string(name) + "=\"" + svg_escaped(value) + "\"";
}

inline std::string svg_attribute(std::string_view name, double value) {
    return svg_attribute(name, svg_number(value));
}

} // namespace detail

/// Text at a position.
///
/// \param anchor the point of the text that is at the position: `start`, `middle`, `end`
inline std::string svg_text(svg_point at, std::string_view words,
                            std::string_view anchor = "start") {
    return "<text" + detail::svg_attribute("x", at.x) + detail::svg_attribute("y", at.y) +
           detail::svg_attribute("text-anchor", anchor) + ">" + svg_escaped(words) + "</text>\n";
}

/// Vertical text, read from below, with its middle at a position.
inline std::string svg_upright_text(svg_point at, std::string_view words) {
    std::string const location = svg_number(at.x) + " " + svg_number(at.y);
    return "<text text-anchor=\"middle\"" +
           detail::svg_attribute("transform", "translate(" + location + ") rotate(-90)") + ">" +
           svg_escaped(words) + "</text>\n";
}

/// A straight line; `dash` is the pattern of a dashed line, for example `4 3`.
inline std::string svg_line(svg_point from, svg_point to, std::string_view colour,
                            std::string_view dash = {}) {
    return "<line" + detail::svg_attribute("x1", from.x) + detail::svg_attribute("y1", from.y) +
           detail::svg_attribute("x2", to.x) + detail::svg_attribute("y2", to.y) +
           detail::svg_attribute("stroke", colour) +
           (dash.empty() ? "" : detail::svg_attribute("stroke-dasharray", dash)) + "/>\n";
}

/// A polyline through points.
inline std::string svg_polyline(reshard::vector<svg_point> const& points, std::string_view colour) {
    std::string list;
    for (svg_point const& point : points)
        list += (list.empty() ? "" : " ") + svg_number(point.x) + "," + svg_number(point.y);
    return "<polyline fill=\"none\" stroke-width=\"2\"" + detail::svg_attribute("stroke", colour) +
           detail::svg_attribute("points", list) + "/>\n";
}

/// A filled rectangle; `words` are its tooltip, and are read aloud.
inline std::string svg_box(svg_point corner, svg_point size, std::string_view colour,
                           std::string_view words = {}) {
    std::string const box =
        "<rect" + detail::svg_attribute("x", corner.x) + detail::svg_attribute("y", corner.y) +
        detail::svg_attribute("width", size.x) + detail::svg_attribute("height", size.y) +
        detail::svg_attribute("fill", colour);
    return words.empty() ? box + "/>\n"
                         : box + "><title>" + svg_escaped(words) + "</title></rect>\n";
}

/// The properties of a complete picture.
struct svg_page {
    std::string title;
    std::string description; ///< for readers who do not see the picture
    svg_point size;
};

/// A complete picture on a white background.
inline std::string svg_document(svg_page const& page, std::string_view body) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
           "aria-labelledby=\"title description\"" +
           detail::svg_attribute("width", page.size.x) +
           detail::svg_attribute("height", page.size.y) +
           detail::svg_attribute("viewBox",
                                 "0 0 " + svg_number(page.size.x) + " " + svg_number(page.size.y)) +
           " font-family=\"sans-serif\" font-size=\"12\">\n<title id=\"title\">" +
           svg_escaped(page.title) + "</title>\n<desc id=\"description\">" +
           svg_escaped(page.description) + "</desc>\n" + svg_box({}, page.size, "white") +
           std::string(body) + "</svg>\n";
}

} // namespace reshard

#endif
