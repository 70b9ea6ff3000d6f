// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/algebra.hpp>
#include <reshard/expr/typed_expression.hpp>

#include <ratio>
#include <string_view>

// The algebra in constant expressions; compiling is the test.

namespace {

using namespace reshard;
using namespace reshard::detail;

constexpr expression w(index_vector const& shape) {
    return source_tensor(0, shape, data_type::f32);
}

// Splitting and joining gives the elements back, one piece for each part.
static_assert([] {
    auto const parts = split(w({6, 4}), 0, 3);
    expression const joined = concat({parts[0], parts[1], parts[2]}, 0);
    bool same = joined.shape == index_vector{6, 4} && joined.pieces.size() == 3;
    for (std::size_t i = 0; i < 3; ++i)
        same = same && joined.pieces[i].source_box() == joined.pieces[i].target_box();
    return same;
}());

// A transpose of a transpose is nothing; on a square matrix one transpose is something.
static_assert(transpose(transpose(w({2, 3, 4}))) == w({2, 3, 4}));
static_assert(is_source_box(w({3, 3})) && !is_source_box(transpose(w({3, 3}))));
static_assert(permute(w({2, 3, 4}), {2, 0, 1}).shape == index_vector{4, 2, 3});

// f32 -> bf16 -> f32 rounds, f32 -> f64 -> f32 does not.
static_assert(cast(cast(w({2}), data_type::f64), data_type::f32) == w({2}));
static_assert(cast(cast(w({2}), data_type::bf16), data_type::f32).pieces[0].steps.count == 2);

// The lower right corner of a matrix is a box of it; padding and cropping gives the matrix back.
static_assert(slice(w({4, 6}), {{2}, {3}}).pieces[0].source_box() == box{{2, 3}, {2, 3}});
static_assert(resize(w({4, 6}), {8, 8}).pieces.size() == 3);
static_assert(resize(resize(w({4, 6}), {8, 8}), {4, 6}) == w({4, 6}));
static_assert(resize(w({0, 6}), {2, 2}) == zeros({2, 2}, data_type::f32));

// Two key/value groups of q, k and v, interleaved and transposed: q0 q1 k0 v0 q2 q3 k1 v1.
static_assert([] {
    expression const q = source_tensor(0, {4, 5}, data_type::f32);
    expression const k = source_tensor(1, {2, 5}, data_type::f32);
    expression const v = source_tensor(2, {2, 5}, data_type::f32);
    auto const qs = split(q, 0, 2);
    auto const ks = split(k, 0, 2);
    auto const vs = split(v, 0, 2);
    expression const fused = transpose(concat({qs[0], ks[0], vs[0], qs[1], ks[1], vs[1]}, 0));
    piece const second_k = fused.pieces[4];
    return fused.shape == index_vector{5, 8} && fused.pieces.size() == 6 && second_k.source == 1 &&
           second_k.target_box() == box{{0, 6}, {5, 1}} &&
           second_k.source_box() == box{{1, 0}, {1, 5}};
}());

// The algebra as types.
namespace typed_algebra {

using q = typed::source<"q", float, index_vector{4, 6}>;
using k = typed::source<"k", float, index_vector{2, 6}>;

using joined = typed::concat<0, q, k, k>;
static_assert(joined::shape == index_vector{8, 6} && joined::dtype == data_type::f32);
static_assert(typed::concat<1, q>::shape == index_vector{4, 6});

using part = typed::split<joined, 0, index_vector{3, 5}, 1>;
static_assert(part::shape == index_vector{5, 6});
static_assert(typed::permute<part, index_vector{1, 0}>::shape == index_vector{6, 5});
static_assert(typed::reshape<part, index_vector{5, 2, 3}>::shape == index_vector{5, 2, 3});
static_assert(typed::cast<part, bfloat16>::dtype == data_type::bf16);

using corner = typed::slice<joined, index_vector{2, 0}, index_vector{5, 4}>;
static_assert(corner::shape == index_vector{3, 4});
static_assert(typed::resize<corner, index_vector{2, 8}>::shape == index_vector{2, 8});
static_assert(typed::zeros<bfloat16, index_vector{}>::dtype == data_type::bf16);

// The value of the type is the functions' result.
constexpr expression source_of(std::string_view key) {
    if (key == "q")
        return source_tensor(0, {4, 6}, data_type::f32);
    return source_tensor(1, {2, 6}, data_type::f32);
}

static_assert([] {
    index_t const sizes[] = {3, 5};
    expression const by_hand =
        reshape(cast(transpose(split(concat({source_of("q"), source_of("k"), source_of("k")}, 0), 0,
                                     sizes)[1]),
                     data_type::bf16),
                {3, 2, 5});
    using all = typed::reshape<typed::cast<typed::permute<part, index_vector{1, 0}>, bfloat16>,
                               index_vector{3, 2, 5}>;
    return all::value(source_of) == by_hand && by_hand.shape == all::shape;
}());

static_assert([] {
    expression const cut =
        slice(concat({source_of("q"), source_of("k"), source_of("k")}, 0), {{2, 5}, {0, 4}});
    using all = typed::concat<0, typed::resize<corner, index_vector{2, 8}>,
                              typed::zeros<float, index_vector{1, 8}>>;
    return all::value(source_of) == concat({resize(cut, {2, 8}), zeros({1, 8}, data_type::f32)}, 0);
}());

static_assert([] {
    using half_plus_one =
        typed::shifted<typed::scaled<q, std::ratio<1, 2>>, std::ratio<1>, bfloat16>;
    static_assert(half_plus_one::dtype == data_type::bf16 && half_plus_one::shape == q::shape);
    return half_plus_one::value(source_of) ==
           shifted(scaled(source_of("q"), .5), 1, data_type::bf16);
}());

} // namespace typed_algebra

} // namespace
