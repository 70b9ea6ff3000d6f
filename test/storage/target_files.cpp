// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/target_files.hpp>

#include "support/listed_layout.hpp"

#include <boost/test/unit_test.hpp>

/// \file
/// Who writes which files.

BOOST_AUTO_TEST_SUITE(storage_target_files)

namespace {

using namespace reshard;
using namespace reshard::detail;

using numbers = std::vector<holder_t>;

catalog_entry entry(char const* key) { return {key, data_type::u8, {10}, {1}}; }

} // namespace

BOOST_AUTO_TEST_CASE(files_of_ranks_are_written_by_the_processes_that_play_them) {
    shard_table shards(1);
    for (holder_t const rank : {0u, 1u, 1u, 4u})
        shards.push_back(rank, {{static_cast<index_t>(shards.size())}, {1}});
    auto const files =
        plan_sharded(test::listed_layout(5, {{"w", data_type::u8, {4}, std::move(shards)}}));
    BOOST_TEST_REQUIRE(files.ranks.size() == 4u);
    BOOST_TEST((files_of_process(files, 0, 1) == numbers{0, 1, 2, 3}));
    BOOST_TEST((files_of_process(files, 0, 3) == numbers{0}));
    BOOST_TEST((files_of_process(files, 1, 3) == numbers{1, 2, 3}));
    BOOST_TEST((files_of_process(files, 2, 3) == numbers{}));
}

BOOST_AUTO_TEST_CASE(files_of_a_hugging_face_model_are_shared_among_all_processes) {
    auto const files = plan_huggingface(catalog({entry("a"), entry("b"), entry("c")}), 10);
    BOOST_TEST_REQUIRE(files.headers.size() == 3u);
    BOOST_TEST((files_of_process(files, 0, 2) == numbers{0, 2}));
    BOOST_TEST((files_of_process(files, 1, 2) == numbers{1}));
}

BOOST_AUTO_TEST_CASE(options_that_differ_have_different_digests) {
    auto const plain = digest_of(write_options{});
    BOOST_TEST(digest_of(write_options{.replace = true}) != plain);
    BOOST_TEST(digest_of(write_options{.partial = true}) != plain);
    BOOST_TEST(digest_of(write_options{.most_file_bytes = 1}) != plain);
    BOOST_TEST(digest_of(write_options{}) == plain);
}

BOOST_AUTO_TEST_SUITE_END()
