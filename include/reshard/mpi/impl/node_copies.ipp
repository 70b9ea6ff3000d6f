// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_COPIES_IPP
#define RESHARD_MPI_IMPL_NODE_COPIES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/node_copies.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// Cuts transfers into panels of some rows of a source. Each row goes to all ranks that need
/// elements of it before the next row is read.
///
/// So each source is read once, from its beginning to its end, even if the runs for one rank are
/// short. Ranks begin with their own rows and continue with their neighbours' rows, so that not all
/// ranks write to the same memory at once. Pulled transfers are cut likewise, by target. Transfers
/// that are too small to be cut are sorted by their addresses in this rank's memory, so that the
/// rank passes over its memory once.
class panel_order {
public:
    panel_order(chunk_binder const& binder, bound_plan const& bound, copy_table const& copies)
        : binder_(binder), bound_(bound), copies_(copies) {}

    void add(node_transfer const& node_transfer) {
        transfer const& moved = bound_.whole.transfers[node_transfer.number];
        vector<bound_copy> panels;
        binder_.for_each_copy(moved, node_transfer.ends, panel_elements(node_transfer),
                              [&](bound_copy const& copy) { panels.push_back(copy); });
        if (panels.size() == 1 && is_small(panels[0].bytes))
            return (node_transfer.is_pull ? small_pulls_ : small_pushes_).push_back(panels[0]);
        void const* const shared =
            node_transfer.is_pull ? node_transfer.ends.target.data : node_transfer.ends.source.data;
        std::uint32_t const group =
            groups_.number(digest_of_all(reinterpret_cast<std::uintptr_t>(shared)),
                           [&](std::uint32_t candidate) { return shared_[candidate] == shared; });
        if (group == shared_.size())
            shared_.push_back(shared);
        for (std::size_t i = 0; i < panels.size(); ++i)
            panels_.push_back({group, i, node_transfer.distance, node_transfer.is_pull, panels[i]});
    }

    vector<bound_copy> copies() && {
        vector<bound_copy> sorted = joined_panels();
        join_blocks(std::span(small_pushes_), copies_, &affine_copy::source_strides,
                    [](bound_copy const& copy) { return copy.source; });
        join_blocks(std::span(small_pulls_), copies_, &affine_copy::target_strides,
                    [](bound_copy const& copy) { return copy.target; });
        for (auto* const small : {&small_pushes_, &small_pulls_}) {
            if (sorted.empty())
                sorted.swap(*small);
            sorted.insert(sorted.end(), small->begin(), small->end());
        }
        return sorted;
    }

private:
    struct panel {
        std::uint32_t group; ///< index in `shared_`
        std::size_t number;
        int distance;
        bool is_pull;
        bound_copy copy;
    };

    static constexpr index_t least_row_bytes = 4096; ///< less takes longer to start than to copy

    static constexpr bool is_small(index_t bytes) { return bytes < index_t{64} << 10; }

    /// The most elements of a panel: some rows of the source if the transfer consists of rows; else
    /// the elements that are copied between two polls of the network. A small transfer is one
    /// panel.
    index_t panel_elements(node_transfer const& node_transfer) const {
        transfer const& moved = bound_.whole.transfers[node_transfer.number];
        index_t const size = bits(bound_.whole.target_dtypes[moved.target_key]);
        affine_copy const fused =
            fuse({cut_of(bound_.whole, moved).loop_extent(), 0, node_transfer.ends.source.strides,
                  0, node_transfer.ends.target.strides});
        index_t const most = std::max<index_t>(1, chunk_bytes * 8 / size);
        if (fused.ndim() < 2 || is_small(element_count(fused) * size / 8))
            return most;
        if (!has_rows(fused))
            return 4 * most; // blocks that are long on both sides
        index_vector const& pitches =
            node_transfer.is_pull ? fused.target_strides : fused.source_strides;
        index_t elements = fused.extent.end()[-1]; // in a run, then in all loops inside an axis
        // Rows of whole cache lines are copied with the same rows for other ranks, shorter runs
        // many at a time.
        bool const has_lines = elements * size / 8 >= static_cast<index_t>(line_bytes);
        for (std::size_t axis = fused.ndim() - 1; axis-- > 0; elements *= fused.extent[axis]) {
            index_t const pitch = std::max<index_t>(1, magnitude(pitches[axis]));
            index_t const rows = std::max<index_t>(1, most / pitch);
            index_t const moved_at_once = std::min(rows, fused.extent[axis]) * elements;
            if (rows < fused.extent[axis] ||
                (has_lines && moved_at_once * size / 8 >= least_row_bytes))
                return moved_at_once;
        }
        return elements;
    }

    vector<bound_copy> joined_panels() {
        sort_by(panels_, [](panel const& a, panel const& b) {
            return std::tie(a.group, a.number, a.distance) <
                   std::tie(b.group, b.number, b.distance);
        });
        vector<bound_copy> sorted;
        sorted.reserve(panels_.size());
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            sorted.push_back(panels_[i].copy);
            sorted.back().joins_next = i + 1 < panels_.size() && join(panels_[i], panels_[i + 1]);
        }
        return sorted;
    }

    /// True if both panels share rows.
    bool join(panel const& a, panel const& b) const {
        return a.group == b.group && a.number == b.number && a.is_pull == b.is_pull &&
               are_identical(copies_[a.copy.copy], copies_[b.copy.copy],
                             a.is_pull ? &affine_copy::target_strides
                                       : &affine_copy::source_strides);
    }

    chunk_binder const& binder_;
    bound_plan const& bound_;
    copy_table const& copies_;
    class_table groups_;
    vector<void const*> shared_; ///< by group, the memory of all its panels
    vector<panel> panels_;
    vector<bound_copy> small_pushes_;
    vector<bound_copy> small_pulls_;
};

RESHARD_DECL vector<bound_copy> node_copies(chunk_binder const& binder, bound_plan const& bound,
                                            vector<node_transfer> const& on_node,
                                            vector<std::uint32_t> const& local,
                                            copy_table const& copies) {
    panel_order order(binder, bound, copies);
    bool const is_pull =
        std::all_of(on_node.begin(), on_node.end(),
                    [](node_transfer const& transfer) { return transfer.is_pull; });
    for (std::uint32_t const number : local) {
        transfer const& moved = bound.whole.transfers[number];
        order.add({number, 0, is_pull, {source_end(bound, moved), target_end(bound, moved)}});
    }
    for (node_transfer const& transfer : on_node)
        order.add(transfer);
    return std::move(order).copies();
}

} // namespace reshard::detail

#endif
