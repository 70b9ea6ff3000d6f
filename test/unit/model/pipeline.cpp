// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/pipeline.hpp>

#include "support/says.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_pipeline)

namespace {

using layer_range = std::pair<index_t, index_t>;

template <class Make>
void refused_pipeline(Make const& make, std::string const& text) {
    BOOST_CHECK_EXCEPTION(make(), error, test::says(errc::bad_layout, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(even_stages_have_equally_many_layers) {
    pipeline const stages = even_pipeline(80, 4);
    BOOST_TEST((stages.layers_of(2) == layer_range{40, 60}));
    BOOST_TEST((stages.place_of(59) == layer_place{2, 0, 19}));
    BOOST_TEST(stages.layer_at({3, 0, 0}) == 60);
}

BOOST_AUTO_TEST_CASE(the_first_stages_have_one_layer_more) {
    // 126 layers on 8 stages: 16 on six of them, 15 on two. 61 on 16: 4 on thirteen, 3 on three.
    pipeline const stages = uneven_pipeline(126, 8);
    BOOST_TEST((stages.layers_of(5) == layer_range{80, 96}));
    BOOST_TEST((stages.layers_of(6) == layer_range{96, 111}));
    BOOST_TEST((stages.layers_of(7) == layer_range{111, 126}));
    BOOST_TEST((uneven_pipeline(61, 16).place_of(51) == layer_place{12, 0, 3}));
    BOOST_TEST((uneven_pipeline(61, 16).place_of(52) == layer_place{13, 0, 0}));
}

BOOST_AUTO_TEST_CASE(chunks_go_round_the_stages) {
    // 8 layers on 2 stages of 2 chunks: stage 0 has 0 1 and 4 5, stage 1 has 2 3 and 6 7.
    pipeline const stages = even_pipeline(8, 2, 2);
    BOOST_TEST(stages.virtual_stages() == 2);
    BOOST_TEST((stages.layers_of(0, 1) == layer_range{4, 6}));
    BOOST_TEST((stages.place_of(3) == layer_place{1, 0, 1}));
    BOOST_TEST((stages.place_of(6) == layer_place{1, 1, 0}));
}

BOOST_AUTO_TEST_CASE(ends_may_differ) {
    pipeline const stages = pipeline_with_ends(61, 16, 4, 1);
    BOOST_TEST((stages.layers_of(0) == layer_range{0, 4}));
    BOOST_TEST((stages.layers_of(1) == layer_range{4, 8}));
    BOOST_TEST((stages.layers_of(15) == layer_range{60, 61}));
    BOOST_TEST((pipeline_with_ends(5, 2, 2, 3).layers_of(1) == layer_range{2, 5}));
}

BOOST_AUTO_TEST_CASE(a_stage_without_layers_holds_none) {
    pipeline const stages(3, {2, 0, 1});
    BOOST_TEST((stages.layers_of(1) == layer_range{2, 2}));
    BOOST_TEST((stages.place_of(2) == layer_place{2, 0, 0}));
    BOOST_TEST((pipeline(3, {0, 0, 2}).place_of(0) == layer_place{2, 0, 0}));
    BOOST_TEST(uneven_pipeline(2, 4).layers() == 2);
}

BOOST_AUTO_TEST_CASE(local_numbers_and_global_ones_are_inverse) {
    for (pipeline const& stages :
         {even_pipeline(24, 3, 4), uneven_pipeline(61, 4, 3), pipeline(2, {0, 3, 1, 0, 5, 2})})
        for (index_t layer = 0; layer < stages.layers(); ++layer)
            BOOST_TEST(stages.layer_at(stages.place_of(layer)) == layer);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    refused_pipeline([] { return even_pipeline(94, 16); },
                     "94 layers cannot be cut into 16 equal chunks; use uneven_pipeline or give "
                     "counts");
    refused_pipeline([] { return pipeline_with_ends(61, 16, 3, 1); },
                     "61 layers minus 3 on the first stage and 1 on the last cannot be divided "
                     "equally among the 14 stages in between");
    refused_pipeline([] { return pipeline_with_ends(3, 2, 5, -2); },
                     "3 layers minus 5 on the first stage and -2 on the last cannot be divided "
                     "equally among the 0 stages in between");
    refused_pipeline(
        [] {
            return pipeline(2, {1, 2, 3});
        },
        "3 layer counts are not a multiple of 2 pipeline stages");
    refused_pipeline([] { return pipeline(2, {1, -2}); }, "chunk 1 of the pipeline has -2 layers");
    refused_pipeline([] { return uneven_pipeline(-1, 2); },
                     "a pipeline of -1 layers on 2 stages of 1 chunk is not possible");
    refused_pipeline(
        [] { return uneven_pipeline(4, std::numeric_limits<index_t>::max(), 2); },
        "a pipeline of 4 layers on 9223372036854775807 stages of 2 chunks is not possible");
}

BOOST_AUTO_TEST_CASE(a_place_that_is_not_there_is_refused) {
    pipeline const stages = uneven_pipeline(5, 2);
    refused_pipeline([&] { return stages.place_of(5); },
                     "there is no layer 5 in a pipeline of 5 layers; numbering starts at 0");
    refused_pipeline(
        [&] {
            return stages.layer_at({1, 0, 2});
        },
        "stage 1 has 2 layers in chunk 0; it has no local layer 2");
    refused_pipeline([&] { return stages.layers_of(2); },
                     "there is no chunk 0 of stage 2 in a pipeline of 2 stages with 1 chunk each");
}

BOOST_AUTO_TEST_SUITE_END()
