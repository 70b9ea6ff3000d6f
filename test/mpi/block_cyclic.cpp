// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>

#include "support/agreed_error.hpp"

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/layout/layout_of.hpp>

#include <boost/mpi/communicator.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_block_cyclic)

namespace {

/// How one side has the matrix.
struct side {
    index_vector grid;  ///< of ranks
    index_vector block; ///< of elements
    bool column_major = false;
    index_t first_rank = 0; ///< of the ones in a row that are on the grid
};

/// ScaLAPACK's numroc: how many of `n` rows in blocks of `block` process `p` of `count` has.
index_t numroc(index_t n, index_t block, index_t p, index_t count) {
    index_t const blocks = n / block;
    index_t rows = blocks / count * block;
    if (p < blocks % count)
        rows += block;
    else if (p == blocks % count)
        rows += n % block;
    return rows;
}

/// ScaLAPACK's indxl2g, counted from 0.
index_t global_index(index_t local, index_t block, index_t p, index_t count) {
    return (local / block * count + p) * block + local % block;
}

/// One rank's local array of a matrix whose elements are their global linear indices.
class local_matrix {
public:
    local_matrix(index_vector const& shape, side side, int rank)
        : shape_(shape), how_(std::move(side)) {
        index_t const index = rank - how_.first_rank;
        if (index < 0 || index >= how_.grid[0] * how_.grid[1])
            return;
        at_ = {index / how_.grid[1], index % how_.grid[1]};
        for (std::size_t axis = 0; axis < 2; ++axis)
            extents_[axis] = numroc(shape_[axis], how_.block[axis], at_[axis], how_.grid[axis]);
        elements_.assign(static_cast<std::size_t>(extents_[0] * extents_[1]), -1);
    }

    /// The layout that all ranks have together.
    reshard::layout layout() const {
        mesh const grid{{"p", how_.grid[0]}, {"q", how_.grid[1]}};
        std::vector<holder_t> ranks;
        for (holder_t index = 0; index < grid.rank_count(); ++index)
            ranks.push_back(index + static_cast<holder_t>(how_.first_rank));
        return layout_of({sharding_of(
            "A", data_type::i64,
            distribution(rank_mesh(grid, ranks),
                         {block_cyclic{0, how_.block[0]}, block_cyclic{1, how_.block[1]}},
                         shape_))});
    }

    void fill() {
        for_each([](std::int64_t& element, std::int64_t value) { element = value; });
    }

    std::size_t wrong_elements() {
        std::size_t wrong = 0;
        for_each(
            [&](std::int64_t const& element, std::int64_t value) { wrong += element != value; });
        return wrong;
    }

    state_dict held(holder_t rank) {
        index_vector const strides =
            how_.column_major ? index_vector{1, extents_[0]} : index_vector{extents_[1], 1};
        state_dict tensors;
        tensors.add("A", layout(), rank,
                    tensor_view{elements_.data(), data_type::i64, extents_, strides});
        return tensors;
    }

private:
    template <class Visit>
    void for_each(Visit const& visit) {
        for (index_t i = 0; i < extents_[0]; ++i)
            for (index_t j = 0; j < extents_[1]; ++j) {
                index_t const n = how_.column_major ? i + j * extents_[0] : i * extents_[1] + j;
                index_t const row = global_index(i, how_.block[0], at_[0], how_.grid[0]);
                index_t const column = global_index(j, how_.block[1], at_[1], how_.grid[1]);
                visit(elements_[static_cast<std::size_t>(n)], row * shape_[1] + column);
            }
    }

    index_vector shape_;
    side how_;
    index_vector at_{0, 0};
    index_vector extents_{0, 0};
    std::vector<std::int64_t> elements_;
};

struct block_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    index_t size = world.size();

    /// Grids of all ranks and of some, in blocks that fit and that do not.
    std::vector<side> sides() const {
        index_t const rows = size % 2 == 0 ? 2 : 1;
        std::vector<side> sides{
            {{size, 1}, {3, 4}, false, 0},           {{1, size}, {2, 5}, true, 0},
            {{rows, size / rows}, {4, 3}, false, 0}, {{size / rows, rows}, {1, 2}, true, 0},
            {{1, 1}, {3, 3}, true, size - 1},        {{size, 1}, {100, 100}, false, 0}};
        if (size > 2)
            sides.push_back({{2, 1}, {2, 3}, true, 1});
        return sides;
    }

    enum class known { both, source, none };

    std::size_t wrong_elements(index_vector const& shape, side const& from, side const& to,
                               known which, options const& options = {}) {
        local_matrix source(shape, from, rank), target(shape, to, rank);
        source.fill();
        auto const me = static_cast<holder_t>(rank);
        auto const told = [](bool tells, local_matrix const& matrix) {
            return tells ? std::optional(matrix.layout()) : std::nullopt;
        };
        redistribute(world, source_tensors{source.held(me), told(which != known::none, source)},
                     target_tensors{target.held(me), told(which == known::both, target)}, options);
        return target.wrong_elements();
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(every_element_arrives_at_its_place, block_fixture) {
    for (index_vector const& shape : {index_vector{23, 31}, index_vector{5, 2}, index_vector{0, 4}})
        for (side const& from : sides())
            for (side const& to : sides())
                for (known const which : {known::both, known::source, known::none})
                    BOOST_TEST(wrong_elements(shape, from, to, which) == 0u,
                               "rank " << rank << ", " << to_string(shape) << ", grid "
                                       << to_string(from.grid) << " to " << to_string(to.grid));
}

BOOST_FIXTURE_TEST_CASE(blocks_are_found_in_a_directory, block_fixture) {
    for (side const& from : sides())
        for (side const& to : sides())
            BOOST_TEST(wrong_elements({13, 11}, from, to, known::none, {.lookup = directory(0)}) ==
                       0u);
}

BOOST_FIXTURE_TEST_CASE(another_local_array_than_the_layouts_is_refused_on_every_rank,
                        block_fixture) {
    side const rows{{size, 1}, {3, 4}, false, 0}, side{{size, 1}, {2, 4}, false, 0};
    local_matrix source({23, 31}, rows, rank), target({23, 31}, rows, rank);
    local_matrix const matrix({23, 31}, side, rank);
    auto const me = static_cast<holder_t>(rank);
    source.fill();
    std::string const text = test::agreed_error(world, [&] {
        redistribute(world, source_tensors{source.held(me), matrix.layout()},
                     target_tensors{target.held(me), target.layout()});
    });
    // On one rank both are the whole matrix.
    std::string const expected =
        size == 1 ? "nothing was thrown" : "which the layout does not assign to it";
    BOOST_TEST(text.find(expected) != text.npos, text);
}

BOOST_AUTO_TEST_SUITE_END()
