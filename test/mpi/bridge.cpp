// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge.hpp>
#include <reshard/bridge/port_file.hpp>

#include "support/agreed_error.hpp"
#include "support/device_memory.hpp"
#include "support/halves.hpp"
#include "support/rank_tensors.hpp"
#include "support/says.hpp"

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::rank_tensors;
using reshard::test::two_layouts;

namespace {

/// The first half of the ranks is one program, and the others are another one; a single rank is
/// both. Nothing of MPI is between the two but barriers of the test.
struct bridge_fixture : test::halves {
    mpi_group side{world.split(is_source)};
    std::filesystem::path port = mpi_group(world).all_gather(
        (std::filesystem::temp_directory_path() / ("reshard-port-" + std::to_string(new_token())))
            .string())[0];

    /// Longer than any test takes.
    static constexpr double ever = 1000;

    ~bridge_fixture() { world.barrier(); }
};

/// A square_part matrix on one side: each rank has some of the rows, or of the columns, uneven if
/// the ranks do not divide them.
struct square_part {
    static constexpr index_t extent = 64;

    square_part(mpi_group const& side, std::size_t axis) {
        index_t const rank = side.rank(), size = side.size();
        box region = whole({extent, extent});
        region.offset[axis] = extent * rank / size;
        region.shape[axis] = extent * (rank + 1) / size - region.offset[axis];
        shard = {"a", data_type::f32, {extent, extent}, region};
        elements.resize(static_cast<std::size_t>(element_count(region)));
    }

    state_dict views() {
        state_dict state;
        state.add(shard, adapt::raw_tensor(elements.data(), shard.region.shape));
        return state;
    }

    shard_descriptor shard;
    std::vector<float> elements;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_bridge, bridge_fixture)

BOOST_AUTO_TEST_CASE(any_layout_is_taken_over_from_any_other) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        two_layouts const both(seed, sources, targets);
        bool const tells = seed % 2 == 0; // ranks know the layouts, or only what they have
        rank_tensors have(both.source, is_source ? side.rank() : -1);
        rank_tensors want(both.target, is_target ? side.rank() : -1);
        have.fill();
        std::optional<bridge_source> source;
        if (is_source) {
            auto const match = tells ? std::optional(both.source) : std::nullopt;
            source.emplace(side, source_tensors{have.views(), match}, port);
            source->publish();
        }
        if (is_target) {
            auto const match = tells ? std::optional(both.target) : std::nullopt;
            bridge_target target(side, {want.views(), match}, port, {.deadline = ever});
            BOOST_TEST(target.update(1) == 1u);
            BOOST_TEST(want.wrong_elements() == 0u, "seed " << seed);
            BOOST_TEST(target.update() == 1u);
        }
        world.barrier(); // the source stays until the targets have it
        source.reset();
        world.barrier();
    }
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_on_one_rank_fails_on_all_of_its_side) {
    square_part part(side, 0);
    testing::fake_device fake(std::size_t{1} << 16);
    test::failing_device failing(fake);
    test::device_memory<tensor_view> const on_device(part.views(), {&fake}, false, 0);
    device_list const devices{std::shared_ptr<device>(std::shared_ptr<void>(), &failing)};
    bool const is_last = side.rank() + 1 == side.size();
    auto const refused = test::mentions(errc::io, "the device has failed");
    std::optional<bridge_source> source;
    if (is_source) {
        source.emplace(side, on_device.shards(), port, bridge_options{.devices = devices});
        BOOST_TEST(source->publish() == 1u);
        std::ranges::fill(part.elements, 2.0F);
        on_device.store();
        failing.fails = is_last;
        BOOST_CHECK_EXCEPTION(source->publish(), error, refused);
        failing.fails = false;
        BOOST_TEST(source->stats().version == 1u);
        BOOST_TEST(source->publish() == 2u);
    }
    world.barrier();
    if (is_target) {
        square_part columns(side, 1);
        test::device_memory<tensor_view> const want(columns.views(), {&fake}, false, 0);
        bridge_target target(side, want.shards(), port, {.deadline = ever, .devices = devices});
        failing.fails = is_last;
        BOOST_CHECK_EXCEPTION(target.update(2), error, refused);
        failing.fails = false;
        BOOST_TEST(target.version() == 0u);
        BOOST_TEST(target.update(2) == 2u);
        want.fetch();
        BOOST_TEST(std::ranges::count(columns.elements, 2.0F) == std::ssize(columns.elements));
    }
    world.barrier(); // the source stays until the targets have it
}

// The source waits for nobody, so that some versions are overwritten while they are read.
BOOST_AUTO_TEST_CASE(all_ranks_have_the_same_version_and_all_of_it) {
    constexpr std::uint64_t last = 60;
    square_part have(side, 0), first(side, 1), second(side, 1);
    std::optional<bridge_source> source;
    std::optional<bridge_target> target;
    auto const publish = [&](std::uint64_t version) {
        std::ranges::fill(have.elements, static_cast<float>(version));
        BOOST_TEST(source->publish() == version);
    };
    auto const take = [&](std::uint64_t least) {
        std::uint64_t const version = target->update(least);
        for (std::uint64_t const gather_value : gather_values(side, version))
            BOOST_TEST(gather_value == version);
        auto const& front = target->front() == 0 ? first : second;
        auto const right = std::ranges::count(front.elements, static_cast<float>(version));
        BOOST_TEST(right == std::ssize(front.elements));
        return version;
    };
    if (is_source)
        source.emplace(side, have.views(), port, bridge_options{.deadline = 0.0});
    if (is_target)
        target.emplace(side, first.views(), second.views(), port, bridge_options{.deadline = ever});
    if (is_source && is_target)
        for (std::uint64_t version = 1; version <= last; ++version) {
            publish(version);
            BOOST_TEST(take(version) == version);
        }
    else if (is_source) {
        for (std::uint64_t version = 1; version <= last; ++version)
            publish(version);
        BOOST_TEST(source->wait_for_readers(1, ever));
    } else
        for (std::uint64_t version = 0; version < last;)
            version = take(version + 1);
    world.barrier();
    target.reset();
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_is_named_on_all_ranks_of_a_program) {
    square_part own_part(side, 0);
    std::string const expected =
        "io: /nowhere/port: /nowhere, its parent directory, does not exist";
    bridge_options const at_once{.deadline = 0.0};
    if (is_source)
        BOOST_TEST(agreed_error(side.base(), [&] {
                       bridge_source(side, own_part.views(), "/nowhere/port", at_once);
                   }) == expected);
    if (is_target)
        BOOST_TEST(agreed_error(side.base(), [&] {
                       bridge_target(side, own_part.views(), "/nowhere/port", at_once);
                   }) == expected);
}

BOOST_AUTO_TEST_CASE(mistakes_of_one_rank_are_those_of_all_of_its_program) {
    square_part have(side, 0);
    state_dict wrong = have.views();
    if (side.rank() == side.size() - 1)
        wrong.add(have.shard, adapt::raw_tensor(have.elements.data(), {1, 1}));
    if (is_source) {
        std::string const text =
            agreed_error(side.base(), [&] { bridge_source(side, wrong, port); });
        BOOST_TEST(text.starts_with("shape_mismatch: 'a'"));
    }
    BOOST_TEST(!std::filesystem::exists(port));
    world.barrier();
    std::optional<bridge_source> source;
    if (is_source)
        source.emplace(side, have.views(), port);
    if (is_source && side.size() > 1) {
        std::vector<std::string> const changed{side.rank() == 0 ? "a" : "*"};
        std::string const text = agreed_error(side.base(), [&] { source->publish(changed); });
        BOOST_TEST(text ==
                   "ranks_disagree: rank 0 runs publish and rank 1 runs it with a different "
                   "list of changed keys; every rank must make the same call");
    }
    if (is_source)
        BOOST_TEST(source->publish() == 1u);
    if (is_target) {
        square_part want(side, 1);
        want.shard.key = "b";
        std::string const text = agreed_error(
            side.base(), [&] { bridge_target(side, want.views(), port, {.deadline = ever}); });
        BOOST_TEST(text.starts_with("unknown_key: "));
        want.shard.key = "a";
        bridge_target target(side, want.views(), port, {.deadline = ever});
        BOOST_TEST(target.update(1) == 1u);
    }
    world.barrier();
}

BOOST_AUTO_TEST_SUITE_END()
