// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP
#define RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP

#include <reshard/expr/fused_outputs.hpp>

#include <cstddef>
#include <string>

namespace reshard::detail {

/// The only piece of a tensor that is all of a source tensor, or nothing.
inline std::optional<piece> whole_source(expression const& value, source_list const& sources) {
    if (value.pieces.size() != 1 || value.pieces.source(0) >= sources.size())
        return std::nullopt;
    piece const only = value.pieces[0];
    bool const is_whole = !only.joins.any() &&
                          only.source_box() == whole(sources[only.source].shape) &&
                          only.target_box() == whole(value.shape);
    return is_whole ? std::optional(only) : std::nullopt;
}

/// What is known of an output that is all of a fused tensor of the source, or nothing.
inline std::optional<fused_tensor> carried(mapping_output const& output, source_list const& sources,
                                           std::vector<fused_tensor> const& known) {
    auto const from = whole_source(output.value, sources);
    if (!from)
        return std::nullopt;
    fused_tensor const* const found = find_fused(known, sources.key(from->source));
    if (!found)
        return std::nullopt;
    fused_tensor made = *found;
    made.key = output.key;
    for (std::size_t axis = 0; axis < output.value.ndim(); ++axis)
        if (from->order[axis] == static_cast<std::size_t>(found->axis))
            made.axis = static_cast<index_t>(axis);
    return made;
}

RESHARD_DECL void carry_fused(mapping& program, layout const& source) {
    auto const is_known = [&](std::string const& key) { return find_fused(program.fused(), key); };
    if (!source.fused.empty())
        for (mapping_output const& output : program.outputs())
            if (!is_known(output.key))
                if (auto made = carried(output, program.sources(), source.fused))
                    program.fuse(std::move(*made));
    for (relation const& one : program.relations())
        if (one.what == relation::kind::state && !is_known(one.companion))
            if (fused_tensor const* const known = is_known(one.key)) {
                fused_tensor state = *known;
                state.key = one.companion;
                program.fuse(std::move(state));
            }
}

inline std::string fault_text(fused_tensor const& one, catalog_entry const& wanted, index_t parts) {
    std::string const statement = one.key + " -> " + one.key + ", " + one.macro;
    return "'" + one.key + "', shape " + to_string(wanted.shape) + ", is interleaved in " +
           std::to_string(one.blocks) + (one.blocks == 1 ? " part" : " parts") + " along axis " +
           std::to_string(one.axis) + ", and the target cuts it there into " +
           std::to_string(parts) +
           ", so that ranks would get elements of wrong tensors; make it anew " +
           (one.macro.empty() ? "for as many parts" : "with the statement  " + statement);
}

RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target) {
    if (program.fused().empty())
        return std::nullopt;
    catalog const wanted = catalog_of(target);
    for (fused_tensor const& one : program.fused()) {
        catalog_entry const* const entry = wanted.find(one.key);
        auto const axis = static_cast<std::size_t>(one.axis);
        if (!entry || axis >= entry->shape.size())
            continue;
        index_t const parts = entry->parts[axis];
        if (parts != 1 && (parts != one.blocks || !entry->is_even(axis)))
            return fault_text(one, *entry, parts);
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
