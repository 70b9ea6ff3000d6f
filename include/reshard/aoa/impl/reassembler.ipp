// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_REASSEMBLER_IPP
#define RESHARD_AOA_IMPL_REASSEMBLER_IPP

#include <reshard/aoa/reassembler.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/expr/losses.hpp>
#include <reshard/layout/cover.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL std::optional<reassembled> reassembly::find(std::string_view key) {
    if (ids_.empty())
        sort();
    auto const match = ids_.find(key);
    if (match == ids_.end())
        return std::nullopt;
    key_id const source = match->second;
    vector<found_piece> const pieces = needed(source);
    box const box = whole(map_.sources()[source].shape);
    if (pieces.empty() || pieces.size() > most)
        return std::nullopt;
    vector<vector<index_t>> cuts;
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < box.ndim(); ++axis) {
        cuts.push_back(cuts_along(axis, pieces, box));
        count *= cuts.back().size() - 1;
        if (count > most)
            return std::nullopt;
    }
    return fill(cuts, pieces, count);
}

RESHARD_DECL void reassembly::sort() {
    for (key_id id = 0; id < map_.sources().size(); ++id)
        ids_.emplace(map_.sources()[id].key, id);
    for (mapping_output const& output : map_.outputs())
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            by_source_[output.value.pieces.source(i)].emplace_back(&output, i);
}

RESHARD_DECL bool reassembly::is_reversible(piece const& candidate) {
    return !find_rounding(candidate) &&
           is_castable(result(candidate.stored, candidate.steps), candidate.stored);
}

RESHARD_DECL auto reassembly::needed(key_id source) -> vector<found_piece> {
    vector<found_piece> pieces;
    box_list regions(map_.sources()[source].shape.size());
    for (auto const& [output, index] : by_source_[source]) {
        piece const covering = output->value.pieces[index];
        box const region = covering.source_box();
        if (!is_reversible(covering) || !uncovered(region, box_index(regions)))
            continue;
        pieces.push_back({output, covering, region});
        regions.push_back(region);
        if (pieces.size() > most)
            return pieces;
    }
    if (uncovered(whole(map_.sources()[source].shape), box_index(regions)))
        pieces.clear();
    return pieces;
}

RESHARD_DECL vector<index_t>
reassembly::cuts_along(std::size_t axis, vector<found_piece> const& pieces, box const& box) {
    vector<index_t> cuts{0, box.shape[axis]};
    for (found_piece const& piece : pieces) {
        cuts.push_back(piece.region.offset[axis]);
        cuts.push_back(piece.region.offset[axis] + piece.region.shape[axis]);
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    return cuts;
}

RESHARD_DECL reassembled reassembly::fill(vector<vector<index_t>> const& cuts,
                                          vector<found_piece> const& pieces, std::size_t count) {
    reassembled grid;
    for (auto const& along : cuts)
        grid.counts.push_back(static_cast<index_t>(along.size()) - 1);
    for (std::size_t i = 0; i < count; ++i) {
        index_vector const at = unravel_index(static_cast<index_t>(i), grid.counts);
        box region{at, at};
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
            auto const first = cuts[axis].begin() + at[axis];
            region.offset[axis] = first[0];
            region.shape[axis] = first[1] - first[0];
        }
        auto const holder = std::ranges::find_if(
            pieces, [&](found_piece const& piece) { return contains(piece.region, region); });
        grid.cells.push_back({region, holder->output, holder->covering});
    }
    return grid;
}

RESHARD_DECL name reverse_statement::fresh(name const& like, std::string_view ending) {
    return code_.make_fresh(std::string(code_.text(like)) + std::string(ending), like.where);
}

RESHARD_DECL void reverse_statement::add(name const& from, name const& to, attribute_list list,
                                         statement const& like) {
    written_.push_back(code_.make_statement({&from, 1}, {&to, 1}, with(like, std::move(list))));
}

RESHARD_DECL void reverse_statement::add_concat(vector<name> const& from, name const& to,
                                                index_t axis, statement const& like) {
    written_.push_back(code_.make_statement(
        from, {&to, 1}, with(like, {attribute{"axis", axis, '\0', like.where}})));
}

RESHARD_DECL void reverse_statement::add_bare(name const& from, name const& to,
                                              statement const& like) {
    written_.push_back(code_.make_statement({&from, 1}, {&to, 1}, with(like, {})));
}

RESHARD_DECL void reverse_statement::add_inverse(statement const& statement,
                                                 inverse_statement inverse,
                                                 vector<std::optional<name>> const& to) {
    vector<name> wanted;
    for (std::optional<name> const& each : to)
        if (each)
            wanted.push_back(*each);
    if (wanted.size() == to.size())
        add_whole(statement, std::move(inverse), wanted);
    else
        add_parts(statement, std::move(inverse), to);
}

RESHARD_DECL void reverse_statement::replace_statements() {
    code_.replace_statements(std::move(written_));
}

RESHARD_DECL bool reverse_statement::are_same(name const& a, name const& b) {
    return a.kind == b.kind && a.id == b.id;
}

RESHARD_DECL void reverse_statement::add_parts(statement statement, inverse_statement inverse,
                                               vector<std::optional<name>> const& to) {
    name const from = code_.right(statement)[0];
    for (bool const is_last : {false, true})
        for (std::size_t k = 0; k < to.size(); ++k) {
            if (!to[k] || are_same(*to[k], from) != is_last)
                continue;
            attribute_list list = inverse.operands[0];
            list.push_back(inverse.cuts[k]);
            append(list, inverse.results[k]);
            append(list, std::exchange(inverse.declared, {}));
            written_.push_back(
                code_.make_statement({&from, 1}, {&*to[k], 1}, with(statement, std::move(list))));
        }
}

RESHARD_DECL void reverse_statement::add_whole(statement statement, inverse_statement inverse,
                                               vector<name> const& to) {
    auto const right = code_.right(statement);
    vector<name> from(right.begin(), right.end());
    attribute_list list;
    if (inverse.are_equal(inverse.operands))
        list = std::move(inverse.operands[0]);
    else
        change(statement, inverse.operands, from);
    append(list, inverse.join);
    vector<name> results = to;
    bool const is_uniform = inverse.are_equal(inverse.results);
    if (is_uniform)
        append(list, inverse.results[0]);
    append(list, inverse.declared);
    for (std::size_t k = 0; !is_uniform && k < results.size(); ++k)
        results[k] = fresh(results[k], "_part");
    written_.push_back(code_.make_statement(from, results, with(statement, std::move(list))));
    for (std::size_t k = 0; !is_uniform && k < to.size(); ++k)
        written_.push_back(code_.make_statement({&results[k], 1}, {&to[k], 1},
                                                with(statement, std::move(inverse.results[k]))));
}

RESHARD_DECL void reverse_statement::change(statement const& like, vector<attribute_list>& lists,
                                            vector<name>& names) {
    for (std::size_t k = 0; k < names.size(); ++k) {
        name const changed = fresh(names[k], "_part");
        written_.push_back(
            code_.make_statement({&names[k], 1}, {&changed, 1}, with(like, std::move(lists[k]))));
        names[k] = changed;
    }
}

RESHARD_DECL statement reverse_statement::with(statement const& like, attribute_list list) {
    statement statement = like;
    statement.attributes = code_.make_attributes(std::move(list));
    return statement;
}

RESHARD_DECL reassembler::reassembler(program& code, reverse_statement& written, mapping const& map)
    : code_(code), written_(written), found_(map) {}

RESHARD_DECL std::optional<name> reassembler::write(catalog_entry const& entry,
                                                    statement const& like) {
    auto const grid = found_.find(entry.key);
    if (!grid)
        return std::nullopt;
    attribute_list declared;
    for (attribute const& attribute : code_.attributes(like))
        if (attribute.word == "scales" || attribute.word == "blocks")
            declared.push_back(attribute);
    vector<name> names;
    for (reassembled::cell const& cell : grid->cells) {
        attribute_list list = steps(cell, like.where);
        list.insert(list.end(), declared.begin(), declared.end());
        std::string const& key = cell.output->key;
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

RESHARD_DECL attribute_list reassembler::steps(reassembled::cell const& cell, text_span where) {
    piece const& covering = cell.covering;
    index_vector const& shape = cell.output->value.shape;
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
    if (result(covering.stored, covering.steps) != covering.stored)
        list.push_back(text("dtype", std::string(reshard::name(covering.stored)), where));
    if (cell.region != source)
        list.push_back(slice(relative_to(cell.region, source.offset), source.shape, where));
    return list;
}

RESHARD_DECL name reassembler::joined(vector<name> names, reassembled const& grid,
                                      statement const& like) {
    for (std::size_t axis = grid.counts.size(); axis-- > 0;) {
        auto const count = static_cast<std::size_t>(grid.counts[axis]);
        if (count == 1)
            continue;
        vector<name> rows;
        for (std::size_t first = 0; first < names.size(); first += count) {
            rows.push_back(written_.fresh(names[first], ""));
            vector<name> const row(names.begin() + static_cast<std::ptrdiff_t>(first),
                                   names.begin() + static_cast<std::ptrdiff_t>(first + count));
            written_.add_concat(row, rows.back(), static_cast<index_t>(axis), like);
        }
        names = std::move(rows);
    }
    return names.front();
}

} // namespace reshard::aoa::detail

#endif
