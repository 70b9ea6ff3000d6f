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
/// Compares tensors that must be equal, bit by bit, regardless of how ranks hold them.

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

/// Writes an element of a tensor in memory, which lies at that distance from the first one: the
/// shortest digits that mean it; and its bits, in hexadecimal, which distinguish two NaN.
///
/// \par Shape any; strides do not matter
RESHARD_DECL std::string element_text(const_tensor_view const& elements, index_t index);
RESHARD_DECL std::string element_bits_text(const_tensor_view const& elements, index_t index);

RESHARD_DECL shard_descriptor renamed(shard_descriptor shard, std::string const& key);

/// The shards of one key.
RESHARD_DECL const_state_dict shards_of_key(const_state_dict const& tensors,
                                            std::string const& key);

/// True if each shard of `alias` is one of `tensors` too, in the same memory.
RESHARD_DECL bool is_same_memory(const_state_dict const& alias, const_state_dict const& tensors);

/// Memory for a copy of the shards of an alias, as shards of its key.
struct alias_copy {
    vector<vector<std::byte>> memory;
    state_dict shards;

    alias_copy(const_state_dict const& alias, std::string const& key);
};

/// An element in which two tensors differ: its index in row-major order, and both values.
struct alias_difference {
    index_t position = 0;
    std::string alias;
    std::string key;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.position, self.alias, self.key);
    }
};

/// The first one among the shards of this rank.
RESHARD_DECL std::optional<alias_difference> first_difference(const_state_dict const& alias,
                                                              alias_copy const& copy);

/// The first element of `name` that differs from the element of `key`, over all ranks, if any.
/// Memory that all ranks share is not compared; else each rank needs memory for a copy of its
/// shards of `name`.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL std::optional<alias_difference> difference_between(
    any_group const& world, const_state_dict const& tensors, std::string const& name,
    std::string const& key,
    std::function<void(const_state_dict const& have, state_dict const& want)> const& move);

/// The shape of a source tensor of a program.
///
/// \pre it is one
RESHARD_DECL index_vector shape_in(mapping const& program, std::string_view key);

/// The error if tensors differ although a program takes them for equal.
RESHARD_DECL std::string copies_differ(relation const& copied, index_vector const& index,
                                       std::string const& copy, std::string const& key);

/// A number that this rank has, of those that have to be equal.
struct held_number {
    std::string first; ///< the key of the first of these numbers
    std::string key;
    std::string text;
    std::string bits;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.first, self.key, self.text, self.bits);
    }
};

/// Among numbers that must be equal, the first one that this rank has, and one that differs from
/// it.
RESHARD_DECL vector<held_number> numbers_in(const_state_dict const& tensors,
                                            mapping const& program);

/// Refuses numbers of the ranks that must be equal but differ.
///
/// \throws error with errc::overlap
RESHARD_DECL void check_numbers(vector<vector<held_number>> const& of_ranks);

/// The relations of tensors that are compared by all their elements: all except relations of
/// numbers.
RESHARD_DECL vector<relation> tensors_to_compare(mapping const& program);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/equal_tensors.ipp>
#endif

#endif
