// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/compare.hpp>

#include <reshard/storage/convert.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// Checkpoints are equal when their tensors are, however each of them is cut.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

class compare_fixture {
public:
    /// Writes a file, and opens it on every rank.
    checkpoint file(std::string const& name, std::vector<tensor_of_file> const& tensors) const {
        on_first_rank([&] { write_safetensors(directory / name, tensors); });
        return open_checkpoint(world(), directory / name);
    }

    /// A directory of files of shards.
    checkpoint sharded(std::string const& name,
                       std::vector<std::vector<tensor_of_file>> const& files) const {
        on_first_rank([&] {
            std::filesystem::create_directory(directory / name);
            for (std::size_t i = 0; i < files.size(); ++i)
                write_safetensors(directory / name / (std::to_string(i) + ".safetensors"),
                                  files[i]);
        });
        return open_checkpoint(world(), directory / name);
    }

    /// Saves `values` of `w`, 4 x 3, as `wanted` cuts it, with digests or without, and opens it.
    checkpoint saved(std::string const& name, std::string const& values,
                     detail::write_options const& writing = {},
                     std::optional<layout> const& wanted = {}) const {
        checkpoint const checkpoint = file(name + ".safetensors", {{"w", "U8", "[4,3]", values}});
        convert(world(), checkpoint, directory / name, {.wanted = wanted, .writing = writing});
        return open_checkpoint(world(), directory / name);
    }

    /// Changes the last byte of the only file of a checkpoint.
    void change_last_byte(std::string const& name) const {
        on_first_rank([&] {
            std::string bytes = read_file(directory / name / "model.safetensors");
            bytes.back() = static_cast<char>(bytes.back() + 1);
            write_file(directory / name / "model.safetensors", bytes);
        });
    }

    std::string text(std::string const& name) const { return (directory / name).string(); }

    shared_directory directory;
};

/// Four bytes of a float that is exact in decimal.
std::string bytes_of(float value) {
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &value, 4);
    return bytes;
}

/// A flat range of `w`, 3 x 2 bytes.
tensor_of_file flat_shard(std::string const& data, std::string const& range) {
    tensor_of_file shard{"w", "U8", "[" + std::to_string(data.size()) + "]", data, "[0]", "[3,2]"};
    shard.more = R"(\"region\":{\"offset\":[0,0],\"shape\":[3,2]},\"flat_range\":)" + range;
    return shard;
}

/// Tensors by digests, of other shards, without digests.
std::vector<index_t> counts(comparison const& comparison) {
    return {comparison.by_digests, comparison.other_shards, comparison.no_digests};
}

/// `w`, 4 x 3, of which each of two ranks has two rows.
layout rows_of_two() {
    shard_descriptor const upper{"w", data_type::u8, {4, 3}, {{0, 0}, {2, 3}}, {}};
    shard_descriptor const lower{"w", data_type::u8, {4, 3}, {{2, 0}, {2, 3}}, {}};
    return layout_of(std::vector<std::vector<shard_descriptor>>{{upper}, {lower}});
}

bool has_first(comparison const& comparison, tensor_difference const& expected) {
    if (!comparison.first)
        return false;
    BOOST_TEST(comparison.first->key == expected.key);
    BOOST_TEST((comparison.first->index == expected.index));
    BOOST_TEST(comparison.first->a == expected.a);
    BOOST_TEST(comparison.first->b == expected.b);
    return *comparison.first == expected;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_compare, compare_fixture)

BOOST_AUTO_TEST_CASE(a_checkpoint_equals_itself_in_other_shards) {
    checkpoint const whole_checkpoint =
        file("a.safetensors",
             {{"w", "U8", "[2,3]", "abcdef"}, {"x", "U8", "[]", "s"}, {"z", "F32", "[0,4]", ""}});
    checkpoint const parts = sharded("b", {{{"w", "U8", "[2,1]", "ad", "[0,0]", "[2,3]"},
                                            {"z", "F32", "[0,4]", "", "[0,0]", "[0,4]"}},
                                           {{"w", "U8", "[2,2]", "bcef", "[0,1]", "[2,3]"},
                                            {"x", "U8", "[]", "s", "[]", "[]"}}});
    BOOST_TEST(compare(world(), whole_checkpoint, whole_checkpoint).equal());
    BOOST_TEST(compare(world(), whole_checkpoint, parts).equal());
    BOOST_TEST(compare(world(), parts, whole_checkpoint).equal());
}

BOOST_AUTO_TEST_CASE(the_first_difference_is_that_of_the_lowest_key_and_index) {
    // v differs in its shards of columns at [0, 2] and [1, 0]; w differs, too.
    checkpoint const a = file(
        "a.safetensors",
        {{"u", "U8", "[1]", "0"}, {"v", "U8", "[2,3]", "\1\2\3\4\5\6"}, {"w", "U8", "[1]", "0"}});
    checkpoint const b = sharded("b", {{{"u", "U8", "[1]", "0", "[0]", "[1]"},
                                        {"v", "U8", "[2,1]", "\1\7", "[0,0]", "[2,3]"}},
                                       {{"v", "U8", "[2,2]", "\2\x9\5\6", "[0,1]", "[2,3]"},
                                        {"w", "U8", "[1]", "1", "[0]", "[1]"}}});
    comparison const comparison = compare(world(), a, b);
    BOOST_TEST(!comparison.equal());
    BOOST_TEST(has_first(comparison, {"v", index_vector{0, 2}, "3", "9"}));
}

BOOST_AUTO_TEST_CASE(keys_of_one_side_are_listed) {
    checkpoint const a = file("a.safetensors", {{"k", "U8", "[1]", "0"}, {"m", "U8", "[1]", "0"}});
    checkpoint const b =
        file("b.safetensors",
             {{"l", "U8", "[1]", "0"}, {"m", "U8", "[1]", "0"}, {"n", "U8", "[1]", "0"}});
    comparison const comparison = compare(world(), a, b);
    BOOST_TEST(!comparison.equal());
    BOOST_TEST(!comparison.first.has_value());
    BOOST_TEST((comparison.only_a == std::vector<std::string>{"k"}));
    BOOST_TEST((comparison.only_b == std::vector<std::string>{"l", "n"}));
}

BOOST_AUTO_TEST_CASE(another_shape_or_data_type_is_a_difference_without_an_index) {
    checkpoint const a = file("a.safetensors", {{"w", "U8", "[2,3]", "abcdef"}});
    checkpoint const turned = file("b.safetensors", {{"w", "U8", "[3,2]", "abcdef"}});
    checkpoint const typed = file("c.safetensors", {{"w", "I8", "[2,3]", "abcdef"}});
    BOOST_TEST(has_first(compare(world(), a, turned), {"w", {}, "U8 [2, 3]", "U8 [3, 2]"}));
    BOOST_TEST(has_first(compare(world(), a, typed), {"w", {}, "U8 [2, 3]", "I8 [2, 3]"}));
}

BOOST_AUTO_TEST_CASE(elements_are_compared_by_their_bits) {
    std::string const quiet = bytes_of(std::numeric_limits<float>::quiet_NaN());
    std::string other = quiet;
    other[0] = '\1';
    checkpoint const a = file("a.safetensors", {{"w", "F32", "[1]", quiet}});
    checkpoint const b = file("b.safetensors", {{"w", "F32", "[1]", other}});
    BOOST_TEST(compare(world(), a, a).equal());
    BOOST_TEST(has_first(compare(world(), a, b),
                         {"w", index_vector{0}, "nan 0x7fc00000", "nan 0x7fc00001"}));
    checkpoint const plus = file("c.safetensors", {{"w", "F32", "[1]", bytes_of(0.0f)}});
    checkpoint const minus = file("d.safetensors", {{"w", "F32", "[1]", bytes_of(-0.0f)}});
    BOOST_TEST(has_first(compare(world(), plus, minus), {"w", index_vector{0}, "0", "-0"}));
}

BOOST_AUTO_TEST_CASE(elements_have_the_shortest_text_that_means_them) {
    checkpoint const a =
        file("a.safetensors", {{"f", "F32", "[2]", bytes_of(1.5f) + bytes_of(0.1f)}});
    checkpoint const b =
        file("b.safetensors", {{"f", "F32", "[2]", bytes_of(1.5f) + bytes_of(-2e30f)}});
    BOOST_TEST(has_first(compare(world(), a, b), {"f", index_vector{1}, "0.1", "-2e+30"}));
    std::string const three("\0\0\0\0\0\0\0\x80", 8), five("\5\0\0\0\0\0\0\0", 8);
    checkpoint const c = file("c.safetensors", {{"u", "U64", "[1]", three}});
    checkpoint const d = file("d.safetensors", {{"u", "U64", "[1]", five}});
    BOOST_TEST(
        has_first(compare(world(), c, d), {"u", index_vector{0}, "9223372036854775808", "5"}));
}

BOOST_AUTO_TEST_CASE(elements_of_four_bits_are_told_apart) {
    // 0x21 is the elements 1 and 2 of F4, which are 0.5 and 1; 0x31 ends with 3, for 1.5.
    checkpoint const a = file("a.safetensors", {{"w", "F4", "[2]", "\x21"}});
    checkpoint const b = file("b.safetensors", {{"w", "F4", "[2]", "\x31"}});
    BOOST_TEST(compare(world(), a, a).equal());
    BOOST_TEST(has_first(compare(world(), a, b), {"w", index_vector{1}, "1", "1.5"}));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_not_there_as_a_whole_is_refused) {
    checkpoint const gap = sharded("gap", {{{"w", "U8", "[1]", "a", "[0]", "[2]"}}});
    checkpoint const whole_checkpoint = file("w.safetensors", {{"w", "U8", "[2]", "ab"}});
    BOOST_CHECK_EXCEPTION(
        compare(world(), gap, whole_checkpoint), error,
        says(errc::not_covered, text("gap") + ": 'w': elements [1:2] are held by no file"));
    checkpoint const twice = sharded("twice", {{{"w", "U8", "[2]", "ab", "[0]", "[2]"}},
                                               {{"w", "U8", "[1]", "b", "[1]", "[2]"}}});
    BOOST_CHECK_EXCEPTION(
        compare(world(), whole_checkpoint, twice), error,
        says(errc::overlap,
             text("twice") + ": 'w': elements [1:2] are held by more than one shard"));
}

BOOST_AUTO_TEST_CASE(a_box_and_flat_ranges_of_the_same_elements_are_replicas) {
    tensor_of_file const box_of_all{"w", "U8", "[3,2]", "012345", "[0,0]", "[3,2]"};
    checkpoint const whole_checkpoint = file("w.safetensors", {{"w", "U8", "[3,2]", "012345"}});
    checkpoint const equal =
        sharded("equal", {{box_of_all}, {flat_shard("012345", "[0,6]")}, {box_of_all}});
    BOOST_TEST(compare(world(), equal, whole_checkpoint).equal());
    BOOST_TEST(compare(world(), whole_checkpoint, equal).equal());
    // Elements 1 to 5 are the boxes [0:1, 1:2] and [1:3, 0:2].
    checkpoint const boxes = sharded("boxes", {{flat_shard("12345", "[1,6]")},
                                               {{"w", "U8", "[1,2]", "01", "[0,0]", "[3,2]"}},
                                               {{"w", "U8", "[2,2]", "2345", "[1,0]", "[3,2]"}}});
    BOOST_CHECK_EXCEPTION(
        compare(world(), whole_checkpoint, boxes), error,
        says(errc::overlap,
             text("boxes") + ": 'w': elements [0:1, 1:2] are held by more than one shard"));
    checkpoint const parts = sharded("parts", {{flat_shard("12345", "[1,6]")},
                                               {{"w", "U8", "[1,1]", "0", "[0,0]", "[3,2]"}},
                                               {{"w", "U8", "[2,2]", "2345", "[1,0]", "[3,2]"}}});
    BOOST_TEST(compare(world(), whole_checkpoint, parts).equal());
}

BOOST_AUTO_TEST_CASE(replicas_that_differ_are_refused_on_either_side) {
    tensor_of_file const box_of_all{"w", "U8", "[3,2]", "012345", "[0,0]", "[3,2]"};
    checkpoint const whole_checkpoint = file("w.safetensors", {{"w", "U8", "[3,2]", "012345"}});
    checkpoint const lies = sharded("lies", {{box_of_all}, {flat_shard("0123-5", "[0,6]")}});
    auto const complaint =
        says(errc::overlap, text("lies/1.safetensors") + ": 'w': element [2, 0] differs from " +
                                "the copy in " + text("lies/0.safetensors"));
    BOOST_CHECK_EXCEPTION(compare(world(), whole_checkpoint, lies), error, complaint);
    BOOST_CHECK_EXCEPTION(compare(world(), lies, whole_checkpoint), error, complaint);
}

BOOST_AUTO_TEST_CASE(a_difference_hides_no_replicas_that_differ_in_a_later_tensor) {
    std::vector<std::vector<tensor_of_file>> files(2);
    for (std::string const key : {"a", "b", "c", "d", "e"})
        for (std::size_t i : {0u, 1u})
            files[i].push_back(
                {key, "U8", "[1]", key == "e" ? std::to_string(i) : "0", "[0]", "[1]"});
    checkpoint const lies = sharded("lies", files);
    checkpoint const checkpoint = file("other.safetensors", {{"a", "U8", "[1]", "1"},
                                                             {"b", "U8", "[1]", "1"},
                                                             {"c", "U8", "[1]", "1"},
                                                             {"d", "U8", "[1]", "1"},
                                                             {"e", "U8", "[1]", "0"}});
    BOOST_CHECK_EXCEPTION(compare(world(), checkpoint, lies), error,
                          says(errc::overlap, text("lies/1.safetensors") +
                                                  ": 'e': element [0] differs from the copy in " +
                                                  text("lies/0.safetensors")));
}

BOOST_AUTO_TEST_CASE(equal_shards_with_equal_digests_are_not_read) {
    checkpoint const a = saved("a", "abcdefghijkl"), b = saved("b", "abcdefghijkl");
    comparison const found_comparison = compare(world(), a, b);
    BOOST_TEST(found_comparison.equal());
    BOOST_TEST((counts(found_comparison) == std::vector<index_t>{1, 0, 0}));
    // Digests are of the saved bytes; only the data itself shows later changes.
    change_last_byte("b");
    checkpoint const changed = open_checkpoint(world(), directory / "b");
    BOOST_TEST(compare(world(), a, changed).equal());
    comparison const read = compare(world(), a, changed, {.data = true});
    BOOST_TEST(has_first(read, {"w", index_vector{3, 2}, "108", "109"}));
    BOOST_TEST((counts(read) == std::vector<index_t>{0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(unequal_digests_lead_to_the_first_element_that_differs) {
    checkpoint const a = saved("a", "abcdefghijkl"), b = saved("b", "abcdeXghijkX");
    comparison const comparison = compare(world(), a, b);
    BOOST_TEST(has_first(comparison, {"w", index_vector{1, 2}, "102", "88"}));
    BOOST_TEST((counts(comparison) == std::vector<index_t>{0, 0, 0}));
    // Where the data is equal all the same, it counts: b is as a now, and its digest is not.
    checkpoint const c = saved("c", "abcdefghijkl"), d = saved("d", "abcdefghijkk");
    change_last_byte("d");
    BOOST_TEST(compare(world(), c, open_checkpoint(world(), directory / "d")).equal());
}

BOOST_AUTO_TEST_CASE(other_shards_and_lacking_digests_are_counted_and_read) {
    checkpoint const a = saved("a", "abcdefghijkl");
    checkpoint const rows = saved("rows", "abcdefghijkl", {}, rows_of_two());
    checkpoint const bare = saved("bare", "abcdefghijkl", {.digests = false});
    comparison const cut = compare(world(), a, rows);
    BOOST_TEST(cut.equal());
    BOOST_TEST((counts(cut) == std::vector<index_t>{0, 1, 0}));
    comparison const without = compare(world(), bare, a);
    BOOST_TEST(without.equal());
    BOOST_TEST((counts(without) == std::vector<index_t>{0, 0, 1}));
    comparison const comparison = compare(world(), rows, rows);
    BOOST_TEST(comparison.equal());
    BOOST_TEST((counts(comparison) == std::vector<index_t>{1, 0, 0}));
    BOOST_TEST(has_first(compare(world(), bare, saved("other", "abcdefghijkX")),
                         {"w", index_vector{3, 2}, "108", "88"}));
}

/// The last report of bytes done and bytes in all, on the first rank; others have no tensor.
using told = std::pair<index_t, index_t>;

told progress_of(checkpoint const& a, checkpoint const& b, bool data = false) {
    told last{-1, -1};
    compare(world(), a, b, {.data = data, .progress = [&](index_t done, index_t total) {
                                BOOST_TEST(done <= total);
                                last = {done, total};
                            }});
    return world().rank() == 0 ? last : told{};
}

told on_first(index_t done, index_t total) {
    return world().rank() == 0 ? told{done, total} : told{};
}

BOOST_AUTO_TEST_CASE(progress_counts_the_bytes_that_are_compared) {
    checkpoint const a = saved("a", "abcdefghijkl"),
                     other_checkpoint = saved("other", "abXdefghijkl");
    checkpoint const rows = saved("rows", "abcdefghijkl", {}, rows_of_two());
    BOOST_TEST((progress_of(a, rows) == on_first(12, 12)));
    BOOST_TEST((progress_of(a, a) == on_first(-1, -1))); // nothing is read
    BOOST_TEST((progress_of(a, a, true) == on_first(12, 12)));
    BOOST_TEST((progress_of(a, other_checkpoint) == on_first(12, 12)));
    // Each further copy is compared with the first one.
    tensor_of_file const box_of_all{"w", "U8", "[4,3]", "abcdefghijkl", "[0,0]", "[4,3]"};
    checkpoint const copies = sharded("copies", {{box_of_all}, {box_of_all}, {box_of_all}});
    BOOST_TEST((progress_of(a, copies) == on_first(36, 36)));
    BOOST_TEST((progress_of(copies, a) == on_first(36, 36)));
    checkpoint const typed = file("typed.safetensors", {{"w", "I8", "[4,3]", "abcdefghijkl"}});
    BOOST_TEST((progress_of(a, typed) == on_first(0, 0)));
}

BOOST_AUTO_TEST_CASE(scalars_are_equal_by_digests_and_tensors_without_elements_need_none) {
    checkpoint const source =
        file("a.safetensors", {{"s", "F32", "[]", bytes_of(2.0f)}, {"z", "F32", "[0,4]", ""}});
    convert(world(), source, directory / "a");
    checkpoint const a = open_checkpoint(world(), directory / "a");
    BOOST_TEST((counts(compare(world(), a, a)) == std::vector<index_t>{1, 0, 0}));
}

BOOST_AUTO_TEST_CASE(digests_of_metadata_are_compared_by_place_copy_and_chunk) {
    auto const shard = [](holder_t where, box region, std::uint64_t digest) {
        return checkpoint_shard{where, region, {}, 0, 1, digest_list{digest}};
    };
    auto const with = [](checkpoint_shards shards, std::uint64_t second_chunk = 8) {
        checkpoint_metadata metadata;
        metadata.files = {{"0", 1, 8}, {"1", 1, second_chunk}};
        metadata.tensors = {{"w", data_type::u8, {2}, std::move(shards)}};
        return metadata;
    };
    box const left{{0}, {1}}, right{{1}, {1}};
    auto const ab = with({shard(0, left, 5), shard(1, right, 6)});
    auto const ba = with({shard(1, right, 6), shard(0, left, 5)});
    BOOST_TEST((compare_digests(ab, 0, ba, 0) == digest_verdict::equal));
    auto const other = with({shard(0, left, 5), shard(1, right, 7)});
    BOOST_TEST((compare_digests(ab, 0, other, 0) == digest_verdict::unequal));
    auto const twice = with({shard(0, left, 5), shard(1, right, 6), shard(1, left, 5)});
    BOOST_TEST((compare_digests(ab, 0, twice, 0) == digest_verdict::equal));
    auto const lies = with({shard(0, left, 5), shard(1, right, 6), shard(1, left, 4)});
    BOOST_TEST((compare_digests(ab, 0, lies, 0) == digest_verdict::unknown));
    BOOST_TEST((compare_digests(lies, 0, ab, 0) == digest_verdict::unknown));
    auto const chunks = with({shard(0, left, 5), shard(1, right, 6)}, 4);
    BOOST_TEST((compare_digests(ab, 0, chunks, 0) == digest_verdict::no_digests));
    BOOST_TEST((compare_digests(chunks, 0, chunks, 0) == digest_verdict::equal));
    auto const none = with({shard(0, left, 5), shard(1, right, 6)}, 0);
    BOOST_TEST((compare_digests(none, 0, none, 0) == digest_verdict::no_digests));
    auto const empty = with({});
    BOOST_TEST((compare_digests(empty, 0, empty, 0) == digest_verdict::empty));
    auto const part = with({shard(0, left, 5)});
    BOOST_TEST((compare_digests(ab, 0, part, 0) == digest_verdict::other_shards));
    auto flat = ab;
    flat.tensors[0].shards[1].flat = flat_range{0, 1};
    BOOST_TEST((compare_digests(ab, 0, flat, 0) == digest_verdict::other_shards));
    auto typed = ab;
    typed.tensors[0].dtype = data_type::i8;
    BOOST_TEST((compare_digests(ab, 0, typed, 0) == digest_verdict::unknown));
}

BOOST_AUTO_TEST_SUITE_END()
