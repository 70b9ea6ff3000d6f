// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_LAYOUT_FILE_HPP
#define RESHARD_FORMAT_LAYOUT_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/mesh.hpp>
#include <reshard/layout/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// \file
/// Layouts as JSON files, in two forms: the shards themselves, or rules that assign placements on a
/// mesh, and pipeline stages, to all keys that match a pattern.

namespace reshard::detail {

/// One tensor of a layout file.
struct layout_row {
    std::string key;
    std::optional<data_type> dtype; ///< std::nullopt: the program decides
    index_vector shape;             ///< the global shape
    shard_table shards;

    bool operator==(layout_row const&) const = default;
};

/// A layout file.
///
/// \invariant `rows` is sorted by key, each key once; every holder is less than `ranks`
struct layout_table {
    std::string file;
    holder_t ranks = 0;
    vector<layout_row> rows;
    vector<std::string> notes; ///< notes for users; each begins with the file

    bool operator==(layout_table const&) const = default;
};

/// A layout whose data types are known, and notes for users.
struct completed_layout {
    layout target;
    vector<std::string> notes;
};

/// The shards in the order of their holders, as `layout_of` gives them.
RESHARD_DECL shard_table sorted_by_holder(shard_table shards);

inline std::string quoted(layout_table const& table, layout_row const& row) {
    return table.file + ": '" + row.key + "'";
}

/// The layout of a source, for which the file must state each data type.
///
/// \throws error with errc::bad_layout if a data type is missing; it names file and key
RESHARD_DECL layout source_layout(layout_table const& table);

/// The layout of a target, with the data types that the program yields.
///
/// \param yielded the tensors that the program makes from the source
/// \param maker   the words in messages for the program that makes them
/// \throws error with errc::unknown_key for a key that `yielded` lacks, with errc::shape_mismatch
///         or errc::dtype_mismatch for a tensor that differs; it names file, key and both sides,
///         and how to cast; with errc::overflow for a tensor of more than 2^63 - 1 bits
RESHARD_DECL completed_layout target_layout(layout_table const& table, catalog const& yielded,
                                            std::string_view maker = "the program yields");

/// The layout as a table in which all data types are known.
RESHARD_DECL layout_table table_of(layout const& whole_layout);

/// Calls `make`. Reports its errors at the position of `cursor`.
auto checked_at(json_cursor const& cursor, auto make) {
    try {
        return make();
    } catch (error const& thrown) {
        cursor.refuse(thrown.what());
    }
}

/// \throws error with errc::limit_exceeded if `cursor` asks for more than `most_ranks_named`
RESHARD_DECL void check_rank_count(json_cursor const& cursor, index_t ranks);

/// The placements of the keys that match a pattern.
struct layout_rule {
    key_pattern match;
    vector<placement> placements; ///< one for each axis of the mesh
    /// Each rank has its shards of several tensors, one after the other along the axis that is cut:
    /// the ratio of the extents of these tensors. Empty: there is one tensor.
    index_vector fused{};
    std::size_t fused_axis = 0; ///< the axis of the tensor along which they lie
    /// The number of heads in each of these tensors, which stay in one piece. If ranks outnumber
    /// them, several ranks have copies. Empty: a rank's share may be any number of elements.
    index_vector heads{};
};

/// The keys that only the ranks at one coordinate of a mesh axis have.
///
/// A key `<layer_prefix><number><layer_suffix>...` belongs to the layer with that number. The
/// stages have the layers in order; stage `i` has `counts[i]` of them.
struct layout_stages {
    std::size_t axis = 0; ///< the axis of the mesh
    bool has_layers = false;
    std::string layer_prefix;
    std::string layer_suffix;
    vector<index_t> counts;
    vector<key_pattern> first;
    vector<key_pattern> last;
};

/// The number of the layer that a key belongs to, or std::nullopt.
RESHARD_DECL std::optional<index_t> layer_of(std::string_view key, layout_stages const& stages);

/// A layout file that has rules.
struct layout_rules {
    std::string file;
    mesh ranks;
    std::optional<layout_stages> stages;
    vector<layout_rule> rules;

    /// The first rule that matches a key; null if none does.
    layout_rule const* rule_of(std::string const& key) const {
        auto const rule =
            std::ranges::find_if(rules, [&](layout_rule const& r) { return r.match.matches(key); });
        return rule == rules.end() ? nullptr : &*rule;
    }
};

/// The rules of a layout file; `apply` gives the layout of a catalog.
///
/// \throws error with errc::bad_layout, or errc::limit_exceeded for a mesh of more than 2^22 ranks,
///         that names the file and the position in it
RESHARD_DECL layout_rules layout_rules_from(json_cursor const& root, std::string_view file);

} // namespace reshard::detail

namespace reshard {

/// The layout that the rules give the tensors of a catalog.
///
/// The first rule that matches a key applies. A key without a rule is replicated on its stage or
/// over the mesh, and a note says so. Other notes name each rule, stage pattern and stage layer
/// that no key matches. A key that belongs to several stages is on each of them.
///
/// \throws error with errc::bad_layout that names file, key, axis and both numbers if a rule does
///         not fit a tensor
RESHARD_DECL detail::layout_table apply(detail::layout_rules const& rules, catalog const& tensors);

} // namespace reshard

namespace reshard::detail {

/// The number of ranks that the file states, or the largest rank plus one.
RESHARD_DECL holder_t rank_count(json_cursor const& root, vector<layout_row> const& rows);

/// The text of a layout file in the explicit form, one line per shard.
///
/// \post `parse_layout_file` gives the same table, except for file and notes
RESHARD_DECL std::string to_json(layout_table const& table);

/// A layout file: the shards themselves, or rules that need shapes.
using layout_file = std::variant<layout_table, layout_rules>;

/// True if `table_of` needs a catalog with the shapes of all keys.
RESHARD_DECL bool needs_shapes(layout_file const& file);

/// The files that ranks wrote, each with the shards of its rank, and how the tensors are cut.
struct rank_files {
    std::string pattern; ///< pattern of file names, such as `consolidated.{rank:02}.pth`
    layout_rules rules;
};

/// \throws error as `read_layout_file`; with errc::bad_layout for a block-cyclic cut, which is not
///         supported for files of ranks
RESHARD_DECL rank_files read_rank_files(std::filesystem::path const& path);

/// \throws error with errc::syntax if it is not JSON: `file:line:column: ...`; with
///         errc::bad_layout if it is not a layout, and errc::limit_exceeded for more than 2^22
///         ranks; they name the file, the position in it, key, axis and both numbers
RESHARD_DECL layout_file parse_layout_file(std::string_view text, std::string_view file);

/// \throws error with errc::missing_file, errc::corrupt_file if it is not a file, or errc::io; see
///         also `parse_layout_file`
RESHARD_DECL layout_file read_layout_file(std::filesystem::path const& path);

/// The shards of a layout file. If the file lists the shards, `shapes` is ignored.
///
/// \throws error with errc::bad_layout if a rule does not fit a tensor
RESHARD_DECL layout_table table_of(layout_file const& file, catalog const& shapes);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/layout_file.ipp>
#include <reshard/format/impl/layout_rules.ipp>
#include <reshard/format/impl/layout_table.ipp>
#endif

#endif
