// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/row_batch.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

struct item {
    std::uint32_t copy = 0;
    bool joins_next = false;
    unsigned char const* source = nullptr;
    unsigned char* target = nullptr;
};

unsigned char* target_of(item const& current_item) { return current_item.target; }

/// A block of `rows` by `columns` bytes, dense in the source, in a target of 16 bytes a row. Rows of
/// 2, 4 or 8 bytes would be moved as one element each, and be no block.
affine_copy block(index_t rows, index_t columns) {
    return {{rows, columns}, 0, {columns, 1}, 0, {16, 1}};
}

/// The joined blocks, as letters in the order of the target: an upper-case one joins the next.
std::string joined(std::vector<item> const& items, unsigned char const* first) {
    std::string text;
    for (item const& element : items)
        text += static_cast<char>((element.joins_next ? 'A' : 'a') + (element.target - first));
    return text;
}

struct row_batch_fixture {
    copy_table copies;
    element_conversion const bytes{data_type::u8, {}};
    std::uint32_t const three_rows = copies.add(block(3, 3), bytes, stores::cached);
    std::uint32_t const wide = copies.add(block(3, 5), bytes, stores::cached);
    std::uint32_t const two_rows = copies.add(block(2, 3), bytes, stores::cached);
    std::uint32_t const one_run = copies.add({{4}, 0, {1}, 0, {1}}, bytes, stores::cached);
    std::vector<unsigned char> source = std::vector<unsigned char>(64);
    std::vector<unsigned char> target = std::vector<unsigned char>(64, '.');

    row_batch_fixture() {
        for (std::size_t i = 0; i < source.size(); ++i)
            source[i] = static_cast<unsigned char>('A' + i);
    }

    std::string joined_at_target(std::vector<item> items) {
        join_blocks(std::span(items), copies, &affine_copy::target_strides, target_of);
        return joined(items, target.data());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(local_row_batch, row_batch_fixture)

BOOST_AUTO_TEST_CASE(blocks_of_the_same_rows_are_joined_in_the_order_of_addresses) {
    unsigned char* const at = target.data();
    BOOST_TEST(joined_at_target({{wide, false, nullptr, at + 6},
                                 {three_rows, false, nullptr, at},
                                 {three_rows, false, nullptr, at + 3}}) == "ADg");
}

BOOST_AUTO_TEST_CASE(blocks_a_row_apart_are_not_joined) {
    unsigned char* const at = target.data();
    BOOST_TEST(joined_at_target({{three_rows, false, nullptr, at},
                                 {three_rows, false, nullptr, at + 13},
                                 {three_rows, false, nullptr, at + 16}}) == "Anq");
}

BOOST_AUTO_TEST_CASE(blocks_of_other_heights_and_copies_of_other_kinds_stand_alone) {
    unsigned char* const at = target.data();
    BOOST_TEST(joined_at_target({{three_rows, false, nullptr, at},
                                 {two_rows, false, nullptr, at + 3},
                                 {one_run, false, nullptr, at + 6}}) == "adg");
    BOOST_TEST(joined_at_target({}) == "");
}

BOOST_AUTO_TEST_CASE(blocks_that_join_write_what_they_write_alone) {
    unsigned char* const at = target.data();
    row_batch batch;
    batch.add(copies[three_rows], source.data(), at, true);
    batch.add(copies[wide], source.data() + 20, at + 3, true);
    BOOST_TEST(at[0] == '.'); // nothing is written before the last one is known
    batch.add(copies[three_rows], source.data() + 40, at + 10, false);
    BOOST_TEST(std::string(target.begin(), target.end()) == "ABCUVWXY..ijk..."
                                                            "DEFZ[\\]^..lmn..."
                                                            "GHI_`abc..opq..."
                                                            "................");
}

BOOST_AUTO_TEST_CASE(blocks_that_continue_one_another_on_both_sides_are_written_as_wide_ones) {
    std::uint32_t const three = copies.add({{2, 3}, 0, {16, 1}, 0, {16, 1}}, bytes, stores::cached);
    std::uint32_t const five = copies.add({{2, 5}, 0, {16, 1}, 0, {16, 1}}, bytes, stores::cached);
    row_batch batch;
    unsigned char* const at = target.data();
    batch.add(copies[three], source.data(), at, true);
    batch.add(copies[five], source.data() + 3, at + 3, true);
    batch.add(copies[three], source.data() + 8, at + 9,
              true); // a position further on in the target alone
    batch.add(copies[three], source.data() + 12, at + 12, false); // and in the source alone
    BOOST_TEST(std::string(target.begin(), target.begin() + 32) == "ABCDEFGH.IJKMNO."
                                                                   "QRSTUVWX.YZ[]^_.");
}

BOOST_AUTO_TEST_CASE(blocks_that_continue_one_another_are_kept_as_one_however_many_they_are) {
    constexpr index_t blocks = 150, row = 3 * blocks;
    std::uint32_t const number =
        copies.add({{2, 3}, 0, {row, 1}, 0, {row, 1}}, bytes, stores::streaming);
    std::vector<unsigned char> from(2 * row), to(2 * row, '.');
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<unsigned char>(i * 7);
    row_batch batch;
    for (index_t i = 0; i + 1 < blocks; ++i)
        batch.add(copies[number], from.data() + 3 * i, to.data() + 3 * i, true);
    BOOST_TEST(
        (to == std::vector<unsigned char>(2 * row, '.'))); // blocks apart would be written by now
    batch.add(copies[number], from.data() + row - 3, to.data() + row - 3, false);
    BOOST_TEST(to == from, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_copy_of_any_kind_runs_alone) {
    row_batch batch;
    batch.add(copies[one_run], source.data() + 5, target.data(), false);
    BOOST_TEST(std::string(target.begin(), target.begin() + 5) == "FGHI.");
}

BOOST_AUTO_TEST_CASE(more_blocks_than_are_kept_at_a_time_are_all_written) {
    constexpr index_t blocks = 150;
    affine_copy const thin{{2, 3}, 0, {3, 1}, 0, {3 * blocks, 1}};
    std::uint32_t const number = copies.add(thin, bytes, stores::cached);
    std::vector<unsigned char> from(6 * blocks), to(6 * blocks), expected(6 * blocks);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<unsigned char>(i * 7);
        expected[i % 6 / 3 * 3 * blocks + i / 6 * 3 + i % 3] = from[i];
    }
    row_batch batch;
    for (index_t i = 0; i < blocks; ++i)
        batch.add(copies[number], from.data() + 6 * i, to.data() + 3 * i, i + 1 < blocks);
    BOOST_TEST(to == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
