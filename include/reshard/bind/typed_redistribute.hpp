// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_TYPED_REDISTRIBUTE_HPP
#define RESHARD_BIND_TYPED_REDISTRIBUTE_HPP

#include <reshard/bind/overlap.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/layout/typed_layout.hpp>
#include <reshard/plan/typed_plan.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

/// \file
/// Where the shards of typed layouts lie, and running a typed plan with every rank in this process:
/// nothing is planned and nothing allocated.

namespace reshard::detail {

/// True where a copy is runs of bytes that are found in a cache later.
constexpr bool is_runs(constant_copy const& copy) {
    copy_kernel const kernel = choose(copy.loop, copy.conversion);
    return (kernel == copy_kernel::contiguous || kernel == copy_kernel::rows) &&
           byte_count(element_count(copy.loop), copy.conversion.source) < streaming_threshold;
}

/// Copies the runs behind axis `Axis`, whose extents and strides are constants.
///
/// \par Units elements of `Size` bytes
template <class Copy, std::size_t Size, std::size_t Axis = 0>
void copy_runs(unsigned char const* source, unsigned char* target) {
    constexpr affine_copy const& loop = Copy::value.loop;
    if constexpr (loop.ndim() == 0) {
        std::memcpy(target, source, Size);
    } else if constexpr (Axis + 1 == loop.ndim()) {
        std::memcpy(target, source, Size * static_cast<std::size_t>(loop.extent.values[Axis]));
    } else {
        constexpr auto bytes = static_cast<index_t>(Size);
        for (index_t i = 0; i < loop.extent.values[Axis]; ++i)
            copy_runs<Copy, Size, Axis + 1>(source + i * loop.source_strides.values[Axis] * bytes,
                                            target + i * loop.target_strides.values[Axis] * bytes);
    }
}

/// Runs the `constant_copy` `Copy::value`.
///
/// Runs of bytes are loops of constant extents; other kernels are chosen and prepared once, at the
/// first call.
///
/// \pre the places of the source and those of the target are disjoint
template <class Copy>
void run_constant(unsigned char const* source, unsigned char* target) {
    constexpr copy_kernel kernel = choose(Copy::value.loop, Copy::value.conversion);
    if constexpr (kernel == copy_kernel::nothing) {
        return;
    } else if constexpr (is_runs(Copy::value)) {
        constexpr auto size = static_cast<std::size_t>(bits(Copy::value.conversion.source) / 8);
        constexpr auto unit = static_cast<index_t>(size);
        copy_runs<Copy, size>(source + Copy::value.loop.source_offset * unit,
                              target + Copy::value.loop.target_offset * unit);
    } else {
        static prepared_copy const ready = prepare(Copy::value.loop, Copy::value.conversion);
        run(ready, source, target);
    }
}

} // namespace reshard::detail

namespace reshard {

namespace typed {

/// The address of each shard of each rank of `Layout`, in memory of its own: nothing is allocated.
///
/// Shards are dense, the last axis fastest. `Byte` is `std::byte`, or `std::byte const` for shards
/// that are only read.
template <class Layout, class Byte>
class addresses {
    using view_type = std::conditional_t<std::is_const_v<Byte>, const_tensor_view, tensor_view>;

public:
    static constexpr std::size_t ranks = Layout::ranks.rank_count();

    addresses() = default;

    /// The addresses of the shards of all ranks; element `r` is what rank `r` holds.
    ///
    /// \throws error with errc::bad_layout where a rank does not hold what the layout gives it, or
    ///         holds it with gaps between the elements
    explicit addresses(std::span<detail::basic_state_dict<view_type> const> held) {
        if (held.size() != ranks)
            fail(errc::bad_layout, "state dicts of ", reshard::detail::counted(held.size(), "rank"),
                 " for a layout of ", ranks);
        for (holder_t rank = 0; rank < ranks; ++rank)
            add(rank, held[rank]);
    }

    /// Says where rank `rank` has its shard of tensor number `tensor` of the layout.
    ///
    /// \pre `rank < ranks` and `tensor < Layout::keys.size()`
    void set(std::size_t tensor, holder_t rank, Byte* first) {
        all_[tensor * ranks + rank] = first;
    }

    /// The shards of tensor number `tensor`, by rank; null where there is none.
    ///
    /// \pre `tensor < Layout::keys.size()`
    Byte* const* of(std::size_t tensor) const { return all() + tensor * ranks; }

    /// Those of all tensors behind each other.
    Byte* const* all() const { return all_.data(); }

private:
    void add(holder_t rank, detail::basic_state_dict<view_type> const& held) {
        std::array<bool, Layout::keys.size()> has{};
        for (auto const& [shard, tensor] : held) {
            std::size_t const place = Layout::keys.find(detail::hashed_key(shard.key));
            if (place == has.size() || has[place] || !is_there(place, rank, shard))
                fail(errc::bad_layout, named(rank, to_string(shard)),
                     ", which the layout does not give it");
            if (!detail::is_row_major(tensor.shape, tensor.strides))
                fail(errc::bad_layout, named(rank, to_string(shard)), " with the strides ",
                     tensor.strides, "; a typed plan moves dense shards only");
            has[place] = true;
            set(place, rank, static_cast<Byte*>(tensor.data));
        }
        for (std::size_t place = 0; place < has.size(); ++place)
            if (!has[place] && Layout::kinds[place]->how().region(rank))
                fail(errc::bad_layout,
                     named(rank, "nothing of '" + std::string(Layout::keys[place].text)),
                     "', of which the layout gives it a shard");
    }

    static std::string named(holder_t rank, std::string const& what) {
        return "rank " + std::to_string(rank) + " holds " + what;
    }

    static bool is_there(std::size_t place, holder_t rank, shard_descriptor const& shard) {
        kind const& kind = *Layout::kinds[place];
        return shard.global_shape == kind.shape && shard.dtype == kind.dtype && !shard.flat &&
               shard.cycles.empty() && kind.how().region(rank) == shard.region;
    }

    std::array<Byte*, Layout::keys.size() * ranks> all_{};
};

} // namespace typed

namespace detail {

/// One of the copies of a pattern, as a constant of a type.
template <class Pattern, std::size_t Number>
struct pattern_copy {
    static constexpr constant_copy value = Pattern::copies()[Number];

    /// The moves that are this copy.
    static constexpr std::span<typed_move const> moves() {
        auto const [first, last] = std::ranges::equal_range(Pattern::moves(), std::uint32_t{Number},
                                                            {}, &typed_move::copy);
        return {first, last};
    }
};

/// The shards of the tensors that a target tensor is made of: by operand, the place of its
/// addresses.
template <class Byte>
struct operand_rows {
    Byte* const* addresses;
    std::uint32_t const* tensors;
    std::size_t ranks;

    Byte* at(std::uint32_t operand, holder_t rank) const {
        return addresses[tensors[operand] * ranks + rank];
    }
};

inline constexpr unsigned char zero_bytes[16] = {}; // as many as the widest element has

/// Runs the moves of a pattern that are its copy number `Number`.
template <class Pattern, std::size_t Number>
void run_copy(operand_rows<std::byte const> const& sources, std::byte* const* target) {
    using copy = pattern_copy<Pattern, Number>;
    static constexpr std::span<typed_move const> moves = copy::moves();
    static constexpr bool some_are_zeros = std::ranges::any_of(
        moves, [](typed_move const& move) { return move.source_holder == no_holder; });
    for (typed_move const& move : moves) {
        auto* const to =
            reinterpret_cast<unsigned char*>(target[move.target_holder] + move.target_bytes);
        if constexpr (some_are_zeros)
            if (move.source_holder == no_holder) {
                run_constant<copy>(zero_bytes, to);
                continue;
            }
        run_constant<copy>(reinterpret_cast<unsigned char const*>(
                               sources.at(move.operand, move.source_holder) + move.source_bytes),
                           to);
    }
}

/// Runs all moves of one target tensor; no fold, of which compilers take but a few hundred terms.
template <class Pattern, std::size_t... Number>
void run_pattern([[maybe_unused]] operand_rows<std::byte const> const& sources,
                 [[maybe_unused]] std::byte* const* target, std::index_sequence<Number...>) {
    [[maybe_unused]] bool const done[] = {true,
                                          (run_copy<Pattern, Number>(sources, target), true)...};
}

/// The function that makes target tensors of a pattern.
template <class Pattern>
struct pattern_function {
    static void run(operand_rows<std::byte const> const& sources, std::byte* const* target) {
        run_pattern<Pattern>(sources, target, std::make_index_sequence<Pattern::copies().size()>());
    }
    static constexpr auto value = &run;
};

using pattern_runner = void (*)(operand_rows<std::byte const> const&, std::byte* const*);

} // namespace detail

/// Fills the tensors of `target` from those of `source`, as the typed plan `Plan` says.
///
/// What is copied where is known to the compiler: the extents are constants, nothing is planned or
/// allocated, nothing fails.
///
/// \pre every shard of the layouts has an address and its elements there; the memory of a target
///      shard is that of no other shard
template <class Plan>
void run_locally(typed::addresses<typename Plan::source_layout, std::byte const> const& source,
                 typed::addresses<typename Plan::target_layout, std::byte> const& target) {
    static constexpr auto runners =
        Plan::template by_target<detail::pattern_function, detail::pattern_runner>();
    static constexpr auto operands = Plan::operands();
    if constexpr (Plan::size > 0)
        for (std::size_t i = 0; i < Plan::size; ++i)
            runners[i]({source.all(), operands.source.data() + operands.first[i], source.ranks},
                       target.of(i));
}

/// Fills the tensors of `target` from those of `source`, as the typed plan `Plan` says; element `r`
/// is rank `r`.
///
/// \throws error with errc::bad_layout where the ranks do not hold what the layouts give them, with
///         errc::memory_overlap where a target shares memory with another tensor; nothing is
///         written then
template <class Plan>
void redistribute(std::span<const_state_dict const> source, std::span<state_dict const> target) {
    typed::addresses<typename Plan::source_layout, std::byte const> const from(source);
    typed::addresses<typename Plan::target_layout, std::byte> const to(target);
    detail::check_memory(source, target);
    run_locally<Plan>(from, to);
}

} // namespace reshard

#endif
