// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_LAYOUT_FILE_HPP
#define RESHARD_FORMAT_LAYOUT_FILE_HPP

#include <reshard/format/apply_rules.hpp>
#include <reshard/format/explicit_layout.hpp>
#include <reshard/format/text_file.hpp>

#include <variant>

/// \file
/// Layouts as JSON files, in both of their forms.

namespace reshard {

/// A layout file: the shards themselves, or rules that need to be told shapes.
using layout_file = std::variant<layout_table, layout_rules>;

/// True where `table_of` needs a catalog with the shapes of all keys.
inline bool needs_shapes(layout_file const& file) {
    return std::holds_alternative<layout_rules>(file);
}

/// \throws error with errc::syntax for what is not JSON: `file:line:column: ...`; with errc::bad_layout
///         for what is not a layout, and errc::limit_exceeded for more than 2^22 ranks: the file, the
///         place in it, key, axis and both numbers
inline layout_file parse_layout_file(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    if (root.find("tensors"))
        return explicit_layout(root, file);
    if (root.find("mesh"))
        return layout_rules_from(root, file);
    root.refuse("this is no layout: that has either 'tensors' or 'mesh' and 'rules'");
}

/// \throws error with errc::missing_file or errc::io; see also `parse_layout_file`
inline layout_file read_layout_file(std::filesystem::path const& path) {
    return parse_layout_file(read_text_file(path), path.string());
}

/// The shards of a layout file. An explicit one has its own shapes, and takes nothing of `shapes`.
///
/// \throws error with errc::bad_layout where a rule does not fit a tensor
inline layout_table table_of(layout_file const& file, catalog const& shapes) {
    if (auto const* const rules = std::get_if<layout_rules>(&file))
        return apply(*rules, shapes);
    return std::get<layout_table>(file);
}

/// The shards of a layout file that stands for a source, and so must bring its own shapes.
///
/// \throws error with errc::bad_layout for the rules form
inline layout_table const& explicit_table(layout_file const& file) {
    if (auto const* const rules = std::get_if<layout_rules>(&file))
        fail(errc::bad_layout, rules->file +
                                   ": a layout of rules has no shapes of its own, so it can "
                                   "stand for a target only; a source needs the explicit form");
    return std::get<layout_table>(file);
}

} // namespace reshard

#endif
