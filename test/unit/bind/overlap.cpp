// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/overlap.hpp>

#include "support/says.hpp"

#include <reshard/adapt/raw_tensor.hpp>

#include <array>

using namespace reshard;
using namespace reshard::detail;
using adapt::raw_tensor;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_overlap)

namespace {

/// Tensors in one memory of 24 floats, each added by its index in it.
struct shared_memory {
    std::array<float, 24> elements = {};
    const_state_dict source;
    state_dict target;

    raw_tensor<float> tensor(index_t first, index_vector const& shape,
                             index_vector const& strides) {
        return {elements.data() + first, shape, strides};
    }
    static shard_descriptor shard(std::string const& key, index_vector const& shape) {
        return {key, data_type::f32, shape, whole(shape), {}};
    }
    void read(std::string const& key, index_t first, index_vector const& shape,
              index_vector const& strides) {
        source.add(shard(key, shape), tensor(first, shape, strides));
    }
    void write(std::string const& key, index_t first, index_vector const& shape,
               index_vector const& strides) {
        target.add(shard(key, shape), tensor(first, shape, strides));
    }
    void check() const { check_memory({&source, 1}, {&target, 1}); }
};

auto says_shared(std::string const& a, std::string const& b) {
    return says(errc::memory_overlap,
                a + " and " + b + " share memory; give the target separate memory");
}

} // namespace

BOOST_AUTO_TEST_CASE(neighbours_share_nothing) {
    shared_memory memory;
    memory.read("a", 0, {6}, {1});
    memory.write("b", 6, {2, 3}, {3, 1});
    memory.read("c", 12, {6}, {1});
    memory.write("d", 18, {6}, {1});
    BOOST_CHECK_NO_THROW(memory.check());
}

BOOST_AUTO_TEST_CASE(a_target_that_begins_within_a_source_is_refused) {
    shared_memory memory;
    memory.read("a", 0, {6}, {1});
    memory.write("b", 5, {6}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("source 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(a_source_that_begins_within_a_target_is_refused) {
    shared_memory memory;
    memory.write("b", 0, {6}, {1});
    memory.read("a", 3, {1}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'b'", "source 'a'"));
}

BOOST_AUTO_TEST_CASE(a_long_source_is_remembered_behind_short_ones) {
    shared_memory memory;
    memory.read("long", 0, {20}, {1});
    memory.read("short", 2, {2}, {1});
    memory.write("b", 19, {2}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("source 'long'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(a_target_in_the_gaps_of_a_source_is_refused) {
    shared_memory memory; // column 0 and column 1 of a matrix of 4 x 6
    memory.read("a", 0, {4}, {6});
    memory.write("b", 1, {4}, {6});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("source 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(sources_may_share_memory) {
    shared_memory memory;
    memory.read("tied", 0, {6}, {1});
    memory.read("other", 0, {6}, {1});
    memory.read("half", 3, {3}, {1});
    BOOST_CHECK_NO_THROW(memory.check());
}

BOOST_AUTO_TEST_CASE(interleaved_targets_are_legal) {
    shared_memory memory; // the left and the right half of a matrix of 4 x 6
    memory.write("left", 0, {4, 3}, {6, 1});
    memory.write("right", 3, {4, 3}, {6, 1});
    BOOST_CHECK_NO_THROW(memory.check());
}

BOOST_AUTO_TEST_CASE(dense_targets_that_share_an_element_are_refused) {
    shared_memory memory;
    memory.write("a", 0, {2, 6}, {6, 1});
    memory.write("b", 11, {2}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(a_strided_target_that_begins_within_a_dense_one_is_refused) {
    shared_memory memory; // elements 0 to 11, and every third from 6 on
    memory.write("a", 0, {12}, {1});
    memory.write("b", 6, {4}, {3});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(a_dense_target_in_a_gap_of_a_strided_one_is_legal) {
    shared_memory memory; // column 0 of a matrix of 4 x 6, and the rest of its row 1
    memory.write("a", 0, {4}, {6});
    memory.write("b", 7, {5}, {1});
    memory.write("c", 13, {2}, {2}); // elements 13 and 15, after b
    BOOST_CHECK_NO_THROW(memory.check());
}

BOOST_AUTO_TEST_CASE(targets_with_one_first_element_are_refused_however_they_lie) {
    shared_memory memory;
    memory.write("a", 2, {4}, {6});
    memory.write("b", 2, {4, 2}, {6, 3});
    BOOST_CHECK_THROW(memory.check(), error);
}

BOOST_AUTO_TEST_CASE(a_transposed_target_is_dense) {
    shared_memory memory;
    memory.write("a", 0, {3, 4}, {1, 3});
    memory.write("b", 6, {6}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(a_reversed_target_lies_before_its_first_element) {
    shared_memory memory; // elements 7 down to 2
    memory.write("b", 7, {6}, {-1});
    memory.read("a", 0, {3}, {1});
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("source 'a'", "target 'b'"));
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_share_nothing) {
    shared_memory memory;
    memory.read("a", 0, {6}, {1});
    memory.write("b", 3, {0, 2}, {2, 1});
    BOOST_CHECK_NO_THROW(memory.check());
}

BOOST_AUTO_TEST_CASE(tensors_of_different_ranks_are_compared) {
    shared_memory memory, two;
    memory.write("a", 0, {4}, {1});
    two.target.add(shared_memory::shard("b", {4}), memory.tensor(2, {4}, {1}));
    state_dict const targets[] = {memory.target, two.target};
    BOOST_CHECK_EXCEPTION(check_memory({}, targets), error,
                          says_shared("target 'a'", "target 'b'"));
}

namespace {

/// Blocks of two columns, two columns apart, of a 4 x 8 tensor, whose columns lie one after the
/// other from element `first`. So the blocks of each of `rows` rows are separate in memory.
template <class Add>
void add_blocks(std::string const& key, index_t first, index_t rows, Add const& add) {
    for (index_t row = 0; row < rows; ++row)
        for (index_t const column : {0, 4})
            add(shard_descriptor{key, data_type::f32, {4, 8}, {{row, column}, {1, 2}}},
                first + row + column / 2 * rows, index_vector{1, 2}, index_vector{1, rows});
}

} // namespace

// The blocks of a column-major array are one range, though no row of them is.
BOOST_AUTO_TEST_CASE(blocks_of_an_array_share_what_the_array_shares) {
    for (index_t const other : {3, 15, 16}) {
        shared_memory memory;
        add_blocks("a", 0, 4, [&](auto const& shard, index_t first, auto const& shape, auto step) {
            memory.target.add(shard, memory.tensor(first, shape, step));
        });
        BOOST_TEST(memory.target.shards().firsts().size() == 1u);
        memory.write("b", other, {1}, {1});
        if (other < 16)
            BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'a'", "target 'b'"));
        else
            BOOST_CHECK_NO_THROW(memory.check());
    }
}

BOOST_AUTO_TEST_CASE(a_target_between_the_rows_of_sources_shares_nothing) {
    shared_memory memory;
    for (index_t const row : {0, 2})
        memory.source.add(shard_descriptor{"a", data_type::f32, {4, 3}, {{row, 0}, {1, 3}}},
                          memory.tensor(row * 3, {1, 3}, {6, 1}));
    BOOST_TEST(memory.source.shards().firsts().size() == 1u);
    memory.write("b", 3, {3}, {1});
    BOOST_CHECK_NO_THROW(memory.check());
}

// Rows that overlap by two elements are an array whose elements share addresses.
BOOST_AUTO_TEST_CASE(rows_of_targets_that_overlap_are_refused) {
    shared_memory memory;
    for (index_t const row : {0, 1, 2})
        memory.target.add(shard_descriptor{"a", data_type::f32, {3, 3}, {{row, 0}, {1, 3}}},
                          memory.tensor(row, {1, 3}, {1, 1}));
    BOOST_TEST(!memory.target.first_error().has_value());
    BOOST_CHECK_EXCEPTION(memory.check(), error, says_shared("target 'a'", "target 'a'"));
}

BOOST_AUTO_TEST_CASE(equal_runs_are_compared_shard_by_shard) {
    shared_memory memory;
    auto const add = [&](index_t first) {
        for (index_t const row : {0, 2})
            memory.source.add(shard_descriptor{"a", data_type::f32, {4, 2}, {{row, 0}, {1, 2}}},
                              memory.tensor(first + row, {1, 2}, {2, 1}));
    };
    add(0);
    add(8);
    BOOST_TEST(memory.source.shards().firsts().size() == 2u);
    BOOST_CHECK_NO_THROW(check_twins(memory.source));
    memory.elements[11] = 1;
    BOOST_CHECK_EXCEPTION(check_twins(memory.source), error,
                          says(errc::overlap, "'a' [2:3, 0:2] was added twice, at different "
                                              "addresses, with different elements; give each "
                                              "tensor its own key"));
}

BOOST_AUTO_TEST_SUITE_END()
