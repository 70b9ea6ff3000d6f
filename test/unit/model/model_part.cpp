// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/tied_weights.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_model_part)

namespace {

/// Attention describes its tensors without knowing its position.
model_part attention() {
    return {.name = "self_attn",
            .tensors = {{.key = "q.weight", .shape = {4, 4}, .cut = column_parallel()},
                        {.key = "o.weight", .shape = {4, 4}, .cut = row_parallel()}}};
}

model_part layer_part(index_t number) {
    return {.name = std::to_string(number),
            .tensors = {{.key = "norm.weight", .shape = {4}}},
            .parts = {attention()}};
}

std::string keys_of_part(model_part const& part, std::string const& prefix = {}) {
    std::string keys;
    for (parallel_tensor const& tensor : tensors_of(part, prefix))
        keys += tensor.key + " ";
    return keys;
}

model_part nested(int depth) {
    model_part part{.name = "x", .tensors = {{.key = "w", .shape = {1}}}};
    for (int i = 1; i < depth; ++i)
        part = {.name = "x", .parts = {part}};
    return part;
}

} // namespace

BOOST_AUTO_TEST_CASE(names_of_parts_stand_before_those_of_their_tensors) {
    model_part const model{.name = "model",
                           .tensors = {{.key = "embed.weight", .shape = {8, 4}}},
                           .parts = {{.name = "layers", .parts = {layer_part(0), layer_part(1)}}}};
    std::string const expected = "model.embed.weight "
                                 "model.layers.0.norm.weight "
                                 "model.layers.0.self_attn.q.weight "
                                 "model.layers.0.self_attn.o.weight "
                                 "model.layers.1.norm.weight "
                                 "model.layers.1.self_attn.q.weight "
                                 "model.layers.1.self_attn.o.weight ";
    BOOST_TEST(keys_of_part(model) == expected);
    // A wrapper without a name and without parameters loses nothing and adds nothing.
    BOOST_TEST(keys_of_part({.parts = {{.parts = {model}}}}) == expected);
}

BOOST_AUTO_TEST_CASE(a_part_stands_alone_or_below_a_prefix) {
    BOOST_TEST(keys_of_part(attention()) == "self_attn.q.weight self_attn.o.weight ");
    BOOST_TEST(keys_of_part(layer_part(7), "student.") ==
               "student.7.norm.weight student.7.self_attn.q.weight student.7.self_attn.o.weight ");
    BOOST_TEST(keys_of_part({}) == "");
}

BOOST_AUTO_TEST_CASE(what_a_layer_says_of_its_tensors_stays) {
    auto const tensors = tensors_of(layer_part(3));
    BOOST_TEST((tensors[1].cut == column_parallel()));
    BOOST_TEST((tensors[2].cut == row_parallel()));
    BOOST_TEST((tensors[2].shape == index_vector{4, 4}));
}

BOOST_AUTO_TEST_CASE(parts_of_one_name_are_refused) {
    BOOST_CHECK_EXCEPTION(
        tensors_of({.name = "layers", .parts = {layer_part(0), layer_part(0)}}), error,
        test::says(errc::bad_layout, "two parts of the model have a tensor 'layers.0.norm.weight'; "
                                     "sibling parts need different names"));
}

BOOST_AUTO_TEST_CASE(parts_do_not_stand_in_one_another_without_end) {
    BOOST_TEST(tensors_of(nested(64)).size() == 1);
    BOOST_CHECK_EXCEPTION(tensors_of(nested(65)), error, [](error const& problem) {
        return problem.code() == errc::limit_exceeded &&
               std::string(problem.what())
                   .starts_with("parts of a model are nested more than 64 levels deep at 'x.x.");
    });
}

BOOST_AUTO_TEST_SUITE_END()
