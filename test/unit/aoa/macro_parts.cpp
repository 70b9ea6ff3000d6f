// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/parts.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_macro_parts)

namespace {

/// A program without macros, and the parts of the last statement's first names.
struct counted {
    counted(char const* text, reshard::vector<catalog_entry> tensors)
        : code(parsed(text)),
          chain(code, code.statements()),
          keys(std::move(tensors)),
          counter(code, chain, keys, "source", suffixes, steps) {}

    std::optional<index_t> before(std::size_t statement, index_t axis) const {
        return counter.before(code.statements()[statement], 0, axis);
    }
    std::optional<index_t> after(std::size_t statement, index_t axis) const {
        auto const& element = code.statements()[statement];
        return counter.after(element, element.left, axis);
    }

    program code;
    name_chain chain;
    catalog keys;
    reshard::vector<state_suffix> suffixes = default_state_suffixes();
    budget steps{1000, "steps", "max_steps"};
    part_counter counter;
};

catalog_entry cut(char const* key, index_vector const& parts) {
    return tensor(key, index_vector::filled(parts.size(), 12), data_type::f32, parts);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_key_is_cut_as_its_catalog_says_along_the_axis) {
    counted const counted("s -> d", {cut("s", {2, 3}), cut("d", {4, 6})});
    BOOST_TEST(counted.before(0, 0).value() == 2);
    BOOST_TEST(counted.before(0, 1).value() == 3);
    BOOST_TEST(counted.before(0, -1).value() == 3);
    BOOST_TEST(counted.after(0, 1).value() == 6);
}

BOOST_AUTO_TEST_CASE(an_intermediate_is_cut_like_what_it_is_made_of_and_becomes) {
    counted const counted("s -> t\nt -> u\nu -> d", {cut("s", {2}), cut("d", {3})});
    BOOST_TEST(counted.before(2, 0).value() == 2);
    BOOST_TEST(counted.after(0, 0).value() == 3);
}

BOOST_AUTO_TEST_CASE(permutations_carry_the_axis_along) {
    counted const counted("s -> t, permute='[2,0,1]'\nt -> u, permute='[]'\nu -> d",
                          {cut("s", {2, 3, 4}), cut("d", {5, 6, 7})});
    // axes of t are axes 2, 0, 1 of s; u has those of t reversed: 1, 0, 2 of s
    BOOST_TEST(counted.before(2, 0).value() == 3);
    BOOST_TEST(counted.before(2, 1).value() == 2);
    BOOST_TEST(counted.before(2, 2).value() == 4);
    BOOST_TEST(counted.after(0, 0).value() == 7);
    BOOST_TEST(counted.after(0, 2).value() == 5);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_bound_twice_has_two_versions) {
    counted const counted("s -> t\nt -> d\nx -> t\nt -> e",
                          {cut("s", {2}), cut("x", {3}), cut("d", {4}), cut("e", {5})});
    BOOST_TEST(counted.before(1, 0).value() == 2);
    BOOST_TEST(counted.before(3, 0).value() == 3);
    BOOST_TEST(counted.after(0, 0).value() == 4);
    BOOST_TEST(counted.after(2, 0).value() == 5);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_read_twice_is_cut_as_both_readers_say) {
    counted const same("s -> t\nt -> d\nt -> e", {cut("d", {4}), cut("e", {4})});
    BOOST_TEST(same.after(0, 0).value() == 4);
    counted const counted("s -> t\nt -> d\nt -> e", {cut("d", {4}), cut("e", {2})});
    BOOST_CHECK_THROW(counted.after(0, 0), statement_error);
}

BOOST_AUTO_TEST_CASE(several_tensors_have_no_one_answer) {
    counted const joined("a, b -> t, axis=0\nt -> d", {cut("a", {2}), cut("b", {2})});
    BOOST_CHECK_THROW(joined.before(1, 0), statement_error);
    counted const split("s -> t\nt -> d, e, axis=0", {cut("d", {2}), cut("e", {2})});
    BOOST_CHECK_THROW(split.after(0, 0), statement_error);
}

BOOST_AUTO_TEST_CASE(parameter_and_state_are_cut_alike) {
    counted const same_counted(
        "s -> d", {cut("s.w_0", {3}), cut("s.moment1_0", {3}), tensor("s.beta1_pow_acc_0", {1})});
    BOOST_TEST(same_counted.before(0, 0).value() == 3);
    counted const counted("s -> d", {cut("s", {2}), cut("s.moment1_0", {3})});
    BOOST_CHECK_THROW(counted.before(0, 0), statement_error);
}

BOOST_AUTO_TEST_CASE(what_no_key_answers_is_not_known) {
    counted const current_counted("t -> u", {cut("s", {2})});
    BOOST_TEST(!current_counted.before(0, 0).has_value());
    BOOST_TEST(!current_counted.after(0, 0).has_value());
    counted const added("_ -> t\nt -> d", {});
    BOOST_TEST(!added.before(1, 0).has_value());
}

BOOST_AUTO_TEST_CASE(an_axis_that_a_key_does_not_have_is_refused) {
    counted const counted("s -> d", {cut("s", {2})});
    BOOST_CHECK_THROW(counted.before(0, 1), statement_error);
    BOOST_CHECK_THROW(counted.before(0, -2), statement_error);
}

BOOST_AUTO_TEST_CASE(a_way_that_takes_too_many_steps_is_given_up) {
    counted counted("s -> t\nt -> u\nu -> d", {cut("s", {2}), cut("d", {3})});
    BOOST_TEST(counted.before(2, 0).value() == 2);
    BOOST_TEST(counted.steps.spent == 2u);
    counted.steps.most = 3;
    BOOST_CHECK_EXCEPTION(
        counted.before(2, 0), statement_error, [](statement_error const& problem) {
            return problem.code == errc::limit_exceeded &&
                   problem.message == "the program has more than 3 steps (option max_steps)";
        });
    BOOST_CHECK_THROW(counted.after(0, 0), statement_error);
}

BOOST_AUTO_TEST_SUITE_END()
