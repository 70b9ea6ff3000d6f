// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_EQUAL_TENSORS_IPP
#define RESHARD_BIND_IMPL_EQUAL_TENSORS_IPP

#include <reshard/bind/equal_tensors.hpp>

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Element `index` of a tensor in memory, converted to `T`.
template <class T>
T element_as(const_tensor_view const& elements, index_t index) {
    T value{};
    data_type const wanted = data_type_of<T>;
    copy_elements({{}, index, {}, 0, {}}, casting(elements.dtype, then({}, elements.dtype, wanted)),
                  elements.data, &value);
    return value;
}

std::string text_of_number(auto value) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

/// The text of a complex element whose real and imaginary parts have type `T`.
template <class T>
std::string text_of_complex(const_tensor_view const& elements, index_t index) {
    std::array<T, 2> parts{};
    copy_elements({{}, index, {}, 0, {}}, {elements.dtype, {}}, elements.data, parts.data());
    return "(" + text_of_number(parts[0]) + ", " + text_of_number(parts[1]) + ")";
}

RESHARD_DECL std::string element_text(const_tensor_view const& elements, index_t index) {
    data_type const dtype = elements.dtype;
    if (dtype == data_type::c64)
        return text_of_complex<float>(elements, index);
    if (dtype == data_type::c128)
        return text_of_complex<double>(elements, index);
    if (is_integer(dtype))
        return text_of_number(element_as<std::int64_t>(elements, index));
    if (dtype == data_type::u64)
        return text_of_number(element_as<std::uint64_t>(elements, index));
    if (dtype == data_type::f64)
        return text_of_number(element_as<double>(elements, index));
    return text_of_number(element_as<float>(elements, index));
}

RESHARD_DECL std::string element_bits_text(const_tensor_view const& elements, index_t index) {
    std::array<unsigned char, 16> element{};
    copy_elements({{}, index, {}, 0, {}}, {elements.dtype, {}}, elements.data, element.data());
    std::string text = "0x";
    for (int i = (bits(elements.dtype) + 7) / 8; i-- > 0;) {
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] >> 4];
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] & 15];
    }
    return text;
}

RESHARD_DECL const_state_dict shards_of_key(const_state_dict const& tensors,
                                            std::string const& key) {
    const_state_dict state;
    for (auto const& [descriptor, tensor] : tensors)
        if (descriptor.key == key)
            state.add(descriptor, tensor);
    return state;
}

RESHARD_DECL shard_descriptor renamed(shard_descriptor shard, std::string const& key) {
    shard.key = key;
    return shard;
}

RESHARD_DECL bool is_same_memory(const_state_dict const& alias, const_state_dict const& tensors) {
    return std::ranges::all_of(alias, [&](const_local_shard const& shard) {
        return std::ranges::any_of(tensors, [&](const_local_shard const& other_shard) {
            return renamed(shard.descriptor, other_shard.descriptor.key) ==
                       other_shard.descriptor &&
                   shard.tensor == other_shard.tensor;
        });
    });
}

RESHARD_DECL alias_copy::alias_copy(const_state_dict const& alias, std::string const& key) {
    for (auto const& [descriptor, tensor] : alias) {
        index_vector const shape = local_shape(descriptor);
        memory.emplace_back(
            static_cast<std::size_t>(byte_count(element_count(shape), descriptor.dtype)));
        shards.add(renamed(descriptor, key), tensor_view{memory.back().data(), descriptor.dtype,
                                                         shape, row_major_strides(shape)});
    }
}

/// The index in the whole tensor of a shard's element number `local`.
inline index_t place_of(shard_descriptor const& shard, index_t local) {
    index_vector index = unravel_index(shard.flat ? shard.flat->begin + local : local,
                                       shard.flat ? shard.region.shape : local_shape(shard));
    for (axis_cycle const& cycle : shard.cycles)
        index[cycle.axis] =
            index[cycle.axis] / cycle.block * cycle.period + index[cycle.axis] % cycle.block;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        index[axis] += shard.region.offset[axis];
    return ravel_index(index, shard.global_shape);
}

/// Both elements as text; if the texts are equal, also the bits of both.
inline alias_difference described(index_t index, const_tensor_view const& alias, index_t in_alias,
                                  const_tensor_view const& copy, index_t in_copy) {
    alias_difference difference{index, element_text(alias, in_alias), element_text(copy, in_copy)};
    if (difference.alias == difference.key) {
        difference.alias += " " + element_bits_text(alias, in_alias);
        difference.key += " " + element_bits_text(copy, in_copy);
    }
    return difference;
}

RESHARD_DECL std::optional<alias_difference> first_difference(const_state_dict const& alias,
                                                              alias_copy const& copy) {
    std::optional<alias_difference> first;
    for (std::size_t i = 0; i < alias.size(); ++i) {
        auto const& [shard, tensor] = alias[i];
        const_tensor_view const view = copy.shards[i].tensor;
        auto const local = first_difference(
            affine_copy{tensor.shape, 0, tensor.strides, 0, view.strides}, tensor, view);
        if (!local)
            continue;
        index_t const index = place_of(shard, *local);
        index_t const in_alias = linear_offset(unravel_index(*local, tensor.shape), tensor.strides);
        if (!first || index < first->position)
            first = described(index, tensor, in_alias, view, *local);
    }
    return first;
}

RESHARD_DECL std::optional<alias_difference>
difference_between(any_group const& world, const_state_dict const& tensors, std::string const& name,
                   std::string const& key,
                   std::function<void(const_state_dict const&, state_dict const&)> const& move) {
    const_state_dict const alias = shards_of_key(tensors, name);
    const_state_dict const state = shards_of_key(tensors, key);
    auto const same = gather_values(world, int{is_same_memory(alias, state)});
    if (std::ranges::count(same, 0) == 0)
        return std::nullopt;
    std::optional<alias_copy> copy;
    agree_on(world, [&] { copy.emplace(alias, key); });
    move(state, copy->shards);
    vector<alias_difference> differences;
    if (auto match = first_difference(alias, *copy))
        differences.push_back(std::move(*match));
    std::optional<alias_difference> first;
    for (auto& of_rank : gather_values(world, differences))
        for (alias_difference& difference : of_rank)
            if (!first || difference.position < first->position)
                first = std::move(difference);
    return first;
}

RESHARD_DECL index_vector shape_in(mapping const& program, std::string_view key) {
    for (mapping_source const& source : program.sources())
        if (source.key == key)
            return source.shape;
    return {};
}

RESHARD_DECL std::string copies_differ(relation const& copied, index_vector const& index,
                                       std::string const& copy, std::string const& key) {
    if (copied.type == relation::kind::number)
        return words("'", copied.key, "' and '", copied.companion, "' are ", key, " and ", copy,
                     ", but the program joins their parameters, and the result has one number; "
                     "add a statement that takes it from one of them, and remove the other:  '",
                     copied.companion, "' -> _");
    return words("'", copied.companion, "' is declared as a copy of '", copied.key,
                 "', but differs from it: element ", index, " is ", copy, " and ", key,
                 "; make them equal, or take '", copied.key,
                 "' without comparing (option take_first)");
}

/// Appends a value, and returns its index.
template <class T>
std::uint32_t append_to(vector<T>& values, T value) {
    values.push_back(std::move(value));
    return static_cast<std::uint32_t>(values.size() - 1);
}

RESHARD_DECL bool has_numbers(mapping const& program) {
    for (relation const& relation : program.relations())
        if (relation.type == relation::kind::number)
            return true;
    return false;
}

/// Whether a relation is between numbers, and not between tensors of several elements.
///
/// \param places the indices of the program's sources, by key
inline bool is_between_numbers(relation const& relation, source_list const& sources,
                               key_index const& places) {
    if (relation.type != relation::kind::number)
        return false;
    auto const index = places.find(relation.key, [&](key_id i) { return sources.key(i); });
    return !index || element_count(sources[*index].shape) == 1;
}

RESHARD_DECL vector<relation> tensors_to_compare(mapping const& program) {
    source_list const& sources = program.sources();
    key_index places;
    if (has_numbers(program))
        for (key_id i = 0; i < sources.size(); ++i)
            places.append(sources.key(i), i);
    vector<relation> compared;
    for (relation const& relation : program.relations())
        if (relation.is_compared() && !is_between_numbers(relation, sources, places))
            compared.push_back(relation);
    return compared;
}

RESHARD_DECL vector<held_number> numbers_in(const_state_dict const& tensors,
                                            mapping const& program) {
    vector<const_local_shard const*> shards;
    key_index shard_places, number_places;
    auto const shard_key = [&](std::uint32_t i) -> std::string_view {
        return shards[i]->descriptor.key;
    };
    for (const_local_shard const& shard : tensors)
        if (element_count(shard.descriptor.global_shape) == 1 &&
            element_count(shard.tensor.shape) == 1)
            shard_places.find_or_append(shard.descriptor.key, shard_key,
                                        [&] { return append_to(shards, &shard); });
    vector<held_number> numbers;
    auto const first_key = [&](std::uint32_t i) -> std::string_view { return numbers[i].first; };
    for (relation const& relation : program.relations())
        for (std::string const* const key : {&relation.key, &relation.companion}) {
            auto const index = shard_places.find(*key, shard_key);
            if (relation.type != relation::kind::number || !index)
                continue;
            const_tensor_view const& tensor = shards[*index]->tensor;
            held_number held_number{relation.key, *key, element_text(tensor, 0),
                                    element_bits_text(tensor, 0)};
            std::uint32_t const first = number_places.find_or_append(
                relation.key, first_key, [&] { return append_to(numbers, held_number); });
            if (numbers[first].bits != held_number.bits) {
                numbers.push_back(std::move(held_number));
                return numbers;
            }
        }
    return numbers;
}

RESHARD_DECL void check_numbers(vector<vector<held_number>> const& of_ranks) {
    vector<held_number const*> firsts;
    key_index places;
    auto const key_at = [&](std::uint32_t i) -> std::string_view { return firsts[i]->first; };
    for (vector<held_number> const& of_rank : of_ranks)
        for (held_number const& element : of_rank) {
            held_number const& first = *firsts[places.find_or_append(
                element.first, key_at, [&] { return append_to(firsts, &element); })];
            if (first.key != element.key && first.bits != element.bits)
                fail(errc::overlap, copies_differ({relation::kind::number, first.key, element.key},
                                                  {}, element.text, first.text));
        }
}

} // namespace reshard::detail

#endif
