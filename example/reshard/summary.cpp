// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "summary.hpp"

#include "report.hpp"

#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// For example `3 along axis 1`; `whole` for a tensor that is not cut.
std::string parts_text(index_vector const& parts) {
    std::string text;
    for (std::size_t axis = 0; axis < parts.size(); ++axis)
        if (parts[axis] > 1)
            text += (text.empty() ? "" : ", ") + std::to_string(parts[axis]) + " along axis " +
                    std::to_string(axis);
    return text.empty() ? "whole" : text;
}

/// For example `only [22, 32]` for a tensor with missing elements; empty for any other tensor.
std::string rest_text(layout const& layout, tensor_layout const& tensor) {
    detail::tensor_shards const shards = layout.shards_of(tensor);
    index_t const wanted = element_count(layout.shape_of(tensor));
    index_t there = 0;
    for (std::size_t i = 0; i < shards.size() && there < wanted; ++i)
        there += shards.elements(i);
    if (there >= wanted)
        return {};
    return "only " + (shards.size() == 1 && !shards.flat(0)
                          ? to_string(shards.region(0).shape)
                          : grouped(there) + " of " + grouped(wanted) + " elements");
}

/// \param rests texts in place of the parts of tensors, by key
std::string tensor_table(catalog const& entries, bool show_all,
                         std::map<std::string, std::string> const& rests) {
    using kind = std::tuple<std::string, std::string, std::string, std::string>;
    reshard::vector<std::pair<kind, std::size_t>> kinds;
    std::map<kind, std::size_t> places;
    for (catalog_entry const& tensor : entries) {
        auto const match = rests.find(tensor.key);
        kind const current_kind{show_all ? tensor.key : without_numbers(tensor.key),
                                code(tensor.dtype), to_string(tensor.shape),
                                match == rests.end() ? parts_text(tensor.parts) : match->second};
        auto const [position, is_new] = places.emplace(current_kind, kinds.size());
        if (is_new)
            kinds.emplace_back(current_kind, 0);
        ++kinds[position->second].second;
    }
    reshard::vector<reshard::vector<std::string>> rows{
        {"tensor", "count", "type", "shape", "parts"}};
    for (auto const& [element, count] : kinds) {
        auto const& [key, dtype, shape, parts] = element;
        rows.push_back({key, std::to_string(count), dtype, shape, parts});
    }
    return table(rows);
}

} // namespace

std::string table(reshard::vector<reshard::vector<std::string>> const& rows) {
    reshard::vector<std::size_t> widths(rows.front().size(), 0);
    for (auto const& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (auto const& row : rows) {
        std::string line = "  ";
        for (std::size_t i = 0; i < row.size(); ++i)
            line +=
                row[i] + std::string(i + 1 < row.size() ? widths[i] - row[i].size() + 2 : 0, ' ');
        text += (&row == &rows.front() ? bold(line) : line) + "\n";
    }
    return text;
}

std::string without_numbers(std::string_view key) {
    std::string text;
    for (char const c : key) {
        bool const is_digit = c >= '0' && c <= '9';
        if (!is_digit)
            text += c;
        else if (text.empty() || text.back() == '.')
            text += '*';
        else if (text.back() != '*')
            text += c;
    }
    return text;
}

reshard::vector<std::string> rank_names(holder_t count) {
    reshard::vector<std::string> names;
    for (holder_t rank = 0; rank < count; ++rank)
        names.push_back("rank " + std::to_string(rank));
    return names;
}

reshard::vector<std::string> file_names(checkpoint_metadata const& checkpoint) {
    reshard::vector<std::string> names;
    for (detail::checkpoint_file const& file : checkpoint.files)
        names.push_back(file.path.filename().string());
    return names;
}

std::string holder_table(layout const& layout, reshard::vector<std::string> const& names) {
    reshard::vector<std::size_t> shards(layout.holders, 0);
    reshard::vector<index_t> bytes(layout.holders, 0);
    for (tensor_layout const& tensor : layout.tensors) {
        detail::tensor_shards const tensor_shards = layout.shards_of(tensor);
        for (std::size_t i = 0; i < tensor_shards.size(); ++i) {
            ++shards[tensor_shards.holder(i)];
            bytes[tensor_shards.holder(i)] += byte_count(tensor_shards.elements(i), tensor.dtype);
        }
    }
    reshard::vector<reshard::vector<std::string>> rows{{"holder", "shards", "bytes"}};
    for (holder_t holder = 0; holder < layout.holders; ++holder)
        rows.push_back({names[holder], std::to_string(shards[holder]), grouped(bytes[holder])});
    return table(rows);
}

std::string tensor_table(layout const& layout, bool show_all) {
    std::map<std::string, std::string> rests;
    for (tensor_layout const& tensor : layout.tensors)
        if (std::string text = rest_text(layout, tensor); !text.empty())
            rests.emplace(tensor.key, std::move(text));
    return tensor_table(catalog_of(layout), show_all, rests);
}

std::string tensor_table(catalog const& entries, bool show_all) {
    return tensor_table(entries, show_all, {});
}

} // namespace tool
