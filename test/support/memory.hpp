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

inline index_vector to_index_vector(oracle::numbers const& all) {
    return index_vector(all.begin(), all.end());
}

/// What the library calls a shard of the oracle.
inline shard_descriptor descriptor_of(oracle::tensor const& all, oracle::shard const& one) {
    shard_descriptor result{all.key,
                            *data_type_from_name(all.dtype),
                            to_index_vector(all.shape),
                            {to_index_vector(one.offset), to_index_vector(one.shape)},
                            {}};
    if (one.flat)
        result.flat = flat_range{one.flat->first, one.flat->second};
    return result;
}

/// The layout of one side.
inline layout layout_of(std::vector<oracle::tensor> const& side, std::int64_t ranks) {
    std::vector<std::vector<shard_descriptor>> held(static_cast<std::size_t>(ranks));
    for (oracle::tensor const& all : side)
        for (oracle::shard const& one : all.shards)
            held[static_cast<std::size_t>(one.rank)].push_back(descriptor_of(all, one));
    return reshard::layout_of(held);
}

/// One shard and its bytes, which lie in one of four orders: row by row, column by column, with gaps, or
/// backwards.
class shard_memory {
public:
    shard_memory(oracle::tensor const& all, oracle::shard const& one, std::byte background,
                 std::pmr::memory_resource* where = std::pmr::get_default_resource())
        : bytes_(where),
          descriptor_(descriptor_of(all, one)),
          shard_(one),
          dtype_(all.dtype),
          shape_(one.flat ? oracle::numbers{one.flat->second - one.flat->first} : one.shape) {
        set_strides(one.order);
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
    void fill(oracle::array const& all) {
        std::size_t const size = oracle::bytes_of(dtype_);
        oracle::for_each_index(shape_, [&](oracle::numbers const& local) {
            std::int64_t place = first_;
            for (std::size_t axis = 0; axis < local.size(); ++axis)
                place += local[axis] * strides_[axis];
            std::uint64_t const bits = oracle::bits_of(dtype_, oracle::at(all, global(local)));
            std::memcpy(bytes_.data() + static_cast<std::size_t>(place) * size, &bits, size);
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
            std::int64_t place = shard_.flat->first + local[0];
            local.assign(shard_.shape.size(), 0);
            for (std::size_t axis = local.size(); axis-- > 0; place /= shard_.shape[axis])
                local[axis] = place % shard_.shape[axis];
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

/// The tensors of one rank. A copy of it has memory of its own.
class rank_memory {
public:
    rank_memory(std::vector<oracle::tensor> const& side, std::int64_t rank,
                std::pmr::memory_resource* where = std::pmr::get_default_resource()) {
        for (oracle::tensor const& all : side)
            for (oracle::shard const& one : all.shards)
                if (one.rank == rank)
                    shards_.emplace_back(all, one, background, where);
    }

    void fill(std::map<std::string, oracle::array> const& arrays) {
        for (shard_memory& one : shards_)
            one.fill(arrays.at(one.descriptor().key));
    }

    /// Where arrays are not there, the bytes stay what they are.
    void fill(std::map<std::string, std::optional<oracle::array>> const& arrays) {
        for (shard_memory& one : shards_)
            if (auto const& all = arrays.at(one.descriptor().key))
                one.fill(*all);
    }

    state_dict shards() {
        state_dict all;
        for (shard_memory& one : shards_)
            all.add(one.descriptor(), one.view());
        return all;
    }

    std::int64_t elements() const {
        std::int64_t count = 0;
        for (shard_memory const& one : shards_)
            count += element_count(local_shape(one.descriptor()));
        return count;
    }

    /// The first shard whose bytes differ, gaps included; nothing where all are equal.
    std::optional<std::string> difference(rank_memory const& other) const {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            if (shards_[i].bytes() != other.shards_.at(i).bytes())
                return to_string(shards_[i].descriptor());
        return std::nullopt;
    }

private:
    std::vector<shard_memory> shards_;
};

/// The tensors of all ranks of one side.
inline std::vector<rank_memory> memory_of(std::vector<oracle::tensor> const& side,
                                          std::int64_t ranks) {
    std::vector<rank_memory> all;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        all.emplace_back(side, rank);
    return all;
}

} // namespace reshard::test

#endif
