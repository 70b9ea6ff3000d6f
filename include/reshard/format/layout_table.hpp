// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_LAYOUT_TABLE_HPP
#define RESHARD_FORMAT_LAYOUT_TABLE_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/layout.hpp>

#include <optional>
#include <string>
#include <vector>

/// \file
/// A layout as a file gives it: data types may be left to the program.

namespace reshard::detail {

/// One tensor of a layout file.
struct layout_row {
    std::string key;
    std::optional<data_type> dtype; ///< nothing: whatever the program yields
    index_vector shape;             ///< global
    shard_table shards;

    bool operator==(layout_row const&) const = default;
};

/// A layout file.
///
/// \invariant `rows` is sorted by key, each key once; every holder is less than `ranks`
struct layout_table {
    std::string file;
    holder_t ranks = 0;
    std::vector<layout_row> rows;
    std::vector<std::string> notes; ///< what a person should know; each begins with the file

    bool operator==(layout_table const&) const = default;
};

/// A layout whose data types are known, and what a person should know of it.
struct completed_layout {
    layout target;
    std::vector<std::string> notes;
};

/// The shards in the order of their holders, as `layout_of` gives them.
RESHARD_DECL shard_table sorted_by_holder(shard_table const& shards);

inline std::string quoted(layout_table const& table, layout_row const& row) {
    return table.file + ": '" + row.key + "'";
}

/// The layout of a source: each data type must be given.
///
/// \throws error with errc::bad_layout that names file and key where one is not
RESHARD_DECL layout source_layout(layout_table const& table);

/// The layout of a target, with the data types that the program yields.
///
/// \param yielded what program and source yield
/// \param maker   what yields them, as messages say it
/// \throws error with errc::unknown_key for a key that they do not yield, with errc::shape_mismatch
///         or errc::dtype_mismatch for one that differs; it names file, key and both sides, and how
///         to cast; with errc::overflow for a tensor of more than 2^63 - 1 bits
RESHARD_DECL completed_layout target_layout(layout_table const& table, catalog const& yielded,
                                            std::string_view maker = "the program yields");

/// The layout as a table without a data type left open.
RESHARD_DECL layout_table table_of(layout const& whole_layout);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/layout_table.ipp>
#endif

#endif
