// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_LAYOUT_FILE_IPP
#define RESHARD_FORMAT_IMPL_LAYOUT_FILE_IPP

#include <reshard/format/layout_file.hpp>

#include <reshard/format/apply_rules.hpp>
#include <reshard/format/explicit_layout.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>

#include <tuple>

namespace reshard::detail {

RESHARD_DECL bool needs_shapes(layout_file const& file) {
    return std::holds_alternative<layout_rules>(file);
}

RESHARD_DECL layout_file parse_layout_file(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::syntax);
    json_cursor const root(document, file, errc::bad_layout);
    if (root.find("tensors"))
        return explicit_layout(root, file);
    if (root.find("mesh"))
        return layout_rules_from(root, file);
    root.refuse("this is not a layout, which has either 'tensors' or 'mesh' and 'rules'");
}

RESHARD_DECL layout_file read_layout_file(std::filesystem::path const& path) {
    return parse_layout_file(read_text_file(path), path.string());
}

RESHARD_DECL layout_table table_of(layout_file const& file, catalog const& shapes) {
    if (auto const* const rules = std::get_if<layout_rules>(&file))
        return apply(*rules, shapes);
    return std::get<layout_table>(file);
}

RESHARD_DECL layout_table const& explicit_table(layout_file const& file) {
    if (auto const* const rules = std::get_if<layout_rules>(&file))
        fail(errc::bad_layout, rules->file +
                                   ": a layout of rules has no shapes of its own, so it can "
                                   "stand for a target only; a source needs the explicit form");
    return std::get<layout_table>(file);
}

} // namespace reshard::detail

#endif
