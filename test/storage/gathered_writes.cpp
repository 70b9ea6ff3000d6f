// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/gathered_writes.hpp>

#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/ranks_per_node.hpp"

/// \file
/// Whole tensors of which every rank holds columns are put together in memory that ranks share, or
/// in one rank's.

BOOST_AUTO_TEST_SUITE(storage_gathered_writes)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Columns of more tensors than the ranks have slots; of bytes, and of halves of bytes.
std::vector<shard_descriptor> columns() {
    index_t const rank = world().rank(), size = world().size();
    std::vector<shard_descriptor> shards;
    for (index_t i = 0; i < 20; ++i) {
        data_type const dtype = i % 5 == 4 ? data_type::f4 : data_type::bf16;
        shards.push_back(
            shard_of("w" + std::to_string(i), dtype, {i, 2 * size}, {0, 2 * rank}, {i, 2}));
    }
    return shards;
}

} // namespace

BOOST_AUTO_TEST_CASE(columns_become_whole_tensors) {
    for (char const* const number : {"64", "1"}) {
        ranks_per_node_variable const variable(number);
        shared_directory const directory;
        auto const path = directory / "all";
        save(world(), held(columns()).tensors(), path,
             {.form = save_form::huggingface, .writing = {.most_file_bytes = 300}});
        auto const saved = open_checkpoint(world(), path);
        BOOST_TEST(verify(world(), saved).ok());
        std::vector<shard_descriptor> shards;
        for (shard_descriptor const& shard : columns())
            shards.push_back(whole_of(shard.key, shard.dtype, shard.global_shape));
        held full_held(shards);
        load(world(), saved, full_held.cleared().tensors());
        BOOST_TEST(full_held.wrong() == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
