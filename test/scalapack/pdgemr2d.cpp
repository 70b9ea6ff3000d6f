// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "oracle/random.hpp"
#include "process_grid.hpp"
#include "support/dealt_array.hpp"

#include <boost/mpi/communicator.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

// What `pdgemr2d` of ScaLAPACK does, beside what the library does.

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(scalapack_pdgemr2d)

namespace {

/// The grid of an array's processes, the first ones of all; row by row.
class array_grid {
public:
    array_grid(MPI_Comm world, dealt_array const& array)
        : grid_(world, ranks_of(array), static_cast<int>(array.grid()[0])) {}

    /// What DESCINIT makes of the array.
    std::array<int, 9> description(dealt_array const& array, int rank) const {
        auto const number = [](index_t wide) { return static_cast<int>(wide); };
        dealt_axis const &rows = array.axis(0), &columns = array.axis(1);
        bool const is_there = rank < array.process_count();
        index_t const leading = is_there ? rows.local_extent(rank / columns.processes) : 1;
        return {1,
                grid_.context(),
                number(rows.extent),
                number(columns.extent),
                number(rows.block),
                number(columns.block),
                number(rows.source),
                number(columns.source),
                std::max(1, number(leading))};
    }

private:
    static std::vector<int> ranks_of(dealt_array const& array) {
        index_t const rows = array.grid()[0], columns = array.grid()[1];
        std::vector<int> column_by_column;
        for (index_t column = 0; column < columns; ++column)
            for (index_t row = 0; row < rows; ++row)
                column_by_column.push_back(static_cast<int>(row * columns + column));
        return column_by_column;
    }

    bench::process_grid grid_;
};

/// A rank's local array, of which ScaLAPACK sees 64 bits of each element; null if it has none.
double* elements_of(dealt_array& array, int rank) {
    return rank < array.process_count()
               ? reinterpret_cast<double*>(array.local()[static_cast<std::size_t>(rank)].data())
               : nullptr;
}

void run_pdgemr2d(boost::mpi::communicator const& world, dealt_array& source, dealt_array& target,
                  index_vector const& shape) {
    array_grid const from(world, source), to(world, target);
    std::vector<int> all;
    for (int rank = 0; rank < world.size(); ++rank)
        all.push_back(rank);
    bench::process_grid const everybody(world, all, 1);
    auto given = from.description(source, world.rank()),
         wanted = to.description(target, world.rank());
    auto const begin = [](dealt_axis const& axis) { return static_cast<int>(axis.first) + 1; };
    Cpdgemr2d(static_cast<int>(shape[0]), static_cast<int>(shape[1]),
              elements_of(source, world.rank()), begin(source.axis(0)), begin(source.axis(1)),
              given.data(), elements_of(target, world.rank()), begin(target.axis(0)),
              begin(target.axis(1)), wanted.data(), everybody.context());
}

/// The same by the library; `slices`: by a program, from the whole array.
void run_library(boost::mpi::communicator const& world, dealt_array source, dealt_array& target,
                 index_vector const& shape, bool slices) {
    mapping const program = program_of(source, shape, slices);
    dealt_array given = slices ? source.whole() : source;
    layout const have = layout_of_part(given, slices ? given.shape() : shape, "A");
    layout const want = layout_of_part(target, shape, "B");
    redistribute(world,
                 source_tensors{tensors_of<const_tensor_view>(given, have, world.rank()), have},
                 target_tensors{tensors_of<tensor_view>(target, want, world.rank()), want},
                 {.program = program});
}

} // namespace

BOOST_AUTO_TEST_CASE(parts_of_matrices_arrive_as_pdgemr2d_moves_them) {
    boost::mpi::communicator const world;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        oracle::random_numbers random(seed);
        index_vector const shape{random.between(1, 30), random.between(1, 30)};
        dealt_array source(drawn_axes(random, shape, world.size()), true);
        dealt_array target(drawn_axes(random, shape, world.size()), true);
        source.fill();
        dealt_array expected = target;
        run_pdgemr2d(world, source, expected, shape);
        run_library(world, source, target, shape, random.chance(50));
        auto const rank = static_cast<std::size_t>(world.rank());
        if (world.rank() < target.process_count())
            BOOST_TEST((target.local()[rank] == expected.local()[rank]), "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
