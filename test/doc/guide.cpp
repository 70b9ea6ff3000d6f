// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/analysis.hpp>
#include <reshard/aoa.hpp>
#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/model.hpp>
#include <reshard/mpi.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/os/prefaulted_memory.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_patterns.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/rounds.hpp>
#include <reshard/plan/verify.hpp>
#include <reshard/storage.hpp>
#include <reshard/typed.hpp>

#include <boost/mpi/collectives/broadcast.hpp>
#include <boost/mpi/environment.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

// The quotes of the pages of doc/: each part between two marks is on a page, and test/doc/pages.py
// compares them. Most of it runs here, on any number of ranks.

namespace {

int failures = 0;

void expect(bool is_right, char const* noun) {
    if (is_right)
        return;
    std::cout << "wrong: " << noun << '\n';
    ++failures;
}

/// The rows, or columns, of `n` that a rank has: as many as the others, and the rest on the last.
struct interval {
    reshard::index_t first = 0;
    reshard::index_t count = 0;
};

interval share_of(reshard::index_t n, reshard::index_t rank,
                  reshard::index_t ranks) {
    reshard::index_t const each = n / ranks;
    return {rank * each, rank + 1 == ranks ? n - rank * each : each};
}

void rows_to_columns(boost::mpi::communicator const& world) {
    reshard::index_t const n = 8;
    auto const [first, rows] = share_of(n, world.rank(), world.size());
    auto const [left, columns] = share_of(n, world.rank(), world.size());
    std::vector<float> own_values(static_cast<std::size_t>(rows * n));
    std::vector<float> result(static_cast<std::size_t>(n * columns));
    std::iota(own_values.begin(), own_values.end(),
              static_cast<float>(first * n));
    // [rows_to_columns]
    // This rank has the rows from `first` on of an n x n matrix.
    reshard::const_state_dict have;
    have.add({"w", reshard::data_type::f32, {n, n}, {{first, 0}, {rows, n}}, {}},
             reshard::const_tensor_view{
                 own_values.data(), reshard::data_type::f32, {rows, n}, {n, 1}});
    // It wants the columns from `left` on.
    reshard::state_dict want;
    want.add(
        {"w", reshard::data_type::f32, {n, n}, {{0, left}, {n, columns}}, {}},
        reshard::tensor_view{
            result.data(), reshard::data_type::f32, {n, columns}, {columns, 1}});
    reshard::redistribute(world, have, want);
    // [/rows_to_columns]
    for (reshard::index_t row = 0; row < n; ++row)
        for (reshard::index_t column = 0; column < columns; ++column)
            expect(result[static_cast<std::size_t>(row * columns + column)] ==
                       static_cast<float>(row * n + left + column),
                   "rows_to_columns");

    std::vector<float> again(result.size());
    reshard::state_dict want_again;
    want_again.add(
        {"w", reshard::data_type::f32, {n, n}, {{0, left}, {n, columns}}, {}},
        reshard::tensor_view{
            again.data(), reshard::data_type::f32, {n, columns}, {columns, 1}});
    // [prepare]
    // Plans, and binds the tensors.
    reshard::job ready = reshard::prepare(world, have, want_again);
    // Moves the bytes, as often as you like.
    run(ready);
    run(ready);
    // [/prepare]
    expect(again == result, "prepare");
    // [deadline]
    try {
        redistribute(world, have, want_again,
                     {.deadline = std::chrono::minutes(5)});
    } catch (reshard::error const& problem) {
        std::cerr << problem.what()
                  << '\n'; // rank 0 of 8 waited 300000 ms for ranks that ...: 3
        world.abort(1);
    }
    // [/deadline]
    // [cache]
    reshard::plan_cache kept; // one a rank, as long as the job
    for (int step = 0; step < 3; ++step) {
        auto job = reshard::prepare(world, have, want_again, {.cache = &kept});
        run(job);
    }
    // [/cache]
    expect(kept.hits() == 2 && kept.misses() == 1, "cache");
    // [relays]
    reshard::job relayed = reshard::prepare(world, have, want_again,
                                            {.between_nodes = reshard::relays()});
    run(relayed);
    // What this rank passed on of what it got; 0 on all: nothing was.
    reshard::index_t const passed_on = relayed.cost().bytes_relayed;
    // [/relays]
    expect(passed_on == 0, "relays: every element is wanted once");
}

/// Rank `r` wants rows `r` and `r + 1`, of which its neighbours want one each.
void overlapping_targets(boost::mpi::communicator const& world) {
    reshard::index_t const ranks = world.size();
    reshard::index_t const rank = world.rank();
    std::vector<float> row{static_cast<float>(rank)};
    reshard::const_state_dict have;
    have.add(reshard::equal_shares("w", reshard::data_type::f32, {1},
                                   {{0, rank, ranks}}),
             row);
    reshard::index_t const first =
        std::min(rank, std::max<reshard::index_t>(ranks - 2, 0));
    std::vector<float> two(ranks < 2 ? 1 : 2);
    auto const count = static_cast<reshard::index_t>(two.size());
    reshard::state_dict want;
    want.add({"w", reshard::data_type::f32, {ranks}, {{first}, {count}}, {}},
             two);
    reshard::redistribute(world, have, want);
    for (std::size_t i = 0; i < two.size(); ++i)
        expect(two[i] == static_cast<float>(first) + static_cast<float>(i),
               "overlap");
    if (ranks < 2)
        return;
    // Sources that overlap and are not equal: two ranks have row 0, one of them row 1 beside it.
    std::vector<float> rows(rank == 0 ? 1 : 2);
    reshard::const_state_dict overlapping;
    overlapping.add(
        {"w", reshard::data_type::f32, {2}, {{0}, {rank == 0 ? 1 : 2}}, {}},
        rows);
    reshard::state_dict nothing;
    try {
        reshard::redistribute(world, overlapping, nothing);
        expect(false, "overlapping sources were taken");
    } catch (reshard::error const& problem) {
        expect(problem.code() == reshard::errc::overlap, problem.what());
    }
}

/// The description of a rank's tensors.
void describe(int rank) {
    reshard::index_t const n = 12;
    reshard::index_t const columns = 6;
    // [shares]
    // Row by row: the last axis runs fastest.
    reshard::mesh const ranks{{"dp", 3}, {"tp", 2}};
    auto const w =
        reshard::equal_shares("w", reshard::data_type::bf16, {n, columns},
                              {axis_share(ranks, rank, "tp", 1)});
    auto const norm = reshard::replicated("norm", reshard::data_type::bf16, {n});
    auto const data = axis_share(ranks, rank, "dp", 0);
    // A third of this rank's columns, in a row.
    auto const moment = reshard::flat_share(w, data.index, data.count);
    // [/shares]
    expect(w.global_shape == reshard::index_vector{12, 12} &&
               norm.region == reshard::whole({12}),
           "shares");
    expect(moment.flat->size() == 24, "shares: the moment");
}

void rules(reshard::mpi_group const& group) {
    reshard::index_t const n = 4;
    int const rank = group.rank();
    reshard::mesh const ranks{{"tp", group.size()}};
    // [rules]
    std::vector<reshard::shard_rules::tensor> const tensors{
        {"qkv.weight", reshard::data_type::bf16, {3 * n, n}}, // what is here
        {"out.weight", reshard::data_type::bf16, {n, n}},
        {"norm.weight", reshard::data_type::bf16, {n}}};
    reshard::shard_rules const layer{"layers.3.",
                                     {{reshard::key_pattern("qkv.*"), 0},
                                      {reshard::key_pattern("out.weight"), 1}}};
    auto const shards =
        apply(layer, tensors, reshard::axis_share(ranks, rank, "tp", 0));
    check(group, layer, tensors, shards);
    // [/rules]
    expect(shards.shards[0].global_shape ==
               reshard::index_vector{3 * n * group.size(), n},
           "rules");
    expect(shards.unmatched == std::vector<std::string>{"layers.3.norm.weight"},
           "rules: the norm");
}

void arenas(boost::mpi::communicator const& world) {
    reshard::index_t const n = 4;
    std::vector<float> own_values{0, 1, 2, 3};
    reshard::state_dict have;
    auto const rank = static_cast<reshard::index_t>(world.rank());
    have.add(reshard::equal_shares("w", reshard::data_type::f32, {n},
                                   {{0, rank, world.size()}}),
             own_values);
    auto const elements = static_cast<std::size_t>(n * world.size());
    reshard::index_t const bytes =
        n * world.size() * reshard::index_t{sizeof(float)};
    // [arena]
    // Collective. 128 bytes a tensor beside its elements.
    reshard::shared_arena arena(world, bytes + 128);
    // Or a std::pmr::vector, which writes zeros first.
    auto* const result = static_cast<float*>(
        arena.resource()->allocate(static_cast<std::size_t>(bytes), 64));
    reshard::state_dict want;
    want.add(
        reshard::replicated("w", reshard::data_type::f32, {n * world.size()}),
        std::span(result, elements));
    auto ready = reshard::prepare(world, have, {want, {}, &arena});
    run(ready);
    // [/arena]
    for (std::size_t i = 0; i < elements; ++i)
        expect(result[i] == static_cast<float>(i % 4), "arena");
    // [fresh]
    reshard::prefaulted_memory memory(bytes +
                                      128); // 128 bytes a tensor, as above
    // Not through a pmr::vector, whose zeros would be written at once.
    auto* const fresh = static_cast<float*>(
        memory.resource()->allocate(static_cast<std::size_t>(bytes), 64));
    reshard::state_dict wanted;
    wanted.add(
        reshard::replicated("w", reshard::data_type::f32, {n * world.size()}),
        std::span(fresh, elements));
    auto planned =
        prepare(world, have, wanted); // meanwhile a thread prefaults the memory
    memory.wait();
    run(planned);
    // [/fresh]
    for (std::size_t i = 0; i < elements; ++i)
        expect(fresh[i] == static_cast<float>(i % 4), "fresh");
}

void block_cyclic_matrix() {
    reshard::index_t const m = 10;
    reshard::index_t const n = 6;
    // [block_cyclic]
    // Ranks row by row; of a column-major grid, {{"q", 2}, {"p", 2}}.
    auto const before = reshard::layout_of(
        "A", reshard::data_type::f64, {m, n}, {{"p", 2}, {"q", 2}},
        {reshard::block_cyclic{0, 4}, reshard::block_cyclic{1, 4}});
    // [/block_cyclic]
    reshard::holder_t const rank = 0; // rows 0-3 and 8-9, columns 0-3
    reshard::index_t const rows = 6;
    reshard::index_t const columns = 4;
    reshard::index_t const leading_dimension = 7;
    std::vector<double> local(
        static_cast<std::size_t>(leading_dimension * columns));
    double const* const a = local.data();
    // [block_cyclic_add]
    reshard::const_state_dict have;
    have.add(
        "A", before, rank,
        reshard::adapt::raw_tensor(a, {rows, columns}, {1, leading_dimension}));
    // [/block_cyclic_add]
    have.check();
    expect(have.size() == 1, "block_cyclic");

    reshard::index_t const p = 0, q = 1; // this rank's place in the grid
    reshard::index_t const mb = 4, nb = 4;
    std::vector<double> elements(64);
    auto const tile = [&](reshard::index_t i, reshard::index_t) {
        return elements.data() + i * mb * nb; // it has one column of tiles
    };
    // [tiles]
    reshard::state_dict tiles;
    // Tile (i, j) of a matrix whose tiles are dealt out to a grid of 2 x 2 ranks.
    for (reshard::index_t i = p; i * mb < m; i += 2)
        for (reshard::index_t j = q; j * nb < n; j += 2) {
            reshard::box const region{
                {i * mb, j * nb},
                {std::min(mb, m - i * mb), std::min(nb, n - j * nb)}};
            tiles.add(
                {"A", reshard::data_type::f64, {m, n}, region},
                reshard::adapt::raw_tensor(tile(i / 2, j / 2), region.shape));
        }
    // [/tiles]
    tiles.check();
    expect(tiles.size() == 2, "tiles"); // rows 0-3 and 8-9, columns 4-5
}

void algebra(reshard::mpi_group const& world) {
    std::vector<float> const q_elements{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<float> const k_elements{8, 9, 10, 11};
    std::vector<float> qk(12);
    reshard::const_state_dict have;
    have.add(reshard::replicated("q", reshard::data_type::f32, {4, 2}),
             reshard::const_tensor_view{
                 q_elements.data(), reshard::data_type::f32, {4, 2}, {2, 1}});
    have.add(replicated("k", reshard::data_type::f32, {2, 2}),
             reshard::const_tensor_view{
                 k_elements.data(), reshard::data_type::f32, {2, 2}, {2, 1}});
    reshard::state_dict want;
    want.add(
        replicated("qk", reshard::data_type::f32, {2, 6}),
        reshard::tensor_view{qk.data(), reshard::data_type::f32, {2, 6}, {6, 1}});
    // [algebra]
    reshard::mapping program;
    auto const q = program.source("q", {4, 2}, reshard::data_type::f32);
    auto const k = program.source("k", {2, 2}, reshard::data_type::f32);
    program.define("qk", transpose(reshard::concat({q, k}, 0)));
    reshard::redistribute(world, have, want, {.program = program});
    // [/algebra]
    expect(qk == std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11},
           "algebra");
}

} // namespace

namespace {

/// Tensor parallelism over all ranks, whose vocabulary and one weight are cut.
reshard::layout spread_over(reshard::index_t ranks) {
    return layout_of("w", reshard::data_type::bf16, {8, 2}, {{"tp", ranks}},
                     {reshard::shard{0}});
}

void plans() {
    reshard::layout const source_layout = spread_over(4);
    reshard::layout const target_layout = spread_over(2);
    reshard::mapping const program = identity_mapping(catalog_of(source_layout));
    reshard::holder_t const ranks = 4;
    // [plan]
    auto const problem =
        reshard::problem_of(program, source_layout, target_layout);
    auto const plan = reshard::make_plan(problem);
    // Each target element is written exactly once.
    assert(!reshard::verify(plan, problem));
    // Bytes and messages, in all and by rank.
    auto const cost = reshard::cost_of(plan, ranks);
    // [/plan]
    expect(!reshard::verify(plan, problem), "plan: verified");
    expect(cost.by_process[1].bytes_in == 16, "plan: what rank 1 lacks");
    // [cost]
    reshard::plan_flows const flows(problem);
    // The same figures, by patterns.
    auto const quick = reshard::cost_of(flows, ranks);
    double const uneven = quick.imbalance(&reshard::process_cost::bytes_in);
    // The tensors of each rank, before and after.
    auto const memory = reshard::memory_of(problem, ranks);
    // At most so many bytes on a rank.
    auto const rounds = reshard::rounds_of(flows, ranks, 80'000'000'000);
    // [/cost]
    expect(quick.by_process[1].bytes_in == 16 && uneven >= 1, "cost");
    expect(memory.size() == 4 && rounds.rounds.size() == 1, "cost: memory");
}

void restart() {
    reshard::layout const before = spread_over(4);
    reshard::layout const after = spread_over(2);
    // [relabel]
    auto const best = reshard::best_relabelling(before, after);
    // The mesh of the restart: process `best.process_of[r]` plays rank r.
    reshard::rank_mesh const ranks({{"tp", 2}}, best.process_of);
    // [/relabel]
    // Rank 1 wants rows 4 to 7, of which process 2 has the first two.
    expect(best.process_of == std::vector<reshard::holder_t>{0, 2},
           "relabel: processes");
    expect(best.bytes_kept == 16 && best.bytes_kept_before == 8,
           "relabel: bytes");
    expect(best.of_processes(after).holders == 3, "relabel: a layout");
}

void networks() {
    reshard::layout const before = spread_over(4);
    reshard::layout const after = spread_over(2);
    auto const program = reshard::identity_mapping(reshard::catalog_of(before));
    auto const problem = reshard::problem_of(program, before, after);
    // [network]
    reshard::network over; // or read_network("network.json")
    over.ranks_per_node = 2;
    over.link.node_bytes_per_second = 100e9;
    auto const run = reshard::simulate(reshard::plan_flows(problem), over);
    std::string const bound = name(run.links[run.bounded_by]);
    // [/network]
    expect(run.seconds >= run.least_seconds(), "network: the bound");
    expect(bound == "the link out of node 1", "network: what bounds");
    // [relay]
    // From 0 to 2, and on to 4 while it arrives, a chunk behind.
    std::vector<reshard::simulated_flow> const chain{
        {.source = 0, .target = 2, .bytes = 100'000'000},
        {.source = 2,
         .target = 4,
         .bytes = 100'000'000,
         .waits_for = {{.flow = 0, .bytes_ahead = 1'000'000}}}};
    double const seconds = reshard::simulate(chain, over).seconds;
    // [/relay]
    // A millisecond for each, and one chunk and two latencies more.
    expect(seconds > 0.00101 && seconds < 0.00103, "network: a relay");
}

void many_ranks() {
    // [wide]
    reshard::mesh const gpus{{"dp", 128}, {"tp", 8}};
    reshard::layout const wide =
        reshard::layout_of("w", reshard::data_type::bf16, {16384, 4096}, gpus,
                           {reshard::replicate{}, reshard::shard{0}});
    reshard::layout const narrow =
        reshard::layout_of("w", reshard::data_type::bf16, {16384, 4096},
                           {{"tp", 4}}, {reshard::shard{0}});
    auto const program = reshard::identity_mapping(catalog_of(wide));
    // It refers to all three, which must live as long.
    auto const problem = reshard::problem_of(program, wide, narrow);
    reshard::holder_t const rank = 3;
    // What rank 3 sends and receives.
    auto const plan = reshard::make_plan(
        problem, {reshard::holder_set({rank}), reshard::holder_set({rank})});
    // For all ranks; equal tensors are counted, not listed.
    reshard::plan_flows const flows(problem);
    // [/wide]
    expect(!plan.transfers.empty() && flows.size() == 1 &&
               shards_of(wide, 3).front().region.offset[0] == 6144,
           "wide");
}

void known_layouts(reshard::mpi_group const& world) {
    reshard::index_t const size = world.size();
    int const rank = world.rank();
    auto const layout_along = [&](std::size_t axis) {
        return layout_of("w", reshard::data_type::f32, {2 * size, 2 * size},
                         {{"tp", size}}, {reshard::shard{axis}});
    };
    reshard::layout const before = layout_along(0);
    reshard::layout const after = layout_along(1);
    std::vector<float> own_values(static_cast<std::size_t>(4 * size));
    std::iota(own_values.begin(), own_values.end(),
              static_cast<float>(4 * size * rank));
    std::vector<float> result(own_values.size());
    // [known]
    reshard::const_state_dict have;
    have.add("w", before, rank,
             reshard::adapt::raw_tensor(own_values.data(), {2, 2 * size}));
    reshard::state_dict want;
    want.add("w", after, rank,
             reshard::adapt::raw_tensor(result.data(), {2 * size, 2}));
    reshard::redistribute(world, {have, before}, {want, after});
    // [/known]
    for (reshard::index_t row = 0; row < 2 * size; ++row)
        for (reshard::index_t i = 0; i < 2; ++i)
            expect(result[static_cast<std::size_t>(2 * row + i)] ==
                       static_cast<float>(2 * size * row + 2 * rank + i),
                   "known");
    std::vector<std::vector<float>> filled;
    // [budget]
    auto const allocate = [&](std::vector<std::string> const& keys) {
        reshard::state_dict fresh; // this rank's shards of these target tensors
        for (std::string const& key : keys) {
            filled.emplace_back(static_cast<std::size_t>(4 * size));
            fresh.add(
                key, after, rank,
                reshard::adapt::raw_tensor(filled.back().data(), {2 * size, 2}));
        }
        return fresh;
    };
    auto const release = [](std::vector<std::string> const&) {
    }; // nobody reads these any more
    reshard::redistribute(
        world, have, {{}, after},
        {.memory = reshard::rounds(80'000'000'000, allocate, release)});
    // [/budget]
    expect(filled.size() == 1 && filled[0] == result, "budget");
}

// [typed]
struct trained
    : reshard::typed::layout<
          reshard::mesh{{"tp", 4}},
          reshard::typed::tensor<"q", float, reshard::index_vector{8, 2},
                                 reshard::shard{0}>,
          reshard::typed::tensor<"k", float, reshard::index_vector{4, 2},
                                 reshard::shard{0}>> {};
struct served
    : reshard::typed::layout<
          reshard::mesh{{"tp", 2}},
          reshard::typed::tensor<"qk", float, reshard::index_vector{12, 2},
                                 reshard::shard{0}>> {};

using qk = reshard::typed::concat<0, reshard::typed::source_of<trained, "q">,
                                  reshard::typed::source_of<trained, "k">>;
using serve =
    reshard::typed::plan<trained, served, reshard::typed::definition<"qk", qk>>;

static_assert(reshard::typed::has_equal_shards<served> &&
              reshard::cost_of<serve>().by_process[0].bytes_in == 32);
// [/typed]

// [typed_program]
using serve_text =
    reshard::typed::plan<trained, served,
                         reshard::typed::program<"q, k -> qk, axis=0">>;
// [/typed_program]
static_assert(reshard::cost_of<serve_text>().by_process[0].bytes_in == 32);

// [typed_model]
template <std::size_t Layer, auto Name, reshard::index_vector Shape, auto... Cut>
using weight =
    reshard::typed::tensor<reshard::typed::key<"layers."> +
                               reshard::typed::number<Layer> + "." + Name,
                           reshard::bfloat16, Shape, Cut...>;

template <std::size_t Layer>
using layer = boost::mp11::mp_list<
    weight<Layer, reshard::typed::key<"up">, reshard::index_vector{64, 32},
           reshard::shard{0}>,
    weight<Layer, reshard::typed::key<"down">, reshard::index_vector{32, 64},
           reshard::shard{1}>>;

// The same tensors on two pipeline stages of 31 and 30 layers.
template <std::size_t Layer>
using layer_on_stage =
    reshard::typed::with_placements<layer<Layer>, reshard::only{Layer / 31},
                                    reshard::typed::own_placements{}>;

struct model : reshard::typed::layout<reshard::mesh{{"tp", 8}},
                                      reshard::typed::layers<61, layer>> {};
struct pipeline
    : reshard::typed::layout<reshard::mesh{{"pp", 2}, {"tp", 4}},
                             reshard::typed::layers<61, layer_on_stage>> {};
// [/typed_model]
static_assert(model::keys.size() == 2 * 61 &&
              reshard::cost_of<reshard::typed::plan<model, pipeline>>().bytes ==
                  61 * 2 * 64 * 32 * 2);

/// An optimizer of one moment; it has no memory but this.
struct tensors_of_a_job {
    std::vector<float> weight{1, 2, 3, 4};
    std::vector<float> moment{5, 6, 7, 8};
    reshard::index_t rank;
    reshard::index_t size;

    template <class StateDict>
    StateDict shards() {
        StateDict value;
        value.add(
            equal_shares("w", reshard::data_type::f32, {4}, {{0, rank, size}}),
            weight);
        value.add(equal_shares("w.exp_avg", reshard::data_type::f32, {4},
                               {{0, rank, size}}),
                  moment);
        return value;
    }
};

void checkpoints(reshard::mpi_group const& ranks,
                 std::filesystem::path const& directory) {
    auto const there = [&](char const* name) {
        return (directory / name).string();
    };
    tensors_of_a_job job{.rank = ranks.rank(), .size = ranks.size()};
    auto const have = job.shards<reshard::const_state_dict>();
    tensors_of_a_job restarted{
        {0, 0, 0, 0}, {0, 0, 0, 0}, ranks.rank(), ranks.size()};
    auto const want = restarted.shards<reshard::state_dict>();
    // [save]
    // Sharded; whole tensors: {.form = reshard::save_form::huggingface}.
    reshard::save(ranks, have, there("checkpoint"));
    // [/save]
    // [load]
    // Only the bytes that are needed are read, on each node once.
    auto const source = reshard::open_checkpoint(ranks, there("checkpoint"));
    reshard::load(ranks, source, want);
    // [/load]
    expect(restarted.weight == job.weight && restarted.moment == job.moment,
           "load");
    reshard::mapping program(catalog_of(source));
    program.define("renamed", program.source("w", {4 * ranks.size()},
                                             reshard::data_type::f32));
    // [convert]
    // From files to files.
    reshard::convert(ranks, source, there("new"), {.program = program});
    // [/convert]
    // [save_program]
    // Whole tensors, which a program makes of the tensors of all ranks.
    reshard::save(ranks, have, there("renamed"),
                  {.program = reshard::aoa::parse("w -> renamed")});
    // [/save_program]
    expect(open_checkpoint(ranks, there("renamed")).metadata().tensors.size() ==
               2,
           "save_program");
    expect(open_checkpoint(ranks, there("new")).metadata().tensors.size() >= 1,
           "convert");

    // [background]
    reshard::async_saver
        saver; // one a rank: its thread, and memory for two saves
    std::shared_future<reshard::save_report> const saved =
        reshard::save_async(ranks, have, there("step_100"), saver);
    // The tensors may change at once.
    job.weight[0] = 10;
    // Waits; what failed is thrown here, and by the next save.
    saved.get();
    // [/background]
    load(ranks, open_checkpoint(ranks, there("step_100")), want);
    expect(restarted.weight[0] == 1, "background");

    // [delta]
    auto const delta = reshard::save(ranks, have, there("step_110"),
                                     {.writing = {.base = there("step_100")}});
    // delta.reused: bytes that the base has, of delta.bytes
    // [/delta]
    expect(delta.reused > 0 && delta.reused < delta.bytes, "delta");

    // [newest]
    reshard::save(ranks, have, there("step_300"),
                  {.writing = {.numbers = {{"step", 300}, {"loss", 1.5}}}});
    auto const newest =
        reshard::open_checkpoint(ranks, directory, reshard::latest{});
    // The last argument: false only says what would go.
    auto const report = reshard::retain(
        ranks, directory, {.last = 3, .best = 1, .by = "loss"}, true);
    // [/newest]
    expect(newest.metadata().tensors.size() == 2, "newest");

    // [needs]
    std::vector<reshard::state_need> const needs{{"w", {"*.exp_avg"}}};
    reshard::save(ranks, have, there("step_400"), {.needs = needs});
    reshard::load(ranks, source, want, {.needs = needs});
    // [/needs]

    // [kept_saves]
    reshard::save_cache cache(2);
    reshard::save(ranks, have, there("step_500"), {.cache = &cache});
    reshard::save(ranks, have, there("step_510"), {.cache = &cache});
    // cache.hits() is 1
    // [/kept_saves]
    expect(cache.hits() == 1, "kept_saves");
}

// [progress]
struct progress {
    int step = 0;
    reshard::model_state state() {
        return {{"step", reshard::stored_value{std::to_string(step)}}};
    }
    void loaded(reshard::model_state const& state) {
        step = std::stoi(std::get<reshard::stored_value>(state.at("step")).bytes);
    }
};
// [/progress]

void states(reshard::mpi_group const& group,
            std::filesystem::path const& directory) {
    std::string const path = (directory / "state").string();
    std::vector<float> elements{1, 2, 3, 4};
    auto const view =
        reshard::tensor_view{elements.data(), reshard::data_type::f32, {4}, {1}};
    auto const shard =
        reshard::equal_shares("model.w", reshard::data_type::f32, {4},
                              {{0, group.rank(), group.size()}});
    reshard::index_t const ranks = group.size();
    reshard::index_t const rank = group.rank();
    std::string bytes = "seed " + std::to_string(rank);
    // [state]
    reshard::model_state state;
    state["decoder"] =
        reshard::local_shard{shard, view}; // in the file under shard.key
    state["generator"] = reshard::stored_object{
        {"rng", {ranks}, {rank}}, bytes}; // a cell of an array of objects
    state["iteration"] = reshard::stored_value{"1000"}; // the same on every rank
    state["timer"] = reshard::unsaved_value{42};        // no checkpoint has it
    save_state(group, state, path);
    load_state(group, reshard::open_checkpoint(group, path), state);
    // [/state]
    expect(std::get<reshard::stored_object>(state.at("generator")).bytes == bytes,
           "state");
    // [beyond]
    state["generator"] = reshard::stored_object{
        {"rng", {ranks}, {rank}}, "a fresh seed", reshard::object_rule::keep};
    // [/beyond]
    progress model{7};
    // [tie]
    save_state(group, std::tie(model), path, {.writing = {.replace = true}});
    model.step = 0;
    load_state(group, reshard::open_checkpoint(group, path), std::tie(model));
    // [/tie]
    expect(model.step == 7, "tie");

    reshard::const_state_dict have;
    std::vector<float> const embedding{1, 2};
    have.add(reshard::replicated("model.embed_tokens.weight",
                                 reshard::data_type::f32, {2}),
             embedding);
    std::string const checkpoint = (directory / "tied").string();
    // [aliases]
    reshard::save(group, have, checkpoint,
                  {.aliases = {{"lm_head.weight", "model.embed_tokens.weight"}}});
    // [/aliases]
    expect(open_checkpoint(group, checkpoint).metadata().aliases.size() == 1,
           "aliases");
}

/// The state that an optimizer keeps of a parameter that it knows by its memory.
struct adam_moment {
    float const* parameter;
    std::vector<float> moment;
};

/// Rows of `w` on each rank, a bias on all.
void state_dicts(reshard::mpi_group const& ranks,
                 std::filesystem::path const& directory) {
    auto const there = [&](char const* name) { return directory / name; };
    reshard::index_t const rank = ranks.rank(), size = ranks.size();
    std::vector<float> rows{1, 2, 3}, bias{4, 5};
    reshard::state_dict have;
    have.add(reshard::equal_shares("w", reshard::data_type::f32, {1, 3},
                                   {{0, rank, size}}),
             reshard::adapt::raw_tensor(rows.data(), {1, 3}));
    have.add(reshard::replicated("bias", reshard::data_type::f32, {2}), bias);
    // [whole_on_first]
    // All tensors of the job, whole, on the first rank alone.
    reshard::catalog const catalog =
        catalog_of(gather_layout(ranks, have.descriptors()));
    std::map<std::string, std::vector<std::byte>> memory;
    reshard::state_dict full;
    if (ranks.rank() == 0)
        for (reshard::catalog_entry const& tensor : catalog) {
            auto const shard =
                reshard::replicated(tensor.key, tensor.dtype, tensor.shape);
            auto& bytes = memory[tensor.key];
            bytes.resize(static_cast<std::size_t>(
                byte_count(element_count(tensor.shape), tensor.dtype)));
            full.add(shard, reshard::tensor_view{
                                bytes.data(), tensor.dtype, tensor.shape,
                                row_major_strides(tensor.shape)});
        }
    redistribute(ranks, have, full);
    // [/whole_on_first]
    rows.assign(3, 0);
    // [from_first]
    // What the first rank has alone, in any layout on all ranks.
    redistribute(ranks, full, have);
    // [/from_first]
    expect(full.size() == (rank == 0 ? 2u : 0u), "whole_on_first");
    expect(rows == std::vector<float>({1, 2, 3}), "from_first");
    auto const is_frozen = [](std::string const& key) { return key == "bias"; };
    // [frozen]
    reshard::state_dict trained;
    for (auto const& [shard, tensor] : have)
        if (!is_frozen(shard.key))
            trained.add(shard, tensor);
    // [/frozen]
    expect(trained.size() == 1, "frozen");
    std::vector<adam_moment> optimizer{{rows.data(), {7, 8, 9}}};
    // [state_of]
    // Each parameter's moment lies as the parameter does: `w.exp_avg`.
    for (auto& [parameter, moment] : optimizer) {
        auto const shard =
            reshard::model::state_of(have, parameter, {.suffix = ".exp_avg"});
        trained.add(
            shard, reshard::adapt::raw_tensor(moment.data(), local_shape(shard)));
    }
    // [/state_of]
    trained.check();
    expect(trained[1].descriptor.key == "w.exp_avg", "state_of");
    // [this_layout_only]
    // One file a rank, which the same ranks load as they are.
    save(ranks, trained, there("as_it_is"),
         {.writing = {.this_layout_only = true}});
    load(ranks, open_checkpoint(ranks, there("as_it_is")), trained);
    // Then for any layout.
    auto const saved = open_checkpoint(ranks, there("as_it_is"));
    convert(ranks, saved, there("whole"));
    // [/this_layout_only]
    expect(open_checkpoint(ranks, there("whole")).metadata().tensors.size() == 2,
           "this_layout_only");
}

/// A program in which each pass is one of AOA's steps.
void aoa_steps() {
    reshard::catalog const source = reshard::catalog_of(spread_over(2));
    // [aoa_steps]
    auto const text = reshard::aoa::parse("w -> a, b, axis=0\n", "halves.aoa");
    // Placeholders and macros; the target may be unknown.
    auto const expanded = reshard::aoa::expand(text, source, nullptr);
    // A mapping.
    auto const program = reshard::aoa::lower(expanded.code, source);
    // All that is wrong, at once.
    auto const findings = reshard::aoa::check(text, source);
    // [/aoa_steps]
    (void)findings;
    (void)program;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    reshard::mpi_group const group(world);
    int process = static_cast<int>(::getpid()); // of the first rank
    boost::mpi::broadcast(world, process, 0);
    auto const directory = std::filesystem::temp_directory_path() /
                           ("reshard-guide-" + std::to_string(process));
    if (world.rank() == 0) {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
    }
    try {
        rows_to_columns(world);
        overlapping_targets(world);
        describe(world.rank() % 6); // the mesh has six ranks
        rules(group);
        arenas(world);
        block_cyclic_matrix();
        algebra(group);
        plans();
        restart();
        networks();
        many_ranks();
        known_layouts(group);
        checkpoints(group, directory);
        states(group, directory);
        state_dicts(group, directory);
        aoa_steps();
    } catch (reshard::error const& problem) {
        std::cout << problem.what() << '\n';
        ++failures;
    }
    world.barrier();
    if (world.rank() == 0)
        std::filesystem::remove_all(directory);
    return failures == 0 ? 0 : 1;
}
