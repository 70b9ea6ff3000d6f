// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STORED_TENSOR_HPP
#define RESHARD_STORAGE_STORED_TENSOR_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/bind/equal_tensors.hpp>
#include <reshard/copy/affine_copy.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/plan/shard_index.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/tensor/view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// Gives access to the elements of a tensor in the files of a checkpoint.

namespace reshard::detail {

struct stored_pair;

/// The digest of one replica of a box of a tensor.
struct box_digest {
    std::uint32_t tensor = 0;
    std::uint32_t box = 0;
    std::uint32_t shard = 0;
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.tensor, self.box, self.shard, self.digest);
    }
};

/// Throws if a tensor is larger than all files together, since its shards cannot cover it. Called
/// before anything is planned for the tensor.
///
/// \param is_checked true for each tensor to check
/// \throws error with errc::not_covered
RESHARD_DECL void check_total_bytes(checkpoint_metadata const& source,
                                    function_ref<bool(checkpoint_tensor const&)> is_checked);

/// A tensor of a checkpoint: the different boxes of its shards, and the shards with each box. The
/// box of a shard of several blocks spans from the first block to the last.
///
/// A box and a flat range with the same elements are replicas.
class stored_tensor {
public:
    stored_tensor(checkpoint const& source, std::size_t number);

    tensor_layout const& tensor() const { return tensor_; }
    index_vector const& shape() const { return spread_.shape; } ///< global
    shard_table const& shards() const { return std::get<shard_table>(spread_.shards); }
    box_index const& boxes() const;

    /// The axes along which box `i` consists of blocks.
    axis_cycles cycles(std::size_t i) const { return parts_.cycles_of(i); }

    checkpoint const& source() const { return source_; }

    /// The first shard with box `i`. Other shards with this box are its replicas.
    std::uint32_t shard(std::size_t i) const;
    shard_place stored_at(std::size_t i) const { return place_of(shard(i)); }

    memory_place place(std::size_t i, index_vector const& global) const {
        return place_in(shard(i), global);
    }

    /// Formats an element of a tensor in memory, given its distance from the first element.
    using element_writer = std::string(const_tensor_view const&, index_t);

    /// The element at a global index, formatted by `text`.
    ///
    /// \pre `check_cover()`
    std::string element(index_vector const& global, element_writer* text) const;

    /// \throws error with errc::not_covered or errc::overlap if the shards do not tile the tensor
    void check_cover() const;

    /// \throws error with errc::overlap if replicas differ, naming both files, the key and the
    ///         first element that differs
    void check_replicas(progress_count* count = nullptr) const;

    /// The same, but does not read replicas with equal digests, since a load compares the data with
    /// the digests.
    void check_saved_replicas() const;

    /// Adds the digests of replicas in files that `rank` sees and lower ranks do not see.
    ///
    /// \throws error with errc::io
    void add_digests(merged_directories const& files, int rank, vector<box_digest>& digests) const;

private:
    shard_place place_of(std::uint32_t shard) const {
        return {static_cast<std::uint32_t>(number_), shard};
    }

    memory_place place_in(std::uint32_t shard, index_vector const& global) const;

    std::string const& file(std::uint32_t shard) const;

    bool has_equal_digests(std::uint32_t first, std::uint32_t second) const;

    void check_copies(bool all, stored_pair& pair) const;

    void check_copy(std::size_t i, std::uint32_t other, stored_pair& pair) const;

    checkpoint const& source_;
    std::size_t number_;
    tensor_layout const& tensor_;
    tensor_spread const& spread_; ///< a list with all stored shards, in their order
    part_index parts_;
};

/// The first element, in row-major order, that differs between two tensors of equal shape and type.
///
/// \param count gets the number of compared bytes of `a`
RESHARD_DECL std::optional<index_vector>
first_difference(stored_tensor const& a, stored_tensor const& b, progress_count* count = nullptr);

/// The indices in `layout` of the tensors that the targets are made of, and of their scales if the
/// program dequantizes them, ascending.
RESHARD_DECL vector<std::size_t> tensors_used(plan_problem const& work, mapping const& program,
                                              layout const& layout);

/// Refuses replicas of a box if their digests differ.
///
/// \throws error with errc::overlap, naming both files and the key
RESHARD_DECL void compare_replicas(checkpoint const& source,
                                   vector<vector<box_digest>> const& by_rank);

/// Compares the replicas of every `ranks`-th tensor of `numbers`, from entry `rank` on. Does not
/// communicate.
RESHARD_DECL void check_saved_replicas(checkpoint const& source, vector<std::size_t> const& numbers,
                                       int rank, int ranks);

/// Refuses replicas that differ in any bit.
///
/// Replicas of the tensors `numbers` are read unless their saved digests are equal. Each rank
/// compares every `size`-th tensor. If ranks see different files, each rank takes digests of the
/// replicas in the files that it sees, and the ranks compare the digests.
///
/// \par Collective every rank of the group, with equal numbers
/// \throws error on every rank, with errc::overlap, naming both files, the key, and the first
///         element that differs or the digests
void check_replicas(group auto const& world, checkpoint const& source,
                    vector<std::size_t> const& numbers) {
    if (auto const files = united(source)) {
        vector<box_digest> digests;
        agree_on(world, [&] {
            for (std::size_t const number : numbers)
                stored_tensor(source, number).add_digests(*files, world.rank(), digests);
        });
        return compare_replicas(source, gather_values(world, digests));
    }
    agree_on(world, [&] { check_saved_replicas(source, numbers, world.rank(), world.size()); });
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/stored_tensor.ipp>
#endif

#endif
