// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_LAYOUT_FILE_IPP
#define RESHARD_FORMAT_IMPL_LAYOUT_FILE_IPP

#include <reshard/format/layout_file.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/format/impl/rank_file_names.ipp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The text with ASCII letters in upper case, as safetensors names its data types.
inline std::string upper_case(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z')
            c = static_cast<char>(c - 'a' + 'A');
    return text;
}

inline std::optional<data_type> dtype_from(json_cursor const& cursor) {
    auto const member = cursor.find("dtype");
    if (!member)
        return std::nullopt;
    auto const dtype = data_type_from_code(member->text());
    if (!dtype)
        member->refuse(
            "unknown data type '" + member->text() + "'" +
            did_you_mean(upper_case(member->text()), all_data_types, &data_type_facts::code) +
            "; data types are named as in safetensors, such as BF16 or F32");
    return dtype;
}

inline holder_t rank_from(json_cursor const& cursor) {
    index_t const rank = cursor.count();
    if (rank >= most_ranks_named)
        cursor.refuse(errc::limit_exceeded,
                      words("rank ", rank, " exceeds the largest rank, ", most_ranks_named - 1,
                            ": ranks are counted from 0"));
    return static_cast<holder_t>(rank);
}

inline holder_t rank_count_from(json_cursor const& cursor) {
    index_t const count = cursor.count();
    if (count == 0)
        cursor.refuse("a layout needs at least 1 rank");
    check_rank_count(cursor, count);
    return static_cast<holder_t>(count);
}

inline std::optional<flat_range> flat_from(json_cursor const& cursor) {
    auto const member = cursor.find("flat_range");
    if (!member)
        return std::nullopt;
    auto const ends = member->elements();
    if (ends.size() != 2)
        member->refuse(words("expected a flat range of 2 numbers, found ", ends.size()));
    return flat_range{ends[0].count(), ends[1].count()};
}

/// Adds a shard to its tensor.
///
/// \param shard of that tensor: what differs between shards is replaced
inline void add_shard(json_cursor const& cursor, shard_descriptor& shard, layout_row& row) {
    cursor.check_names({"rank", "offset", "shape", "flat_range", "blocks"});
    holder_t const rank = rank_from(cursor.at("rank"));
    shard.region = {cursor.at("offset").extents(), cursor.at("shape").extents()};
    shard.flat = flat_from(cursor);
    shard.cycles = cycles_from(cursor);
    checked_at(cursor, [&] { check(shard); });
    row.shards.push_back(rank, shard.region, shard.flat, shard.cycles);
}

inline layout_row row_from(std::string const& key, json_cursor const& cursor) {
    cursor.check_names({"dtype", "shape", "shards"});
    layout_row row{key, dtype_from(cursor), cursor.at("shape").extents(), {}};
    checked_at(cursor.at("shape"),
               [&] { check_size(key, row.shape, row.dtype.value_or(data_type{})); });
    row.shards = shard_table(row.shape.size());
    shard_descriptor shard{key, row.dtype.value_or(data_type{}), row.shape, {}, {}, {}};
    for (json_cursor const& element : cursor.at("shards").elements())
        add_shard(element, shard, row);
    row.shards = sorted_by_holder(std::move(row.shards));
    return row;
}

RESHARD_DECL holder_t rank_count(json_cursor const& root, vector<layout_row> const& rows) {
    auto const stated = root.find("ranks");
    holder_t const count = stated ? rank_count_from(*stated) : 1;
    holder_t needed = 1;
    for (layout_row const& row : rows)
        for (holder_t const rank : row.shards.holders()) {
            if (stated && rank >= count)
                root.refuse(words("'", row.key, "' has a shard on rank ", rank,
                                  count == 1 ? ", but there is " : ", but there are ",
                                  counted(count, "rank")));
            needed = std::max(needed, rank + 1);
        }
    return stated ? count : needed;
}

/// The layout in the explicit form.
///
/// \throws error with errc::bad_layout, or errc::limit_exceeded for more than 2^22 ranks, that
///         names the file, the position in it, key, axis and both numbers
inline layout_table explicit_layout(json_cursor const& root, std::string_view file) {
    root.check_names({"ranks", "tensors"});
    layout_table table{std::string(file), 0, {}, {}};
    root.at("tensors").for_each_member([&](std::string_view key, json_cursor const& member) {
        table.rows.push_back(row_from(std::string(key), member));
    });
    std::sort(table.rows.begin(), table.rows.end(),
              [](layout_row const& a, layout_row const& b) { return a.key < b.key; });
    table.ranks = rank_count(root, table.rows);
    return table;
}

inline std::string shard_json(shard_table const& shards, std::size_t i) {
    box const region = shards.region(i);
    std::string text = "{\"rank\": " + std::to_string(shards.holder(i)) +
                       ", \"offset\": " + json_list(region.offset) +
                       ", \"shape\": " + json_list(region.shape);
    if (auto const flat = shards.flat(i))
        text += ", \"flat_range\": " + json_list(index_vector{flat->begin, flat->end});
    return text + blocks_text(shards.cycles(i)) + "}";
}

inline std::string row_json(layout_row const& row) {
    std::string text = json_quoted(row.key) + ": {";
    if (row.dtype)
        text += "\"dtype\": " + json_quoted(code(*row.dtype)) + ", ";
    text += "\"shape\": " + json_list(row.shape) + ", \"shards\": [";
    for (std::size_t i = 0; i < row.shards.size(); ++i)
        text += (i ? ",\n    " : "\n    ") + shard_json(row.shards, i);
    return text + "]}";
}

RESHARD_DECL std::string to_json(layout_table const& table) {
    std::string text = "{\"ranks\": " + std::to_string(table.ranks) + ",\n \"tensors\": {";
    for (std::size_t i = 0; i < table.rows.size(); ++i)
        text += (i ? ",\n  " : "\n  ") + row_json(table.rows[i]);
    return text + "}}\n";
}

RESHARD_DECL bool needs_shapes(layout_file const& file) {
    return std::holds_alternative<layout_rules>(file);
}

RESHARD_DECL layout_file parse_layout_file(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    if (root.find("tensors"))
        return explicit_layout(root, file);
    if (auto const names = root.find("files"))
        names->refuse("this describes the files of a source; give it as --source-layout");
    if (root.find("mesh"))
        return layout_rules_from(root, file);
    root.refuse("this is not a layout: a layout has either 'tensors', or 'mesh' and 'rules'");
}

RESHARD_DECL layout_file read_layout_file(std::filesystem::path const& path) {
    return parse_layout_file(read_text_file(path), path.string());
}

RESHARD_DECL rank_files read_rank_files(std::filesystem::path const& path) {
    std::string const file = path.string();
    auto const document = parse_json(read_text_file(path), file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    json_cursor const names = root.at("files");
    auto const pattern = std::filesystem::path(names.text()).lexically_normal(); // removes `./`
    rank_files result{pattern.generic_string(), layout_rules_from(root, file)};
    checked_at(names, [&] { return file_pattern(result.pattern, result.rules.ranks); });
    for (layout_rule const& rule : result.rules.rules) {
        auto const refuse = [&](std::string const& problem) {
            root.at("rules").refuse("rule '" + rule.match.text() + "' " + problem);
        };
        if (!rule.heads.empty())
            refuse("has heads, but ranks' copies of heads cannot be read from files of ranks");
        for (placement const& cut : rule.placements) {
            if (cut.type == placement::kind::cyclic)
                refuse("uses cyclic blocks, which files of ranks cannot have; use split");
            if (!rule.fused.empty() && cut.cuts() && cut.axis != rule.fused_axis)
                refuse("has parts, and cuts another axis, too, which files of ranks cannot have");
        }
    }
    return result;
}

RESHARD_DECL layout_table table_of(layout_file const& file, catalog const& shapes) {
    if (auto const* const rules = std::get_if<layout_rules>(&file))
        return apply(*rules, shapes);
    return std::get<layout_table>(file);
}

} // namespace reshard::detail

#endif
