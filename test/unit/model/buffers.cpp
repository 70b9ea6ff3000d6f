// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/zero.hpp>

#include "support/says.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_buffers)

namespace {

using slot_list = std::vector<buffer_slot>;

} // namespace

BOOST_AUTO_TEST_CASE(the_buckets_of_megatron_have_its_numbers) {
    BOOST_TEST((megatron_buckets(8) == buffer_rules{64, 128, 40'000'000, true}));
    BOOST_TEST((megatron_buckets(96) == buffer_rules{64, 384, 96'000'000, true}));
    BOOST_TEST(megatron_large_buckets(96).end_multiple == 196'608);
}

BOOST_AUTO_TEST_CASE(the_last_tensor_comes_first_and_starts_are_padded) {
    // 7 from 0, 30 from 64, 100 from 128 to 228; the end is padded to 256, a quarter for each rank.
    buffer_rules const rules{64, 128, 0, true};
    BOOST_TEST((pack({100, 30, 7}, 4, rules) == slot_list{{0, 128, 64}, {0, 64, 64}, {0, 0, 64}}));
}

BOOST_AUTO_TEST_CASE(a_bucket_that_has_reached_its_target_is_closed) {
    buffer_rules const rules{64, 128, 90, true};
    BOOST_TEST((pack({100, 30, 7}, 4, rules) == slot_list{{1, 0, 32}, {0, 64, 32}, {0, 0, 32}}));
    // A feed-forward weight of Llama-3 8B after one of attention: over 64 ranks, a bucket of
    // 75,497,472.
    BOOST_TEST((pack({4096 * 14336, 4096 * 4096}, 64, megatron_buckets(64)) ==
                slot_list{{0, 16'777'216, 1'179'648}, {0, 0, 1'179'648}}));
}

BOOST_AUTO_TEST_CASE(offsets_count_in_each_buffer_anew) {
    buffer_rules const rules{4, 2, 8, false};
    BOOST_TEST(
        (pack({5, 3, 9, 1}, 2, rules) == slot_list{{0, 0, 6}, {0, 8, 6}, {1, 0, 5}, {2, 0, 1}}));
}

BOOST_AUTO_TEST_CASE(empty_tensors_and_no_tensors_have_slots) {
    BOOST_TEST((pack({0, 4}, 2, {4, 2, 0, false}) == slot_list{{0, 0, 2}, {0, 0, 2}}));
    BOOST_TEST(pack({}, 2, megatron_buckets(2)).empty());
}

BOOST_AUTO_TEST_CASE(slots_do_not_overlap_and_slices_hold_them_all) {
    std::vector<index_t> sizes;
    for (index_t i = 1; i <= 200; ++i)
        sizes.push_back(i * i % 97 + 1);
    for (index_t const ranks : {1, 3, 8}) {
        buffer_rules const rules{16, 24, 500, true};
        auto const slots = pack(sizes, ranks, rules);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            BOOST_TEST(slots[i].begin % 16 == 0);
            BOOST_TEST(slots[i].begin + sizes[i] <= slots[i].length * ranks);
            // The tensor before it in the model comes after it in its buffer.
            if (i > 0 && slots[i].buffer == slots[i - 1].buffer)
                BOOST_TEST(slots[i].begin + sizes[i] <= slots[i - 1].begin);
        }
    }
}

BOOST_AUTO_TEST_CASE(rules_that_do_not_suit_are_refused) {
    using test::says;
    BOOST_CHECK_EXCEPTION(pack({5}, 3, {1, 128, 0, false}), error,
                          says(errc::bad_layout, "buffers that end at multiples of 128 elements "
                                                 "cannot be shared equally by 3 ranks"));
    BOOST_CHECK_EXCEPTION(
        pack({5}, 3, {0, 3, -1, false}), error,
        says(errc::bad_layout,
             "invalid buffer rules: alignment 0, end multiple 3, target -1 elements"));
    index_t const most = std::numeric_limits<index_t>::max();
    BOOST_CHECK_EXCEPTION(
        pack({most, most}, 1, {}), error,
        says(errc::overflow, "the sum of the buffer's elements " + std::to_string(most) + " and " +
                                 std::to_string(most) + " does not fit in 64 bits"));
}

BOOST_AUTO_TEST_SUITE_END()
