// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/operation.hpp>
#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_operation)

namespace {

expression const w = source_tensor(0, {2, 6}, data_type::f32);

std::string names(std::size_t k) { return k == 0 ? "w" : "d"; }

attribute axis(index_t value) { return {"axis", value, '"', {}}; }
attribute text(char const* word, char const* value) { return {word, std::string(value), '"', {}}; }

std::string message(std::vector<expression> const& operands, std::size_t parts,
                    std::vector<attribute> const& attributes) {
    std::vector<expression const*> addresses;
    for (expression const& operand : operands)
        addresses.push_back(&operand);
    std::vector<std::string> called{"w", "x"};
    called.resize(operands.size());
    called.insert(called.end(), {"d", "e"});
    auto const name_of = [&](std::size_t k) { return called[k]; };
    try {
        operation(addresses, name_of, parts).run(attributes);
    } catch (statement_error const& problem) {
        return problem.message;
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(without_attributes_a_tensor_stays_as_it_is) {
    auto const result = operation({&w}, names, 1).run({});
    BOOST_TEST_REQUIRE(result.size() == 1u);
    BOOST_TEST((result[0] == w));
}

BOOST_AUTO_TEST_CASE(what_an_attribute_makes_goes_into_the_next_one) {
    attribute const turn = text("permute", "[1, 0]"), narrow = text("dtype", "bfloat16");
    auto const result = operation({&w, &w}, names, 1).run({turn, narrow, axis(0), turn});
    expression const turned = cast(transpose(w), data_type::bf16);
    BOOST_TEST_REQUIRE(result.size() == 1u);
    BOOST_TEST((result[0] == transpose(concat({turned, turned}, 0))));
    BOOST_TEST((w == source_tensor(0, {2, 6}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(an_axis_may_count_from_the_end) {
    BOOST_TEST((operation({&w, &w}, names, 1).run({axis(-2)})[0] == concat({w, w}, 0)));
    BOOST_TEST((operation({&w}, names, 3).run({axis(-1)})[2] == split(w, 1, std::size_t{3})[2]));
}

BOOST_AUTO_TEST_CASE(sizes_may_stand_on_either_side_of_the_axis) {
    auto const before = operation({&w}, names, 2).run({text("sizes", "[1,5]"), axis(1)});
    auto const after = operation({&w}, names, 2).run({axis(1), text("sizes", "[1,5]")});
    BOOST_TEST((before == after));
    BOOST_TEST((before[1].shape == index_vector{2, 5}));
}

BOOST_AUTO_TEST_CASE(a_slice_and_a_resize_apply_where_they_stand) {
    auto const result =
        operation({&w}, names, 1)
            .run({text("slice", "[:, 1:4]"), text("permute", "[]"), text("resize", "[*, 3]")});
    BOOST_TEST_REQUIRE(result.size() == 1u);
    BOOST_TEST((result[0] == resize(transpose(slice(w, {{}, {1, 4}})), {3, 3})));
    auto const parts = operation({&w}, names, 2).run({axis(1), text("resize", "[1, *]")});
    BOOST_TEST_REQUIRE(parts.size() == 2u);
    BOOST_TEST((parts[1] == slice(w, {{0, 1}, {3}})));
}

BOOST_AUTO_TEST_CASE(messages_name_the_operation_the_axis_and_both_numbers) {
    BOOST_TEST(message({w}, 4, {axis(1)}) == "split of 'w': axis 1 has the extent 6, which does "
                                             "not divide into 4 equal parts; give explicit sizes");
    BOOST_TEST(message({w}, 2, {axis(2)}) ==
               "split of 'w': axis 2 is out of range for a tensor of 2 axes, shape [2, 6]");
    BOOST_TEST(message({w, transpose(w)}, 1, {axis(0)}) ==
               "concat into 'd': 'x' has the extent 2 along axis 1, but 'w' has 6");
    BOOST_TEST(message({w}, 2, {axis(1), text("sizes", "[1,2]")}) ==
               "split of 'w': axis 1 has the extent 6, but the sizes sum to 3");
    BOOST_TEST(message({w}, 1, {text("permute", "[0]")}) ==
               "permute of 'w': the permutation [0] does not name each of the 2 axes once");
    BOOST_TEST(
        message({w, source_tensor(1, {3}, data_type::f32)}, 1, {text("permute", "[1, 0]")}) ==
        "permute of 'x': the permutation [1, 0] does not name the 1 axis once");
    BOOST_TEST(
        message({w}, 2, {axis(0), text("slice", "[0:2, :]")}) ==
        "slice of 'd': axis 0 has the extent 1, but 0:2 is not a range within it; bounds count "
        "from 0, and the lower one comes first");
    expression const c = source_tensor(1, {2}, data_type::c64);
    BOOST_TEST(message({c}, 1, {text("dtype", "float32")}) ==
               "cast of 'w': elements of type complex64 cannot be cast to float32: a real number "
               "cannot hold an imaginary part");
}

BOOST_AUTO_TEST_CASE(an_error_stands_at_its_attribute) {
    attribute const wrong{"axis", index_t{9}, '"', {4, 10}};
    try {
        operation({&w}, names, 2).run({text("dtype", "float16"), wrong});
        BOOST_ERROR("accepted");
    } catch (statement_error const& problem) {
        BOOST_TEST((problem.where == text_span{4, 10}));
        BOOST_TEST(problem.key == "w");
    }
}

BOOST_AUTO_TEST_CASE(what_has_no_effect_or_does_not_fit_is_remarked) {
    operation step({&w}, names, 1);
    step.run({axis(0), text("src_dtype", "float16"), text("dst_dtype", "bfloat16")});
    BOOST_TEST_REQUIRE(step.remarks().size() == 2u);
    BOOST_TEST(step.remarks()[0].code == "no_effect");
    BOOST_TEST(step.remarks()[1].code == "other_dtype");
    BOOST_TEST(step.remarks()[1].key == "w");
    BOOST_TEST(step.remarks()[1].message == "src_dtype is float16, but 'w' is float32");
}

BOOST_AUTO_TEST_SUITE_END()
