// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_REMOTE_REACH_IPP
#define RESHARD_MPI_IMPL_REMOTE_REACH_IPP

#include <reshard/mpi/remote_reach.hpp>
#include <unistd.h>

#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/os/peer_memory.hpp>

#include <boost/mpi/collectives/all_reduce.hpp>

#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// What a rank tells a neighbour of the transfers between them.
struct told_runs {
    remote_token token;
    std::vector<bool> targets_fit;                                ///< of those from the neighbour
    std::vector<std::optional<bound_end<std::uint64_t>>> sources; ///< of those to it: addresses

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.token, self.targets_fit, self.sources);
    }
};

/// The least run that is worth a place in a list: shorter ones take longer to find than to copy. A transfer
/// that is one run is read, however short.
///
/// \par Units bytes
/// \par Source measured, of one core's memcpy: 0.5 for runs of 64 KiB and more, 0.47 for 16 KiB, 0.4 for 4 KiB
inline constexpr index_t least_read_bytes = index_t{16} << 10;

RESHARD_DECL remote_reach::remote_reach(bound_plan const& bound, node_ranks const& node)
    : bound_(bound), node_(node) {
    std::random_device numbers;
    token_ = std::uint64_t{numbers()} << 32 | numbers();
}

RESHARD_DECL std::vector<addressed_text> remote_reach::tell(sorted_transfers const& all) const {
    std::vector<addressed_text> texts;
    for (int peer = 0; peer < size(); ++peer) {
        auto const &from = all.from[rank_of(peer)], &to = all.to[rank_of(peer)];
        if (from.empty() && to.empty())
            continue;
        told_runs told{{::getpid(), reinterpret_cast<std::uintptr_t>(&token_), token_}, {}, {}};
        for (std::uint32_t const number : from)
            told.targets_fit.push_back(target_is_fit(number));
        for (std::uint32_t const number : to)
            told.sources.push_back(told_source(number));
        texts.push_back({peer, content_bytes(told)});
    }
    return texts;
}

RESHARD_DECL remote_division remote_reach::divide(sorted_transfers all,
                                                  std::vector<addressed_text> const& told) const {
    remote_division result{{}, {}, std::move(all)};
    int const me = node_.group.rank();
    for (int step = 1; step < size(); ++step) // the neighbour behind first: all begin elsewhere
        for (addressed_text const& one : told)
            if (one.rank == (me - step + size()) % size())
                divide_peer(one, result);
    return result;
}

RESHARD_DECL int remote_reach::size() const { return static_cast<int>(node_.numbers.size()); }

RESHARD_DECL std::size_t remote_reach::rank_of(int peer) const {
    return static_cast<std::size_t>(node_.numbers[static_cast<std::size_t>(peer)]);
}

RESHARD_DECL transfer const& remote_reach::moved(std::uint32_t number) const {
    return bound_.whole.transfers[number];
}

RESHARD_DECL bool remote_reach::is_fit(transfer const& one, index_vector const& strides) const {
    index_t const size = bits(bound_.whole.target_dtypes[one.target_key]);
    if (size % 8 != 0 || !conversion_of(bound_.whole, one).chain.empty())
        return false;
    index_vector const extent = cut_of(bound_.whole, one).extent;
    index_t run = 1;
    for (std::size_t axis = extent.size(); axis-- > 0;) {
        if (extent[axis] != 1 && strides[axis] != run)
            break;
        run *= extent[axis];
    }
    return run == element_count(extent) || run * size / 8 >= least_read_bytes;
}

RESHARD_DECL bool remote_reach::target_is_fit(std::uint32_t number) const {
    return is_fit(moved(number), target_end(bound_, moved(number)).place.strides);
}

RESHARD_DECL bool remote_reach::source_is_fit(std::uint32_t number) const {
    return is_fit(moved(number), source_end(bound_, moved(number)).place.strides);
}

RESHARD_DECL std::optional<bound_end<std::uint64_t>>
remote_reach::told_source(std::uint32_t number) const {
    if (!source_is_fit(number))
        return std::nullopt;
    auto const end = source_end(bound_, moved(number));
    return bound_end<std::uint64_t>{reinterpret_cast<std::uintptr_t>(end.data), end.place};
}

RESHARD_DECL void remote_reach::divide_peer(addressed_text const& told,
                                            remote_division& result) const {
    auto const runs = content_from<told_runs>(told.bytes, "list of runs");
    if (runs.targets_fit.size() != result.left.to[rank_of(told.rank)].size() ||
        runs.sources.size() != result.left.from[rank_of(told.rank)].size())
        fail(errc::corrupt_file, "rank " + std::to_string(told.rank) +
                                     " of the node told of other transfers than there are");
    auto fits = runs.targets_fit.begin();
    auto sources = runs.sources.begin();
    std::size_t const before = result.reads.size();
    std::erase_if(result.left.to[rank_of(told.rank)],
                  [&](std::uint32_t number) { return *fits++ && source_is_fit(number); });
    std::erase_if(result.left.from[rank_of(told.rank)], [&](std::uint32_t number) {
        auto const& source = *sources++;
        bool const is_read = source && target_is_fit(number);
        if (is_read)
            result.reads.push_back(
                {number,
                 runs.token.process,
                 {{reinterpret_cast<void const*>(static_cast<std::uintptr_t>(source->data)),
                   source->place},
                  target_end(bound_, moved(number))}});
        return is_read;
    });
    if (result.reads.size() > before)
        result.peers.push_back(runs.token);
}

/// Reads the bytes of one number out of another process.
inline void read_number(pid_t process, void const* address, std::span<std::byte> number,
                        system_calls const& calls) {
    iovec local{number.data(), number.size()};
    iovec remote{const_cast<void*>(address), number.size()}; // only read
    read_peer(process, {&local, 1}, {&remote, 1}, calls);
}

RESHARD_DECL void probe(remote_division const& divided, bound_plan const& bound,
                        system_calls const& calls) {
    for (remote_token const& one : divided.peers) {
        std::uint64_t value = 0;
        read_number(one.process,
                    reinterpret_cast<void const*>(static_cast<std::uintptr_t>(one.address)),
                    std::as_writable_bytes(std::span(&value, 1)), calls);
        if (value != one.value)
            fail(errc::io, "process " + std::to_string(one.process) +
                               " is another one for this rank than for the rank that it is");
    }
    for (remote_transfer const& one : divided.reads) {
        transfer const& moved = bound.whole.transfers[one.number];
        index_t const size = bits(bound.whole.target_dtypes[moved.target_key]) / 8;
        bound_end<void const*> const& source = one.ends.source;
        auto const* const first =
            static_cast<std::byte const*>(source.data) + source.place.offset * size;
        std::byte read{};
        read_number(one.process, first, {&read, 1}, calls);
    }
}

/// True on every rank of the node where it is true on one.
///
/// \par Collective every rank of the node, in the same order
inline bool any_on(mpi_group const& node, bool mine) {
    return boost::mpi::all_reduce(node.base(), mine, std::logical_or<bool>());
}

RESHARD_DECL std::optional<std::vector<remote_transfer>> take_reads(node_ranks const& node,
                                                                    bound_plan const& bound,
                                                                    sorted_transfers& sorted,
                                                                    system_calls const& calls) {
    remote_reach const reach(bound, node);
    std::vector<addressed_text> texts;
    remote_division divided;
    try {
        agree_on(node.group, [&] { texts = reach.tell(sorted); });
        auto const told = sparse_exchange(node.group).run(texts);
        agree_on(node.group, [&] {
            divided = reach.divide(sorted, told);
            probe(divided, bound, calls);
        });
    } catch (error const&) { // the same on every rank of the node
        return std::nullopt;
    }
    if (!any_on(node.group, !divided.reads.empty()))
        return std::nullopt;
    sorted = std::move(divided.left);
    return std::move(divided.reads);
}

} // namespace detail

} // namespace reshard

#endif
