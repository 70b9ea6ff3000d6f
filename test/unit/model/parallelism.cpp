// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallelism.hpp>

#include "support/says.hpp"

#include <string>

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_parallelism)

namespace {

void refused_mesh(parallelism const& job, std::string const& text) {
    BOOST_CHECK_EXCEPTION(expert_mesh(job), error, test::says(errc::bad_layout, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(tensor_parallel_ranks_are_neighbours) {
    mesh const ranks = dense_mesh({.tp = 2, .cp = 3, .dp = 4, .pp = 5});
    BOOST_TEST(to_string(ranks) == "pp=5 dp=4 cp=3 tp=2");
    // Rank number: tp + 2 * (cp + 3 * (dp + 4 * pp)).
    BOOST_TEST((ranks.coordinates_of(1 + 2 * (2 + 3 * (3 + 4 * 1))) == index_vector{1, 3, 2, 1}));
}

BOOST_AUTO_TEST_CASE(the_order_may_be_another) {
    BOOST_TEST(to_string(dense_mesh({.tp = 2, .dp = 4, .pp = 5, .order = "tp-pp-dp"})) ==
               "cp=1 dp=4 pp=5 tp=2");
    BOOST_TEST(to_string(dense_mesh({.tp = 2, .dp = 4, .order = "dp-tp"})) ==
               "pp=1 cp=1 tp=2 dp=4");
    BOOST_TEST(to_string(dense_mesh({})) == "pp=1 dp=1 cp=1 tp=1");
}

BOOST_AUTO_TEST_CASE(experts_see_the_same_ranks_in_another_grid) {
    // DeepSeek-V3 over 1,024 ranks: stages of 64, each a full set of experts.
    parallelism const job{.tp = 2, .dp = 32, .pp = 16, .ep = 64};
    BOOST_TEST(to_string(dense_mesh(job)) == "pp=16 dp=32 cp=1 tp=2");
    BOOST_TEST(to_string(expert_mesh(job)) == "pp=16 edp=1 ep=64 etp=1");
    BOOST_TEST(to_string(expert_mesh({.tp = 4, .cp = 2, .dp = 4, .pp = 2, .ep = 8, .etp = 2})) ==
               "pp=2 edp=2 ep=8 etp=2");
}

BOOST_AUTO_TEST_CASE(an_order_names_what_there_is_once) {
    refused_mesh({.order = "tp-xp"},
                 "the order 'tp-xp' names 'xp'; it may name 'tp', 'cp', 'ep', 'dp' and 'pp'");
    refused_mesh({.order = "tp--dp"},
                 "the order 'tp--dp' names ''; it may name 'tp', 'cp', 'ep', 'dp' and 'pp'");
    refused_mesh({.order = "tp-dp-tp"}, "the order 'tp-dp-tp' names 'tp' twice");
    refused_mesh(
        {.tp = 2, .cp = 3, .order = "tp-dp-pp"},
        "the order 'tp-dp-pp' omits 'cp', which has the degree 3; name it, or set the degree to 1");
}

BOOST_AUTO_TEST_CASE(degrees_must_divide_a_stage) {
    refused_mesh({.tp = 2, .cp = 1, .dp = 3, .ep = 4},
                 "the 6 ranks of a stage (tp=2 cp=1 dp=3) cannot be divided by ep=4 times etp=1");
    refused_mesh({.tp = 2, .ep = 0},
                 "the 2 ranks of a stage (tp=2 cp=1 dp=1) cannot be divided by ep=0 times etp=1");
    refused_mesh({.tp = 0}, "mesh axis 'tp' has 0 ranks; at least 1 is needed");
    refused_mesh({.dp = -2}, "mesh axis 'dp' has -2 ranks; at least 1 is needed");
}

BOOST_AUTO_TEST_CASE(stages_are_the_same_for_experts) {
    parallelism job{.tp = 4, .dp = 2, .pp = 2, .ep = 2, .order = "tp-pp-ep-dp"};
    refused_mesh(job, "in the order 'tp-pp-ep-dp', dense stages are 4 ranks apart, but expert "
                      "stages are 1; name 'pp' first or last");
    job.etp = 4;
    BOOST_TEST(to_string(expert_mesh(job)) == "edp=1 ep=2 pp=2 etp=4");
}

BOOST_AUTO_TEST_SUITE_END()
