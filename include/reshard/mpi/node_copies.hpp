// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_NODE_COPIES_HPP
#define RESHARD_MPI_NODE_COPIES_HPP

#include <reshard/mpi/bound_chunks.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

/// \file
/// The order in which a process copies between its own memory and that of its neighbours.

namespace reshard {

/// A transfer to or from another rank of the node that this process makes by itself.
struct node_transfer {
    std::uint32_t number = 0; ///< in the plan
    int turn = 0;             ///< how many ranks on the other one is, counted round
    bool is_pull = false;     ///< the source is the other rank's memory, not the target
    copy_ends ends;
};

namespace detail {

/// Cuts transfers into panels: some rows of a source at a time, for all that get a part of them.
///
/// Each source is then read once, from its beginning to its end, however short the runs are that go to
/// one rank; and ranks begin with their own part and then their neighbours', so that no memory is
/// written by all at once. Pulled transfers are cut likewise, by target.
class panel_order {
public:
    panel_order(chunk_binder const& binder, bound_plan const& bound)
        : binder_(binder), bound_(bound) {}

    void add(node_transfer const& one) {
        transfer const& moved = bound_.whole.transfers[one.number];
        void const* const shared = one.is_pull ? one.ends.target.data : one.ends.source.data;
        auto const group = groups_.try_emplace(shared, groups_.size()).first->second;
        std::uint32_t panel = 0;
        binder_.for_each_copy(moved, one.ends, panel_elements(moved, one.ends),
                              [&](bound_copy const& copy) {
                                  all_.push_back({group, panel++, one.turn, copy});
                              });
    }

    std::vector<bound_copy> copies() && {
        std::stable_sort(all_.begin(), all_.end(), [](entry const& a, entry const& b) {
            return std::tie(a.group, a.panel, a.turn) < std::tie(b.group, b.panel, b.turn);
        });
        std::vector<bound_copy> sorted;
        sorted.reserve(all_.size());
        for (entry const& one : all_)
            sorted.push_back(one.copy);
        return sorted;
    }

private:
    struct entry {
        std::size_t group;
        std::uint32_t panel;
        int turn;
        bound_copy copy;
    };

    static constexpr index_t panel_rows = 16;
    static constexpr index_t least_bytes = index_t{64} << 10;

    /// A few rows, where the transfer is rows; else as much as one looks at the network in between.
    index_t panel_elements(transfer const& moved, copy_ends const& ends) const {
        index_t const size = bits(bound_.whole.target_dtypes[moved.target_key]);
        affine_copy const fused = fuse({cut_of(bound_.whole, moved).extent, 0,
                                        ends.source.place.strides, 0, ends.target.place.strides});
        index_t const most = std::max<index_t>(1, chunk_bytes * 8 / size);
        if (!has_rows(fused) || fused.ndim() < 2)
            return most;
        return std::clamp(panel_rows * fused.extent.end()[-1], least_bytes * 8 / size, most);
    }

    chunk_binder const& binder_;
    bound_plan const& bound_;
    boost::unordered_flat_map<void const*, std::size_t> groups_;
    std::vector<entry> all_;
};

/// The copies of transfers within the process and within the node.
inline std::vector<bound_copy> node_copies(chunk_binder const& binder, bound_plan const& bound,
                                           std::vector<std::uint32_t> const& local,
                                           std::vector<node_transfer> const& on_node) {
    panel_order order(binder, bound);
    for (std::uint32_t const number : local) {
        transfer const& moved = bound.whole.transfers[number];
        order.add({number, 0, false, {source_end(bound, moved), target_end(bound, moved)}});
    }
    for (node_transfer const& one : on_node)
        order.add(one);
    return std::move(order).copies();
}

} // namespace detail

} // namespace reshard

#endif
