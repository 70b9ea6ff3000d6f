// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower_context.hpp>

#include "aoa/language.hpp"

#include <reshard/expr/concat.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_scope)

namespace {

struct names {
    program code = parsed("a, s, zz, a.w_0 -> x");
    catalog tensors{{tensor("a", {2}), tensor("a.w_0", {2}, data_type::f64),
                     tensor("s.moment1_0", {3}), tensor("t.beta1_pow_acc_0", {1})}};
    reshard::vector<state_suffix> suffixes = default_state_suffixes();
    source_names source{tensors, suffixes};
    scope bindings{code, source};

    aoa::name left(std::size_t i) const { return code.left(code.statements()[0])[i]; }
    aoa::name x() const { return code.right(code.statements()[0])[0]; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_parameter_is_its_key_or_what_stands_in_for_it) {
    names const in;
    BOOST_TEST(in.source.find_parameter("a") == 0u);
    BOOST_TEST(!in.source.is_stand_in(0));
    key_id const s = in.source.find_parameter("s");
    BOOST_TEST(in.source.is_stand_in(s));
    BOOST_TEST(in.source.entry(s).key == "s.moment1_0");
    BOOST_TEST(in.source.parameter(s) == "s");
    BOOST_TEST(in.source.parameter(2) == "s.moment1_0");
    BOOST_TEST(in.source.find_parameter("t") == source_names::none);
    BOOST_TEST(in.source.find_parameter("zz") == source_names::none);
}

BOOST_AUTO_TEST_CASE(state_is_state_where_the_parameter_is_there_too) {
    names const in;
    BOOST_TEST(in.source.is_state("a.w_0"));
    BOOST_TEST(!in.source.is_state("s.moment1_0"));
    BOOST_TEST(!in.source.is_state("a"));
}

BOOST_AUTO_TEST_CASE(a_name_reads_its_last_binding_or_else_the_source) {
    names in;
    auto const from_source = in.bindings.read(in.left(0));
    BOOST_TEST((in.bindings.value(from_source).tensor == source_tensor(0, {2}, data_type::f32)));
    BOOST_TEST(in.bindings[in.left(0)].source_value == 0u);
    BOOST_TEST(in.bindings[in.left(0)].uses == 0u);
    auto const store = in.bindings.store({zeros({5}, data_type::f32)});
    in.bindings.bind(in.left(0), store, 7);
    BOOST_TEST(in.bindings.read(in.left(0)) == store);
    BOOST_TEST(in.bindings[in.left(0)].uses == 1u);
    BOOST_TEST(in.bindings[in.left(0)].origin == 7u);
}

BOOST_AUTO_TEST_CASE(a_value_without_a_name_makes_room_for_another) {
    names in;
    auto const read = in.bindings.read(in.left(0));
    in.bindings.release(read);
    in.bindings.release(read); // as a statement does that reads a tensor twice
    auto const first = in.bindings.store({zeros({5}, data_type::f32)});
    BOOST_TEST(first == read);
    BOOST_TEST(in.bindings.store({zeros({6}, data_type::f32)}) != first);
    in.bindings.bind(in.x(), first, 1);
    in.bindings.release(first);
    BOOST_TEST((in.bindings.value(first).tensor.shape == index_vector{5}));
    in.bindings.bind(in.x(), first, 2); // `x -> x`
    in.bindings.release(first);
    BOOST_TEST((in.bindings.value(in.bindings.read(in.x())).tensor.shape == index_vector{5}));
    in.bindings.bind(in.x(), in.bindings.store({zeros({7}, data_type::f32)}), 3);
    BOOST_TEST(in.bindings.store({zeros({8}, data_type::f32)}) == first);
}

BOOST_AUTO_TEST_CASE(a_temporary_has_its_value_until_it_has_been_read_for_the_last_time) {
    program code = parsed("a -> b");
    aoa::name const a = code.left(code.statements()[0])[0];
    aoa::name const temporary = code.make_fresh("t");
    code.add(code.make_statement({&a, 1}, {&temporary, 1}, code.statements()[0]));
    for (int i = 0; i < 2; ++i)
        code.add(code.make_statement({&temporary, 1}, {&a, 1}, code.statements()[0]));
    names const in;
    scope bindings(code, in.source);
    auto const value = bindings.read(a);
    bindings.bind(temporary, value, 0);
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(bindings.read(temporary) == value);
        BOOST_TEST((bindings.value(value).tensor.shape == index_vector{2}));
    }
    bindings.release(value);
    BOOST_TEST(bindings.store({zeros({5}, data_type::f32)}) == value);
}

BOOST_AUTO_TEST_CASE(a_value_knows_its_sources_with_and_without_elements) {
    program const code = parsed("e, a -> x");
    catalog const tensors({tensor("a", {2}), tensor("e", {0, 3})});
    reshard::vector<state_suffix> const suffixes = default_state_suffixes();
    source_names const source(tensors, suffixes);
    scope bindings(code, source);
    auto const left = code.left(code.statements()[0]);
    bound_value const empty = bindings.value(bindings.read(left[0]));
    BOOST_TEST((empty.sources == reshard::vector<key_id>{1}));
    BOOST_TEST(empty.first_source() == 1u);
    bound_value const full = bindings.value(bindings.read(left[1]));
    BOOST_TEST(full.sources.empty());
    BOOST_TEST(full.first_source() == 0u);
}

BOOST_AUTO_TEST_CASE(zeros_are_no_source_of_a_value) {
    expression const a = source_tensor(3, {2}, data_type::f32);
    bound_value const padded{concat({zeros({1}, data_type::f32), a, a}, 0)};
    reshard::vector<key_id> keys;
    padded.for_each_source([&](key_id id) { keys.push_back(id); });
    BOOST_TEST((keys == reshard::vector<key_id>{3, 3}));
    BOOST_TEST(padded.first_source() == 3u);
    BOOST_TEST(has_source_elements(padded.tensor));
    bound_value const tail{zeros({1}, data_type::f32), {3, 4}};
    keys.clear();
    tail.for_each_source([&](key_id id) { keys.push_back(id); });
    BOOST_TEST((keys == reshard::vector<key_id>{3, 4}));
    BOOST_TEST(!has_source_elements(tail.tensor));
}

BOOST_AUTO_TEST_CASE(what_has_no_value_cannot_be_read) {
    names in;
    BOOST_CHECK_THROW(in.bindings.read(in.left(2)), statement_error);
    BOOST_CHECK_THROW(in.bindings.read(in.left(3)), statement_error);
    in.bindings[in.left(0)].is_removed = true;
    BOOST_CHECK_THROW(in.bindings.read(in.left(0)), statement_error);
    in.bindings.spoil(in.x());
    BOOST_CHECK_THROW(in.bindings.read(in.x()), no_value);
}

BOOST_AUTO_TEST_CASE(a_binding_is_found_by_key) {
    names in;
    in.bindings[in.x()].is_added = true;
    BOOST_TEST(in.bindings.find("x")->is_added);
    BOOST_TEST(in.bindings.find("y") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
