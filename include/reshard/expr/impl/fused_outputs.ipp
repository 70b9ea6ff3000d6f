// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP
#define RESHARD_EXPR_IMPL_FUSED_OUTPUTS_IPP

#include <reshard/expr/fused_outputs.hpp>

#include <reshard/core/error.hpp>
#include <reshard/expr/impl/deinterleave.ipp>
#include <reshard/expr/impl/member_pieces.ipp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Replaces the axis among a macro's attributes.
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

/// The facts about a fused tensor after its fused axis became axis `axis`.
inline fused_tensor along_axis(fused_tensor tensor, index_t axis) {
    if (axis != tensor.axis && !tensor.macro.empty())
        tensor.macro = with_axis(tensor.macro, axis);
    tensor.axis = axis;
    return tensor;
}

/// The facts about a piece's fused source, if the piece has all of the fused axis and the output
/// keeps it as an axis; otherwise std::nullopt.
inline std::optional<fused_tensor> fused_source(piece const& piece, expression const& output,
                                                source_list const& sources,
                                                fused_tensors const& tensors) {
    if (piece.source >= sources.size())
        return std::nullopt;
    auto const match = tensors.find(sources.key(piece.source));
    if (match == tensors.end())
        return std::nullopt;
    auto const along = static_cast<std::size_t>(match->second.axis);
    auto const axis = same_axis(piece, along);
    index_vector const made_shape = piece.target_box().shape, shape = sources[piece.source].shape;
    if (!axis || made_shape[*axis] != shape[along] || made_shape[*axis] != output.shape[*axis])
        return std::nullopt;
    return along_axis(match->second, static_cast<index_t>(*axis));
}

/// Whether the zeros of an output fill whole columns along an axis.
inline bool has_whole_zeros(expression const& value, std::size_t axis) {
    for (std::size_t i = 0; i < value.pieces.size(); ++i)
        if (value.pieces.source(i) == zero_source &&
            value.pieces.target_box(i).shape[axis] != value.shape[axis])
            return false;
    return true;
}

/// Declares the facts about an output that consists of source tensors fused in the same way, and
/// perhaps of zeros. The declaration of a macro has priority.
inline void carry(mapping& program, mapping_output const& output, fused_tensors const& tensors) {
    if (program.fused().contains(output.key))
        return;
    piece_list const& pieces = output.value.pieces;
    std::optional<fused_tensor> tensor;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces.source(i) == zero_source)
            continue;
        auto const here = fused_source(pieces[i], output.value, program.sources(), tensors);
        if (!here || (tensor && *tensor != *here))
            return;
        tensor = here;
    }
    if (tensor && has_whole_zeros(output.value, static_cast<std::size_t>(tensor->axis)))
        program.fuse(output.key, std::move(*tensor));
}

RESHARD_DECL void carry_fused(mapping& program, layout const& source) {
    if (!source.fused.empty())
        for (mapping_output const& output : program.outputs())
            carry(program, output, source.fused);
    for (relation const& relation : program.relations())
        if (relation.type == relation::kind::state)
            if (auto const match = program.fused().find(relation.key);
                match != program.fused().end() && !program.fused().contains(relation.companion))
                program.fuse(relation.companion, match->second);
}

/// Describes the wrong cut of a fused tensor by a target, and its consequence.
///
/// \param box a shard that is not one of the tensor's parts
inline std::string cut_text(catalog_entry const& wanted, std::size_t axis,
                            std::optional<box> const& box) {
    index_t const parts = wanted.parts[axis];
    if (wanted.is_scattered(axis))
        return words(", but rank ", wanted.scattered.rank, " of the target holds ",
                     wanted.scattered.held,
                     " boxes there, so that ranks would get elements of the wrong tensors");
    bool const is_listed = parts == 1 || wanted.is_even(axis);
    if (box && is_listed && box->shape[axis] * parts != wanted.shape[axis])
        return words(", but a shard of the target has ", box->shape[axis], " of ",
                     wanted.shape[axis], " positions there, from ", box->offset[axis],
                     " on, so that ranks would get elements of the wrong tensors");
    if (parts == 1)
        return ", but the target does not cut it there, so that each rank would read the tensors "
               "interleaved, not one after another";
    return words(", but the target cuts it there into ", parts,
                 wanted.is_even(axis) ? " parts" : " unequal parts",
                 ", so that ranks would get elements of the wrong tensors");
}

/// The statement that adapts a fused tensor to the target.
inline std::string remedy(std::string const& key, fused_tensor const& tensor, bool is_scattered) {
    if (tensor.macro.empty())
        return "; fuse it again for that number of parts";
    std::string const macro = ", " + tensor.macro, parts = operands_of(tensor.macro);
    if (is_scattered)
        return "; take it apart with the statement  " + key + " -> " + parts + macro +
               "  and write the plain concatenation  " + parts + " -> " + key +
               words(", axis=", tensor.axis);
    return "; rebuild it with the statement  " + key + " -> " + key + macro;
}

RESHARD_DECL std::optional<std::string> find_fused_fault(mapping const& program,
                                                         layout const& target) {
    if (program.fused().empty())
        return std::nullopt;
    catalog const wanted = catalog_of(target);
    for (auto const& [key, result] : program.fused()) {
        catalog_entry const* const entry = wanted.find(key);
        auto const axis = static_cast<std::size_t>(result.axis);
        if (!entry || axis >= entry->shape.size())
            continue;
        bool const is_scattered = entry->is_scattered(axis);
        shard_table const* const list = listed_shards(target, key);
        auto const other =
            list ? find_other_shard(*list, entry->shape[axis], axis, result.blocks) : std::nullopt;
        bool const is_fit =
            list ? !other : entry->parts[axis] == result.blocks && entry->is_even(axis);
        if (!is_fit || is_scattered)
            return fused_text_of(key, entry->shape, result) + cut_text(*entry, axis, other) +
                   remedy(key, result, is_scattered);
    }
    return std::nullopt;
}

RESHARD_DECL void check_fused(mapping const& program, layout const& target) {
    if (auto const fault = find_fused_fault(program, target))
        fail(errc::bad_layout, *fault,
             "; if the parts are gathered before they are used, as FSDP does, cut_fused allows "
             "it");
}

/// The number of elements that an output takes from each part of a fused source tensor.
struct parts_taken {
    key_id source;
    fused_tensor const* made;
    member_places members;
    vector<index_t> elements; ///< of each part
    bool crosses = false;     ///< a piece has elements of several tensors or parts
    index_t first = 0;        ///< the first index along the axis
    bool is_sized = false;    ///< the extents of its tensors are known

    bool is_even() const {
        return std::ranges::all_of(elements, [&](index_t n) { return n == elements[0]; });
    }
};

/// The fused tensors among the sources of a mapping, by number.
class fused_sources {
public:
    fused_sources(mapping const& program, fused_tensors const& tensors)
        : sources_(program.sources()),
          known_(tensors),
          apart_(program.apart()),
          made_(sources_.size()) {
        for (key_id id = 0; id < made_.size(); ++id)
            if (auto const match = tensors.find(sources_.key(id)); match != tensors.end())
                if (has_parts(sources_[id].shape, match->second))
                    made_[id] = &match->second;
        for (relation const& relation : program.relations())
            if ((relation.type == relation::kind::state ||
                 relation.type == relation::kind::scale) &&
                apart_.contains(relation.key) && !apart_.contains(relation.companion))
                followed_.emplace(relation.companion, relation.key);
    }

    /// The number of elements that an output takes from the parts of each fused tensor.
    vector<parts_taken> taken_by(expression const& value) const {
        vector<parts_taken> taken;
        for (std::size_t i = 0; i < value.pieces.size(); ++i) {
            key_id const id = value.pieces.source(i);
            if (id < made_.size() && made_[id])
                add(place_of(taken, id), value.pieces[i].source_box());
        }
        return taken;
    }

    /// Whether an output alternates the tensors of a fused tensor that no macro took apart.
    ///
    /// \pre each piece has elements of only one of these tensors
    bool are_in_turns(mapping_output const& output, parts_taken const& taken) const {
        std::size_t const along = axis(taken.source);
        auto pieces = member_pieces(output.value.pieces, taken);
        auto const is_first = [&](auto const& element) {
            return element.member == pieces[0].member;
        };
        if (std::ranges::all_of(pieces, is_first) || is_taken_apart(output.key, taken))
            return false;
        for (std::size_t k = 0; k < output.value.ndim(); ++k)
            if (are_interleaved(pieces, k, along, taken.is_sized))
                return true;
        return false;
    }

    /// Describes an output that follows a tensor which macros took apart into other parts.
    std::optional<std::string> find_other_parts(mapping_output const& output) const {
        auto const followed = followed_.find(output.key);
        if (followed == followed_.end())
            return std::nullopt;
        for (auto const& [id, fused_source] : fused_sources_of(output, sources_, known_)) {
            auto const& elements = apart_.find(followed->second)->second;
            auto const blocks = [](taken_apart const& split_source) {
                return split_source.fused.blocks;
            };
            if (std::ranges::find(elements, fused_source->blocks, blocks) == elements.end())
                return fused_text_of(sources_.key(id), sources_[id].shape, *fused_source) +
                       ", but '" + output.key + "' is taken apart as its parameter '" +
                       std::string(followed->second) + "', which has " +
                       counted(blocks(elements.front()), "part") +
                       "; first convert with a layout that cuts both into the same number of "
                       "parts, or cuts neither";
        }
        return std::nullopt;
    }

private:
    /// Whether a tensor has several equal parts, and no more of them than a job has ranks.
    static bool has_parts(index_vector const& shape, fused_tensor const& tensor) {
        constexpr index_t most = 1 << 20;
        auto const axis = static_cast<std::size_t>(tensor.axis);
        return axis < shape.size() && tensor.blocks > 1 && tensor.blocks <= most &&
               shape[axis] > 0 && shape[axis] % tensor.blocks == 0;
    }

    vector<member_piece> member_pieces(piece_list const& pieces, parts_taken const& taken) const {
        std::size_t const along = axis(taken.source);
        index_t const step = sources_[taken.source].shape[along] / taken.made->blocks;
        vector<member_piece> member_pieces;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (pieces.source(i) != taken.source)
                continue;
            piece const piece = pieces[i];
            box const from = piece.source_box();
            index_t const first = from.offset[along];
            auto const member = static_cast<index_t>(taken.members.at(first));
            member_pieces.push_back(
                {taken.is_sized ? member : first % step, first / step, piece.target_box(), from});
        }
        return member_pieces;
    }

    /// Whether macros took a fused tensor apart correctly for an output or for its parameter.
    bool is_taken_apart(std::string const& output, parts_taken const& taken) const {
        index_t const extent = sources_[taken.source].shape[axis(taken.source)];
        auto const sizes = member_sizes(*taken.made, extent);
        auto const is_wrong = [&](taken_apart const& split_source) {
            return split_source.fused.blocks != taken.made->blocks ||
                   (!sizes.empty() && member_sizes(split_source.fused, extent) != sizes);
        };
        auto const followed = followed_.find(output);
        auto const match = apart_.find(followed != followed_.end() ? followed->second : output);
        if (match == apart_.end())
            return false;
        vector<taken_apart> split_sources = match->second;
        if (followed == followed_.end())
            erase_if(split_sources,
                     [&](auto const& element) { return element.source != taken.source; });
        return !split_sources.empty() && std::ranges::none_of(split_sources, is_wrong);
    }

    parts_taken& place_of(vector<parts_taken>& taken, key_id id) const {
        auto const position = std::ranges::find(taken, id, &parts_taken::source);
        if (position != taken.end())
            return *position;
        fused_tensor const& tensor = *made_[id];
        index_t const extent = sources_[id].shape[axis(id)];
        vector<index_t> sizes = member_sizes(tensor, extent);
        bool const is_sized = !sizes.empty();
        if (!is_sized)
            sizes = {extent};
        return taken.emplace_back(id, &tensor, member_places(sizes, tensor.blocks),
                                  vector<index_t>(static_cast<std::size_t>(tensor.blocks)), false,
                                  extent, is_sized);
    }

    std::size_t axis(key_id id) const { return static_cast<std::size_t>(made_[id]->axis); }

    void add(parts_taken& taken, box const& region) const {
        std::size_t const along = axis(taken.source);
        index_t const step = sources_[taken.source].shape[along] / taken.made->blocks;
        index_t const begin = region.offset[along], end = region.end(along);
        index_t const others = element_count(region) / region.shape[along];
        for (index_t part = begin / step; part * step < end; ++part)
            taken.elements[static_cast<std::size_t>(part)] +=
                others * (std::min(end, (part + 1) * step) - std::max(begin, part * step));
        taken.crosses = taken.crosses || taken.members.end(begin) < end ||
                        (!taken.is_sized && end - begin == step);
        taken.first = std::min(taken.first, begin);
    }

    source_list const& sources_;
    fused_tensors const& known_;
    taken_apart_lists const& apart_;
    vector<fused_tensor const*> made_;                           ///< null: not fused
    std::map<std::string_view, std::string_view> followed_ = {}; ///< parameters by their states
};

/// `24 elements of each of the parts 0 to 1, none of the parts 2 to 3`.
inline std::string taken_text(vector<index_t> const& elements) {
    std::string text;
    for (std::size_t first = 0, last = 0; first < elements.size(); first = last) {
        while (last < elements.size() && elements[last] == elements[first])
            ++last;
        std::string const parts = last - first == 1
                                      ? words("part ", first)
                                      : words("each of the parts ", first, " to ", last - 1);
        text += (text.empty() ? "" : ", ") +
                (elements[first] == 0 ? "none" : counted(elements[first], "element")) + " of " +
                parts;
    }
    return text;
}

/// The outputs that take elements from a fused tensor, in order, as names for a statement.
inline std::string receivers_of(mapping const& program, fused_sources const& sources,
                                parts_taken const& from) {
    vector<std::pair<index_t, std::string>> receivers;
    for (mapping_output const& output : program.outputs())
        for (parts_taken const& taken : sources.taken_by(output.value))
            if (taken.source == from.source)
                receivers.emplace_back(taken.first, output.key);
    std::ranges::sort(receivers);
    std::string names;
    for (auto const& [first, key] : receivers)
        names += (names.empty() ? "" : ", ") + key;
    return receivers.size() == member_weights(from.made->macro).size()
               ? names
               : operands_of(from.made->macro);
}

/// Describes why it is wrong how much an output takes from the parts of a fused tensor.
inline std::string taken_fault(mapping const& program, fused_sources const& sources,
                               std::string const& output, parts_taken const& taken) {
    mapping_source const from = program.sources()[taken.source];
    std::string const key(from.key);
    std::string const text =
        fused_text_of(key, from.shape, *taken.made) + ", but '" + output + "' ";
    if (taken.is_even())
        return text +
               (taken.crosses
                    ? "reshapes it, so its tensors can no longer be identified"
                    : "alternates pieces of its tensors, so it would be interleaved without a "
                      "note") +
               remedy(key, *taken.made, true);
    return text + "takes " + taken_text(taken.elements) +
           (taken.made->macro.empty()
                ? "; take it apart part by part"
                : "; take it apart with the statement  " + key + " -> " +
                      receivers_of(program, sources, taken) + ", " + taken.made->macro);
}

RESHARD_DECL std::optional<std::string> find_torn_fused(mapping const& program,
                                                        layout const& source) {
    if (source.fused.empty())
        return std::nullopt;
    if (auto fault = find_fused_again(program, source.fused))
        return fault;
    fused_sources const sources(program, source.fused);
    for (mapping_output const& output : program.outputs()) {
        if (auto fault = sources.find_other_parts(output))
            return fault;
        for (parts_taken const& taken : sources.taken_by(output.value))
            if (!taken.is_even() || (!program.fused().contains(output.key) &&
                                     (taken.crosses || sources.are_in_turns(output, taken))))
                return taken_fault(program, sources, output.key, taken);
    }
    return std::nullopt;
}

RESHARD_DECL void check_torn(mapping const& program, layout const& source) {
    if (auto const fault = find_torn_fused(program, source))
        fail(errc::bad_layout, *fault, "; if that is intended, cut_fused allows it");
}

} // namespace reshard::detail

#endif
