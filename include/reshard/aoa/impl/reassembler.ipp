// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_REASSEMBLER_IPP
#define RESHARD_AOA_IMPL_REASSEMBLER_IPP

#include <reshard/aoa/reassembler.hpp>

#include <reshard/core/cast_chain.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>

namespace reshard::aoa::detail {

RESHARD_DECL reassembler::reassembler(program& code, mirror& written, mapping const& map)
    : code_(code), written_(written), found_(map) {}

RESHARD_DECL std::optional<name> reassembler::write(catalog_entry const& entry,
                                                    statement const& like) {
    auto const grid = found_.find(entry.key);
    if (!grid)
        return std::nullopt;
    attribute_list declared;
    for (attribute const& one : code_.attributes(like))
        if (one.word == "scales" || one.word == "blocks")
            declared.push_back(one);
    std::vector<name> names;
    for (reassembled::cell const& one : grid->cells) {
        attribute_list list = steps(one, like.where);
        list.insert(list.end(), declared.begin(), declared.end());
        std::string const& key = one.output->key;
        read_.insert(key);
        names.push_back(code_.make_fresh(entry.key, like.where, "_part"));
        written_.add(code_.make_text(key), names.back(), std::move(list), like);
        declared.clear();
    }
    return joined(std::move(names), *grid, like);
}

RESHARD_DECL attribute reassembler::slice(box const& region, index_vector const& shape,
                                          text_span where) {
    std::string list;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        list += (axis == 0 ? "[" : ", ") +
                (region.shape[axis] == shape[axis]
                     ? std::string(":")
                     : std::to_string(region.offset[axis]) + ':' +
                           std::to_string(region.offset[axis] + region.shape[axis]));
    return text("slice", list + ']', where);
}

RESHARD_DECL attribute_list reassembler::steps(reassembled::cell const& one, text_span where) {
    piece const& covering = one.covering;
    index_vector const& shape = one.output->value.shape;
    box const target = covering.target_box(), source = covering.source_box();
    attribute_list list;
    if (target != whole(shape))
        list.push_back(slice(target, shape, where));
    if (target.shape != covering.extent)
        list.push_back(text("reshape", list_text(covering.extent), where));
    index_vector identity;
    for (std::size_t axis = 0; axis < covering.extent.size(); ++axis)
        identity.push_back(static_cast<index_t>(axis));
    if (index_vector const undone = covering.order.undo(identity); undone != identity)
        list.push_back(text("permute", list_text(undone), where));
    if (source.shape != covering.order.undo(covering.extent))
        list.push_back(text("reshape", list_text(source.shape), where));
    if (reshard::detail::result(covering.stored, covering.casts) != covering.stored)
        list.push_back(text("dtype", std::string(reshard::name(covering.stored)), where));
    if (one.region != source)
        list.push_back(
            slice(reshard::detail::relative_to(one.region, source.offset), source.shape, where));
    return list;
}

RESHARD_DECL name reassembler::joined(std::vector<name> names, reassembled const& grid,
                                      statement const& like) {
    for (std::size_t axis = grid.counts.size(); axis-- > 0;) {
        auto const count = static_cast<std::size_t>(grid.counts[axis]);
        if (count == 1)
            continue;
        std::vector<name> rows;
        for (std::size_t first = 0; first < names.size(); first += count) {
            rows.push_back(written_.fresh(names[first], ""));
            std::vector<name> const row(names.begin() + static_cast<std::ptrdiff_t>(first),
                                        names.begin() + static_cast<std::ptrdiff_t>(first + count));
            written_.add_concat(row, rows.back(), static_cast<index_t>(axis), like);
        }
        names = std::move(rows);
    }
    return names.front();
}

} // namespace reshard::aoa::detail

#endif
