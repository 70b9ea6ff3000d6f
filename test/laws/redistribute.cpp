// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/experiment.hpp"

#include "oracle/generate.hpp"
#include "support/algebra.hpp"
#include "support/all_ranks.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdio>
#include <iostream>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_redistribute)

namespace {

/// How many programs use what.
class usage {
public:
    void count(oracle::scenario const& scenario) {
        ++programs_;
        deep_ += scenario.is_deep;
        for (oracle::operation const operation : scenario.used)
            ++uses_[static_cast<std::size_t>(operation)];
    }

    double percent(std::size_t operation) const { return share(uses_[operation]); }
    double percent_deep() const { return share(deep_); }

    void print() const {
        for (std::size_t i = 0; i < uses_.size(); ++i)
            line(oracle::operation_names[i], percent(i));
        line("three operations or more in a row, source and target cut unevenly", percent_deep());
    }

private:
    double share(int count) const { return 100.0 * count / programs_; }

    static void line(char const* noun, double percent) {
        std::array<char, 16> number{};
        std::snprintf(number.data(), number.size(), "%6.1f %%  ", percent);
        std::cout << number.data() << noun << '\n';
    }

    int programs_ = 0;
    int deep_ = 0;
    std::array<int, oracle::operation_names.size()> uses_{};
};

} // namespace

BOOST_AUTO_TEST_CASE(programs_do_what_the_oracle_does) {
    test::tally sum;
    usage used;
    for (std::uint64_t seed = 0; seed < 5 * test::program_count; ++seed) {
        oracle::scenario const scenario = oracle::generator(seed, 0, true).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            test::experiment experiment(scenario);
            experiment.run(test::mapping_of(scenario));
            ++sum.programs;
            sum.elements += experiment.elements();
            sum.differences += experiment.differences();
        }
        used.count(scenario);
    }
    std::cout << sum.text() << '\n';
    used.print();
    BOOST_TEST(sum.differences == 0);
    BOOST_TEST(used.percent_deep() >= 50);
    BOOST_TEST((!test::is_on_device() || test::calls_on_device() > test::program_count));
    for (std::size_t i = 0; i < oracle::operation_names.size(); ++i)
        BOOST_TEST(used.percent(i) >= 5, oracle::operation_names[i] << " is too rare");
}

BOOST_AUTO_TEST_CASE(the_algebra_of_cpp_says_what_the_text_says) {
    std::uint64_t programs = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; ++seed) {
        oracle::scenario const scenario = oracle::generator(seed).make();
        if (scenario.only_text)
            continue;
        ++programs;
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            mapping const by_text = test::mapping_of(scenario);
            test::algebra const by_functions(scenario, catalog_of(test::source_layout(scenario)));
            BOOST_TEST((by_text.sources() == by_functions.result().sources()));
            BOOST_TEST((by_text.outputs() == by_functions.result().outputs()));
            BOOST_TEST((by_text.removed() == by_functions.result().removed()));
        }
    }
    BOOST_TEST(programs > test::trials(1000));
}

BOOST_AUTO_TEST_CASE(a_thousand_is_a_float_that_bfloat16_rounds) {
    // By hand: 8 significant digits. 1001 = 0b1111101001 lies between 1000 and 1004, nearer to 1000;
    // 1002 lies in the middle, and 1000 = 250 * 4 is the even one; 1006 is in the middle of 1004 = 251 * 4
    // and 1008 = 252 * 4.
    std::vector<float> source{1000, 1001, 1002, 1003, 1006, -1006, 255, 257};
    std::vector<float> target(source.size());
    std::vector<float> const expected{1000, 1000, 1000, 1004, 1008, -1008, 255, 256};
    shard_descriptor const shard{"w", data_type::f32, {8}, {{0}, {8}}, {}};
    const_state_dict from;
    state_dict to;
    from.add(shard, const_tensor_view{source.data(), data_type::f32, {8}, {1}});
    to.add(shard, tensor_view{target.data(), data_type::f32, {8}, {1}});
    catalog const catalog({{"w", data_type::f32, {8}, {1}}});
    auto const expanded = aoa::expand(aoa::parse("w -> v, dtype=\"bfloat16\"\n"
                                                 "v -> w, dtype=\"float32\"\n"),
                                      catalog, &catalog);
    reshard::test::redistribute_ranks(std::span(&from, 1), std::span(&to, 1),
                                      aoa::lower(expanded.code, catalog, &catalog));
    BOOST_TEST(target == expected, boost::test_tools::per_element());
    for (std::size_t i = 0; i < source.size(); ++i)
        BOOST_TEST(static_cast<float>(oracle::nearest(
                       "bfloat16", static_cast<std::int64_t>(source[i]))) == expected[i]);
}

BOOST_AUTO_TEST_SUITE_END()
