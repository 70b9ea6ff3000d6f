// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/data_loss.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/lower.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_data_loss)

namespace {

catalog const destroyed_source({tensor("a", {4}), tensor("b", {4})});

/// `a@m.aoa:1:1 is removed`, for each loss; nothing after `@` if no statement does it.
std::vector<std::string> data_losses(char const* text, catalog const* target = nullptr) {
    aoa::program const code = parsed(text, "m");
    aoa::lowering const lowered = aoa::lower_all(code, destroyed_source, target);
    aoa::detail::data_loss_finder finder(code, lowered);
    std::vector<std::string> matches;
    for (loss const& loss : losses_of(lowered.map)) {
        aoa::data_loss const data_loss = finder.find(loss);
        bool const placed = data_loss.where.last > data_loss.where.first;
        matches.push_back(loss.key + "@" +
                          (placed ? aoa::detail::place_text(code, data_loss.where) : "") + " " +
                          data_loss.text);
    }
    return matches;
}

using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(a_removal_is_a_statement) {
    BOOST_TEST(data_losses("b -> c\na -> _") == texts{"a@m:2:1 is removed"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rounding_is_in_the_statement_that_casts_to_that_type) {
    BOOST_TEST(data_losses("a -> t, dtype='float64'\nt -> u, src_dtype='float64', "
                           "dst_dtype='float16'\nu -> v, dtype='float32'\nb -> v2, "
                           "dtype='bfloat16'") ==
                   (texts{"a@m:2:1 is rounded on the way from float32 to float16",
                          "b@m:4:1 is rounded on the way from float32 to bfloat16"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(
    elements_of_a_value_that_nothing_uses_are_lost_by_the_statement_that_makes_it) {
    catalog const target({tensor("b", {4}), tensor("y", {2})});
    BOOST_TEST(data_losses("a -> x, y, axis=0", &target) ==
                   texts{"a@m:1:6 has elements that no target uses: [0:2] of [4]"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_that_nothing_uses_is_lost_by_no_statement) {
    catalog const target({tensor("b", {4})});
    BOOST_TEST(data_losses("", &target) == texts{"a@ is not used by any target"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
