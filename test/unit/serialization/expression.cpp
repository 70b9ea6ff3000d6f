// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/expression.hpp>

#include "support/archives.hpp"

#include <reshard/expr/algebra.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::said;

BOOST_AUTO_TEST_SUITE(serialization_expression)

namespace {

std::string bytes_of(auto const& value) { return detail::content_bytes(value); }

expression expression_of(std::string const& bytes) {
    return detail::content_from<expression>(bytes, "expression");
}

/// The bytes of an expression, without its invariant.
struct any_expression {
    index_vector shape;
    data_type dtype = data_type::f32;
    std::uint8_t ndim = 1;
    std::vector<piece> pieces;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.shape, self.dtype, self.ndim, self.pieces);
    }
};

/// The only piece of a vector of two elements.
piece whole_vector() { return source_tensor(7, {2}, data_type::f32).pieces[0]; }

} // namespace

BOOST_AUTO_TEST_CASE(expressions_come_back_as_they_were) {
    expression const w = source_tensor(7, {4, 6}, data_type::f32);
    for (expression const& value :
         {w, transpose(cast(w, data_type::f16)), concat({w, split(w, 0, 2)[1]}, 0),
          reshape(transpose(w), {8, 3}), reshape(w, {24}),
          reshape(source_tensor(7, {}, data_type::f32), {1}), zeros({0, 2}, data_type::i8),
          source_tensor(0, {}, data_type::u64)})
        BOOST_TEST((expression_of(bytes_of(value)) == value));
}

BOOST_AUTO_TEST_CASE(an_expression_is_shape_type_and_pieces) {
    any_expression const same{{2}, data_type::f32, 1, {whole_vector()}};
    BOOST_TEST(bytes_of(source_tensor(7, {2}, data_type::f32)) == bytes_of(same));
    BOOST_TEST((expression_of(bytes_of(same)) == source_tensor(7, {2}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(a_piece_of_other_axes_is_refused) {
    BOOST_TEST(
        said([] {
            expression_of(bytes_of(any_expression{{2, 2}, data_type::f32, 2, {whole_vector()}}));
        }) ==
        "corrupt_file: the archive has a list of elements with 2 axes, but one element has 1");
    BOOST_TEST(
        said([] {
            expression_of(bytes_of(any_expression{{2, 2}, data_type::f32, 1, {whole_vector()}}));
        }) == "corrupt_file: the archive of a expression contradicts itself: it has pieces "
              "of 1 axis for a tensor of shape [2, 2]");
}

BOOST_AUTO_TEST_CASE(factors_that_are_joined_to_no_axes_are_refused) {
    auto const fault_of = [](axis_joins joins) {
        piece part = whole_vector();
        part.joins = joins;
        return said([&] {
            expression_of(bytes_of(any_expression{{2}, data_type::f32, 1, {part}}));
        });
    };
    std::string const expected = "corrupt_file: the archive of a expression contradicts itself: "
                                 "the factors [2] do not form the axes";
    // One axis of 2 elements whose only factor continues an axis before it.
    BOOST_TEST(fault_of({0, 1}) == expected);
    // A bit for a second factor that there is not.
    BOOST_TEST(fault_of({2, 0}) == expected);
}

BOOST_AUTO_TEST_SUITE_END()
