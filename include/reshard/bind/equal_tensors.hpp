// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_EQUAL_TENSORS_HPP
#define RESHARD_BIND_EQUAL_TENSORS_HPP

#include <reshard/bind/overlap.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Compares tensors that must be equal, bit by bit, however ranks hold them.

namespace reshard::detail {

constexpr bool is_integer(data_type dtype) {
    switch (dtype) {
    case data_type::boolean:
    case data_type::u8:
    case data_type::i8:
    case data_type::i16:
    case data_type::u16:
    case data_type::i32:
    case data_type::u32:
    case data_type::i64: return true;
    default: return false;
    }
}

/// The text of the element at memory offset `index` of a tensor: the shortest digits that represent
/// it; and its bits in hexadecimal digits, which distinguish two NaN.
///
/// \par Shape any; strides do not matter
RESHARD_DECL std::string element_text(const_tensor_view const& elements, index_t index);
RESHARD_DECL std::string element_bits_text(const_tensor_view const& elements, index_t index);

RESHARD_DECL shard_descriptor renamed(shard_descriptor shard, std::string const& key);

/// The shards of one key.
RESHARD_DECL const_state_dict shards_of_key(const_state_dict const& tensors,
                                            std::string const& key);

/// Whether each shard of `alias` equals one of `tensors`, in the same memory.
RESHARD_DECL bool is_same_memory(const_state_dict const& alias, const_state_dict const& tensors);

/// Memory for a copy of an alias's shards, as shards of the tensor `key`.
struct alias_copy {
    vector<vector<std::byte>> memory;
    state_dict shards;

    alias_copy(const_state_dict const& alias, std::string const& key);
};

/// The first element in which two tensors differ: its index in row-major order, and both values.
struct alias_difference {
    index_t position = 0;
    std::string alias;
    std::string key;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.position, self.alias, self.key);
    }
};

/// The first difference in the shards of this rank.
RESHARD_DECL std::optional<alias_difference> first_difference(const_state_dict const& alias,
                                                              alias_copy const& copy);

/// The first element of `name`, over all ranks, that differs from the element of `key`;
/// std::nullopt if there is none. Tensors that share memory on all ranks are not compared;
/// otherwise each rank needs memory for a copy of its shards of `name`.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL std::optional<alias_difference> difference_between(
    any_group const& world, const_state_dict const& tensors, std::string const& name,
    std::string const& key,
    std::function<void(const_state_dict const& have, state_dict const& want)> const& move);

/// The shape of a source tensor of a program.
///
/// \pre `key` is a source of the program
RESHARD_DECL index_vector shape_in(mapping const& program, std::string_view key);

/// The text of an error about tensors that differ although a program relates them as equal.
RESHARD_DECL std::string copies_differ(relation const& copied, index_vector const& index,
                                       std::string const& copy, std::string const& key);

/// A number on this rank that has to equal other numbers.
struct held_number {
    std::string first; ///< the key whose number it has to equal
    std::string key;
    std::string text;
    std::string bits;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.first, self.key, self.text, self.bits);
    }
};

/// Whether a program relates numbers that must be equal.
RESHARD_DECL bool has_numbers(mapping const& program);

/// For each group of numbers that must be equal, the first one on this rank. If a number differs
/// from the first one of its group, it comes last.
RESHARD_DECL vector<held_number> numbers_in(const_state_dict const& tensors,
                                            mapping const& program);

/// Refuses numbers on several ranks that must be equal but differ.
///
/// \throws error with errc::overlap
RESHARD_DECL void check_numbers(vector<vector<held_number>> const& of_ranks);

/// The relations of tensors whose elements are compared one by one: all relations that are
/// compared, except for numbers.
RESHARD_DECL vector<relation> tensors_to_compare(mapping const& program);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/equal_tensors.ipp>
#endif

#endif
