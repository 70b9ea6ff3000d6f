// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/counted_row.hpp"
#include "support/ranks_per_node.hpp"

#include <reshard/bind/job_state.hpp>
#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::ranks_per_node_variable;

namespace {

namespace mpi = boost::mpi;

/// Where part `i` of `parts` nearly equal parts of `extent` begins.
index_t cut_at(index_t extent, int i, int parts) { return extent * i / parts; }

/// A tensor and its elements, row by row.
template <class T>
struct piece_of_matrix {
    shard_descriptor descriptor;
    std::vector<T> elements;

    piece_of_matrix(std::string key, index_vector const& global, box const& region)
        : descriptor{std::move(key), data_type_of<T>, global, region, {}},
          elements(static_cast<std::size_t>(element_count(region))) {}

    void number_elements() {
        for (std::size_t i = 0; i < elements.size(); ++i)
            elements[i] = static_cast<T>(number(i));
    }

    /// The row-major number, in the global tensor, of local element `i`.
    index_t number(std::size_t i) const {
        index_vector index = unravel_index(static_cast<index_t>(i), descriptor.region.shape);
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            index[axis] += descriptor.region.offset[axis];
        return ravel_index(index, descriptor.global_shape);
    }

    std::size_t wrong_elements() const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < elements.size(); ++i)
            count += elements[i] != static_cast<T>(number(i));
        return count;
    }

    tensor_view view() {
        return {elements.data(), descriptor.dtype, descriptor.region.shape,
                row_major_strides(descriptor.region.shape)};
    }
};

template <class T>
piece_of_matrix<T> rows(std::string key, index_vector const& global, index_t first,
                        index_t behind) {
    return {std::move(key), global, {{first, 0}, {behind - first, global[1]}}};
}

template <class T>
piece_of_matrix<T> columns(std::string key, index_vector const& global, index_t first,
                           index_t behind) {
    return {std::move(key), global, {{0, first}, {global[0], behind - first}}};
}

template <class... Pieces>
state_dict dict(Pieces&... pieces) {
    state_dict tensors;
    (tensors.add(pieces.descriptor, pieces.view()), ...);
    return tensors;
}

/// The program that leaves `w` as it is.
mapping by_name_of_w(index_vector const& shape) {
    mapping program;
    program.define("w", program.source("w", shape, data_type::f32));
    return program;
}

/// Rows on the source side, columns on the target side, over all ranks.
struct matrix_fixture {
    mpi::communicator world;
    index_vector shape{7, 5};
    int rank = world.rank();
    int size = world.size();
    int last = size - 1;
    piece_of_matrix<float> source =
        rows<float>("w", shape, cut_at(7, rank, size), cut_at(7, rank + 1, size));
    piece_of_matrix<float> target =
        columns<float>("w", shape, cut_at(5, rank, size), cut_at(5, rank + 1, size));

    matrix_fixture() { source.number_elements(); }

    std::string error_of(state_dict const& from, state_dict const& to,
                         std::optional<mapping> const& program = std::nullopt) {
        std::vector<float> const before = target.elements;
        std::string const text =
            agreed_error(world, [&] { redistribute(world, from, to, {.program = program}); });
        BOOST_TEST((target.elements == before));
        // The next call finds every rank in the same place.
        redistribute(world, dict(source), dict(target));
        BOOST_TEST(target.wrong_elements() == 0u);
        return text;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_redistribute, matrix_fixture)

BOOST_AUTO_TEST_CASE(rows_become_columns) {
    redistribute(world, dict(source), dict(target));
    BOOST_TEST(target.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(ranks_may_hold_nothing) {
    piece_of_matrix<float> matrix = rows<float>("w", shape, 0, 7);
    matrix.number_elements();
    piece_of_matrix<float> wanted = rows<float>("w", shape, 0, 7);
    redistribute(world, rank == 0 ? dict(matrix) : dict(), rank == last ? dict(wanted) : dict());
    BOOST_TEST(wanted.wrong_elements() == (rank == last ? 0u : 34u));
}

BOOST_AUTO_TEST_CASE(ranks_may_hold_different_keys_and_several_shards_of_one) {
    // Rank r has matrix "r" and wants the first and the last row of the next rank's, in one tensor each.
    std::string const own = std::to_string(rank);
    std::string const next = std::to_string((rank + 1) % size);
    piece_of_matrix<float> matrix = rows<float>(own, shape, 0, 7);
    matrix.number_elements();
    piece_of_matrix<float> first = rows<float>(next, shape, 0, 1);
    piece_of_matrix<float> end = rows<float>(next, shape, 6, 7);
    redistribute(world, dict(matrix), dict(end, first));
    BOOST_TEST(first.wrong_elements() == 0u);
    BOOST_TEST(end.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_rank_has_itself_it_does_not_ask_for) {
    piece_of_matrix<float> matrix = rows<float>("w", shape, 0, 7);
    matrix.number_elements();
    job moving = prepare(world, dict(matrix), dict(target));
    BOOST_TEST(moving.cost().bytes_in == 0);
    BOOST_TEST(moving.cost().bytes_out == 0);
    BOOST_TEST(moving.cost().messages_in == 0);
    BOOST_TEST(moving.cost().bytes_local ==
               static_cast<index_t>(target.elements.size() * sizeof(float)));
    run(moving);
    BOOST_TEST(target.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(a_prepared_redistribution_runs_again_with_new_values) {
    job moving = prepare(world, dict(source), dict(target));
    run(moving);
    BOOST_TEST(target.wrong_elements() == 0u);
    for (float& element : source.elements)
        element += 1000;
    run(moving);
    for (std::size_t i = 0; i < target.elements.size(); ++i)
        BOOST_TEST(target.elements[i] == static_cast<float>(target.number(i) + 1000));
    layout const& layout = moving.target_layout();
    BOOST_TEST(layout.shards_of(*layout.find("w")).size() == static_cast<std::size_t>(size));
}

BOOST_AUTO_TEST_CASE(what_was_moved_from_is_an_error_to_run_or_to_ask) {
    job first = prepare(world, dict(source), dict(target));
    job second = std::move(first);
    std::string const expected =
        "usage: this job has been moved from; use the one that it was moved to";
    BOOST_TEST(agreed_error(world, [&] { run(first); }) == expected);
    BOOST_TEST(agreed_error(world, [&] { first.cost(); }) == expected);
    BOOST_TEST(agreed_error(world, [&] { first.target_layout(); }) == expected);
    run(second);
    BOOST_TEST(target.wrong_elements() == 0u);
    first = std::move(second);
    run(first);
}

BOOST_AUTO_TEST_CASE(options_follow_the_tensors_where_there_is_no_program) {
    options const how{.on_node = node_exchange::messages};
    job moving = prepare(world, dict(source), dict(target), how);
    run(moving);
    BOOST_TEST(target.wrong_elements() == 0u);
    BOOST_TEST(moving.cost().bytes_node_in == 0);
    if (size == 1)
        return;
    options const options{.processes_per_node = rank == last ? 2u : 4u};
    BOOST_TEST(
        agreed_error(world, [&] { prepare(world, dict(source), dict(target), options); }) ==
        "ranks_disagree: rank 0 runs redistribute with options.processes_per_node 4 and rank " +
            std::to_string(last) + " with 2; every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(a_program_transposes_and_casts_on_the_way) {
    mapping program;
    expression const w = program.source("w", shape, data_type::f32);
    program.define("t", transpose(cast(w, data_type::i32)));
    piece_of_matrix<std::int32_t> turned =
        rows<std::int32_t>("t", {5, 7}, cut_at(5, rank, size), cut_at(5, rank + 1, size));
    redistribute(world, dict(source), dict(turned), {.program = program});
    for (std::size_t i = 0; i < turned.elements.size(); ++i) {
        index_t const index = turned.number(i); // of 5 x 7; the source is 7 x 5
        BOOST_TEST(turned.elements[i] == index % 7 * 5 + index / 7);
    }
}

BOOST_AUTO_TEST_CASE(tensors_that_are_only_added_keep_their_content) {
    mapping program;
    program.define("w", program.source("w", shape, data_type::f32));
    program.add("new", {3, 1}, data_type::f32);
    piece_of_matrix<float> added = rows<float>("new", {3, 1}, 0, 3);
    added.elements = {1, 2, 3};
    redistribute(world, dict(source), dict(target, added), {.program = program});
    BOOST_TEST(target.wrong_elements() == 0u);
    BOOST_TEST((added.elements == std::vector<float>{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(many_chunks_arrive_in_order) {
    // 3 Mi elements, 12 MiB, from the first rank to the last: more chunks than are ever under way,
    // and columns, so that each has to be packed.
    index_vector const large{3, 1 << 20};
    piece_of_matrix<float> matrix = rows<float>("large", large, 0, rank == 0 ? 3 : 0);
    matrix.number_elements();
    piece_of_matrix<float> left = columns<float>("large", large, 0, rank == last ? 500'000 : 0);
    piece_of_matrix<float> right =
        columns<float>("large", large, 500'000, rank == last ? 1 << 20 : 500'000);
    redistribute(world, dict(matrix), dict(right, left));
    BOOST_TEST(left.wrong_elements() == 0u);
    BOOST_TEST(right.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(everybody_sends_to_everybody_in_both_directions) {
    index_vector const large{700, 600};
    auto const from = [&](int i) { return cut_at(700, i, size); };
    auto const to = [&](int i) { return cut_at(600, i, size); };
    piece_of_matrix<double> by_rows = rows<double>("a", large, from(rank), from(rank + 1));
    by_rows.number_elements();
    piece_of_matrix<double> by_columns = columns<double>("a", large, to(rank), to(rank + 1));
    redistribute(world, dict(by_rows), dict(by_columns));
    BOOST_TEST(by_columns.wrong_elements() == 0u);
    by_rows.elements.assign(by_rows.elements.size(), -1);
    redistribute(world, dict(by_columns), dict(by_rows));
    BOOST_TEST(by_rows.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(a_gap_is_the_same_error_on_every_rank) {
    // The last rank does not have its last row: row 6.
    piece_of_matrix<float> short_one =
        rows<float>("w", shape, cut_at(7, rank, size), cut_at(7, rank + 1, size) - (rank == last));
    std::string const text = error_of(dict(short_one), dict(target));
    // The lowest rank that wants a column speaks. Its columns:
    int asking = 0;
    while (cut_at(5, asking + 1, size) == cut_at(5, asking, size))
        ++asking;
    std::string const where = "[6:7, " + std::to_string(cut_at(5, asking, size)) + ":" +
                              std::to_string(cut_at(5, asking + 1, size)) + "]";
    BOOST_TEST(text == "not_covered: 'w' elements " + where + ", which rank " +
                           std::to_string(asking) +
                           " wants, are missing from the source; source 'w' lacks " + where);
}

BOOST_AUTO_TEST_CASE(a_key_that_one_rank_alone_wants_is_the_same_error_on_every_rank) {
    piece_of_matrix<float> unknown = rows<float>("v", shape, 0, 7);
    BOOST_TEST(error_of(dict(source), rank == last ? dict(target, unknown) : dict(target)) ==
               "unknown_key: 'v' is wanted by rank " + std::to_string(last) +
                   ", but the source does not have it");
}

BOOST_AUTO_TEST_CASE(shards_that_overlap_are_the_same_error_on_every_rank) {
    piece_of_matrix<float> more = rows<float>("w", shape, 0, 2);
    piece_of_matrix<float> most = rows<float>("w", shape, 1, 7);
    std::string const text = error_of(rank == 0 ? (rank == last ? dict(more, most) : dict(more))
                                      : rank == last ? dict(most)
                                                     : dict(),
                                      dict(target));
    BOOST_TEST(text == "overlap: 'w' has unequal shards that overlap in [1:2, 0:5]: rank 0 holds "
                       "[0:2, 0:5], rank " +
                           std::to_string(last) + " holds [1:7, 0:5]");
}

BOOST_AUTO_TEST_CASE(one_key_with_two_shapes_is_the_same_error_on_every_rank) {
    piece_of_matrix<float> matrix = rows<float>("w", {7, 4}, 0, 7);
    if (size == 1)
        return;
    BOOST_TEST(error_of(rank == last ? dict(matrix) : dict(source), dict(target)) ==
               "shape_mismatch: 'w' has the global shape [7, 5] on rank 0 and [7, 4] on rank " +
                   std::to_string(last));
    BOOST_TEST(error_of(dict(source), rank == last ? dict(matrix) : dict(target)) ==
               "shape_mismatch: 'w' has the global shape [7, 5] on rank 0 and [7, 4] on rank " +
                   std::to_string(last));
}

BOOST_AUTO_TEST_CASE(one_key_with_two_types_is_the_same_error_on_every_rank) {
    piece_of_matrix<double> matrix = rows<double>("w", shape, 0, 7);
    if (size == 1)
        return;
    BOOST_TEST(error_of(rank == last ? dict(matrix) : dict(source), dict(target)) ==
               "dtype_mismatch: 'w' has the data type float32 on rank 0 and float64 on rank " +
                   std::to_string(last));
}

BOOST_AUTO_TEST_CASE(two_types_on_the_two_sides_are_the_same_error_on_every_rank) {
    piece_of_matrix<double> wanted = rows<double>("w", shape, 0, 7);
    BOOST_TEST(error_of(dict(source), dict(wanted)) ==
               "dtype_mismatch: 'w' is float64 in the target, but the source has float32; to cast "
               "it, write 'w -> w, dtype=\"float64\"'");
}

BOOST_AUTO_TEST_CASE(ranks_with_different_programs_are_told_so) {
    mapping program;
    expression const w = program.source("w", shape, data_type::f32);
    program.define("w", w);
    mapping mapping = program;
    mapping.define("v", transpose(w));
    if (size == 1)
        return;
    std::string const expected = "ranks_disagree: rank 0 runs redistribute and rank " +
                                 std::to_string(last) +
                                 " runs it with a different options.program; every rank must make "
                                 "the same call";
    BOOST_TEST(error_of(dict(source), dict(target), rank == last ? mapping : program) == expected);
    BOOST_TEST(error_of(dict(source), dict(target),
                        rank == last ? std::nullopt : std::optional(program)) == expected);
}

BOOST_AUTO_TEST_CASE(ranks_with_different_options_are_told_so) {
    if (size == 1)
        return;
    options const options{.processes_per_node = rank == last ? 2u : 4u};
    BOOST_TEST(
        agreed_error(world, [&] { redistribute(world, dict(source), dict(target), options); }) ==
        "ranks_disagree: rank 0 runs redistribute with options.processes_per_node 4 and rank " +
            std::to_string(last) + " with 2; every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(a_replica_on_the_same_node_is_taken) {
    // Every rank but the second of a node has its own version of all; so it shows who gave.
    piece_of_matrix<float> matrix = rows<float>("w", shape, 0, 7);
    std::fill(matrix.elements.begin(), matrix.elements.end(), static_cast<float>(rank));
    piece_of_matrix<float> wanted = rows<float>("w", shape, 0, 7);
    bool const has_it = rank % 2 == 0;
    auto const move = [&](options const& options) {
        std::ranges::fill(wanted.elements, -1.F);
        job moving = prepare(world, has_it ? dict(matrix) : dict(), dict(wanted), options);
        run(moving);
        for (float const element : wanted.elements)
            BOOST_TEST(element == static_cast<float>(rank - rank % 2));
        BOOST_TEST(moving.cost().messages_in == rank % 2);
        BOOST_TEST(moving.cost().messages_out == (has_it && rank != last));
    };
    move({.processes_per_node = 2});
    ranks_per_node_variable const variable("2");
    move({});
    move({.lookup = directory(0)}); // looked up
}

BOOST_AUTO_TEST_CASE(a_group_takes_programs_and_options_as_a_communicator_does) {
    mpi_group const ranks(world);
    mapping program;
    program.define("t", transpose(program.source("w", shape, data_type::f32)));
    piece_of_matrix<float> turned =
        rows<float>("t", {5, 7}, cut_at(5, rank, size), cut_at(5, rank + 1, size));
    redistribute(ranks, dict(source), dict(turned), {.program = program, .processes_per_node = 2});
    for (std::size_t i = 0; i < turned.elements.size(); ++i) {
        index_t const index = turned.number(i); // of 5 x 7; the source is 7 x 5
        BOOST_TEST(turned.elements[i] == static_cast<float>(index % 7 * 5 + index / 7));
    }
    redistribute(ranks, dict(source), dict(target), {.processes_per_node = 2});
    BOOST_TEST(target.wrong_elements() == 0u);
    job moving = prepare(ranks, dict(source), dict(target), {.program = by_name_of_w(shape)});
    target.elements.assign(target.elements.size(), -1);
    run(moving);
    BOOST_TEST(target.wrong_elements() == 0u);
}

BOOST_AUTO_TEST_CASE(different_elements_added_under_one_key_are_the_same_error_on_every_rank) {
    piece_of_matrix<float> matrix = rows<float>("w", shape, 0, 7);
    matrix.number_elements();
    piece_of_matrix<float> copied = matrix, wanted = matrix;
    copied.elements.back() += 1;
    state_dict from = dict(matrix);
    if (rank == last)
        from.add(copied.descriptor, copied.view());
    BOOST_TEST(error_of(from, dict(wanted)) ==
               "overlap: 'w' " + to_string(matrix.descriptor.region) +
                   " was added twice, at different addresses, with different elements; give each "
                   "tensor its own key");
}

BOOST_AUTO_TEST_CASE(shared_memory_on_one_rank_is_the_same_error_on_every_rank) {
    piece_of_matrix<float> matrix = rows<float>("w", shape, 0, 7);
    piece_of_matrix<float> same = matrix;
    state_dict from = dict(matrix);
    state_dict shared;
    shared.add(same.descriptor, matrix.view());
    BOOST_TEST(
        error_of(from, rank == last ? shared : dict(same)) ==
        "memory_overlap: source 'w' and target 'w' share memory; give the target separate memory");
    state_dict twice;
    twice.add(same.descriptor, same.view());
    twice.add(same.descriptor, same.view());
    BOOST_TEST(
        error_of(from, rank == last ? twice : dict(same)) ==
        "memory_overlap: target 'w' and target 'w' share memory; give the target separate memory");
}

BOOST_AUTO_TEST_CASE(a_job_keeps_the_handles_of_its_tensors) {
    index_t const next = (world.rank() + 1) % size;
    auto const element = [&](index_t i) {
        return shard_descriptor{"w", data_type::f32, {index_t{size}}, {{i}, {1}}, {}};
    };
    test::counted_row row({static_cast<float>(world.rank())}), wanted({-1});
    auto const prepared = [&] {
        state_dict have, want;
        have.add(element(world.rank()), row.narrow(0, 1));
        want.add(element(next), wanted.narrow(0, 1));
        return prepare(world, have, want);
    };
    {
        job ready = prepared();
        BOOST_TEST(row.storage.use_count() == 2);
        BOOST_TEST(wanted.storage.use_count() == 2);
        run(ready);
    }
    BOOST_TEST(wanted.storage->front() == static_cast<float>(next));
    BOOST_TEST(row.storage.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
