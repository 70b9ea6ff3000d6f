// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/algebra.hpp>

#include "oracle/random.hpp"
#include "support/evaluate.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_algebra)

namespace {

using numbers = std::vector<index_t>;

/// A random expression over one source whose elements are their row-major numbers.
class trial {
public:
    explicit trial(std::uint64_t seed) : random(seed) {
        for (index_t ndim = random.between(1, 5); ndim > 0; --ndim)
            source_shape.push_back(random.chance(4) ? 0 : random.between(1, 5));
        value = source_tensor(0, source_shape, data_type::f32);
        for (index_t steps = random.between(0, 3); steps > 0; --steps)
            value = random.chance(50)   ? permute(value, an_order())
                    : random.chance(70) ? shuffled_parts()
                                        : reshaped(value);
    }

    numbers evaluated(expression const& expression) const {
        numbers all_numbers(static_cast<std::size_t>(element_count(source_shape)));
        std::iota(all_numbers.begin(), all_numbers.end(), 0);
        return test::evaluate(expression, {source_shape}, {all_numbers});
    }

    std::size_t an_axis() {
        return static_cast<std::size_t>(random.below(static_cast<index_t>(value.ndim())));
    }

    /// Any shape of the same number of elements: axes are merged, then split.
    index_vector a_shape() {
        index_t left = element_count(value.shape);
        if (left == 0)
            return {random.between(0, 3), 0};
        index_vector shape;
        while (shape.size() < 3)
            if (index_t const extent = random.between(1, 4); left % extent == 0) {
                shape.push_back(extent);
                left /= extent;
            }
        shape.push_back(left);
        return shape;
    }

    /// The value under another shape, if that has few enough factors.
    expression reshaped(expression const& before) {
        try {
            return reshape(before, a_shape());
        } catch (error const& problem) {
            if (problem.code() != errc::limit_exceeded)
                throw;
            return before;
        }
    }

    box a_box(index_vector const& shape) {
        box region = whole(shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            region.offset[axis] = random.between(0, shape[axis] - 1);
            region.shape[axis] = random.between(1, shape[axis] - region.offset[axis]);
        }
        return region;
    }

    index_vector an_order() {
        numbers order(value.ndim());
        std::iota(order.begin(), order.end(), 0);
        random.shuffle(order);
        return index_vector(order.begin(), order.end());
    }

    std::vector<expression> parts(std::size_t axis) {
        numbers sizes;
        index_t left = value.shape[axis];
        for (index_t i = random.between(0, 3); i > 0; --i) {
            sizes.push_back(random.between(0, left));
            left -= sizes.back();
        }
        sizes.push_back(left);
        return split(value, axis, sizes);
    }

    expression shuffled_parts() {
        std::size_t const axis = an_axis();
        std::vector<expression> expressions = parts(axis);
        random.shuffle(expressions);
        return concat(expressions, axis);
    }

    oracle::random_numbers random;
    index_vector source_shape;
    expression value;
};

bool lies_in(index_vector const& index, box const& region) {
    return contains(region, {index, index_vector::filled(index.size(), 1)});
}

template <class Law>
void for_each_trial(Law&& law) {
    for (std::uint64_t seed = 0; seed < test::trials(2000); ++seed)
        BOOST_TEST_CONTEXT("seed " << seed) {
            trial trial(seed);
            law(trial);
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_element_has_one_source) {
    for_each_trial([](trial& trial) {
        numbers found_numbers = trial.evaluated(trial.value);
        std::sort(found_numbers.begin(), found_numbers.end());
        for (std::size_t i = 0; i < found_numbers.size(); ++i)
            BOOST_TEST_REQUIRE(found_numbers[i] == static_cast<index_t>(i));
    });
}

BOOST_AUTO_TEST_CASE(split_and_concat_is_the_identity) {
    for_each_trial([](trial& trial) {
        std::size_t const axis = trial.an_axis();
        expression const again = concat(trial.parts(axis), axis);
        BOOST_TEST((again.shape == trial.value.shape));
        BOOST_TEST((trial.evaluated(again) == trial.evaluated(trial.value)));
    });
}

BOOST_AUTO_TEST_CASE(concat_and_split_is_the_identity) {
    for_each_trial([](trial& trial) {
        std::size_t const axis = trial.an_axis();
        std::vector<expression> const parts = trial.parts(axis);
        numbers sizes;
        for (expression const& part : parts)
            sizes.push_back(part.shape[axis]);
        BOOST_TEST((split(concat(parts, axis), axis, sizes) == parts));
    });
}

BOOST_AUTO_TEST_CASE(a_permutation_and_its_inverse_is_the_identity) {
    for_each_trial([](trial& trial) {
        index_vector const order = trial.an_order();
        index_vector inverse = order;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            inverse[static_cast<std::size_t>(order[axis])] = static_cast<index_t>(axis);
        BOOST_TEST((permute(permute(trial.value, order), inverse) == trial.value));
        BOOST_TEST((transpose(transpose(trial.value)) == trial.value));
    });
}

BOOST_AUTO_TEST_CASE(to_permute_and_split_is_to_split_and_permute) {
    for_each_trial([](trial& trial) {
        index_vector const order = trial.an_order();
        std::size_t const axis = trial.an_axis(); // of the result
        auto const before = static_cast<std::size_t>(order[axis]);
        std::vector<expression> const parts = trial.parts(before);
        numbers sizes;
        for (expression const& part : parts)
            sizes.push_back(part.shape[before]);
        std::vector<expression> const turned = split(permute(trial.value, order), axis, sizes);
        for (std::size_t i = 0; i < parts.size(); ++i)
            BOOST_TEST((trial.evaluated(turned[i]) == trial.evaluated(permute(parts[i], order))));
    });
}

BOOST_AUTO_TEST_CASE(a_reshape_keeps_the_elements_in_row_major_order) {
    std::uint64_t reshapes = 0;
    for_each_trial([&](trial& trial) {
        expression const value = trial.reshaped(trial.value);
        BOOST_TEST((trial.evaluated(value) == trial.evaluated(trial.value)));
        reshapes += value.shape != trial.value.shape;
    });
    BOOST_TEST(reshapes > test::trials(1000));
}

BOOST_AUTO_TEST_CASE(what_a_target_box_takes_from_a_source_box_is_what_both_have) {
    for_each_trial([](trial& trial) {
        if (element_count(trial.source_shape) == 0)
            return;
        box const wanted = trial.a_box(trial.value.shape), box = trial.a_box(trial.source_shape);
        expression taken{trial.value.shape, trial.value.dtype, piece_list(trial.value.ndim())};
        for (std::size_t i = 0; i < trial.value.pieces.size(); ++i)
            if (auto const common = intersect(trial.value.pieces[i].target_box(), wanted))
                cut_to_target(trial.value.pieces[i], *common, [&](piece const& part) {
                    if (auto const source = intersect(part.source_box(), box))
                        cut_to_source(part, *source,
                                      [&](piece const& both) { taken.pieces.push_back(both); });
                });
        numbers const all_numbers = trial.evaluated(trial.value),
                      found_numbers = trial.evaluated(taken);
        for (index_t i = 0; i < static_cast<index_t>(all_numbers.size()); ++i) {
            auto const index = static_cast<std::size_t>(i);
            bool const is_taken =
                lies_in(unravel_index(i, trial.value.shape), wanted) &&
                lies_in(unravel_index(all_numbers[index], trial.source_shape), box);
            BOOST_TEST_REQUIRE(found_numbers[index] == (is_taken ? all_numbers[index] : -1));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
