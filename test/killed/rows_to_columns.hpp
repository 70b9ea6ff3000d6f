// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_KILLED_ROWS_TO_COLUMNS_HPP
#define RESHARD_TEST_KILLED_ROWS_TO_COLUMNS_HPP

#include <reshard/mpi.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

/// \file
/// A redistribution in which every rank gives to every other one, and may be interrupted.

namespace reshard::test {

/// The rows of a rank, each in separate pages.
class page_rows {
public:
    static constexpr index_t columns = 1 << 14; ///< runs of 16 KiB on 4 ranks
    static constexpr index_t count = 64;        ///< more than the slots of a ring hold

    page_rows()
        : elements_(static_cast<float*>(::mmap(nullptr, bytes(count), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        std::fill_n(elements_, count * columns, 1.0F);
    }

    tensor_view view() const { return {elements_, data_type::f32, {count, columns}, {columns, 1}}; }

    /// Who comes to the middle row is interrupted there by `handler`.
    void interrupt_with(void (*handler)(int)) const {
        struct sigaction action = {};
        action.sa_handler = handler;
        ::sigaction(SIGSEGV, &action, nullptr);
        ::mprotect(middle(), bytes(1), PROT_NONE);
    }

    /// Lets whoever comes to the middle row go on; may be called by a handler.
    void let_pass() const { ::mprotect(middle(), bytes(1), PROT_READ | PROT_WRITE); }

private:
    static constexpr std::size_t bytes(index_t rows) {
        return static_cast<std::size_t>(rows * columns) * sizeof(float);
    }

    float* middle() const { return elements_ + count / 2 * columns; }

    float* elements_;
};

/// Rows of every rank that become columns, by one of the tiers; if ranks pass on elements that
/// several want, also the elements that the last rank but one has for all others, of which the last
/// one gets them first.
class rows_to_columns {
public:
    /// \param tier messages, relays, rings, reads (of others' memory) or arena
    rows_to_columns(mpi_group const& world, std::string_view tier, options options = {})
        : how_(std::move(options)) {
        index_t const size = world.size(), rank = world.rank(), width = page_rows::columns / size;
        index_vector const global{size * page_rows::count, page_rows::columns};
        if (tier == "arena")
            arena_.emplace(world, index_t{6} << 20);
        columns_.emplace(static_cast<std::size_t>(global[0] * width),
                         arena_ ? arena_->resource() : std::pmr::get_default_resource());
        source_.add(
            {"w", data_type::f32, global, {{rank * page_rows::count, 0}, rows.view().shape}, {}},
            rows.view());
        target_.add({"w", data_type::f32, global, {{0, rank * width}, {global[0], width}}, {}},
                    tensor_view{columns_->data(), data_type::f32, {global[0], width}, {width, 1}});
        if (tier == "relays")
            add_relayed(world);
        bool const reads = tier == "reads";
        how_.on_node = reads || tier == "rings" ? node_exchange::rings : node_exchange::messages;
        if (reads)
            detail::rings_by_force() = detail::forced_rings{{.streams = true, .least_read = 4096}};
    }

    job prepare(mpi_group const& world) const {
        return reshard::prepare(world, source_tensors{source_},
                                target_tensors{target_, {}, arena()}, how_);
    }

    /// The way by which the elements have moved.
    std::string_view tier_of(job const& moving) const {
        if (moving.cost().messages_out > 0)
            return how_.between_nodes.has_relays() ? "relays" : "messages";
        if (arena_ && arena_->is_shared())
            return "arena";
        return detail::rings_by_force() ? "reads" : "rings";
    }

    page_rows const rows;

private:
    void add_relayed(mpi_group const& world) {
        how_.between_nodes = detail::all_relays();
        how_.processes_per_node = 1;
        index_vector const shape{index_t{1} << 20};
        shard_descriptor const shard{"relayed", data_type::f32, shape, {{0}, shape}, {}};
        relayed_.resize(static_cast<std::size_t>(shape[0]), 1.0F);
        tensor_view const view{relayed_.data(), data_type::f32, shape, {1}};
        if (world.rank() == world.size() - 2)
            source_.add(shard, view);
        else
            target_.add(shard, view);
    }

    shared_arena const* arena() const { return arena_ ? &*arena_ : nullptr; }

    options how_;
    std::optional<shared_arena> arena_;
    std::optional<std::pmr::vector<float>> columns_; ///< goes before the arena
    std::vector<float> relayed_;
    const_state_dict source_;
    state_dict target_;
};

} // namespace reshard::test

#endif
