// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_digest)

namespace {

/// The program that defines "x" of the matrix "a" as `make` says.
template <class Make>
std::uint64_t digest_with(Make&& make) {
    mapping program;
    program.define("x", make(program.source("a", {4, 4}, data_type::f32)));
    return digest_of(program);
}

std::uint64_t unchanged() {
    return digest_with([](expression const& a) { return a; });
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_programs_have_equal_digests_however_they_came_about) {
    BOOST_TEST(unchanged() == unchanged());
    BOOST_TEST(digest_with([](expression const& a) { return transpose(transpose(a)); }) ==
               unchanged());
}

BOOST_AUTO_TEST_CASE(the_order_of_axes_counts_even_where_extents_are_equal) {
    BOOST_TEST(digest_with([](expression const& a) { return transpose(a); }) != unchanged());
}

BOOST_AUTO_TEST_CASE(a_rounding_on_the_way_counts_even_where_it_ends_in_the_same_type) {
    auto const rounded = [](data_type dtype) {
        return digest_with(
            [&](expression const& a) { return cast(cast(a, dtype), data_type::f32); });
    };
    BOOST_TEST(rounded(data_type::f16) != unchanged());
    BOOST_TEST(rounded(data_type::bf16) != rounded(data_type::f16));
}

BOOST_AUTO_TEST_CASE(the_order_of_pieces_counts) {
    auto const swapped = [](expression const& a) {
        auto const halves = split(a, 0, std::size_t{2});
        return concat({halves[1], halves[0]}, 0);
    };
    BOOST_TEST(digest_with(swapped) != unchanged());
}

BOOST_AUTO_TEST_CASE(zeros_and_a_source_are_different_things) {
    BOOST_TEST(digest_with([](expression const&) {
                   return zeros({4, 4}, data_type::f32);
               }) != unchanged());
}

BOOST_AUTO_TEST_CASE(an_added_tensor_is_not_one_of_zeros) {
    mapping added, zeroed;
    added.add("x", {2}, data_type::f32);
    zeroed.define("x", zeros({2}, data_type::f32));
    BOOST_TEST(digest_of(added) != digest_of(zeroed));
}

BOOST_AUTO_TEST_CASE(names_count_and_where_they_end) {
    auto const removing = [](std::vector<std::string> const& keys) {
        mapping program;
        for (std::string const& key : keys)
            program.remove(key);
        return digest_of(program);
    };
    BOOST_TEST(removing({"ab"}) != removing({"a", "b"}));
    BOOST_TEST(removing({"ab", "c"}) != removing({"a", "bc"}));
    BOOST_TEST(removing({"a"}) != removing({"b"}));
    BOOST_TEST(removing({}) != removing({""}));
}

BOOST_AUTO_TEST_CASE(shape_and_type_of_a_source_count) {
    auto const from = [](index_vector const& shape, data_type dtype) {
        mapping program;
        program.source("a", shape, dtype);
        return digest_of(program);
    };
    BOOST_TEST(from({2, 3}, data_type::f32) != from({3, 2}, data_type::f32));
    BOOST_TEST(from({2, 3}, data_type::f32) != from({2, 3}, data_type::i32));
    BOOST_TEST(from({}, data_type::f32) != from({1}, data_type::f32));
}

BOOST_AUTO_TEST_SUITE_END()
