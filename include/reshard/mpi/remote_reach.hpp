// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REMOTE_REACH_HPP
#define RESHARD_MPI_REMOTE_REACH_HPP

#include <reshard/core/config.hpp>
#include <reshard/mpi/node_ranks.hpp>
#include <reshard/mpi/remote_runs.hpp>
#include <reshard/mpi/sorted_transfers.hpp>
#include <reshard/mpi/sparse_exchange.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Which transfers between ranks of a node their targets read out of the sources' memory.

namespace reshard::detail {

/// A number that nobody guesses, and where a process has it.
///
/// Processes of two containers may have one number: who reads it where it was told, reads the right one.
struct remote_token {
    pid_t process = 0;
    std::uint64_t address = 0;
    std::uint64_t value = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.process, self.address, self.value);
    }
};

/// What a rank reads by itself, and of whom; and what is left to do otherwise.
struct remote_division {
    std::vector<remote_token> peers;
    std::vector<remote_transfer> reads;
    sorted_transfers left;
};

/// Finds transfers whose elements come in long runs on both sides, and that need no conversion.
///
/// For each pair of ranks both list the transfers between them in the order of the plan, and tell one another
/// which ends are long runs, and where those of the source are; so both know the same.
class remote_reach {
public:
    remote_reach(bound_plan const& bound, node_ranks const& node);
    remote_reach(remote_reach const&) = delete; // others read the token where it is

    /// What each neighbour has to know, by its number in the node.
    std::vector<addressed_text> tell(sorted_transfers const& all) const;

    /// \pre `told` is what came of the texts of all ranks of the node
    remote_division divide(sorted_transfers all, std::vector<addressed_text> const& told) const;

private:
    int size() const;

    std::size_t rank_of(int peer) const;

    transfer const& moved(std::uint32_t number) const;

    /// True where elements stay what they are and lie in long runs, in the order of the target's axes.
    bool is_fit(transfer const& one, index_vector const& strides) const;

    bool target_is_fit(std::uint32_t number) const;

    bool source_is_fit(std::uint32_t number) const;

    std::optional<bound_end<std::uint64_t>> told_source(std::uint32_t number) const;

    void divide_peer(addressed_text const& told, remote_division& result) const;

    bound_plan const& bound_;
    node_ranks const& node_;
    std::uint64_t token_ = 0;
};

/// Reads each neighbour's token and a byte of each source, to learn whether the system lets it.
///
/// \throws error with errc::io where it does not, or where another process has the neighbour's number
RESHARD_DECL void probe(remote_division const& divided, bound_plan const& bound,
                        system_calls const& calls);

/// Takes what this rank and others of the node read of one another out of `sorted`; nothing where none of
/// them reads, or one is refused it.
///
/// \par Collective every rank of the node, in the same order
RESHARD_DECL std::optional<std::vector<remote_transfer>> take_reads(node_ranks const& node,
                                                                    bound_plan const& bound,
                                                                    sorted_transfers& sorted,
                                                                    system_calls const& calls = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/remote_reach.ipp>
#endif

#endif
