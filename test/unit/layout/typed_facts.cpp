// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_facts.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(layout_typed_facts)

namespace {

template <index_t Row, index_t Rows>
using rows = typed::shard<"a", float, index_vector{6, 2}, box{{Row, 0}, {Rows, 2}}>;
template <class... Shards>
using ranks_of = typed_ranks<typed::state_dict<Shards>...>;

using all = typed::shard<"f", float, index_vector{3, 4}, box{{0, 0}, {3, 4}}>;
template <index_t Begin, index_t End>
using slice_of_f = typed::flat_shard<all, flat_range{Begin, End}>;

// A flat slice is the boxes that it is; the rest may be another slice.
static_assert(typed::is_covered<ranks_of<slice_of_f<0, 5>, slice_of_f<5, 12>>>);
static_assert(!typed::is_covered<ranks_of<slice_of_f<0, 5>, slice_of_f<6, 12>>>);
static_assert(!typed::is_covered<ranks_of<slice_of_f<0, 5>, slice_of_f<4, 12>>>);
static_assert(typed::is_covered<ranks_of<slice_of_f<0, 12>, slice_of_f<0, 12>>>);

} // namespace

BOOST_AUTO_TEST_CASE(shards_of_a_key_are_put_together) {
    detail::keyed_tables const tables(ranks_of<rows<0, 2>, all, rows<2, 4>>{});
    BOOST_TEST_REQUIRE(tables.all().size() == 2u);
    BOOST_TEST((tables.all()[0].key == "a" && tables.all()[1].key == "f"));
    BOOST_TEST(tables.all()[0].shards.size() == 2u);
    BOOST_TEST(tables.all()[0].shards.holder(1) == 2u);
    BOOST_TEST((tables.all()[0].shards.region(1) == box{{2, 0}, {4, 2}}));
}

BOOST_AUTO_TEST_CASE(ranks_that_disagree_about_a_tensor_are_refused) {
    using other = typed::shard<"a", float, index_vector{5, 2}, box{{0, 0}, {5, 2}}>;
    BOOST_CHECK_EXCEPTION(detail::keyed_tables(ranks_of<rows<0, 2>, other>{}), error,
                          says(errc::shape_mismatch, "'a' has two global shapes on two ranks"));
    using wide = typed::shard<"a", double, index_vector{6, 2}, box{{0, 0}, {6, 2}}>;
    BOOST_CHECK_EXCEPTION(detail::keyed_tables(ranks_of<rows<0, 2>, wide>{}), error,
                          says(errc::dtype_mismatch, "'a' has two data types on two ranks"));
}

BOOST_AUTO_TEST_SUITE_END()
