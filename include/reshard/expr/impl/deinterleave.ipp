// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_DEINTERLEAVE_IPP
#define RESHARD_EXPR_IMPL_DEINTERLEAVE_IPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/fused_outputs.hpp>

#include <reshard/core/error.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/concat.hpp>
#include <reshard/expr/split.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

/// \file
/// Works on the tensors inside a fused tensor: finds their extents, puts them one after the other,
/// and finds programs that interleave a fused tensor a second time.

namespace reshard::detail {

/// The positive number after `word=` or `other=` in a text, or 0.
inline index_t number_after(std::string_view text, std::string_view word, std::string_view other) {
    for (std::string_view const name : {word, other}) {
        std::size_t const index = text.find(std::string(name) + '=');
        index_t number = 0;
        if (index != text.npos)
            std::from_chars(text.data() + index + name.size() + 1, text.data() + text.size(),
                            number);
        if (number > 0)
            return number;
    }
    return 0;
}

/// The numbers of a list such as `[512, 16]`; empty if a number is less than 1.
inline vector<index_t> numbers_in_list(std::string_view text) {
    text = text.substr(0, text.find(']'));
    text.remove_prefix(std::min(text.size(), text.find('[') + 1));
    vector<index_t> numbers;
    while (!text.empty()) {
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
        index_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (number < 1)
            return {};
        numbers.push_back(number);
        text.remove_prefix(std::min(text.size(), std::min(text.find(','), text.size() - 1) + 1));
    }
    return numbers;
}

/// The ratio of the extents of the tensors that a macro fuses: `{8, 4, 4}` for `fused_qkv_old,
/// num_heads=8, num_key_value_groups=4`; empty for other texts.
inline vector<index_t> member_weights(std::string_view macro) {
    std::string_view const word = macro.substr(0, macro.find(','));
    if (word == "fused_ffn")
        return {1, 1};
    if (word == "fused") {
        std::size_t const index = macro.find("sizes=");
        return index == macro.npos ? vector<index_t>() : numbers_in_list(macro.substr(index));
    }
    if (word != "fused_qkv_old" && word != "fused_qkv")
        return {};
    index_t const heads = number_after(macro, "num_heads", "num_q_heads");
    index_t const groups = number_after(macro, "num_key_value_groups", "num_kv_heads");
    return heads < 1 || groups < 1 ? vector<index_t>() : vector<index_t>{heads, groups, groups};
}

RESHARD_DECL vector<index_t> member_sizes(fused_tensor const& tensor, index_t extent) {
    vector<index_t> sizes = member_weights(tensor.macro);
    index_t sum = 0;
    for (index_t const weight : sizes) {
        if (weight > extent - sum)
            return {};
        sum += weight;
    }
    if (sum < 1 || extent % sum != 0)
        return {};
    for (index_t& size : sizes) {
        size *= extent / sum;
        if (size % tensor.blocks != 0)
            return {};
    }
    return sizes;
}

/// `'w', shape [24, 4], is interleaved in 3 parts along axis 0`.
inline std::string fused_text_of(std::string_view key, index_vector const& shape,
                                 fused_tensor const& tensor) {
    return words("'", key, "', shape ", shape, ", is interleaved in ",
                 counted(tensor.blocks, "part"), " along axis ", tensor.axis);
}

/// Names for the tensors that a macro fuses.
inline std::string operands_of(std::string_view macro) {
    if (macro.starts_with("fused_ffn"))
        return "gate, up";
    if (macro.starts_with("fused_qkv"))
        return "q, k, v";
    std::string names;
    for (std::size_t i = 0; i < member_weights(macro).size(); ++i)
        names += (i == 0 ? "part_" : ", part_") + std::to_string(i);
    return names;
}

/// More blocks than any job has ranks; a damaged file may contain such a number.
inline constexpr index_t too_many_blocks = (1 << 20) + 1;

/// Rearranges a fused tensor: the tensors that were fused follow each other.
inline expression deinterleaved(expression const& fused, std::size_t axis, index_t blocks,
                                vector<index_t> const& sizes) {
    vector<index_t> cuts;
    for (index_t block = 0; block < blocks; ++block)
        for (index_t const size : sizes)
            cuts.push_back(size / blocks);
    auto const pieces = split(fused, axis, cuts);
    vector<expression> order;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        for (std::size_t n = i; n < pieces.size(); n += sizes.size())
            order.push_back(pieces[n]);
    return concat(order, axis);
}

/// The shards of a tensor, if a layout lists them and no shard is block-cyclic; otherwise null.
inline shard_table const* listed_shards(layout const& target, std::string_view key) {
    tensor_layout const* const layout = target.find(key);
    auto const* const list =
        layout ? std::get_if<shard_table>(&target.spread_of(*layout).shards) : nullptr;
    for (std::size_t i = 0; list && i < list->size(); ++i)
        if (!list->cycles(i).empty())
            return nullptr;
    return list;
}

/// The first shard that is not exactly one of `parts` equal parts along an axis.
inline std::optional<box> find_other_shard(shard_table const& list, index_t extent,
                                           std::size_t axis, index_t parts) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        box const region = list.region(i);
        if (!is_empty(region) &&
            (region.shape[axis] * parts != extent || region.offset[axis] % region.shape[axis] != 0))
            return region;
    }
    return std::nullopt;
}

/// Whether each rank of a target that holds a tensor holds all of it along an axis.
inline bool is_whole(layout const& target, catalog_entry const& wanted, std::size_t axis) {
    shard_table const* const list = listed_shards(target, wanted.key);
    return wanted.parts[axis] == 1 && !wanted.is_scattered(axis) &&
           !(list && find_other_shard(*list, wanted.shape[axis], axis, 1));
}

/// The fused outputs of several blocks that a target does not cut along the fused axis.
inline fused_tensors whole_outputs(mapping const& program, layout const* target) {
    fused_tensors tensors;
    std::optional<catalog> wanted;
    for (auto const& [key, result] : program.fused()) {
        mapping_output const* const output = program.find(key);
        auto const axis = static_cast<std::size_t>(result.axis);
        if (!output || result.blocks < 2 || axis >= output->value.ndim())
            continue;
        if (target && !wanted)
            wanted = catalog_of(*target);
        catalog_entry const* const entry = wanted ? wanted->find(key) : nullptr;
        if (!target || (entry && axis < entry->parts.size() && is_whole(*target, *entry, axis)))
            tensors.emplace(key, result);
    }
    return tensors;
}

/// Rearranges the scales of an output as its elements are; `sizes` are its tensors' extents.
inline void deinterleave_scales(mapping& program, relation const& of, fused_tensor const& tensor,
                                vector<index_t> const& sizes) {
    mapping_output const* const scales = program.find(of.companion);
    auto const axis = static_cast<std::size_t>(tensor.axis);
    if (!scales || program.fused().contains(of.companion) || axis >= scales->value.ndim() ||
        scales->value.shape[axis] < 2)
        return;
    auto const own = member_sizes(tensor, scales->value.shape[axis]);
    index_t const block = axis < of.block.size() ? of.block[axis] : 1;
    bool const is_between = block > 0 && std::ranges::all_of(sizes, [&](index_t size) {
                                return size / tensor.blocks % block == 0;
                            });
    if (own.empty() || !is_between)
        fail(errc::bad_layout, fused_text_of(of.key, program.find(of.key)->value.shape, tensor),
             ", and the target has it whole, but its scales '", of.companion, "', shape ",
             scales->value.shape,
             ", are for elements of several parts; give a layout that cuts "
             "both into ",
             tensor.blocks, ", or write them as they are (cut_fused)");
    program.define(of.companion, deinterleaved(scales->value, axis, tensor.blocks, own));
}

RESHARD_DECL std::string deinterleave_whole(mapping& program, layout const& source,
                                            layout const* target) {
    fused_tensors const tensors = whole_outputs(program, target);
    if (tensors.empty())
        return {};
    mapping related = program; // gets relations to scales; their faults are reported later
    carry_scales(related, source);
    for (auto const& [key, tensor] : tensors) {
        auto const axis = static_cast<std::size_t>(tensor.axis);
        expression const& fused = program.find(key)->value;
        auto const sizes = member_sizes(tensor, fused.shape[axis]);
        if (sizes.empty() || tensor.blocks >= too_many_blocks)
            fail(errc::bad_layout, fused_text_of(key, fused.shape, tensor),
                 ", the target does not cut it, and its note (", tensor.macro,
                 ") does not give the sizes of its tensors; give a layout that cuts it into ",
                 tensor.blocks, ", or write it as it is (cut_fused)");
        for (relation const& relation : related.relations())
            if (relation.type == relation::kind::scale && relation.key == key)
                deinterleave_scales(program, relation, tensor, sizes);
        program.define(key, deinterleaved(program.find(key)->value, axis, tensor.blocks, sizes));
        program.fuse(key, {tensor.axis, 1, tensor.macro});
    }
    auto const& [key, result] = *tensors.begin();
    return fused_text_of(key, program.find(key)->value.shape, result) +
           and_more_keys(tensors.size()) +
           ", and the target has it whole: its tensors are written one after the other, as the "
           "statement  " +
           key + " -> " + key + ", " + result.macro + "  does; --cut-fused writes it as it is";
}

/// Finds the fused tensor to which an index along the axis belongs.
class member_places {
public:
    /// \pre `sizes` is not empty
    member_places(vector<index_t> const& sizes, index_t blocks) {
        for (index_t const size : sizes)
            ends_.push_back((ends_.empty() ? 0 : ends_.back()) + size / blocks);
    }

    std::size_t at(index_t index) const {
        auto const match = std::ranges::upper_bound(ends_, index % ends_.back());
        return static_cast<std::size_t>(match - ends_.begin());
    }
    /// The end of the run of one tensor's indices that contains `index`.
    index_t end(index_t index) const { return index - index % ends_.back() + ends_[at(index)]; }

private:
    vector<index_t> ends_; ///< of each tensor, in a block
};

/// For each tensor in an output: the tensor of a fused source that its elements come from.
class member_pairs {
public:
    /// Records that a tensor of the output has elements of a tensor of the source; false if it also
    /// has elements of another tensor.
    bool add(std::size_t of_output, std::size_t of_source) {
        return pairs_.emplace(of_output, of_source).first->second == of_source;
    }

    /// The same for a range of indices along an axis of the output and a range along an axis of the
    /// source. If `is_parallel`, equal positions in the two ranges correspond; otherwise each index
    /// corresponds to all indices of the other range.
    bool add(member_places const& output, std::pair<index_t, index_t> target,
             member_places const& source, std::pair<index_t, index_t> from, bool is_parallel) {
        index_t at = target.first, there = from.first;
        while (at < target.second && there < from.second) {
            if (!add(output.at(at), source.at(there)))
                return false;
            index_t const step = output.end(at) - at, other_step = source.end(there) - there;
            index_t const both = std::min(step, other_step);
            if (is_parallel) {
                at += both;
                there += both;
            } else if (there += other_step; there >= from.second) {
                there = from.first;
                at += step;
            }
        }
        return true;
    }

private:
    std::map<std::size_t, std::size_t> pairs_;
};

/// Whether a tensor that a macro interleaves in an output takes elements from several tensors that
/// are interleaved in the source `id`.
inline bool fuses_again(expression const& value, fused_tensor const& tensor, key_id id,
                        index_vector const& shape, fused_tensor const& fused_tensor) {
    auto const axis = static_cast<std::size_t>(tensor.axis);
    auto const along = static_cast<std::size_t>(fused_tensor.axis);
    if (axis >= value.ndim() || along >= shape.size() || tensor.blocks >= too_many_blocks ||
        fused_tensor.blocks >= too_many_blocks)
        return false;
    auto const sizes = member_sizes(tensor, value.shape[axis]);
    auto const known_sizes = member_sizes(fused_tensor, shape[along]);
    if (sizes.empty() || known_sizes.empty())
        return false;
    member_places const output(sizes, tensor.blocks), source(known_sizes, fused_tensor.blocks);
    member_pairs pairs;
    for (std::size_t i = 0; i < value.pieces.size(); ++i) {
        if (value.pieces.source(i) != id)
            continue;
        piece const piece = value.pieces[i];
        box const target = piece.target_box(), from = piece.source_box();
        bool const is_parallel = same_axis(piece, along) == axis;
        if (!pairs.add(output, {target.offset[axis], target.end(axis)}, source,
                       {from.offset[along], from.end(along)}, is_parallel))
            return true;
    }
    return false;
}

/// The fused source tensors from which an output takes elements.
inline std::map<key_id, fused_tensor const*> fused_sources_of(mapping_output const& output,
                                                              source_list const& sources,
                                                              fused_tensors const& tensors) {
    std::map<key_id, fused_tensor const*> found_tensors;
    for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
        key_id const id = output.value.pieces.source(i);
        if (id >= sources.size() || found_tensors.contains(id))
            continue;
        auto const position = tensors.find(sources.key(id));
        found_tensors.emplace(id, position != tensors.end() ? &position->second : nullptr);
    }
    erase_if(found_tensors, [](auto const& element) { return element.second == nullptr; });
    return found_tensors;
}

/// Describes the first output whose macro interleaves a fused source tensor as if it were a plain
/// one, so that the facts about the source are lost; std::nullopt if no macro does so.
inline std::optional<std::string> find_fused_again(mapping const& program,
                                                   fused_tensors const& tensors) {
    for (auto const& [key, result] : program.fused()) {
        mapping_output const* const output = program.find(key);
        if (!output)
            continue;
        for (auto const& [id, fused_source] :
             fused_sources_of(*output, program.sources(), tensors)) {
            mapping_source const from = program.sources()[id];
            if (fuses_again(output->value, result, id, from.shape, *fused_source)) {
                std::string const name(from.key);
                return fused_text_of(name, from.shape, *fused_source) + ", but '" + key +
                       "' is made of it by  " + result.macro +
                       "  as one tensor, which would lose the order of its parts; take it apart "
                       "first, with the statement  " +
                       name + " -> " + operands_of(fused_source->macro) + ", " +
                       fused_source->macro;
            }
        }
    }
    return std::nullopt;
}

} // namespace reshard::detail

#endif
