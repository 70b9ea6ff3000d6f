// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_parts.hpp>

#include <reshard/mpi/mpi_group.hpp>

#include "support/says.hpp"

#include <limits>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(mpi_gather_parts)

namespace {

struct gathering {
    mpi_group world{boost::mpi::communicator()};
    index_t rank = world.rank();
    index_t size = world.size();
    index_t last = size - 1;
    bool is_last = rank == last;

    /// Nothing if one rank is alone, otherwise the error of all.
    void refused(std::vector<local_part> const& parts, errc code, std::string const& text) const {
        if (size == 1)
            gather_parts(world, parts);
        else
            BOOST_CHECK_EXCEPTION(gather_parts(world, parts), error, says(code, text));
    }

    std::string on_last() const { return " on rank " + std::to_string(last); }
};

} // namespace

BOOST_AUTO_TEST_CASE(parts_of_any_extent_follow_one_another) {
    // Rank r has r rows: 0 + 1 + ... + (r - 1) before it.
    gathering const gathering;
    std::vector<local_part> parts{{"w", data_type::bf16, {gathering.rank, 3}, 0},
                                  {"norm", data_type::f32, {5}},
                                  {"step", data_type::i64, {}}};
    if (gathering.is_last)
        std::swap(parts[0], parts[1]);
    auto shards = gather_parts(gathering.world, parts);
    BOOST_TEST_REQUIRE(shards.size() == 3u);
    if (gathering.is_last)
        std::swap(shards[0], shards[1]);
    shard_descriptor const rows{
        "w",
        data_type::bf16,
        {gathering.size * (gathering.size - 1) / 2, 3},
        {{gathering.rank * (gathering.rank - 1) / 2, 0}, {gathering.rank, 3}},
        {}};
    BOOST_TEST((shards[0] == rows));
    BOOST_TEST((shards[1] == shard_descriptor{"norm", data_type::f32, {5}, {{0}, {5}}, {}}));
    BOOST_TEST((shards[2] == shard_descriptor{"step", data_type::i64, {}, {}, {}}));
}

BOOST_AUTO_TEST_CASE(no_parts_are_no_descriptors) {
    BOOST_TEST(gather_parts(gathering().world, {}).empty());
}

BOOST_AUTO_TEST_CASE(parts_that_differ_along_another_axis_are_refused) {
    gathering const gathering;
    gathering.refused({{"w", data_type::f32, {2, gathering.is_last ? 4 : 3}, 0}},
                      errc::shape_mismatch,
                      "'w' has a shard of shape [2, 3] on rank 0 and [2, 4]" + gathering.on_last() +
                          "; shapes may differ only along axis 0");
    gathering.refused({{"w", data_type::f32, {gathering.is_last ? 4 : 3}}}, errc::shape_mismatch,
                      "'w' has a shard of shape [3] on rank 0 and [4]" + gathering.on_last() +
                          "; copies must have equal shapes");
}

BOOST_AUTO_TEST_CASE(parts_along_different_axes_are_refused) {
    gathering const gathering;
    local_part part{"w", data_type::f32, {2, 2}, 1};
    if (gathering.is_last)
        part.axis.reset();
    gathering.refused({part}, errc::shape_mismatch,
                      "'w' has local shards along axis 1 on rank 0 and copies" +
                          gathering.on_last());
}

BOOST_AUTO_TEST_CASE(parts_of_different_types_are_refused) {
    gathering const gathering;
    gathering.refused({{"w", gathering.is_last ? data_type::f16 : data_type::f32, {2}, 0}},
                      errc::dtype_mismatch,
                      "'w' has the data type float32 on rank 0 and float16" + gathering.on_last());
}

BOOST_AUTO_TEST_CASE(a_key_that_one_rank_alone_has_is_refused) {
    gathering const gathering;
    std::vector<local_part> parts{{"w", data_type::f32, {2}, 0}};
    if (gathering.is_last)
        parts.push_back({"v", data_type::f32, {2}, 0});
    gathering.refused(
        parts, errc::ranks_disagree,
        "'v' is on rank " + std::to_string(gathering.last) +
            " but not on rank 0; every rank of the group must have a shard of each tensor");
    parts = {{"w", data_type::f32, {2}, 0}};
    if (!gathering.is_last)
        parts.push_back({"x", data_type::f32, {2}, 0});
    gathering.refused(parts, errc::ranks_disagree,
                      "'x' is on rank 0 but not" + gathering.on_last() +
                          "; every rank of the group must have a shard of each tensor");
}

BOOST_AUTO_TEST_CASE(a_bad_part_of_one_rank_is_its_error_on_every_rank) {
    gathering const gathering;
    auto const refused_part = [&](local_part const& bad, errc code, std::string const& text) {
        std::vector<local_part> const parts{
            gathering.is_last ? bad : local_part{"w", data_type::f32, {2}, 0}};
        BOOST_CHECK_EXCEPTION(gather_parts(gathering.world, parts), error, says(code, text));
    };
    refused_part({"w", data_type::f32, {2}, 1}, errc::shape_mismatch,
                 "'w': axis 1 is out of range for a tensor of shape [2]");
    refused_part({"w", data_type::f32, {-2}, 0}, errc::bad_layout, "'w': axis 0 has the extent -2");
    refused_part({"", data_type::f32, {2}, 0}, errc::bad_layout,
                 "a tensor of shape [2] has no key");
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_refused) {
    gathering const gathering;
    local_part const part{"w", data_type::f32, {2}, 0};
    BOOST_CHECK_EXCEPTION(gather_parts(gathering.world, {part, part}), error,
                          says(errc::bad_layout, "'w' appears twice on one rank"));
}

BOOST_AUTO_TEST_CASE(extents_that_do_not_fit_64_bits_are_refused) {
    gathering const gathering;
    std::string const most = std::to_string(std::numeric_limits<index_t>::max());
    gathering.refused(
        {{"w", data_type::u8, {std::numeric_limits<index_t>::max(), 0}, 0}}, errc::overflow,
        "the sum of the extents of 'w' " + most + " and " + most + " does not fit in 64 bits");
}

BOOST_AUTO_TEST_SUITE_END()
