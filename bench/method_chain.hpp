// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_CHAIN_HPP
#define RESHARD_BENCH_METHOD_CHAIN_HPP

#include "method.hpp"

#include <reshard/plan/network.hpp>

#include <boost/mpi/communicator.hpp>

#include <mpi.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// \file
/// `MPI_Bcast` of the elements that several ranks want, one call after the other. With its
/// pipeline, Open MPI passes each call's elements along a chain of ranks.

namespace bench {

/// Elements of one rank that others want, contiguous on both sides.
struct chain {
    std::vector<int> ranks; ///< the sender, then the receivers
    std::size_t source = 0; ///< tensors, and the first bytes in the ranks' local arrays
    std::size_t target = 0;
    index_t source_begin = 0;
    index_t target_begin = 0;
    index_t bytes = 0;
};

/// The chains of a case; std::nullopt if elements are not contiguous. Replicas send in turn.
inline std::optional<std::vector<chain>> chains_of(redistribution_case const& moved) {
    std::vector<chain> chains;
    for (case_piece const& piece : moved.pieces) {
        case_tensor const& source = moved.sources[piece.source];
        case_tensor const& target = moved.targets[piece.target];
        std::size_t const first_of_piece = chains.size();
        for (int receiver = 0; receiver < moved.ranks; ++receiver)
            for (int sender = 0; sender < moved.ranks; ++sender) {
                overlap const shared(piece, source.of_rank(sender), target.of_rank(receiver));
                if (shared.elements() == 0)
                    continue;
                if (source.dtype != target.dtype || !shared.is_dense(shared.source_strides) ||
                    !shared.is_dense(shared.target_strides))
                    return std::nullopt;
                auto const begin = [&](index_t shared_run::*side, index_vector const& strides) {
                    return shared.first_place(side, strides) * element_bytes(source.dtype);
                };
                chain const wanted{{sender, receiver},
                                   piece.source,
                                   piece.target,
                                   begin(&shared_run::source, shared.source_strides),
                                   begin(&shared_run::target, shared.target_strides),
                                   shared.elements() * element_bytes(source.dtype)};
                auto const same = std::find_if(
                    chains.begin() + static_cast<std::ptrdiff_t>(first_of_piece), chains.end(),
                    [&](chain const& other) {
                        return source.of_rank(other.ranks[0]) == source.of_rank(sender) &&
                               target.of_rank(other.ranks[1]) == target.of_rank(receiver);
                    });
                if (same == chains.end())
                    chains.push_back(wanted);
                else if (same->ranks.back() != receiver)
                    same->ranks.push_back(receiver);
            }
    }
    for (std::size_t i = 0; i < chains.size(); ++i) {
        int& sender = chains[i].ranks[0];
        case_tensor const& source = moved.sources[chains[i].source];
        std::vector<int> replicas;
        for (int rank = 0; rank < moved.ranks; ++rank)
            if (source.of_rank(rank) == source.of_rank(sender))
                replicas.push_back(rank);
        sender = replicas[i % replicas.size()];
    }
    return chains;
}

/// The same chains as flows: each rank passes on the elements that have arrived, and begins a call
/// when its previous call has ended.
inline std::vector<reshard::simulated_flow> flows_of(std::vector<chain> const& chains, int ranks) {
    constexpr index_t segment_bytes = 512 << 10; // as nodes.py configures Open MPI
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<reshard::simulated_flow> flows;
    std::vector<std::size_t> last(static_cast<std::size_t>(ranks), none);
    for (chain const& chain : chains) {
        std::vector<std::size_t> const before = last;
        for (std::size_t i = 0; i + 1 < chain.ranks.size(); ++i) {
            auto const source = static_cast<std::size_t>(chain.ranks[i]);
            auto const target = static_cast<std::size_t>(chain.ranks[i + 1]);
            reshard::simulated_flow flow{static_cast<reshard::holder_t>(source),
                                         static_cast<reshard::holder_t>(target), chain.bytes};
            if (i > 0)
                flow.waits_for.push_back({flows.size() - 1, std::min(segment_bytes, chain.bytes)});
            for (std::size_t const earlier : {before[source], before[target]})
                if (earlier != none)
                    flow.waits_for.push_back({earlier});
            last[source] = last[target] = flows.size();
            flows.push_back(std::move(flow));
        }
    }
    return flows;
}

class chain_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        return chains_of(moved) ? "" : "MPI_Bcast gives all ranks contiguous elements";
    }

    explicit chain_method(setting const& where)
        : where_(where),
          sources_(where.moved.sources, where.world.rank()),
          targets_(where.moved.targets, where.world.rank()),
          chains_(*chains_of(where.moved)) {
        std::map<std::vector<int>, boost::mpi::communicator> known;
        for (chain const& chain : chains_) {
            auto const [found, is_new] = known.try_emplace(chain.ranks);
            if (is_new) {
                auto const at =
                    std::find(chain.ranks.begin(), chain.ranks.end(), where.world.rank());
                found->second = where.world.split(at == chain.ranks.end(),
                                                  static_cast<int>(at - chain.ranks.begin()));
            }
            groups_.push_back(found->second);
        }
    }

    void run() override {
        int const me = where_.world.rank();
        for (std::size_t i = 0; i < chains_.size(); ++i) {
            chain const& chain = chains_[i];
            if (std::count(chain.ranks.begin(), chain.ranks.end(), me) == 0)
                continue;
            std::byte* const memory =
                me == chain.ranks[0]
                    ? const_cast<std::byte*>(where_.source) + sources_.begins[chain.source] +
                          chain.source_begin
                    : where_.target + targets_.begins[chain.target] + chain.target_begin;
            MPI_Bcast(memory, static_cast<int>(chain.bytes), MPI_BYTE, 0, groups_[i]);
        }
    }

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    setting where_;
    memory_map sources_;
    memory_map targets_;
    std::vector<chain> chains_;
    std::vector<boost::mpi::communicator> groups_; ///< by chain
};

} // namespace bench

#endif
