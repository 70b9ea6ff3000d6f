// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/mpi.hpp>
#include <reshard/storage.hpp>

#include <boost/mpi/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

// A matrix of this program's own type is spread by rows over any number of ranks. The program
// redistributes it by columns and saves it as a checkpoint, which a job with another number of
// ranks can load.

namespace my {

class matrix {
public:
    matrix(std::int64_t rows, std::int64_t columns)
        : rows_(rows), columns_(columns), elements_(static_cast<std::size_t>(rows * columns)) {}

    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }
    float* data() { return elements_.data(); }
    float const* data() const { return elements_.data(); }
    float& operator()(std::int64_t row, std::int64_t column) {
        return elements_[static_cast<std::size_t>(row * columns_ + column)];
    }

private:
    std::int64_t rows_;
    std::int64_t columns_;
    std::vector<float> elements_;
};

} // namespace my

// The complete interface that Reshard needs from a tensor type.
template <>
struct reshard::tensor_traits<my::matrix> {
    using element_type = float;

    static index_vector shape(my::matrix const& t) { return {t.rows(), t.columns()}; }
    static index_vector strides(my::matrix const& t) { return {t.columns(), 1}; }
    static float* data(my::matrix& t) { return t.data(); }
    static float const* data(my::matrix const& t) { return t.data(); }
};

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (argc != 2) {
        std::cerr << "usage: mpiexec -n RANKS my_program CHECKPOINT\n";
        return 1;
    }
    using reshard::layout, reshard::shard;
    int const rank = world.rank();

    // The layouts of a 10 x 6 matrix: by rows and by columns, each as even as possible.
    auto const along = [&](std::size_t axis) {
        return reshard::layout_of("w", reshard::data_type::f32, {10, 6}, {{"ranks", world.size()}},
                                  {shard{axis}});
    };
    layout const by_rows = along(0), by_columns = along(1);
    reshard::box const box = shards_of(by_rows, rank).front().region;
    reshard::box const wanted = shards_of(by_columns, rank).front().region;

    my::matrix rows(box.shape[0], box.shape[1]), columns(wanted.shape[0], wanted.shape[1]);
    for (std::int64_t i = 0; i < rows.rows(); ++i)
        for (std::int64_t j = 0; j < rows.columns(); ++j)
            rows(i, j) = static_cast<float>(6 * (box.offset[0] + i) + j);

    reshard::state_dict have, want;
    have.add("w", by_rows, rank, rows);
    want.add("w", by_columns, rank, columns);
    reshard::redistribute(world, {have, by_rows}, {want, by_columns});
    reshard::save(world, want, argv[1], {.writing = {.replace = true}});

    bool is_right = true;
    for (std::int64_t i = 0; i < columns.rows(); ++i)
        for (std::int64_t j = 0; j < columns.columns(); ++j)
            is_right =
                is_right && columns(i, j) == static_cast<float>(6 * i + wanted.offset[1] + j);
    std::cout << "rank " << rank << " has " << columns.columns()
              << " columns: " << (is_right ? "right\n" : "wrong\n");
    return is_right ? 0 : 1;
}
