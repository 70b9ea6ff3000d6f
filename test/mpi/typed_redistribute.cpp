// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>

#include <reshard/typed.hpp>

#include "support/agreed_error.hpp"
#include "support/device_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;

BOOST_AUTO_TEST_SUITE(mpi_typed_redistribute)

namespace {

/// The shards of one rank of a typed layout, of f32, f64 and bf16.
class rank_memory {
public:
    template <class Layout>
    rank_memory(Layout, int rank,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
        if (static_cast<holder_t>(rank) < Layout::rank_end)
            shards_ = descriptors_of<Layout>(static_cast<holder_t>(rank));
        for (shard_descriptor const& shard : shards_)
            bytes_.emplace_back(static_cast<std::size_t>(
                                    byte_count(element_count(local_shape(shard)), shard.dtype) + 1),
                                memory);
    }

    /// Each element is its index in its tensor, with another beginning for each key.
    void fill() {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            for (index_t n = 0; n < element_count(shards_[i].region.shape); ++n)
                if (auto const place =
                        place_of(shards_[i], unravel_index(n, shards_[i].region.shape)))
                    put(i, *place, value_of(shards_[i], unravel_index(n, shards_[i].region.shape)));
    }

    /// All but the first `without` shards.
    state_dict views(std::size_t without = 0) {
        state_dict tensors;
        for (std::size_t i = without; i < shards_.size(); ++i) {
            index_vector const shape = local_shape(shards_[i]);
            tensors.add(shards_[i], tensor_view{bytes_[i].data(), shards_[i].dtype, shape,
                                                row_major_strides(shape)});
        }
        return tensors;
    }

    bool is_untouched() const {
        return std::ranges::all_of(bytes_, [](std::pmr::vector<unsigned char> const& one) {
            return std::ranges::count(one, 0) == static_cast<std::ptrdiff_t>(one.size());
        });
    }

    std::vector<shard_descriptor> const& shards() const { return shards_; }

    bool operator==(rank_memory const& memory) const { return bytes_ == memory.bytes_; }

private:
    /// Where the shard stores the element at `within` of its region, if it has it.
    static std::optional<index_t> place_of(shard_descriptor const& shard,
                                           index_vector const& within) {
        if (shard.flat) {
            index_t const n = ravel_index(within, shard.region.shape) - shard.flat->begin;
            return n >= 0 && n < shard.flat->size() ? std::optional(n) : std::nullopt;
        }
        for (axis_cycle const& cycle : shard.cycles)
            if (within[cycle.axis] % cycle.period >= cycle.block)
                return std::nullopt;
        return ravel_index(held_index(shard.cycles, within), local_shape(shard));
    }

    static double value_of(shard_descriptor const& shard, index_vector at) {
        for (std::size_t axis = 0; axis < at.size(); ++axis)
            at[axis] += shard.region.offset[axis];
        return static_cast<double>(ravel_index(at, shard.global_shape) + shard.key[0]);
    }

    void put(std::size_t i, index_t n, double number) {
        if (shards_[i].dtype == data_type::f64)
            reinterpret_cast<double*>(bytes_[i].data())[n] = number;
        else
            reinterpret_cast<float*>(bytes_[i].data())[n] = static_cast<float>(number);
    }

    std::vector<shard_descriptor> shards_;
    std::vector<std::pmr::vector<unsigned char>> bytes_;
};

template <fixed_string Key, index_t Rows, index_t Columns, auto... Placements>
using matrix = typed::tensor<Key, float, index_vector{Rows, Columns}, Placements...>;

/// Rows of everything: uneven ones, and shards without elements if ranks are many.
template <index_t Ranks>
struct rows : typed::layout<mesh{{"tp", Ranks}}, matrix<"a", 10, 6, shard{0}>,
                            matrix<"b", 3, 6, shard{0}>, matrix<"c", 5, 9, replicate{}>,
                            typed::tensor<"s", double, index_vector{}, replicate{}>,
                            matrix<"z", 0, 4, shard{1}>> {};

/// Columns of some, and one tensor on the last rank alone: stages that hold nothing of the others.
template <index_t Ranks>
struct stages : typed::layout<mesh{{"pp", Ranks}}, matrix<"z", 0, 4, shard{0}>,
                              typed::tensor<"s", double, index_vector{}, only{Ranks - 1}>,
                              matrix<"c", 5, 9, shard{1}>, matrix<"b", 3, 6, only{0}>,
                              matrix<"a", 10, 6, only{Ranks / 2}>> {};

/// What definitions make of `rows`, in other types.
template <index_t Ranks>
struct made : typed::layout<mesh{{"tp", Ranks}}, matrix<"ab", 13, 6, shard{1}>,
                            typed::tensor<"flat", bfloat16, index_vector{45}, shard{0}>,
                            matrix<"t", 9, 5, shard{0}>,
                            typed::tensor<"tail", double, index_vector{4, 6}, shard{0}>,
                            matrix<"zero", 2, 3, shard{0}>> {};

template <class Source>
struct definitions {
    using a = typed::source_of<Source, "a">;
    using b = typed::source_of<Source, "b">;
    using c = typed::source_of<Source, "c">;
    using tail = typed::split<a, 0, index_vector{6, 4}, 1>;

    template <class Target>
    using plan = typed::plan<
        Source, Target, typed::definition<"tail", typed::cast<tail, double>>,
        typed::definition<"ab", typed::concat<0, a, b>>,
        typed::definition<"t", typed::permute<c, index_vector{1, 0}>>,
        typed::definition<"zero", typed::zeros<float, index_vector{2, 3}>>,
        typed::definition<"flat", typed::cast<typed::reshape<c, index_vector{45}>, bfloat16>>>;
};

/// The same definitions at run time.
mapping made_of(layout const& source) {
    mapping program(catalog_of(source));
    expression const a = program.source("a", {10, 6}, data_type::f32);
    expression const b = program.source("b", {3, 6}, data_type::f32);
    expression const c = program.source("c", {5, 9}, data_type::f32);
    program.define("ab", concat({a, b}, 0));
    program.define("flat", cast(reshape(c, {45}), data_type::bf16));
    program.define("t", permute(c, index_vector{1, 0}));
    program.define("tail", cast(split(a, 0, index_vector{6, 4})[1], data_type::f64));
    program.define("zero", zeros({2, 3}, data_type::f32));
    return program;
}

/// The same with memory in arenas, by the type and by typed layouts beside the tensors.
template <class Plan>
void check_in_arenas(mpi_group const& ranks) {
    shared_arena const arena(ranks, 10'000);
    typename Plan::source_layout const source;
    typename Plan::target_layout const target;
    rank_memory have(source, ranks.rank(), arena.resource());
    rank_memory want(target, ranks.rank(), arena.resource());
    rank_memory by_type(target, ranks.rank(), arena.resource());
    rank_memory expected(target, ranks.rank());
    have.fill();
    redistribute(ranks, have.views(), expected.views());
    redistribute(ranks, {have.views(), source, &arena}, {want.views(), target, &arena});
    BOOST_TEST((want == expected));
    redistribute<Plan>(ranks, {have.views(), std::nullopt, &arena},
                       {by_type.views(), std::nullopt, &arena});
    BOOST_TEST((by_type == expected));
}

/// Moves by the type, by a plan of run time, and by one between typed layouts that ranks give beside
/// their tensors: nothing may differ.
template <class Plan>
void check_as_untyped(mpi_group const& ranks, any_program const& program = {}) {
    rank_memory have(typename Plan::source_layout{}, ranks.rank());
    rank_memory want(typename Plan::target_layout{}, ranks.rank()), expected = want,
                                                                    by_layouts = want;
    have.fill();
    redistribute(ranks, have.views(), expected.views(), {.program = program});
    job ready = prepare<Plan>(ranks, have.views(), want.views());
    BOOST_TEST(want.is_untouched());
    run(ready);
    BOOST_TEST((want == expected));
    testing::fake_device fake(std::size_t{1} << 20);
    rank_memory on_device(typename Plan::target_layout{}, ranks.rank());
    test::device_memory<const_tensor_view> const from(const_state_dict(have.views()), {&fake},
                                                      ranks.rank() % 2 != 0, 0);
    test::device_memory<tensor_view> const to(on_device.views(), {&fake}, false, 0);
    redistribute<Plan>(ranks, from.shards(), to.shards(), test::listed({&fake}));
    to.fetch();
    BOOST_TEST((on_device == expected));
    redistribute(ranks, {have.views(), typename Plan::source_layout{}},
                 {by_layouts.views(), typename Plan::target_layout{}}, {.program = program});
    BOOST_TEST((by_layouts == expected));
    if (ranks.rank() < static_cast<int>(rank_count_of<Plan>)) {
        process_cost const cost =
            cost_of<Plan>().by_process[static_cast<std::size_t>(ranks.rank())];
        process_cost const& moved = ready.cost();
        BOOST_TEST(moved.bytes_local == cost.bytes_local);
        BOOST_TEST(moved.bytes_in + moved.bytes_node_in == cost.bytes_in);
        BOOST_TEST(moved.bytes_out + moved.bytes_node_out == cost.bytes_out);
    }
}

template <class Source, class Target>
void check_both_ways(mpi_group const& ranks) {
    check_as_untyped<typed::plan<Source, Target>>(ranks);
    check_as_untyped<typed::plan<Target, Source>>(ranks);
}

/// From `Ranks` ranks to `Others`, in a group of the larger number.
template <index_t Ranks, index_t Others>
void check_between(boost::mpi::communicator const& world) {
    int const size = static_cast<int>(std::max(Ranks, Others));
    if (world.size() < size)
        return;
    auto const some = world.split(world.rank() < size ? 0 : 1);
    if (world.rank() >= size)
        return;
    check_both_ways<rows<Ranks>, stages<Others>>(some);
    using plan = typename definitions<stages<Ranks>>::template plan<made<Others>>;
    check_as_untyped<plan>(some, made_of(layout(stages<Ranks>{})));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_typed_plan_moves_what_one_of_run_time_moves) {
    boost::mpi::communicator const world;
    check_between<1, 1>(world);
    check_between<2, 2>(world);
    check_between<3, 3>(world);
    check_between<4, 4>(world);
    check_between<7, 7>(world);
    check_between<2, 3>(world);
    check_between<7, 4>(world);
}

namespace {

struct replicated
    : typed::layout<mesh{{"dp", 2}, {"tp", 2}}, matrix<"a", 10, 6, replicate{}, shard{1}>,
                    matrix<"b", 3, 6, shard{0}, shard{1}>> {};
struct uneven : typed::layout<mesh{{"tp", 3}}, matrix<"a", 10, 6, shard{0, {1, 0, 9}}>,
                              matrix<"b", 3, 6, replicate{}>> {};

} // namespace

BOOST_AUTO_TEST_CASE(replicas_and_sizes_that_differ_are_moved_in_a_larger_group) {
    boost::mpi::communicator const world;
    if (world.size() >= 4)
        check_both_ways<replicated, uneven>(world);
}

namespace {

/// Blocks dealt out, and slices of all ranks.
template <index_t Ranks>
struct dealt_out
    : typed::layout<mesh{{"p", Ranks}}, matrix<"a", 10, 6, block_cyclic{0, 2}>,
                    matrix<"b", 3, 6, block_cyclic{1, 1}>, matrix<"c", 5, 9, typed::flat_share{}>,
                    typed::tensor<"s", double, index_vector{}, typed::flat_share{}>,
                    matrix<"z", 0, 4, block_cyclic{1, 1}>> {};

/// The same tensors on the last rank and the first one; the last one comes first.
template <index_t Ranks>
struct on_two
    : typed::layout<
          typed::rank_mesh({{"p", 2}}, {Ranks - 1, 0}), matrix<"a", 10, 6, shard{1}>,
          matrix<"b", 3, 6, typed::flat_share{5, 12}>, matrix<"c", 5, 9, block_cyclic{1, 4}>,
          typed::tensor<"s", double, index_vector{}, replicate{}>, matrix<"z", 0, 4, shard{0}>> {};

/// FSDP2 and tensor parallelism, and slices of what tensor parallelism has cut.
struct strided
    : typed::layout<mesh{{"dp", 2}, {"tp", 2}}, matrix<"a", 10, 6, strided_shard{0}, shard{0}>,
                    matrix<"b", 3, 6, typed::flat_share{}, shard{1}>> {};
struct scattered : typed::layout<typed::rank_mesh({{"a", 2}, {"b", 2}}, {6, 0, 3, 5}),
                                 matrix<"a", 10, 6, block_cyclic{0, 3}, block_cyclic{1, 2}>,
                                 matrix<"b", 3, 6, shard{0, {1, 2}}, typed::flat_share{}>> {};

template <index_t Ranks>
void check_dealt_out(boost::mpi::communicator const& world) {
    if (world.size() < Ranks)
        return;
    check_both_ways<dealt_out<Ranks>, rows<Ranks>>(world);
    if constexpr (Ranks > 1) {
        check_both_ways<dealt_out<Ranks>, on_two<Ranks>>(world);
        check_in_arenas<typed::plan<dealt_out<Ranks>, on_two<Ranks>>>(world);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_slices_and_listed_ranks_are_moved_as_at_run_time) {
    boost::mpi::communicator const world;
    check_dealt_out<1>(world);
    check_dealt_out<2>(world);
    check_dealt_out<3>(world);
    check_dealt_out<4>(world);
    check_dealt_out<7>(world);
    if (world.size() >= 4)
        check_both_ways<strided, replicated>(world);
    if (world.size() >= 7)
        check_both_ways<strided, scattered>(world);
}

namespace {

/// A group of ranks, and tensors of two of them or of one.
struct fixture {
    static constexpr index_t two = 2;

    boost::mpi::communicator world;
    int last = std::min(world.size(), 2) - 1;
    rank_memory have{rows<two>{}, world.rank()};
    rank_memory want{stages<two>{}, world.rank()};

    using plan = typed::plan<rows<two>, stages<two>>;

    fixture() { have.fill(); }

    /// What `work` says on all ranks; nothing is written, and a call that is right works.
    template <class Work>
    void check_refused(std::string_view words, Work&& work) {
        BOOST_TEST(agreed_error(world, work) == words);
        BOOST_TEST(want.is_untouched());
        if (world.size() < 2)
            return;
        rank_memory filled(stages<two>{}, world.rank());
        redistribute<plan>(world, have.views(), filled.views());
        BOOST_TEST((world.rank() >= 2 || !filled.is_untouched()));
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_layout_of_more_ranks_than_there_are_is_refused, fixture) {
    using wide = typed::plan<rows<99>, rows<2>>;
    check_refused("bad_layout: the layout of the source is for 99 ranks, and the group has " +
                      std::to_string(world.size()),
                  [&] { redistribute<wide>(world, {}, {}); });
}

BOOST_FIXTURE_TEST_CASE(a_rank_that_lacks_a_shard_is_named_on_all_ranks, fixture) {
    if (world.size() < 2)
        return;
    check_refused("bad_layout: rank 1 holds no tensor for a: float32 [10, 6] [5:10, 0:6], which "
                  "the layout assigns to it; add it to the state dict",
                  [&] { redistribute<plan>(world, have.views(world.rank() == 1), want.views()); });
}

BOOST_FIXTURE_TEST_CASE(a_rank_with_another_shard_or_type_is_named_on_all_ranks, fixture) {
    if (world.size() < 2)
        return;
    auto const with = [&](shard_descriptor const& shard, void* first) {
        state_dict tensors = have.views(world.rank() == 1);
        if (world.rank() == 1)
            tensors.add(shard, tensor_view{first, shard.dtype, shard.region.shape,
                                           row_major_strides(shard.region.shape)});
        return tensors;
    };
    double memory[36] = {};
    check_refused(
        "bad_layout: rank 1 holds a: float64 [10, 6] [5:10, 0:6], which the layout does "
        "not assign to it",
        [&] {
            shard_descriptor const wide{"a", data_type::f64, {10, 6}, {{5, 0}, {5, 6}}, {}};
            redistribute<plan>(world, with(wide, memory), want.views());
        });
    check_refused(
        "bad_layout: rank 1 holds a: float32 [10, 6] [4:10, 0:6], which the layout does "
        "not assign to it",
        [&] {
            shard_descriptor const more{"a", data_type::f32, {10, 6}, {{4, 0}, {6, 6}}, {}};
            redistribute<plan>(world, with(more, memory), want.views());
        });
}

BOOST_FIXTURE_TEST_CASE(ranks_with_different_plans_are_told_so, fixture) {
    if (world.size() < 2)
        return;
    // These two have equal layouts and different expressions.
    using square = typed::layout<mesh{}, matrix<"w", 3, 3>>;
    using turn = typed::plan<
        square, square,
        typed::definition<"w", typed::permute<typed::source_of<square, "w">, index_vector{1, 0}>>>;
    using keep = typed::plan<square, square>;
    rank_memory from(square{}, world.rank()), to(square{}, world.rank());
    check_refused(
        "ranks_disagree: rank 0 runs redistribute with a typed plan and rank 1 runs it with a "
        "different typed plan; every rank must make the same call",
        [&] {
            if (world.rank() == 1)
                redistribute<turn>(world, from.views(), to.views());
            else
                redistribute<keep>(world, from.views(), to.views());
        });
    check_refused("ranks_disagree: rank 0 runs redistribute with a typed plan and rank 1 runs "
                  "redistribute; every rank must make the same call",
                  [&] {
                      if (world.rank() == 1)
                          redistribute(world, have.views(), want.views());
                      else
                          redistribute<plan>(world, have.views(), want.views());
                  });
}

BOOST_FIXTURE_TEST_CASE(a_layout_beside_the_tensors_is_refused, fixture) {
    if (world.size() < 2)
        return;
    check_refused(
        "usage: a typed plan has a layout of the target, but the call gives another one; omit it",
        [&] {
            target_tensors tensors = want.views();
            if (world.rank() == last)
                tensors.layout = layout(stages<two>{});
            redistribute<plan>(world, have.views(), tensors);
        });
}

BOOST_AUTO_TEST_SUITE_END()
