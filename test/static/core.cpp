// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/box.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/layout/typed.hpp>

#include <complex>

/// \file
/// The core at compile time: values as template arguments, and the algebra on them.

namespace reshard {

using namespace reshard::detail;
namespace {

/// Anything that may be a template argument is one here.
template <auto Value>
struct constant {
    static constexpr auto value = Value;
};

template <class A, class B>
inline constexpr bool are_same = std::is_same_v<A, B>;

// Equal values are equal types, however they came about.
constexpr index_vector grown() {
    index_vector numbers{2, 3, 9};
    index_vector result;
    for (std::size_t axis = 0; axis < 2; ++axis)
        result.push_back(numbers[axis]);
    return result;
}
static_assert(are_same<constant<index_vector{2, 3}>, constant<grown()>>);
static_assert(!are_same<constant<index_vector{2, 3}>, constant<index_vector{3, 2}>>);
constexpr box two_by_three{{0, 0}, {2, 3}};
static_assert(whole({2, 3}) ==
              two_by_three); // g++ 12 takes these two for different template arguments
static_assert(are_same<constant<two_by_three>, constant<box{{0, 0}, {2, 3}}>>);
static_assert(constant<fixed_string("w")>::value.view() == "w");
static_assert(constant<then({}, data_type::f32, data_type::bf16)>::value.count == 1);

// Sizes that plans count on.
static_assert(sizeof(index_vector) == 72);
static_assert(sizeof(box) == 144);
static_assert(sizeof(step_chain) == 16);
static_assert(sizeof(permutation) == 4);

// The algebra of boxes.
static_assert(intersect(box{{0, 2}, {4, 4}}, box{{3, 0}, {4, 4}}) == box{{3, 2}, {1, 2}});
static_assert(!intersect(box{{0}, {2}}, box{{2}, {2}}));
static_assert(contains(whole({4, 4}), box{{1, 1}, {3, 3}}));
static_assert(element_count(box{{1, 1}, {3, 2}}) == 6);
static_assert(relative_to(box{{5}, {2}}, {4}) == box{{1}, {2}});
static_assert(box{{0}, {1}} < box{{1}, {1}});

// Strides and flat ranges.
static_assert(row_major_strides({2, 3, 4}) == index_vector{12, 4, 1});
static_assert(column_major_strides({2, 3, 4}) == index_vector{1, 2, 6});
static_assert(unravel_index(ravel_index({1, 2}, {3, 4}), {3, 4}) == index_vector{1, 2});
static_assert(is_row_major({2, 3}, {3, 1}));
static_assert(boxes_of({2, 13}, {5, 4}).size() == 3);
static_assert(flat_range_of(boxes_of({2, 13}, {5, 4}), {5, 4}) == flat_range{2, 13});

// Data types.
static_assert(bits(data_type::f6_e3m2) == 6);
static_assert(data_type_from_code("F8_E4M3FNUZ") == data_type::f8_e4m3fnuz);
static_assert(data_type_of<std::complex<float> const> == data_type::c64);
static_assert(byte_count(3, data_type::f4) == 2);
static_assert(result(data_type::f32, then({}, data_type::f32, data_type::f16)) == data_type::f16);

// Orders of axes, and hashes.
static_assert(permutation::of({1, 0}, 2).apply({3, 4}) == index_vector{4, 3});
constexpr std::uint64_t hash_of(std::string_view text) {
    hasher hash;
    hash.add(text);
    return hash.value();
}
static_assert(hash_of("a") == hash_of("a") && hash_of("a") != hash_of("b"));

/// True if `check` may be evaluated by the compiler, which a failing one may not.
template <auto Check>
concept holds = requires { typename constant<(Check(), true)>; };

static_assert(holds<[] { return element_count(index_vector{3, 4}); }>);
static_assert(!holds<[] { return checked_multiply(index_t{1} << 40, index_t{1} << 40); }>);
static_assert(!holds<[] { return index_vector{1, 2, 3, 4, 5, 6, 7, 8, 9}; }>);
static_assert(!holds<[] { return boxes_of({0, 7}, {2, 3}).size(); }>);
static_assert(!holds<[] { return permutation::of({0, 0}, 2); }>);

} // namespace
} // namespace reshard
