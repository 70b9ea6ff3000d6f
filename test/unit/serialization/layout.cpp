// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout.hpp>

#include "support/archives.hpp"

#include <reshard/layout/catalog.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_layout)

namespace {

/// A replicated matrix, a vector in flat ranges, an empty shard and a scalar, over three ranks.
layout three_ranks() {
    shard_descriptor const matrix{"m", data_type::bf16, {40, 50}, {{0, 0}, {40, 50}}, {}};
    auto const range = [](index_t begin, index_t end) {
        return shard_descriptor{"v", data_type::f4, {60}, {{0}, {60}}, flat_range{begin, end}};
    };
    return layout_of({{matrix, range(0, 25)},
                      {{"s", data_type::u64, {}, {}, {}}, range(25, 60)},
                      {matrix, {"v", data_type::f4, {60}, {{60}, {0}}, {}}}});
}

/// The begin of a layout that says more than there is.
struct two_counts {
    holder_t holders = 5;
    std::uint64_t spreads = 0;
    std::uint64_t tensors = 1;
    std::uint64_t characters = 18'446'744'073'709'551'615u;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.tensors, self.characters);
    }
};

/// The bytes of a layout of one tensor whose shards are listed, without its invariants.
struct any_tensor {
    std::string key = "w";
    std::uint8_t dtype = 0;
    std::uint32_t spread = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.spread);
    }
};
struct any_layout {
    holder_t holders = 0;
    std::uint64_t spreads = 1;
    index_vector shape = {9};
    std::uint8_t form = 0; ///< a list
    std::uint8_t ndim = 1;
    std::vector<table_shard> shards = {};
    std::vector<any_tensor> tensors = {{}};

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.holders, self.spreads, self.shape, self.form, self.ndim, self.shards,
              self.tensors);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(layouts_come_back_as_they_were) {
    BOOST_TEST(comes_back(three_ranks()));
    BOOST_TEST(comes_back(layout{}));
    BOOST_TEST(comes_back(layout{5, {}, {}}));
}

BOOST_AUTO_TEST_CASE(shards_come_back_with_holders_regions_and_ranges) {
    layout const back = from_bytes<layout>(to_bytes(three_ranks()));
    BOOST_TEST(back.holders == 3u);
    shard_table const& shards = *back.shards_of(*back.find("v")).table();
    BOOST_TEST(shards.size() == 3u);
    BOOST_TEST(shards.holder(1) == 1u);
    BOOST_TEST((shards.flat(1) == flat_range{25, 60}));
    BOOST_TEST(!shards.flat(2));
    BOOST_TEST((shards.region(2) == box{{60}, {0}}));
    BOOST_TEST(back.shards_of(*back.find("m")).table()->all_boxes());
}

BOOST_AUTO_TEST_CASE(bytes_are_numbers_from_mark_to_mark) {
    BOOST_TEST(to_bytes(layout{5, {}, {}}) ==
               std::string("dhsr\1\15\5\0\0\0", 10) + std::string(16, '\0') + "dhsr");
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(three_ranks()) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_another_layout) {
    BOOST_TEST(damaged_archives_that_pass(three_ranks()) > 0);
}

BOOST_AUTO_TEST_CASE(bytes_behind_the_end_are_refused) {
    BOOST_TEST(said([] { from_bytes<layout>(to_bytes(three_ranks()) + "xy"); }) ==
               "corrupt_file: the archive of a layout has 2 bytes after its end");
}

BOOST_AUTO_TEST_CASE(another_version_is_named) {
    BOOST_TEST(
        said([] { from_bytes<layout>(posing_as<layout>(layout{}, 1)); }) ==
        "unsupported: the archive holds a layout of version 1, but this library reads version 13");
}

BOOST_AUTO_TEST_CASE(another_thing_is_refused) {
    BOOST_TEST(said([] { from_bytes<layout>(to_bytes(catalog())); }) ==
               "corrupt_file: the archive holds something other than a layout");
    BOOST_TEST(said([] { from_bytes<layout>("DHSR" + to_bytes(layout{}).substr(4)); }) ==
               "corrupt_file: the archive does not hold a layout, or is damaged");
}

BOOST_AUTO_TEST_CASE(a_count_that_the_archive_does_not_have_costs_no_memory) {
    std::string const bytes = to_bytes(three_ranks());
    auto const with = [&](std::uint64_t tensors) {
        return replaced(bytes, (std::uint64_t{3} << 32) | 3u, (tensors << 32) | 3u);
    };
    BOOST_TEST(said([&] {
                   from_bytes<layout>(with(0x7fffffff));
               }).starts_with("corrupt_file: the archive of a layout "));
    BOOST_TEST(said([] {
                   from_bytes<layout>(posing_as<layout>(two_counts()));
               }).starts_with("corrupt_file: the archive of a layout cannot be read to its end"));
}

BOOST_AUTO_TEST_CASE(a_holder_that_the_layout_does_not_have_is_refused) {
    layout wrong = three_ranks();
    wrong.holders = 2;
    BOOST_TEST(said([&] { from_bytes<layout>(to_bytes(wrong)); }) ==
               "corrupt_file: the archive of a layout contradicts itself: it has a shard of 'm' on "
               "rank 2, but the layout has 2 ranks");
}

BOOST_AUTO_TEST_CASE(tensors_out_of_order_are_refused) {
    layout wrong = three_ranks();
    std::swap(wrong.tensors[0], wrong.tensors[1]);
    BOOST_TEST(said([&] { from_bytes<layout>(to_bytes(wrong)); }) ==
               "corrupt_file: the archive of a layout contradicts itself: it has 'm' after 's'");
    wrong.tensors[1] = wrong.tensors[0];
    BOOST_TEST(said([&] { from_bytes<layout>(to_bytes(wrong)); }) ==
               "corrupt_file: the archive of a layout contradicts itself: it has 's' after 's'");
}

BOOST_AUTO_TEST_CASE(shards_that_leave_their_tensor_are_refused) {
    layout wrong = three_ranks();
    wrong.spreads[0].shape = {40, 49};
    BOOST_TEST(said([&] { from_bytes<layout>(to_bytes(wrong)); }) ==
               "corrupt_file: the archive of a layout contradicts itself: 'm': axis 1: a shard of "
               "50 elements at offset 0 exceeds the global extent 49");
    wrong.spreads[0].shape = {2000};
    BOOST_TEST(said([&] { from_bytes<layout>(to_bytes(wrong)); }) ==
               "corrupt_file: the archive of a layout contradicts itself: it has shards of 2 axes "
               "for 'm', shape [2000]");
}

BOOST_AUTO_TEST_CASE(flat_ranges_that_leave_their_region_are_refused) {
    auto const with = [](index_t begin, index_t end) {
        return said([&] {
            from_bytes<layout>(posing_as<layout>(
                any_layout{.holders = 1, .shards = {{0, {{0}, {9}}, flat_range{begin, end}}}}));
        });
    };
    BOOST_TEST(with(0, 9) == "nothing was thrown");
    BOOST_TEST(with(-1, -1) == "corrupt_file: the archive of a layout contradicts itself: it has "
                               "the flat range -1:-1");
    BOOST_TEST(with(0, 10) == "corrupt_file: the archive of a layout contradicts itself: 'w': flat "
                              "range 0:10 exceeds a region of 9 elements");
    BOOST_TEST(with(5, 4) == "corrupt_file: the archive of a layout contradicts itself: 'w': flat "
                             "range 5:4 exceeds a region of 9 elements");
}

BOOST_AUTO_TEST_CASE(a_data_type_and_a_number_of_axes_that_there_are_not_are_refused) {
    auto const fault_of = [](any_layout const& any_layout) {
        return said([&] { from_bytes<layout>(posing_as<layout>(any_layout)); });
    };
    BOOST_TEST(fault_of({.holders = 5, .tensors = {{"w", 23}}}) ==
               "corrupt_file: the archive has the data type 23, which must be less than 23");
    BOOST_TEST(fault_of({.holders = 5, .ndim = 9}) ==
               "corrupt_file: the archive has the number of axes 9, which must be less than 9");
}

BOOST_AUTO_TEST_SUITE_END()
