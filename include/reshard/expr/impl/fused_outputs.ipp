// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP
#define RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP

#include <reshard/expr/fused_outputs.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The attributes of a statement, with that axis.
inline std::string with_axis(std::string_view macro, index_t axis) {
    std::string text;
    while (!macro.empty()) {
        std::size_t const end = std::min(macro.find(", "), macro.size());
        if (!macro.starts_with("axis="))
            text += std::string(macro.substr(0, end)) + ", ";
        macro.remove_prefix(std::min(end + 2, macro.size()));
    }
    return text + "axis=" + std::to_string(axis);
}

RESHARD_DECL std::optional<fused_tensor> fused_after(fused_tensor known, index_vector const& shape,
                                                     expression const& made) {
    if (made.pieces.size() != 1)
        return std::nullopt;
    piece const only = made.pieces[0];
    if (only.joins.any() || only.source_box() != whole(shape) ||
        only.target_box() != whole(made.shape))
        return std::nullopt;
    std::size_t axis = 0;
    while (axis < made.ndim() && only.order[axis] != static_cast<std::size_t>(known.axis))
        ++axis;
    if (auto const now = static_cast<index_t>(axis); now != known.axis)
        known = {now, known.blocks, known.macro.empty() ? "" : with_axis(known.macro, now)};
    return known;
}

/// Declares what is known of an output that is all of a fused tensor of the source.
inline void carry(mapping& program, mapping_output const& output, fused_tensors const& known) {
    if (output.value.pieces.size() != 1 ||
        output.value.pieces.source(0) >= program.sources().size())
        return;
    key_id const source = output.value.pieces.source(0);
    auto const found = known.find(program.sources().key(source));
    if (found == known.end())
        return;
    if (auto made = fused_after(found->second, program.sources()[source].shape, output.value))
        program.fuse(output.key, std::move(*made));
}

RESHARD_DECL void carry_fused(mapping& program, layout const& source) {
    if (!source.fused.empty())
        for (mapping_output const& output : program.outputs())
            carry(program, output, source.fused);
    for (relation const& one : program.relations())
        if (one.what == relation::kind::state)
            if (auto const known = program.fused().find(one.key); known != program.fused().end())
                program.fuse(one.companion, known->second);
}

inline std::string fault_text(std::string const& key, fused_tensor const& made,
                              catalog_entry const& wanted, index_t parts) {
    return "'" + key + "', shape " + to_string(wanted.shape) + ", is interleaved in " +
           counted(made.blocks, "part") + " along axis " + std::to_string(made.axis) +
           ", and the target cuts it there into " + std::to_string(parts) +
           ", so that ranks would get elements of wrong tensors; make it anew " +
           (made.macro.empty() ? "for as many parts"
                               : "with the statement  " + key + " -> " + key + ", " + made.macro);
}

RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target) {
    if (program.fused().empty())
        return std::nullopt;
    catalog const wanted = catalog_of(target);
    for (auto const& [key, made] : program.fused()) {
        catalog_entry const* const entry = wanted.find(key);
        auto const axis = static_cast<std::size_t>(made.axis);
        if (!entry || axis >= entry->shape.size())
            continue;
        index_t const parts = entry->parts[axis];
        if (parts != 1 && (parts != made.blocks || !entry->is_even(axis)))
            return fault_text(key, made, *entry, parts);
    }
    return std::nullopt;
}

RESHARD_DECL void check_fused(mapping const& program, layout const& target) {
    if (auto const fault = find_fused_fault(program, target))
        fail(errc::bad_layout, *fault,
             "; where the parts are put together before they are used, as by FSDP, cut_fused "
             "allows it");
}

} // namespace reshard::detail

#endif
