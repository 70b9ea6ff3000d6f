// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping.hpp>

#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_mapping)

namespace {

catalog const two({{"a", data_type::f32, {2, 3}, {1, 1}}, {"b", data_type::f16, {4}, {2}}});

} // namespace

BOOST_AUTO_TEST_CASE(sources_are_numbered_as_they_come) {
    mapping program;
    expression const q = program.source("q", {4, 8}, data_type::f32);
    expression const k = program.source("k", {2, 8}, data_type::f32);
    BOOST_TEST(q.pieces.source(0) == 0u);
    BOOST_TEST(k.pieces.source(0) == 1u);
    BOOST_TEST((program.source("q", {4, 8}, data_type::f32) == q));
    BOOST_TEST(program.sources().size() == 2u);
    BOOST_TEST((program.sources()[1] == mapping_source{"k", {2, 8}, data_type::f32}));
}

BOOST_AUTO_TEST_CASE(one_key_is_one_source) {
    mapping program;
    program.source("q", {4, 8}, data_type::f32);
    BOOST_CHECK_EXCEPTION(program.source("q", {4}, data_type::f32), error,
                          says(errc::shape_mismatch, "'q' has the shape [4, 8], not [4]"));
    BOOST_CHECK_EXCEPTION(program.source("q", {4, 8}, data_type::f16), error,
                          says(errc::dtype_mismatch, "'q' is float32, not float16"));
}

BOOST_AUTO_TEST_CASE(outputs_are_sorted_and_found_by_key) {
    mapping program(two);
    program.define("z", program.source(0));
    program.define("m", transpose(program.source(0)));
    program.define("x", program.source(1));
    BOOST_TEST_REQUIRE(program.outputs().size() == 3u);
    std::vector<mapping_output const*> sorted;
    for (mapping_output const& output : program.outputs())
        sorted.push_back(&output);
    BOOST_TEST(sorted[0]->key == "m");
    BOOST_TEST(sorted[2]->key == "z");
    BOOST_TEST(program.find("x") == sorted[1]);
    BOOST_TEST(program.find("y") == nullptr);
    BOOST_TEST((program.find("m")->value.shape == index_vector{3, 2}));
}

BOOST_AUTO_TEST_CASE(an_output_moves_no_other) {
    // Keys that come in reverse: each would shift all before it in a packed list.
    mapping program(two);
    std::vector<mapping_output const*> places;
    for (int i = 100; i < 200; ++i) {
        std::string const key = std::to_string(299 - i);
        program.define(key, program.source(0));
        places.push_back(program.find(key));
    }
    for (int i = 100; i < 200; ++i)
        BOOST_TEST(program.find(std::to_string(299 - i)) ==
                   places[static_cast<std::size_t>(i - 100)]);
    BOOST_TEST(program.outputs().begin()->key == "100");
}

BOOST_AUTO_TEST_CASE(equal_mappings_may_be_made_in_any_order_of_outputs) {
    mapping mapping(two), other_mapping(two);
    mapping.define("x", mapping.source(0));
    mapping.define("y", mapping.source(1));
    other_mapping.define("y", other_mapping.source(0));
    other_mapping.define("y", other_mapping.source(1));
    other_mapping.define("x", other_mapping.source(0));
    BOOST_TEST((mapping == other_mapping));
    BOOST_TEST(digest_of(mapping) == digest_of(other_mapping));
}

BOOST_AUTO_TEST_CASE(a_mapping_that_was_moved_from_is_as_good_as_another) {
    mapping program(two);
    program.define("x", program.source(0));
    mapping moved = std::move(program); // finds its own tensors, independent of the other
    program = mapping();
    program.source("c", {1}, data_type::f32);
    BOOST_TEST((moved.source("b", {4}, data_type::f16) == moved.source(1)));
    BOOST_TEST(moved.sources().size() == 2u);
    BOOST_TEST(moved.find("x") != nullptr);
    program = std::move(moved);
    moved = mapping();
    BOOST_TEST((program.source("b", {4}, data_type::f16) == program.source(1)));
}

BOOST_AUTO_TEST_CASE(sources_made_known_one_by_one_are_those_of_a_catalog) {
    mapping program;
    program.source("a", {2, 3}, data_type::f32);
    program.source("b", {4}, data_type::f16);
    BOOST_TEST((program == mapping(two)));
}

BOOST_AUTO_TEST_CASE(the_last_definition_counts) {
    mapping program(two);
    program.define("x", program.source(0));
    program.define("y", program.source(0));
    program.define("x", program.source(1));
    BOOST_TEST(program.outputs().size() == 2u);
    BOOST_TEST((program.find("x")->value == program.source(1)));
}

BOOST_AUTO_TEST_CASE(added_tensors_are_zeros) {
    mapping program;
    program.add("n", {2}, data_type::f32);
    BOOST_TEST(program.find("n")->added);
    BOOST_TEST((program.find("n")->value == zeros({2}, data_type::f32)));
    program.define("n", zeros({2}, data_type::f32));
    BOOST_TEST(!program.find("n")->added);
}

BOOST_AUTO_TEST_CASE(removed_keys_and_relations_are_remembered) {
    mapping program;
    program.remove("old");
    program.relate({relation::kind::state, "w", "w.moment1_0"});
    BOOST_TEST((program.removed() == std::vector<std::string>{"old"}));
    BOOST_TEST_REQUIRE(program.relations().size() == 1u);
    BOOST_TEST(program.relations()[0].companion == "w.moment1_0");
}

BOOST_AUTO_TEST_CASE(the_identity_keeps_every_tensor) {
    mapping const mapping = identity_mapping(two);
    BOOST_TEST(mapping.outputs().size() == 2u);
    BOOST_TEST(is_source_box(mapping.find("a")->value));
    BOOST_TEST(mapping.find("b")->value.pieces.source(0) == 1u);
}

BOOST_AUTO_TEST_CASE(the_identity_keeps_what_is_wanted) {
    catalog const wanted({{"b", data_type::f16, {4}, {1}}});
    mapping const some = identity_mapping(two, &wanted);
    BOOST_TEST(some.outputs().size() == 1u);
    BOOST_TEST(some.sources().size() == 2u);
    catalog const more({{"c", data_type::f16, {4}, {1}}});
    BOOST_CHECK_EXCEPTION(
        identity_mapping(two, &more), error,
        says(errc::unknown_key, "'c' is wanted, but the source does not have it"));
}

BOOST_AUTO_TEST_CASE(digests_tell_mappings_apart) {
    mapping const same = identity_mapping(two);
    BOOST_TEST(digest_of(same) == digest_of(identity_mapping(two)));
    auto const differs = [&](auto change) {
        mapping mapping = identity_mapping(two);
        change(mapping);
        return digest_of(mapping) != digest_of(same);
    };
    BOOST_TEST(differs([](mapping& m) { m.define("a", transpose(m.source(0))); }));
    BOOST_TEST(differs([](mapping& m) { m.define("b", cast(m.source(1), data_type::f32)); }));
    BOOST_TEST(differs([](mapping& m) {
        m.define("b", cast(cast(m.source(1), data_type::bf16), data_type::f16));
    }));
    BOOST_TEST(differs([](mapping& m) { m.define("c", m.source(0)); }));
    BOOST_TEST(differs([](mapping& m) { m.add("c", {1}, data_type::f32); }));
    BOOST_TEST(differs([](mapping& m) { m.remove("c"); }));
    BOOST_TEST(differs([](mapping& m) { m.source("c", {1}, data_type::f32); }));
    BOOST_TEST(differs([](mapping& m) {
        auto const halves = split(m.source(1), 0, 2);
        m.define("b", concat({halves[1], halves[0]}, 0));
    }));
}

BOOST_AUTO_TEST_CASE(a_stored_program_that_dequantizes_has_scales_for_what_it_can_dequantize) {
    using enum detail::relation::kind;
    auto const program_of = [](data_type stored, double number, data_type result, auto... related) {
        mapping program;
        auto const w = program.source("w", {4, 6}, stored);
        program.source("s", {2, 3}, data_type::f32);
        expression value{w.shape, result, detail::piece_list(2)};
        piece part = w.pieces[0];
        part.steps = detail::appended({}, stored,
                                      {result, detail::chain_step::operation::dequantize, number});
        value.pieces.push_back(part);
        program.define("w", value);
        (program.relate(related), ...);
        return program;
    };
    detail::relation const scales{dequantize, "w", "s", {2, 2}};
    using enum data_type;
    BOOST_CHECK_NO_THROW(validate(program_of(f8_e4m3, 0, bf16, scales)));
    BOOST_CHECK_NO_THROW(validate(program_of(u8, 2, bf16, scales)));
    for (mapping const& program :
         {program_of(f8_e4m3, 0, bf16), program_of(f8_e4m3, 1, bf16, scales),
          program_of(u8, 0, bf16, scales), program_of(f32, 0, f32, scales),
          program_of(f8_e4m3, 0, f64, scales), program_of(f8_e4m3, 0, i8, scales),
          program_of(f8_e4m3, 0, bf16, detail::relation{dequantize, "x", "s", {2, 2}})})
        BOOST_CHECK_EXCEPTION(validate(program), error, [](error const& problem) {
            return problem.code() == errc::bad_layout;
        });
}

BOOST_AUTO_TEST_SUITE_END()
