// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/model/interleave.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_interleave)

namespace {

/// Weights of 4 query heads, 2 key and 2 value heads of 3 columns, and a gate and an up of 8 columns.
catalog unfused() {
    return catalog({{"q", data_type::f32, {5, 12}, {1, 1}},
                    {"k", data_type::f32, {5, 6}, {1, 1}},
                    {"v", data_type::f32, {5, 6}, {1, 1}},
                    {"gate", data_type::f32, {5, 8}, {1, 1}},
                    {"up", data_type::f32, {5, 8}, {1, 1}}});
}

expression tensor(std::string const& key) {
    catalog const catalog = unfused();
    auto const& entry = *catalog.find(key);
    return source_tensor(static_cast<key_id>(&entry - &catalog[0]), entry.shape, entry.dtype);
}

/// The elements of an expression; the sources' elements are numbered through.
std::vector<index_t> elements(expression const& expression) {
    std::vector<index_vector> shapes;
    std::vector<std::vector<index_t>> values;
    index_t next = 0;
    for (catalog_entry const& entry : unfused()) {
        shapes.push_back(entry.shape);
        values.emplace_back(static_cast<std::size_t>(element_count(entry.shape)));
        for (index_t& value : values.back())
            value = next++;
    }
    return test::evaluate(expression, shapes, values);
}

/// The elements that `d`, cut into `parts` columns, has by a program in text.
std::vector<index_t> lowered(std::string const& text, index_vector const& shape, index_t parts) {
    catalog const source = unfused();
    catalog const target({{"d", data_type::f32, shape, {1, parts}}});
    auto const code = aoa::expand(aoa::parse(text + "\n"), source, &target).code;
    return elements(aoa::lower(code, source, &target).find("d")->value);
}

} // namespace

BOOST_AUTO_TEST_CASE(groups_of_heads_are_what_the_text_says) {
    std::vector const vector{tensor("q"), tensor("k"), tensor("v")};
    std::string const text = "q, k, v -> d, fused_qkv, num_heads=4, num_key_value_groups=2";
    BOOST_TEST((elements(interleave(vector, 1, 2)) == lowered(text, {5, 24}, 2)));
}

BOOST_AUTO_TEST_CASE(heads_of_each_rank_are_what_the_text_says) {
    std::vector const vector{tensor("q"), tensor("k"), tensor("v")};
    std::string const text = "q, k, v -> d, fused_qkv_old, num_heads=4, num_key_value_groups=2";
    for (index_t const ranks : {1, 2})
        BOOST_TEST((elements(interleave(vector, 1, ranks)) == lowered(text, {5, 24}, ranks)));
}

BOOST_AUTO_TEST_CASE(gate_and_up_are_what_the_text_says) {
    std::vector const both{tensor("gate"), tensor("up")};
    for (index_t const ranks : {1, 2, 4})
        BOOST_TEST((elements(interleave(both, 1, ranks)) ==
                    lowered("gate, up -> d, fused_ffn", {5, 16}, ranks)));
}

BOOST_AUTO_TEST_CASE(taking_apart_undoes_it) {
    std::vector const vector{tensor("q"), tensor("k"), tensor("v")};
    auto const apart = deinterleave(interleave(vector, 1, 2), 1, 2, {12, 6, 6});
    BOOST_TEST(apart.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST((elements(apart[i]) == elements(vector[i])));
}

BOOST_AUTO_TEST_CASE(blocks_that_do_not_fit_are_refused) {
    BOOST_CHECK_EXCEPTION(interleave({tensor("gate"), tensor("up")}, 1, 3), error,
                          test::says(errc::shape_mismatch,
                                     "tensors of extent 8 along the axis cannot be interleaved "
                                     "in 3 equal blocks"));
    BOOST_CHECK_EXCEPTION(deinterleave(tensor("q"), 1, 0, {12}), error,
                          test::says(errc::shape_mismatch,
                                     "tensors of extent 12 along the axis cannot be interleaved "
                                     "in 0 equal blocks"));
    BOOST_CHECK_THROW(interleave({tensor("gate")}, 2, 1), error);
    BOOST_CHECK_THROW(deinterleave(tensor("q"), 1, 2, {12, 6}), error);
    BOOST_CHECK_THROW(interleave({}, 1, 2), error);
}

BOOST_AUTO_TEST_SUITE_END()
