// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SHARD_DIRECTORY_HPP
#define RESHARD_MPI_SHARD_DIRECTORY_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/buckets.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/plan/options.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Finds the holders of a region. Each rank knows some of the shards, and answers questions about
/// them.

namespace reshard::detail {

/// A tensor with elements on any rank, and the levels on which its shards are filed.
struct directory_key {
    std::string key;
    data_type dtype{};
    index_vector shape;  ///< global
    holder_t holder = 0; ///< the lowest rank that holds any of it
    vector<bucket_level> levels;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.holder, self.levels);
    }

    bool operator==(directory_key const&) const = default;
};

/// A shard, or a question for all shards that share elements with the entry's region.
struct directory_entry {
    key_id key = 0; ///< index among the keys of the directory
    holder_t holder = 0;
    std::uint32_t position = 0; ///< index among the holder's shards of that key
    box region;
    std::optional<flat_range> flat;
    axis_cycles cycles{}; ///< the axes along which the shard has only blocks of the region

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.holder, self.position, self.region, self.flat, self.cycles);
    }

    bool operator==(directory_entry const&) const = default;
};

template <>
inline constexpr stored_form form_of<directory_key>{"key"};
template <>
inline constexpr stored_form form_of<directory_entry>{"record"};

/// \throws error with errc::bad_layout if a level does not belong to the tensor
RESHARD_DECL void validate(directory_key const& directory_key);

inline int rank_of(std::uint64_t digest, int ranks) {
    return static_cast<int>(digest % static_cast<std::uint64_t>(ranks));
}

/// All keys of which any rank holds a shard, sorted. Equal on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout for a shard that contradicts itself, with
///         errc::shape_mismatch or errc::dtype_mismatch if a key names two different tensors; on
///         every rank
RESHARD_DECL vector<directory_key> gather_keys(mpi_group const& world, sparse_exchange& exchange,
                                               vector<shard_descriptor> const& shards);

/// The layout in which the tensor of key `i` has the shards `shards[i]`.
RESHARD_DECL layout layout_of_keys(vector<directory_key> const& keys, vector<shard_table> shards,
                                   holder_t holders);

/// A directory of the shards of all ranks. Each shard is filed on a few ranks: by its key, and by
/// buckets of the tensor that are about as large as the shard.
///
/// The memory and messages of a rank grow with the shards that it has and asks for, and with the
/// number of keys; not with the number of ranks.
///
/// \par Source distributed directories of Zoltan and of Tpetra, which have one entry per index;
///             here, boxes on levels of repeated halving
class shard_directory {
public:
    /// Files the shards of all ranks; `keys` come from `gather_keys` for the same shards.
    ///
    /// \par Collective every rank of the group, in the same order
    shard_directory(mpi_group const& world, sparse_exchange& exchange,
                    vector<directory_key> const& keys, vector<shard_descriptor> const& shards);

    /// The index of a key in `keys`, or the number of keys if it is missing.
    std::size_t find(std::string_view key) const;

    /// The shards that share elements with the region of any question, each once, sorted by key,
    /// holder and position. Among shards with the same description, `choose_replica` chooses the
    /// shard that sends to this rank.
    ///
    /// \par Collective every rank of the group, in the same order
    vector<directory_entry> look_up(vector<directory_entry> const& questions,
                                    plan_options const& options);

private:
    using lists = std::map<int, vector<directory_entry>>;

    /// Adds `entry` once to the list of each rank that files buckets of `region`.
    void file(directory_entry const& entry, box const& region, bucket_level const& level,
              lists& all_lists) const;

    /// Sorts shards by the ranks that file them.
    lists sorted_out(vector<shard_descriptor> const& shards) const;

    /// Sorts questions by the ranks that may know an answer.
    lists sorted_out(vector<directory_entry> const& questions) const;

    vector<directory_entry> answer(addressed_text const& asked, plan_options const& options) const;

    /// Among entries with the same description, keeps the entry that sends to `target`.
    static vector<directory_entry> chosen(vector<directory_entry> entries, holder_t target,
                                          plan_options const& options);

    /// Reads the entries of texts that other ranks sent. Checks the key, holder and shard of each
    /// entry.
    ///
    /// \throws error with errc::corrupt_file or errc::bad_layout for bad entries
    vector<directory_entry> entries_of(vector<addressed_text> const& addressed_texts) const;

    static void keep_each_once(vector<directory_entry>& entries);

    mpi_group world_;
    sparse_exchange& exchange_;
    vector<directory_key> const& keys_;
    vector<vector<directory_entry>> filed_; ///< by key
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/shard_directory.ipp>
#endif

#endif
