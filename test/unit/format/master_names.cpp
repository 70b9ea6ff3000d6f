// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/variable_names.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::model;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(model_master_names)

namespace {

catalog stored_vectors(std::vector<std::string> const& keys) {
    std::vector<catalog_entry> entries;
    for (std::string const& key : keys)
        entries.push_back({key, data_type::f32, {4}, {1}});
    return catalog(entries);
}

} // namespace

BOOST_AUTO_TEST_CASE(versions_have_a_segment_or_an_ending) {
    BOOST_TEST(*other_master_name("opt.master_weights.linear_0.w_0") ==
               "opt.linear_0.w_0_fp32_master_0");
    BOOST_TEST(*other_master_name("opt.linear_0.w_0_fp32_master_0") ==
               "opt.master_weights.linear_0.w_0");
    BOOST_TEST(*other_master_name("master_weights.w") == "w_fp32_master_0");
    BOOST_TEST(!other_master_name("w_fp32_master_0").has_value()); // has no second segment
    BOOST_TEST(!other_master_name("opt.my_master_weights.w").has_value());
    BOOST_TEST(!other_master_name("opt.w.moment1_0").has_value());
}

BOOST_AUTO_TEST_CASE(only_what_is_missing_is_renamed_and_all_of_it_is_reported) {
    catalog const stored = stored_vectors(
        {"opt.a_fp32_master_0", "opt.b_fp32_master_0", "opt.master_weights.b", "opt.c"});
    auto const renamed = renamed_masters(
        {"opt.master_weights.a", "opt.master_weights.b", "opt.master_weights.c", "opt.c", "opt.d"},
        stored);
    BOOST_TEST(
        (renamed == std::vector<renamed_key>{{"opt.master_weights.a", "opt.a_fp32_master_0"}}));
    mapping program;
    define_renamed(program, renamed, stored);
    BOOST_TEST(program.sources().size() == 1);
    BOOST_TEST(program.sources().key(0) == "opt.a_fp32_master_0");
    BOOST_TEST((program.find("opt.master_weights.a")->value == program.source(0)));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_stored_is_refused) {
    mapping program;
    BOOST_CHECK_EXCEPTION(
        define_renamed(program, {{"a", "b"}}, stored_vectors({"a"})), error,
        test::says(errc::unknown_key, "'a' is to be 'b', which the source does not have"));
}

BOOST_AUTO_TEST_SUITE_END()
