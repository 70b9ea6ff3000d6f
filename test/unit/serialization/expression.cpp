// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/serialization/expression.hpp>

#include "support/archives.hpp"

#include <reshard/expr/algebra.hpp>

using namespace reshard;
using reshard::test::said;

BOOST_AUTO_TEST_SUITE(serialization_expression)

namespace {

std::string text_of(expression const& value) {
    std::stringstream stream;
    {
        boost::archive::text_oarchive archive(stream, boost::archive::no_header);
        archive << value;
    }
    return stream.str();
}

expression expression_of(std::string const& text) {
    std::istringstream stream(text);
    boost::archive::text_iarchive archive(stream, boost::archive::no_header);
    expression value;
    archive >> value;
    return value;
}

} // namespace

BOOST_AUTO_TEST_CASE(expressions_come_back_as_they_were) {
    expression const w = source_tensor(7, {4, 6}, data_type::f32);
    for (expression const& value :
         {w, transpose(cast(w, data_type::f16)), concat({w, split(w, 0, 2)[1]}, 0),
          reshape(transpose(w), {8, 3}), reshape(w, {24}),
          reshape(source_tensor(7, {}, data_type::f32), {1}), zeros({0, 2}, data_type::i8),
          source_tensor(0, {}, data_type::u64)})
        BOOST_TEST((expression_of(text_of(value)) == value));
}

BOOST_AUTO_TEST_CASE(an_expression_is_shape_type_and_pieces) {
    // Shape [2], F32 (17), one piece: of source 7, F32, extents, the two offsets, no casts, order,
    // no joins of axes.
    BOOST_TEST(text_of(source_tensor(7, {2}, data_type::f32)) ==
               "1 2 17 1 7 17 1 2 1 0 1 0 0 1 0 0 0\n");
}

BOOST_AUTO_TEST_CASE(a_piece_of_other_axes_is_refused) {
    BOOST_TEST(said([] { expression_of("2 2 2 17 1 7 17 1 2 1 0 1 0 0 1 0 0 0\n"); }) ==
               "corrupt_file: the archive has a piece of the extents [2] of a tensor of shape "
               "[2, 2]");
}

BOOST_AUTO_TEST_CASE(factors_that_are_joined_to_no_axes_are_refused) {
    // One axis of 2 elements whose only factor continues an axis before it.
    BOOST_TEST(said([] { expression_of("1 2 17 1 7 17 1 2 1 0 1 0 0 1 0 0 1\n"); }) ==
               "corrupt_file: the archive has factors [2] that are joined to no axes");
    // A bit for a second factor that there is not.
    BOOST_TEST(said([] { expression_of("1 2 17 1 7 17 1 2 1 0 1 0 0 1 0 2 0\n"); }) ==
               "corrupt_file: the archive has factors [2] that are joined to no axes");
}

BOOST_AUTO_TEST_SUITE_END()
