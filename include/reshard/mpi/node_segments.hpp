// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_SEGMENTS_HPP
#define RESHARD_MPI_NODE_SEGMENTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/page_advice.hpp>
#include <reshard/os/shared_barrier.hpp>
#include <reshard/os/shared_segment.hpp>
#include <reshard/tensor/view.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

/// \file
/// Memory that the ranks of a node share, with a segment for each rank.

namespace reshard::detail {

/// The kind of memory of a segment.
struct segment_request {
    segment_kind kind = segment_kind::unnamed;
    detail::page_advice pages = {};
    system_calls calls = {};
};

/// The segments of all ranks of a node, mapped into this process.
class node_segments {
    struct peer_segment {
        segment_address address;
        index_t bytes = 0;

        static constexpr void members(auto& self, auto&& visit) { visit(self.address, self.bytes); }
    };

public:
    /// The size of each segment's head. The rank's memory follows the head.
    static constexpr index_t head_bytes = 4096;

    /// Makes this rank's segment, and maps the others' segments.
    ///
    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node, if the system refuses memory to any
    ///         rank
    node_segments(group auto const& node, index_t bytes, segment_request const& wanted) {
        peer_segment segment;
        auto const problem = attempt([&] {
            all_.push_back(shared_segment::create(head_bytes + bytes, wanted.kind, wanted.pages,
                                                  wanted.calls));
            new (all_.back().data()) barrier_state;
            segment = {all_.back().address(), all_.back().bytes()};
        });
        agree(node, problem);
        auto const addresses = gather_values(node, segment);
        agree_on(node, [&] { open_others(addresses, node.rank(), wanted.calls); });
        all_[static_cast<std::size_t>(node.rank())].seal();
    }

    /// The memory of a rank of the node.
    std::byte* data(int rank) const;
    address_range range(int rank) const;

    barrier_state& barrier() const;

    /// True only for the first call in this process.
    bool is_first_use() const { return !is_used_.test_and_set(); }

private:
    shared_segment const& at(int rank) const { return all_[static_cast<std::size_t>(rank)]; }

    /// Opens the segments of the other ranks. This rank's segment keeps its name, because others
    /// may still have to open it.
    void open_others(vector<peer_segment> const& peer_segments, int me, system_calls const& calls);

    vector<shared_segment> all_; ///< by rank of the node
    mutable std::atomic_flag is_used_;
};

/// The result of `make(kind)` for the first kind of segment that the system permits on every rank
/// of the node. Null if it permits neither kind, or if the node has only one rank.
///
/// \param refusal set to the reason if the result is null, else to an empty text
/// \par Collective every rank of the node, in the same order
template <group Group, class Make>
auto with_segments(Group const& node, std::string& refusal, Make const& make)
    -> decltype(make(segment_kind::unnamed)) {
    if (node.size() == 1) {
        refusal = "this rank is alone on its node";
        return nullptr;
    }
    for (segment_kind const kind : {segment_kind::unnamed, segment_kind::named})
        try {
            auto result = make(kind);
            refusal.clear();
            return result;
        } catch (error const& problem) { // the same on every rank of the node
            if (problem.code() == errc::deadline)
                throw;
            if (refusal != problem.what())
                refusal += (refusal.empty() ? "" : "; ") + std::string(problem.what());
        }
    return nullptr;
}

/// Memory of this process alone, with the alignment of an arena.
class private_memory {
public:
    explicit private_memory(index_t bytes)
        : bytes_(bytes),
          lines_(std::make_unique_for_overwrite<line[]>(static_cast<std::size_t>(bytes + 63) /
                                                        cache_line)) {}

    std::byte* data() const { return lines_.get()->bytes; }
    index_t bytes() const { return bytes_; }

private:
    static constexpr std::size_t cache_line = 64;

    struct alignas(cache_line) line {
        std::byte bytes[cache_line];
    };

    index_t bytes_;
    std::unique_ptr<line[]> lines_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/node_segments.ipp>
#endif

#endif
