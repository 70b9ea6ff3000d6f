// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_MEMORY_HPP
#define RESHARD_TEST_SUPPORT_MEMORY_HPP

#include "oracle/element.hpp"
#include "oracle/scenario.hpp"

#include <reshard/layout/layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

/// \file
/// The shards of the oracle as tensors in memory.

namespace reshard::test {

using namespace reshard::detail;

inline index_vector to_index_vector(oracle::numbers const& all_numbers) {
    return index_vector(all_numbers.begin(), all_numbers.end());
}

/// A shard of the oracle as the library's descriptor.
inline shard_descriptor descriptor_of(oracle::tensor const& tensor, oracle::shard const& shard) {
    shard_descriptor result{tensor.key,
                            *data_type_from_name(tensor.dtype),
                            to_index_vector(tensor.shape),
                            {to_index_vector(shard.offset), to_index_vector(shard.shape)},
                            {}};
    if (shard.flat)
        result.flat = flat_range{shard.flat->first, shard.flat->second};
    return result;
}

/// The layout of one side.
inline layout layout_of(std::vector<oracle::tensor> const& side, std::int64_t ranks) {
    std::vector<std::vector<shard_descriptor>> shards(static_cast<std::size_t>(ranks));
    for (oracle::tensor const& tensor : side)
        for (oracle::shard const& shard : tensor.shards)
            shards[static_cast<std::size_t>(shard.rank)].push_back(descriptor_of(tensor, shard));
    return reshard::layout_of(shards);
}

/// One shard and its bytes, which lie in one of four orders: row by row, column by column, with gaps, or
/// backwards.
class shard_memory {
public:
    shard_memory(oracle::tensor const& tensor, oracle::shard const& shard, std::byte background,
                 std::pmr::memory_resource* where = std::pmr::get_default_resource())
        : bytes_(where),
          descriptor_(descriptor_of(tensor, shard)),
          shard_(shard),
          dtype_(tensor.dtype),
          shape_(shard.flat ? oracle::numbers{shard.flat->second - shard.flat->first}
                            : shard.shape) {
        set_strides(shard.order);
        std::int64_t elements = oracle::count_of(shape_) == 0 ? 0 : 1;
        for (std::size_t axis = 0; axis < shape_.size() && elements > 0; ++axis) {
            std::int64_t const reach = strides_[axis] * (shape_[axis] - 1);
            elements += reach < 0 ? -reach : reach;
            first_ -= reach < 0 ? reach : 0;
        }
        bytes_.assign(static_cast<std::size_t>(elements) * oracle::bytes_of(dtype_), background);
    }

    shard_descriptor const& descriptor() const { return descriptor_; }
    std::pmr::vector<std::byte> const& bytes() const { return bytes_; }

    /// Writes the elements that the shard holds of a whole array.
    void fill(oracle::array const& array) {
        std::size_t const size = oracle::bytes_of(dtype_);
        oracle::for_each_index(shape_, [&](oracle::numbers const& local) {
            std::int64_t index = first_;
            for (std::size_t axis = 0; axis < local.size(); ++axis)
                index += local[axis] * strides_[axis];
            std::uint64_t const bits = oracle::bits_of(dtype_, oracle::at(array, global(local)));
            std::memcpy(bytes_.data() + static_cast<std::size_t>(index) * size, &bits, size);
        });
    }

    tensor_view view() {
        return {bytes_.data() + static_cast<std::size_t>(first_) * oracle::bytes_of(dtype_),
                descriptor_.dtype, to_index_vector(shape_), to_index_vector(strides_)};
    }

private:
    void set_strides(int order) {
        strides_.assign(shape_.size(), 1);
        std::int64_t next = order == 2 ? 2 : 1;
        for (std::size_t i = 0; i < shape_.size(); ++i) {
            std::size_t const axis = order == 1 ? i : shape_.size() - 1 - i;
            strides_[axis] = order == 3 ? -next : next;
            next *= shape_[axis] + (order == 2 ? 1 : 0);
        }
    }

    oracle::numbers global(oracle::numbers local) const {
        if (shard_.flat) {
            std::int64_t index = shard_.flat->first + local[0];
            local.assign(shard_.shape.size(), 0);
            for (std::size_t axis = local.size(); axis-- > 0; index /= shard_.shape[axis])
                local[axis] = index % shard_.shape[axis];
        }
        for (std::size_t axis = 0; axis < local.size(); ++axis)
            local[axis] += shard_.offset[axis];
        return local;
    }

    std::pmr::vector<std::byte> bytes_;
    shard_descriptor descriptor_;
    oracle::shard shard_;
    std::string dtype_;
    oracle::numbers shape_; ///< of the tensor in memory
    oracle::numbers strides_;
    std::int64_t first_ = 0;
};

/// What bytes are before anything is written into them.
inline constexpr std::byte background{0xa5};

/// The tensors of one rank. A copy of it has separate memory.
class rank_memory {
public:
    rank_memory(std::vector<oracle::tensor> const& side, std::int64_t rank,
                std::pmr::memory_resource* where = std::pmr::get_default_resource()) {
        for (oracle::tensor const& tensor : side)
            for (oracle::shard const& shard : tensor.shards)
                if (shard.rank == rank)
                    shards_.emplace_back(tensor, shard, background, where);
    }

    void fill(std::map<std::string, oracle::array> const& arrays) {
        for (shard_memory& memory : shards_)
            memory.fill(arrays.at(memory.descriptor().key));
    }

    /// Without arrays, the bytes stay unchanged.
    void fill(std::map<std::string, std::optional<oracle::array>> const& arrays) {
        for (shard_memory& memory : shards_)
            if (auto const& elements = arrays.at(memory.descriptor().key))
                memory.fill(*elements);
    }

    state_dict shards() {
        state_dict tensors;
        for (shard_memory& memory : shards_)
            tensors.add(memory.descriptor(), memory.view());
        return tensors;
    }

    std::int64_t elements() const {
        std::int64_t count = 0;
        for (shard_memory const& memory : shards_)
            count += element_count(local_shape(memory.descriptor()));
        return count;
    }

    /// The first shard whose bytes differ, gaps included; none if all are equal.
    std::optional<std::string> difference(rank_memory const& memory) const {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            if (shards_[i].bytes() != memory.shards_.at(i).bytes())
                return to_string(shards_[i].descriptor());
        return std::nullopt;
    }

private:
    std::vector<shard_memory> shards_;
};

/// The tensors of all ranks of one side.
inline std::vector<rank_memory> memory_of(std::vector<oracle::tensor> const& side,
                                          std::int64_t ranks) {
    std::vector<rank_memory> memories;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        memories.emplace_back(side, rank);
    return memories;
}

} // namespace reshard::test

#endif
