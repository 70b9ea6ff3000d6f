// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "page/layout_page.hpp"

#include "picture/byte_text.hpp"
#include "picture/svg.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tool {

using namespace reshard;

namespace {

/// Limits of the page. A text below states the number of omitted entries.
constexpr std::size_t most_holders = 64, most_kinds = 40, most_boxes = 256;

std::string left_out(std::size_t total, std::size_t shown, std::string const& noun) {
    return total > shown ? "and " + counted(total - shown, "more " + noun) + "; --json lists all"
                         : "";
}

/// Tensors whose keys differ only in numbers, and that are spread in the same way.
struct tensor_kind {
    std::string name;
    tensor_layout const* example = nullptr;
    std::size_t count = 0;
    index_t bytes = 0; ///< bytes of one tensor
};

reshard::vector<tensor_kind> kinds_of(layout const& layout) {
    reshard::vector<tensor_kind> kinds;
    std::map<std::tuple<std::string, data_type, std::uint32_t>, std::size_t> places;
    for (tensor_layout const& tensor : layout.tensors) {
        std::string name = without_numbers(tensor.key);
        auto const [position, is_new] =
            places.emplace(std::tuple(name, tensor.dtype, tensor.spread), kinds.size());
        if (is_new)
            kinds.push_back({std::move(name), &tensor, 0,
                             byte_count(element_count(layout.shape_of(tensor)), tensor.dtype)});
        ++kinds[position->second].count;
    }
    return kinds;
}

/// The bytes of each holder, by name of a kind of tensor.
struct byte_sums {
    reshard::vector<std::string> names;              ///< names, the one with the most bytes first
    reshard::vector<reshard::vector<index_t>> bytes; ///< by holder, then by name
    reshard::vector<index_t> all;                    ///< total by holder
};

byte_sums bytes_by_kind(layout const& layout) {
    std::map<std::string, reshard::vector<index_t>> sums;
    reshard::vector<index_t> values(layout.holders, 0);
    for (tensor_layout const& tensor : layout.tensors) {
        auto& sum = sums[without_numbers(tensor.key)];
        sum.resize(layout.holders, 0);
        detail::tensor_shards const shards = layout.shards_of(tensor);
        for (std::size_t i = 0; i < shards.size(); ++i) {
            index_t const bytes = byte_count(shards.elements(i), tensor.dtype);
            sum[shards.holder(i)] += bytes;
            values[shards.holder(i)] += bytes;
        }
    }
    byte_sums result{
        {}, reshard::vector<reshard::vector<index_t>>(layout.holders), std::move(values)};
    auto const total = [&](std::string const& name) {
        index_t sum = 0;
        for (index_t const bytes : sums.at(name))
            sum += bytes;
        return sum;
    };
    for (auto const& [name, bytes] : sums)
        result.names.push_back(name);
    std::stable_sort(
        result.names.begin(), result.names.end(),
        [&](std::string const& a, std::string const& b) { return total(a) > total(b); });
    for (std::string const& name : result.names)
        for (holder_t holder = 0; holder < layout.holders; ++holder)
            result.bytes[holder].push_back(sums.at(name)[holder]);
    return result;
}

/// The position of a rank, for example `pp 1, tp 2`.
std::string place_of(mesh const& ranks, holder_t rank) {
    reshard::vector<std::string> places;
    auto remainder = static_cast<index_t>(rank);
    for (std::size_t i = ranks.axes().size(); i-- > 0;) {
        mesh_axis const& axis = ranks.axes()[i];
        places.insert(places.begin(),
                      std::string(axis.name()) + " " + std::to_string(remainder % axis.extent));
        remainder /= axis.extent;
    }
    std::string text;
    for (std::string const& index : places)
        text += (text.empty() ? "" : ", ") + index;
    return text;
}

/// The number of columns: the extent of the last mesh axis, unless it is too long to be readable.
std::size_t columns_of(shown_layout const& shown) {
    constexpr std::size_t most_columns = 8;
    std::size_t const holders = shown.held.holders;
    if (shown.ranks && !shown.ranks->axes().empty() &&
        shown.ranks->axes().back().extent <= static_cast<index_t>(most_columns))
        return static_cast<std::size_t>(shown.ranks->axes().back().extent);
    return std::clamp<std::size_t>(holders, 1, shown.holder == "file" ? 2 : 4);
}

html holder_grid(shown_layout const& shown, byte_sums const& sums) {
    html cells;
    std::size_t const count = std::min<std::size_t>(shown.held.holders, most_holders);
    for (holder_t holder = 0; holder < count; ++holder) {
        std::string const where = shown.holder == "file" ? shown.names[holder]
                                  : shown.ranks          ? place_of(*shown.ranks, holder)
                                                         : "";
        cells.text += element("div",
                              html_text(shown.holder + " " + std::to_string(holder)) +
                                  element("small", html_text(where)) +
                                  element("small", html_text(byte_text(sums.all[holder]))),
                              "style=\"background:" + colour_of(holder) + "\"")
                          .text;
    }
    std::string const noun =
        shown.ranks ? "The mesh " + to_string(*shown.ranks) + ": each row runs along the last axis."
                    : "Each " + shown.holder + " has its colour in the pictures below.";
    return element("p", html_text(noun + " " + left_out(shown.held.holders, count, shown.holder)),
                   "class=\"soft\"") +
           element("div", cells,
                   "class=\"mesh\" style=\"grid-template-columns:repeat(" +
                       std::to_string(columns_of(shown)) + ",minmax(0,1fr))\"");
}

/// The number of names that get their own colour.
std::size_t coloured_names(byte_sums const& sums) {
    constexpr std::size_t most = 12;
    return std::min(sums.names.size(), most);
}

html bar_legend(byte_sums const& sums) {
    html legend;
    for (std::size_t i = 0; i < coloured_names(sums); ++i) {
        std::string const dot = "class=\"dot\" style=\"background:" + colour_of(i + 7) + "\"";
        legend.text += element("span", element("i", {}, dot) + html_text(sums.names[i])).text;
    }
    return element("p", legend, "class=\"soft legend\"");
}

/// The bar for the bytes of a holder; `most` bytes fill it.
html bar_of(holder_t holder, byte_sums const& sums, index_t most) {
    html parts;
    for (std::size_t i = 0; i < coloured_names(sums); ++i) {
        index_t const bytes = sums.bytes[holder][i];
        double const percent = 100 * static_cast<double>(bytes) / static_cast<double>(most);
        if (bytes > 0)
            parts.text += element("i", {},
                                  "style=\"width:" + svg_number(percent) +
                                      "%;background:" + colour_of(i + 7) + "\" title=\"" +
                                      html_escaped(sums.names[i] + ": " + byte_text(bytes)) + "\"")
                              .text;
    }
    return element("div", parts, "class=\"bar\"");
}

html byte_bars(shown_layout const& shown, byte_sums const& sums) {
    index_t most = 1;
    for (index_t const bytes : sums.all)
        most = std::max(most, bytes);
    auto const holders = std::min<std::size_t>(shown.held.holders, most_holders);
    html lines;
    for (holder_t holder = 0; holder < holders; ++holder)
        lines.text +=
            (element("span", html_text(shown.names[holder])) + bar_of(holder, sums, most) +
             element("span", html_text(byte_text(sums.all[holder])), "class=\"n\""))
                .text;
    return bar_legend(sums) + element("div", lines, "class=\"bars\"");
}

html byte_table(shown_layout const& shown, byte_sums const& sums) {
    reshard::vector<reshard::vector<std::string>> rows{{shown.holder, "kind of tensor", "bytes"}};
    for (holder_t holder = 0; holder < std::min<std::size_t>(shown.held.holders, most_holders);
         ++holder) {
        for (std::size_t i = 0; i < sums.names.size(); ++i)
            if (sums.bytes[holder][i] > 0)
                rows.push_back(
                    {shown.names[holder], sums.names[i], grouped(sums.bytes[holder][i])});
        rows.push_back({shown.names[holder], "all", grouped(sums.all[holder])});
    }
    return on_demand("The same in numbers",
                     html_table("Bytes by " + shown.holder + " and kind of tensor", rows));
}

/// A box of a tensor, and all its holders.
struct held_box {
    box region;
    reshard::vector<holder_t> holders;
    bool is_flat = false;
};

reshard::vector<held_box> boxes_of(layout const& layout, tensor_layout const& tensor) {
    detail::shard_table const shards = detail::blocks_listed(layout.spread_of(tensor));
    reshard::vector<held_box> boxes;
    std::map<reshard::vector<index_t>, std::size_t> places;
    for (std::size_t i = 0; i < shards.size() && boxes.size() < most_boxes; ++i) {
        box const region = shards.region(i);
        auto const flat = shards.flat(i);
        reshard::vector<index_t> positions(region.offset.begin(), region.offset.end());
        positions.insert(positions.end(), region.shape.begin(), region.shape.end());
        if (flat)
            for (index_t const position : {flat->begin, flat->end})
                positions.push_back(position);
        auto const [match, is_new] = places.emplace(std::move(positions), boxes.size());
        if (is_new)
            boxes.push_back({region, {}, flat.has_value()});
        auto& holders = boxes[match->second].holders;
        if (holders.empty() || holders.back() != shards.holder(i))
            holders.push_back(shards.holder(i));
    }
    return boxes;
}

/// For example `0-3` or `0, 2`.
std::string holders_text(reshard::vector<holder_t> const& holders) {
    std::string text;
    for (std::size_t i = 0; i < holders.size();) {
        std::size_t last = i;
        while (last + 1 < holders.size() && holders[last + 1] == holders[last] + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(holders[i]) +
                (last > i + 1 ? "-"
                 : last > i   ? ", "
                              : "") +
                (last > i ? std::to_string(holders[last]) : "");
        i = last + 1;
    }
    return text;
}

/// The two axes of a picture: axes that are cut, else the first axes.
std::pair<std::size_t, std::size_t> shown_axes(reshard::vector<held_box> const& boxes,
                                               index_vector const& shape) {
    reshard::vector<std::size_t> axes;
    for (bool const wants_cut : {true, false})
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            bool const is_cut = std::ranges::any_of(
                boxes, [&](held_box const& box) { return box.region.shape[axis] < shape[axis]; });
            if (is_cut == wants_cut)
                axes.push_back(axis);
        }
    return std::minmax(axes[0], axes[1]);
}

/// The length in the picture for a part of an extent.
double scaled(index_t part, index_t extent, double length) {
    return extent == 0 ? 0 : length * static_cast<double>(part) / static_cast<double>(extent);
}

html box_picture(reshard::vector<held_box> const& boxes, index_vector const& shape,
                 std::string const& holder) {
    constexpr double width = 400, row = 34;
    bool const is_flat = shape.size() < 2;
    auto const [down, across] =
        is_flat ? std::pair<std::size_t, std::size_t>(0, 0) : shown_axes(boxes, shape);
    double const height =
        is_flat ? row
                : std::clamp(scaled(shape[down], std::max<index_t>(1, shape[across]), width),
                             row * 3, width * 0.7);
    std::string drawn = svg_box({0, 0}, {width, height}, "#f2f2f2");
    for (held_box const& box : boxes) {
        if (detail::is_empty(box.region) || shape.empty())
            continue;
        double const x = scaled(box.region.offset[across], shape[across], width);
        double const y = is_flat ? 0 : scaled(box.region.offset[down], shape[down], height);
        svg_point const size{scaled(box.region.shape[across], shape[across], width),
                             is_flat ? height
                                     : scaled(box.region.shape[down], shape[down], height)};
        std::string const who = holders_text(box.holders);
        drawn += svg_box({x, y}, {std::max(1.0, size.x - 1.5), std::max(1.0, size.y - 1.5)},
                         colour_of(box.holders.front()),
                         holder + " " + who + ": " + to_string(box.region));
        if (size.y >= 14 && size.x >= 8.0 * static_cast<double>(who.size()) + 6)
            drawn += "<text class=\"on\" text-anchor=\"middle\" x=\"" + svg_number(x + size.x / 2) +
                     "\" y=\"" + svg_number(y + size.y / 2 + 5) + "\">" + svg_escaped(who) +
                     "</text>\n";
    }
    return {"<svg class=\"boxes\" role=\"img\" aria-label=\"the elements of each holder\" "
            "viewBox=\"0 0 " +
            svg_number(width) + " " + svg_number(height) + "\" font-size=\"13\">\n" + drawn +
            "</svg>\n"};
}

html kind_part(shown_layout const& shown, tensor_kind const& kind, bool open) {
    index_vector const& shape = shown.held.shape_of(*kind.example);
    reshard::vector<held_box> const boxes = boxes_of(shown.held, *kind.example);
    reshard::vector<reshard::vector<std::string>> rows{{shown.holder + "s", "elements"}};
    for (held_box const& box : boxes)
        rows.push_back({holders_text(box.holders), to_string(box.region)});
    bool const is_flat = std::ranges::any_of(boxes, &held_box::is_flat);
    std::string const about =
        counted(kind.count, "tensor") + " of type " + std::string(code(kind.example->dtype)) +
        " and shape " + to_string(shape) + ", " + byte_text(kind.bytes) +
        (kind.count == 1 ? ", in " : " each, in ") +
        (boxes.size() == 1 ? std::string("1 box")
                           : grouped(static_cast<index_t>(boxes.size())) + " different boxes") +
        (is_flat ? "; a slice of a flattened box is shown as the box" : "") +
        (boxes.size() >= most_boxes ? "; more are not shown" : "");
    html const picture =
        shape.empty() ? html_text("A scalar.") : box_picture(boxes, shape, shown.holder);
    return on_demand(
        kind.name,
        element("p", html_text(about), "class=\"soft\"") + picture +
            html_table("The holders of elements; several holders have equal copies", rows),
        open);
}

/// The index of the first kind with the most boxes, which the page opens.
std::size_t most_cut(layout const& layout, reshard::vector<tensor_kind> const& kinds) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds); ++i)
        if (std::size_t const boxes = boxes_of(layout, *kinds[i].example).size(); boxes > most) {
            best = i;
            most = boxes;
        }
    return best;
}

} // namespace

html layout_part(shown_layout const& shown) {
    byte_sums const sums = bytes_by_kind(shown.held);
    reshard::vector<tensor_kind> const kinds = kinds_of(shown.held);
    html html = holder_grid(shown, sums) +
                element("h3", html_text("Bytes by " + shown.holder + " and kind of tensor")) +
                byte_bars(shown, sums) + byte_table(shown, sums) +
                element("h3", html_text("Boxes of each kind of tensor"));
    std::size_t const count = std::min(kinds.size(), most_kinds),
                      open = most_cut(shown.held, kinds);
    for (std::size_t i = 0; i < count; ++i)
        html.text += kind_part(shown, kinds[i], i == open).text;
    return html + element("p", html_text(left_out(kinds.size(), count, "kind")), "class=\"soft\"");
}

} // namespace tool
