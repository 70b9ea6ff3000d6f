// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP
#define RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP

#include <reshard/expr/fused_outputs.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

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

/// What is known of a fused tensor, of one that has the axis elsewhere.
inline fused_tensor along_axis(fused_tensor known, index_t axis) {
    if (axis != known.axis && !known.macro.empty())
        known.macro = with_axis(known.macro, axis);
    known.axis = axis;
    return known;
}

/// What is known of the source of a piece that has all blocks of it, side by side along an axis of
/// the output; nothing of others.
inline std::optional<fused_tensor> fused_source(piece const& one, expression const& output,
                                                source_list const& sources,
                                                fused_tensors const& known) {
    if (one.source >= sources.size() || one.joins.any())
        return std::nullopt;
    auto const found = known.find(sources.key(one.source));
    if (found == known.end())
        return std::nullopt;
    auto const along = static_cast<std::size_t>(found->second.axis);
    for (std::size_t axis = 0; axis < output.ndim(); ++axis)
        if (one.order[axis] == along && one.extent[axis] == output.shape[axis] &&
            one.extent[axis] == sources[one.source].shape[along])
            return along_axis(found->second, static_cast<index_t>(axis));
    return std::nullopt;
}

/// Declares what is known of an output that is made of fused tensors of the source, all alike.
inline void carry(mapping& program, mapping_output const& output, fused_tensors const& known) {
    std::optional<fused_tensor> made;
    for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
        auto const here =
            fused_source(output.value.pieces[i], output.value, program.sources(), known);
        if (!here || (made && *made != *here))
            return;
        made = here;
    }
    if (made)
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
