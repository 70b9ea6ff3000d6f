// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/numbered_names.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_numbered_names)

BOOST_AUTO_TEST_CASE(layer_0_of_a_stage_gets_its_number_in_the_model) {
    pipeline const stages(3, {2, 2, 1});
    BOOST_TEST(name_in_model("layers.0.mlp.weight", "layers.", stages, {1}) ==
               "layers.2.mlp.weight");
    BOOST_TEST(name_in_model("model.layers.1.mlp.weight", "layers.", stages, {1}) ==
               "model.layers.3.mlp.weight");
    BOOST_TEST(name_in_model("0.mlp.weight", "", stages, {2}) == "4.mlp.weight");
    BOOST_TEST(name_in_model("model.layers.0", "model.layers.", stages, {2}) == "model.layers.4");
}

BOOST_AUTO_TEST_CASE(names_without_a_number_there_stay) {
    pipeline const stages(2, {2, 2});
    for (std::string const name : {"embed_tokens.weight", "layers.x.weight", "layers.",
                                   "my_layers.0.weight", "layers.0a.w", "", "layers0"})
        BOOST_TEST(name_in_model(name, "layers.", stages, {1}) == name);
    // The first one counts that is a separate segment.
    BOOST_TEST(name_in_model("my_layers.1.layers.1.w", "layers.", stages, {1}) ==
               "my_layers.1.layers.3.w");
    BOOST_TEST(name_in_model("a.0.w", "", stages, {1}) == "a.0.w");
}

BOOST_AUTO_TEST_CASE(no_two_stages_share_a_name) {
    pipeline const stages = uneven_pipeline(11, 2, 3); // 2 2 2 2 2 1
    std::set<std::string> names;
    for (index_t stage = 0; stage < 2; ++stage)
        for (index_t chunk = 0; chunk < 3; ++chunk)
            for (index_t layer = 0; layer < (stage == 1 && chunk == 2 ? 1 : 2); ++layer) {
                std::string const local = "layers." + std::to_string(layer) + ".w";
                std::string const name = name_in_model(local, "layers.", stages, {stage, chunk});
                BOOST_TEST(names.insert(name).second, name << " stands twice");
                BOOST_TEST(name_on_stage(name, "layers.", stages) == local);
            }
    BOOST_TEST(names.size() == 11);
}

BOOST_AUTO_TEST_CASE(experts_of_different_ranks_have_different_names) {
    // 32 on each of 4 ranks: rank * 32 + number.
    expert_numbers const experts(128, 4);
    BOOST_TEST(name_in_model("layers.3.mlp.experts.31.down.weight", "experts.", experts, 0) ==
               "layers.3.mlp.experts.31.down.weight");
    BOOST_TEST(name_in_model("layers.3.mlp.experts.31.down.weight", "experts.", experts, 3) ==
               "layers.3.mlp.experts.127.down.weight");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_there_are_refused) {
    using test::says;
    BOOST_CHECK_EXCEPTION(
        name_in_model("layers.2.w", "layers.", pipeline(2, {2, 2}), {1}), error,
        says(errc::bad_layout, "stage 1 has 2 layers in chunk 0; it has no local layer 2"));
    BOOST_CHECK_EXCEPTION(
        name_in_model("experts.4.w", "experts.", expert_numbers(8, 2), 1), error,
        says(errc::bad_layout, "there is no local expert 4 among 4; numbering starts at 0"));
    BOOST_CHECK_EXCEPTION(
        name_on_stage("layers.99999999999999999999.w", "layers.", pipeline(2, {2, 2})), error,
        says(errc::overflow, "'layers.99999999999999999999.w': the number 99999999999999999999 "
                             "does not fit in 64 bits"));
}

BOOST_AUTO_TEST_SUITE_END()
