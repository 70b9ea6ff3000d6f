// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_DIRECTORY_ENTRY_HPP
#define RESHARD_MPI_DIRECTORY_ENTRY_HPP

#include <reshard/core/axis_cycle.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/members.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/buckets.hpp>
#include <reshard/layout/holder.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What ranks tell one another of shards that nobody knows all of.

namespace reshard::detail {

/// A tensor of which some rank holds something, and the levels on which its shards are sorted.
struct directory_key {
    std::string key;
    data_type dtype{};
    index_vector shape;  ///< global
    holder_t holder = 0; ///< the lowest that has some of it
    std::vector<bucket_level> levels;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape, self.holder, self.levels);
    }

    bool operator==(directory_key const&) const = default;
};

/// A shard, or a question for all that share elements with its region.
struct directory_entry {
    key_id key = 0; ///< place among the keys of the directory
    holder_t holder = 0;
    std::uint32_t position = 0; ///< among the shards of that key that the holder has
    box region;
    std::optional<flat_range> flat;
    axis_cycles cycles{}; ///< the axes along which only blocks of the region are meant

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.holder, self.position, self.region, self.flat, self.cycles);
    }

    bool operator==(directory_entry const&) const = default;
};

template <>
inline constexpr stored_form form_of<directory_key>{"key"};
template <>
inline constexpr stored_form form_of<directory_entry>{"record"};

/// \throws error with errc::bad_layout where a level is none of the tensor's
RESHARD_DECL void validate(directory_key const& one);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/directory_entry.ipp>
#endif

#endif
