// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <iostream>
#include <vector>

// The library supports a tensor type of yours once you specialise `tensor_traits` for it. Nothing
// else has to change. Here it is a matrix that is stored column by column, with unused memory
// between its columns.

namespace my {

/// A matrix as some numerical libraries store it.
class matrix {
public:
    matrix(std::int64_t rows, std::int64_t columns)
        : rows_(rows),
          columns_(columns),
          elements_(static_cast<std::size_t>(leading() * columns), -1.0) {}

    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }
    std::int64_t leading() const { return rows_ + 2; }
    double* data() { return elements_.data(); }
    double const* data() const { return elements_.data(); }
    double& operator()(std::int64_t row, std::int64_t column) {
        return elements_[static_cast<std::size_t>(row + column * leading())];
    }
    double operator()(std::int64_t row, std::int64_t column) const {
        return elements_[static_cast<std::size_t>(row + column * leading())];
    }

private:
    std::int64_t rows_;
    std::int64_t columns_;
    std::vector<double> elements_;
};

} // namespace my

template <>
struct reshard::tensor_traits<my::matrix> {
    using element_type = double;

    static index_vector shape(my::matrix const& t) { return {t.rows(), t.columns()}; }
    static index_vector strides(my::matrix const& t) { return {1, t.leading()}; }
    static double* data(my::matrix& t) { return t.data(); }
    static double const* data(my::matrix const& t) { return t.data(); }
};

static_assert(reshard::tensor<my::matrix>); // a compile error here says what the type lacks

/// Makes matrices of many shapes, and compares their behaviour with the answers of `tensor_traits`.
void check_my_adapter() {
    using namespace reshard;
    testing::check_adapter<my::matrix>(
        {.make = [](index_vector const& shape,
                    data_type) { return my::matrix(shape[0], shape[1]); },
         .write = [](my::matrix& t, index_vector const& i, int number) { t(i[0], i[1]) = number; },
         .read = [](my::matrix const& t,
                    index_vector const& i) { return static_cast<int>(t(i[0], i[1])); },
         .ndims = {2}});
}

int main() {
    using namespace reshard;
    check_my_adapter();

    // A process has a 4 x 6 matrix as two halves by rows. It needs the full matrix, and halves by
    // columns.
    my::matrix upper(2, 6), lower(2, 6), matrix(4, 6), left(4, 3), right(4, 3);
    for (std::int64_t row = 0; row < 2; ++row)
        for (std::int64_t column = 0; column < 6; ++column) {
            upper(row, column) = static_cast<double>(6 * row + column);
            lower(row, column) = static_cast<double>(6 * (row + 2) + column);
        }

    state_dict have, want;
    auto const rows = [](index_t half) {
        return equal_shares("w", data_type::f64, {2, 6}, {{0, half, 2}});
    };
    auto const columns = [](index_t half) {
        return equal_shares("w", data_type::f64, {4, 3}, {{1, half, 2}});
    };
    have.add(rows(0), upper);
    have.add(rows(1), lower);
    want.add(equal_shares("w", data_type::f64, {4, 6}, {}), matrix);
    want.add(columns(0), left);
    want.add(columns(1), right);

    redistribute(solo{}, have, want);

    for (std::int64_t row = 0; row < 4; ++row)
        for (std::int64_t column = 0; column < 6; ++column) {
            double const expected = static_cast<double>(6 * row + column);
            my::matrix& half = column < 3 ? left : right;
            if (matrix(row, column) != expected || half(row, column % 3) != expected)
                return 1;
        }
    std::cout << "Each element is where it should be.\n";
}
