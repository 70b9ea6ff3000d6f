// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_LAYOUT_TABLE_IPP
#define RESHARD_FORMAT_IMPL_LAYOUT_TABLE_IPP

#include <reshard/format/layout_file.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace reshard::detail {

RESHARD_DECL shard_table sorted_by_holder(shard_table shards) {
    if (std::ranges::is_sorted(shards.holders()))
        return shards;
    vector<std::size_t> order(shards.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return shards.holder(a) < shards.holder(b);
    });
    shard_table sorted(shards.ndim());
    for (std::size_t const i : order)
        sorted.push_back(shards.holder(i), shards.region(i), shards.flat(i), shards.cycles(i));
    return sorted;
}

/// The data type of a row. It must agree with the program's result.
inline data_type agreed_dtype(layout_table const& table, layout_row const& row,
                              catalog_entry const& yielded, std::string_view maker) {
    if (row.shape != yielded.shape)
        fail(errc::shape_mismatch, quoted(table, row), " has the shape ", row.shape,
             " in the layout, but ", maker, " ", yielded.shape);
    if (row.dtype && *row.dtype != yielded.dtype)
        fail(errc::dtype_mismatch, quoted(table, row), " has the data type ", code(*row.dtype),
             " in the layout, but ", maker, " ", code(yielded.dtype),
             "; to cast it, add the attribute dtype=\"", *row.dtype,
             "\" to the statement that yields it, as in: ", row.key, " -> ", row.key, ", dtype=\"",
             *row.dtype, "\"");
    try {
        check_size(row.key, row.shape, yielded.dtype);
    } catch (error const& thrown) {
        fail(thrown.code(), table.file, ": ", thrown.what());
    }
    return yielded.dtype;
}

/// Names the tensors that the program makes and the layout lacks.
inline std::optional<std::string> unwritten(layout_table const& table, catalog const& yielded,
                                            layout const& target, std::string_view maker) {
    std::string keys;
    std::size_t count = 0;
    for (catalog_entry const& entry : yielded)
        if (!target.find(entry.key)) {
            keys += (count++ ? ", '" : "'") + entry.key + "'";
        }
    if (count == 0)
        return std::nullopt;
    return table.file + ": " + counted(count, "key") + " that " + std::string(maker) +
           (count == 1 ? " is not in the layout and is not written: "
                       : " are not in the layout and are not written: ") +
           keys;
}

RESHARD_DECL layout source_layout(layout_table const& table) {
    layout_builder builder(table.ranks);
    for (layout_row const& row : table.rows) {
        if (!row.dtype)
            fail(errc::bad_layout, quoted(table, row),
                 " has no data type; the layout of a source needs one, as in \"dtype\": \"BF16\"");
        builder.add(row.key, *row.dtype, {row.shape, row.shards});
    }
    return std::move(builder).take();
}

RESHARD_DECL completed_layout target_layout(layout_table const& table, catalog const& yielded,
                                            std::string_view maker) {
    layout_builder builder(table.ranks);
    for (layout_row const& row : table.rows) {
        catalog_entry const* const entry = yielded.find(row.key);
        if (!entry)
            fail(errc::unknown_key, quoted(table, row),
                 " is yielded by neither the program nor the source");
        builder.add(row.key, agreed_dtype(table, row, *entry, maker), {row.shape, row.shards});
    }
    completed_layout result{std::move(builder).take(), table.notes};
    if (auto note = unwritten(table, yielded, result.target, maker))
        result.notes.push_back(std::move(*note));
    return result;
}

RESHARD_DECL layout_table table_of(layout const& whole_layout) {
    layout_table table{{}, whole_layout.holders, {}, {}};
    for (tensor_layout const& tensor : whole_layout.tensors)
        table.rows.push_back({tensor.key, tensor.dtype, whole_layout.shape_of(tensor),
                              listed(whole_layout.spread_of(tensor))});
    return table;
}

} // namespace reshard::detail

#endif
