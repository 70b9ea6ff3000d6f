// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/algebra.hpp>

#include "oracle/random.hpp"
#include "support/evaluate.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <vector>

using namespace reshard;

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
            value = random.chance(50) ? permute(value, an_order()) : shuffled_parts();
    }

    numbers evaluated(expression const& what) const {
        numbers all(static_cast<std::size_t>(element_count(source_shape)));
        std::iota(all.begin(), all.end(), 0);
        return test::evaluate(what, {source_shape}, {all});
    }

    std::size_t an_axis() {
        return static_cast<std::size_t>(random.below(static_cast<index_t>(value.ndim())));
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
        std::vector<expression> all = parts(axis);
        random.shuffle(all);
        return concat(all, axis);
    }

    oracle::random_numbers random;
    index_vector source_shape;
    expression value;
};

template <class Law>
void for_each_trial(Law&& law) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed) {
            trial one(seed);
            law(one);
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_element_has_one_source) {
    for_each_trial([](trial& one) {
        numbers found = one.evaluated(one.value);
        std::sort(found.begin(), found.end());
        for (std::size_t i = 0; i < found.size(); ++i)
            BOOST_TEST_REQUIRE(found[i] == static_cast<index_t>(i));
    });
}

BOOST_AUTO_TEST_CASE(split_and_concat_is_the_identity) {
    for_each_trial([](trial& one) {
        std::size_t const axis = one.an_axis();
        expression const again = concat(one.parts(axis), axis);
        BOOST_TEST((again.shape == one.value.shape));
        BOOST_TEST((one.evaluated(again) == one.evaluated(one.value)));
    });
}

BOOST_AUTO_TEST_CASE(concat_and_split_is_the_identity) {
    for_each_trial([](trial& one) {
        std::size_t const axis = one.an_axis();
        std::vector<expression> const parts = one.parts(axis);
        numbers sizes;
        for (expression const& part : parts)
            sizes.push_back(part.shape[axis]);
        BOOST_TEST((split(concat(parts, axis), axis, sizes) == parts));
    });
}

BOOST_AUTO_TEST_CASE(a_permutation_and_its_inverse_is_the_identity) {
    for_each_trial([](trial& one) {
        index_vector const order = one.an_order();
        index_vector inverse = order;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            inverse[static_cast<std::size_t>(order[axis])] = static_cast<index_t>(axis);
        BOOST_TEST((permute(permute(one.value, order), inverse) == one.value));
        BOOST_TEST((transpose(transpose(one.value)) == one.value));
    });
}

BOOST_AUTO_TEST_CASE(to_permute_and_split_is_to_split_and_permute) {
    for_each_trial([](trial& one) {
        index_vector const order = one.an_order();
        std::size_t const axis = one.an_axis(); // of the result
        auto const before = static_cast<std::size_t>(order[axis]);
        std::vector<expression> const parts = one.parts(before);
        numbers sizes;
        for (expression const& part : parts)
            sizes.push_back(part.shape[before]);
        std::vector<expression> const turned = split(permute(one.value, order), axis, sizes);
        for (std::size_t i = 0; i < parts.size(); ++i)
            BOOST_TEST((turned[i] == permute(parts[i], order)));
    });
}

BOOST_AUTO_TEST_SUITE_END()
