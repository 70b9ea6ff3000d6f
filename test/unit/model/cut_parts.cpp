// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shards_of.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_cut_parts)

namespace {

tensor_sharding cut_tensor(index_vector const& shape, tensor_cut const& cut, index_t tp) {
    tensor_ranks const on{mesh{{"dp", 2}, {"tp", tp}}};
    return {"w", data_type::bf16, shape, cut_parts("w", shape, cut, on)};
}

/// The regions of the ranks of the second data-parallel copy.
std::vector<std::vector<box>> regions(tensor_sharding const& tensor, index_t tp) {
    std::vector<std::vector<box>> result;
    for (index_t t = 0; t < tp; ++t) {
        result.emplace_back();
        for (auto const& shard : shards_of(tensor, static_cast<holder_t>(tp + t)))
            result.back().push_back(shard.region);
    }
    return result;
}

std::vector<std::vector<box>> regions(index_vector const& shape, tensor_cut const& cut,
                                      index_t tp) {
    return regions(cut_tensor(shape, cut, tp), tp);
}

using box_lists = std::vector<std::vector<box>>;

void refused_cut(index_vector const& shape, tensor_cut const& cut, index_t tp,
                 std::string const& text) {
    BOOST_CHECK_EXCEPTION(cut_tensor(shape, cut, tp), error,
                          test::says(errc::bad_layout, "'w': " + text));
}

} // namespace

BOOST_AUTO_TEST_CASE(columns_and_rows_are_equal_parts) {
    BOOST_TEST((regions({4, 6}, column_parallel(), 2) ==
                box_lists{{{{0, 0}, {2, 6}}}, {{{2, 0}, {2, 6}}}}));
    BOOST_TEST(
        (regions({4, 6}, row_parallel(), 2) == box_lists{{{{0, 0}, {4, 3}}}, {{{0, 3}, {4, 3}}}}));
    BOOST_TEST((regions({4, 6}, column_parallel(weight_order::in_out), 3) ==
                box_lists{{{{0, 0}, {4, 2}}}, {{{0, 2}, {4, 2}}}, {{{0, 4}, {4, 2}}}}));
    BOOST_TEST((regions({6}, column_parallel_bias(), 2) == box_lists{{{{0}, {3}}}, {{{3}, {3}}}}));
    BOOST_TEST((regions({2}, replicated(), 2) == box_lists{{{{0}, {2}}}, {{{0}, {2}}}}));
    BOOST_TEST((regions({}, replicated(), 2) == box_lists{{box{}}, {box{}}}));
}

BOOST_AUTO_TEST_CASE(padding_of_a_vocabulary_is_held_by_nobody) {
    // 10 words padded to 16: 4 for each of 4 ranks, of which 4, 4, 2 and 0 are real.
    BOOST_TEST((regions({10, 3}, vocabulary_parallel(16), 4) == box_lists{{{{0, 0}, {4, 3}}},
                                                                          {{{4, 0}, {4, 3}}},
                                                                          {{{8, 0}, {2, 3}}},
                                                                          {{{10, 0}, {0, 3}}}}));
    BOOST_TEST((regions({12, 3}, vocabulary_parallel(), 2) ==
                box_lists{{{{0, 0}, {6, 3}}}, {{{6, 0}, {6, 3}}}}));
}

BOOST_AUTO_TEST_CASE(more_ranks_than_heads_hold_the_same_head) {
    // 2 heads of 3 rows: rank t of 4 has head t * 2 / 4.
    BOOST_TEST((
        regions({6, 2}, head_cut(2), 4) ==
        box_lists{{{{0, 0}, {3, 2}}}, {{{0, 0}, {3, 2}}}, {{{3, 0}, {3, 2}}}, {{{3, 0}, {3, 2}}}}));
    BOOST_TEST(
        (regions({12, 2}, head_cut(4), 2) == box_lists{{{{0, 0}, {6, 2}}}, {{{6, 0}, {6, 2}}}}));
}

BOOST_AUTO_TEST_CASE(gate_and_up_are_cut_each) {
    BOOST_TEST(
        (regions({8, 2}, fused_gate_up(), 2) ==
         box_lists{{{{0, 0}, {2, 2}}, {{4, 0}, {2, 2}}}, {{{2, 0}, {2, 2}}, {{6, 0}, {2, 2}}}}));
    BOOST_TEST(
        (regions({2, 4}, fused_gate_up(weight_order::in_out), 2) ==
         box_lists{{{{0, 0}, {2, 1}}, {{0, 2}, {2, 1}}}, {{{0, 1}, {2, 1}}, {{0, 3}, {2, 1}}}}));
}

BOOST_AUTO_TEST_CASE(groups_of_heads_stay_together) {
    // 4 query heads in 2 groups, heads of one row: q0 q1 k0 v0 q2 q3 k1 v1.
    BOOST_TEST((regions({8, 2}, fused_qkv_cut(4, 2), 2) ==
                box_lists{{{{0, 0}, {4, 2}}}, {{{4, 0}, {4, 2}}}}));
}

BOOST_AUTO_TEST_CASE(more_ranks_than_groups_share_queries_and_copy_keys_and_values) {
    BOOST_TEST((regions({8, 2}, fused_qkv_cut(4, 2), 4) ==
                box_lists{{{{0, 0}, {1, 2}}, {{2, 0}, {2, 2}}},
                          {{{1, 0}, {1, 2}}, {{2, 0}, {2, 2}}},
                          {{{4, 0}, {1, 2}}, {{6, 0}, {2, 2}}},
                          {{{5, 0}, {1, 2}}, {{6, 0}, {2, 2}}}}));
    tensor_sharding const fused = cut_tensor({8, 2}, fused_qkv_cut(4, 2), 4);
    BOOST_TEST((holders_of(fused, {{3, 0}, {1, 1}}) == std::vector<holder_t>{0, 1, 4, 5}));
    BOOST_TEST((holders_of(fused, {{3, 0}, {1, 1}}, copies::main) == std::vector<holder_t>{0}));
    BOOST_TEST((holders_of(fused, {{5, 0}, {1, 1}}) == std::vector<holder_t>{3, 7}));
}

BOOST_AUTO_TEST_CASE(what_does_not_divide_is_refused) {
    refused_cut({5, 2}, column_parallel(), 2,
                "axis 0: mesh axis 'tp' cannot cut the extent 5 into 2 equal parts; use a ceil "
                "split or give sizes");
    refused_cut({5}, row_parallel(), 2, "tensor parallelism cuts axis 1 of a tensor of 1 axis");
    refused_cut({10, 2}, vocabulary_parallel(8), 4,
                "axis 0: a vocabulary of 10 words cannot be padded to 8 for tp=4; use "
                "padded_vocabulary");
    refused_cut({10, 2}, vocabulary_parallel(13), 4,
                "axis 0: a vocabulary of 10 words cannot be padded to 13 for tp=4; use "
                "padded_vocabulary");
    refused_cut({6, 2}, head_cut(3), 4, "axis 0: 3 heads and tp=4: one must divide the other");
    refused_cut({7, 2}, head_cut(3), 3,
                "axis 0: the extent 7 cannot be divided into 3 equal heads");
    refused_cut({7, 2}, head_cut(0), 3,
                "axis 0: the extent 7 cannot be divided into 0 equal heads");
    refused_cut({7, 2}, fused_gate_up(), 3,
                "axis 0: the extent 7 cannot be divided into 2 equal halves");
    refused_cut({8, 2}, fused_qkv_cut(4, 3), 2,
                "axis 0: 4 query heads cannot be divided into 3 equal groups");
    refused_cut({9, 2}, fused_qkv_cut(4, 2), 2,
                "axis 0: the extent 9 cannot be divided into 8 equal query, key and value heads");
    refused_cut({8, 2}, fused_qkv_cut(4, 2), 8,
                "axis 0: 4 query heads cannot be divided equally by tp=8");
}

BOOST_AUTO_TEST_SUITE_END()
