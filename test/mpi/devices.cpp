// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/between_nodes.hpp>

#include "oracle/generate.hpp"
#include "support/device_memory.hpp"
#include "support/experiment.hpp"
#include "support/ranks_per_node.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_devices)

namespace {

/// Which tensors of a rank are on devices.
enum class place { device, mixed, two_devices, some_ranks };

constexpr place places[] = {place::device, place::mixed, place::two_devices, place::some_ranks};

testing::fake_order order_of(std::uint64_t seed) {
    return seed % 5 == 0   ? testing::fake_order::at_once
           : seed % 5 == 1 ? testing::fake_order::reversed
                           : testing::fake_order::shuffled;
}

/// A scenario whose tensors are on fake devices, and what the oracle says that the targets become.
class device_experiment {
public:
    device_experiment(oracle::scenario const& scenario, int rank, std::uint64_t seed, place where,
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : source_(scenario.sources, rank, memory),
          target_(scenario.targets, rank, memory),
          expected_(target_),
          devices_{testing::fake_device(std::size_t{1} << 20, 0, order_of(seed)),
                   testing::fake_device(std::size_t{1} << 20, 1, order_of(seed))} {
        oracle::world const before = oracle::world_of(scenario);
        source_.fill(before.sources);
        expected_.fill(oracle::answers(scenario, before));
        if (where != place::some_ranks || rank % 2 == static_cast<int>(seed / 4 % 2))
            used_.push_back(&devices_[0]);
        if (where == place::two_devices)
            used_.push_back(&devices_[1]);
        if (used_.empty())
            return;
        bool const mixes = where == place::mixed;
        have_.emplace(const_state_dict(source_.shards()), used_, mixes, seed % 3);
        want_.emplace(target_.shards(), used_, mixes, (seed / 3) % 3);
    }

    const_state_dict have() { return have_ ? have_->shards() : const_state_dict(source_.shards()); }
    state_dict want() { return want_ ? want_->shards() : target_.shards(); }
    device_list devices() {
        device_list list;
        for (testing::fake_device* const fake : used_) {
            recording_.push_back(std::make_shared<test::recording_device>(*fake));
            list.push_back(recording_.back());
        }
        return list;
    }

    /// Whether messages are packed in the memory of devices.
    void set_message_memory(bool is_on_device) {
        for (testing::fake_device& fake : devices_)
            fake.set_message_memory(is_on_device);
    }

    std::size_t message_memories() const {
        return devices_[0].message_memories() + devices_[1].message_memories();
    }

    std::int64_t recordings() const {
        std::int64_t count = 0;
        for (auto const& device : recording_)
            count += device->recordings;
        return count;
    }

    /// Makes the targets on devices what they were before the first run.
    void reset() {
        if (want_)
            want_->store();
    }

    bool was_used() const { return devices_[0].was_used() || devices_[1].was_used(); }

    std::optional<std::string> difference() const {
        if (want_)
            want_->fetch();
        return target_.difference(expected_);
    }

private:
    test::rank_memory source_;
    test::rank_memory target_;
    test::rank_memory expected_;
    std::array<testing::fake_device, 2> devices_;
    std::vector<testing::fake_device*> used_;
    std::vector<std::shared_ptr<test::recording_device>> recording_;
    std::optional<test::device_memory<const_tensor_view>> have_;
    std::optional<test::device_memory<tensor_view>> want_;
};

std::uint64_t stride() {
    char const* const text = std::getenv("RESHARD_TEST_EVERY");
    return text ? std::stoull(text) : 1;
}

std::int64_t sum(std::int64_t number) {
    return boost::mpi::all_reduce(boost::mpi::communicator(), number, std::plus<>());
}

/// Runs programs of the oracle with that step between seeds, and compares. Returns how often
/// messages were in the memory of a device.
std::int64_t compare(std::uint64_t step, auto&& run) {
    boost::mpi::communicator const world;
    std::int64_t differences = 0, used = 0, message_memories = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; seed += step * stride()) {
        oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            device_experiment experiment(scenario, world.rank(), seed, places[seed / 2 % 4]);
            run(seed, experiment, test::mapping_of(scenario));
            used += experiment.was_used();
            message_memories += static_cast<std::int64_t>(experiment.message_memories());
            if (auto const where = experiment.difference()) {
                ++differences;
                BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
            }
        }
    }
    BOOST_TEST(sum(differences) == 0);
    BOOST_TEST(sum(used) > 0);
    return sum(message_memories);
}

} // namespace

BOOST_AUTO_TEST_CASE(programs_on_devices_do_what_the_oracle_does) {
    boost::mpi::communicator const world;
    std::int64_t recordings = 0;
    std::int64_t const message_memories =
        compare(3, [&](std::uint64_t seed, device_experiment& experiment, mapping const& program) {
            std::optional<test::ranks_per_node_variable> per_node;
            if (seed % 9 == 0)
                per_node.emplace("2");
            constexpr node_exchange ways[] = {node_exchange::chosen, node_exchange::rings,
                                              node_exchange::messages};
            experiment.set_message_memory(seed % 2 == 0);
            options const options{.program = program,
                                  .between_nodes =
                                      seed % 4 == 0 ? balanced_senders() : node_traffic{},
                                  .on_node = ways[seed / 3 % 3],
                                  .devices = experiment.devices()};
            job moving = prepare(world, experiment.have(), experiment.want(), options);
            for (int i = 0; i < 3; ++i) { // the second run records the copies
                experiment.reset();
                run(moving);
            }
            recordings += experiment.recordings();
        });
    BOOST_TEST((world.size() == 1 || message_memories > 0));
    BOOST_TEST(sum(recordings) > 0);
}

BOOST_AUTO_TEST_CASE(relayed_programs_on_devices_do_what_the_oracle_does) {
    boost::mpi::communicator const world;
    compare(11, [&](std::uint64_t seed, device_experiment& experiment, mapping const& program) {
        test::ranks_per_node_variable const per_node(seed % 2 == 0 ? "1" : "2");
        experiment.set_message_memory(seed % 3 != 0);
        redistribute(
            world, experiment.have(), experiment.want(),
            {.program = program, .between_nodes = relays(), .devices = experiment.devices()});
    });
}

BOOST_AUTO_TEST_CASE(alone_programs_on_devices_do_what_the_oracle_does) {
    if (boost::mpi::communicator().size() > 1)
        return;
    compare(3, [&](std::uint64_t, device_experiment& experiment, mapping const& program) {
        redistribute(solo(), experiment.have(), experiment.want(),
                     {.program = program, .devices = experiment.devices()});
    });
}

BOOST_AUTO_TEST_CASE(tensors_in_arenas_move_to_devices_and_back) {
    boost::mpi::communicator const world;
    shared_arena const arena(world, 1 << 20);
    std::int64_t differences = 0;
    index_t bytes_node = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; seed += 17 * stride()) {
        oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
        mapping const program = test::mapping_of(scenario);
        for (bool const is_source_there : {true, false})
            BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
                device_experiment experiment(scenario, world.rank(), seed, place::mixed,
                                             arena.resource());
                job moving =
                    prepare(world, {experiment.have(), {}, is_source_there ? &arena : nullptr},
                            {experiment.want(), {}, is_source_there ? nullptr : &arena},
                            {.program = program, .devices = experiment.devices()});
                run(moving);
                bytes_node += moving.cost().bytes_node_in;
                differences += experiment.difference().has_value();
            }
    }
    BOOST_TEST(sum(differences) == 0);
    BOOST_TEST((sum(bytes_node) > 0) == (world.size() > 1));
}

BOOST_AUTO_TEST_CASE(many_chunks_that_share_memory_are_recorded) {
    boost::mpi::communicator const world;
    // A vector of every rank goes to the next one, in more chunks than are packed at a time.
    constexpr index_t count = 7 * chunk_bytes + 1;
    int const next = (world.rank() + 1) % world.size();
    testing::fake_device fake(std::size_t{1} << 26, 0, testing::fake_order::at_once);
    auto const recording = std::make_shared<test::recording_device>(fake);
    auto* const source = static_cast<std::byte*>(fake.allocate(count));
    auto* const target = static_cast<std::byte*>(fake.allocate(count));
    auto const shard = [&](int rank) {
        return shard_descriptor{
            "w", data_type::u8, {world.size() * count}, {{rank * count}, {count}}};
    };
    auto const view = [&](std::byte* data) {
        return tensor_view{data, data_type::u8, {count}, {1}, fake.space()};
    };
    for (bool const is_on_device : {false, true}) { // messages
        fake.set_message_memory(is_on_device);
        state_dict have, want;
        have.add(shard(world.rank()), view(source));
        want.add(shard(next), view(target));
        recording->recordings = 0;
        job moving = prepare(world, have, want,
                             {.on_node = node_exchange::messages, .devices = {recording}});
        for (int i = 0; i < 4; ++i) {
            auto const value = [&](int rank) { return static_cast<std::byte>(10 * i + rank + 1); };
            std::vector<std::byte> bytes(count, value(world.rank()));
            bytes.back() = std::byte{0};
            fake.write(source, bytes.data(), bytes.size());
            run(moving);
            std::vector<std::byte> arrived(count), expected(count, value(next));
            expected.back() = std::byte{0};
            fake.read(arrived.data(), target, arrived.size());
            BOOST_TEST((arrived == expected));
        }
        BOOST_TEST(recording->recordings >= (world.size() == 1 ? 1 : 8));
    }
}

namespace {

/// A device that does not wait when it should, the `skipped`-th time that copies are pending.
class forgetful_device final : public device {
public:
    forgetful_device(testing::fake_device& reached, int skipped)
        : reached_(reached), skipped_(skipped) {}

    memory_space space() const override { return reached_.space(); }
    void copy(device_copy const& work) override { reached_.copy(work); }
    void wait() override {
        if (reached_.pending() == 0 || waits_++ != skipped_)
            reached_.wait();
    }

private:
    testing::fake_device& reached_;
    int skipped_;
    int waits_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_missing_wait_is_a_wrong_value) {
    boost::mpi::communicator const world;
    // A vector of every rank goes to the next one; all of it is on devices.
    shard_descriptor const before{"w", data_type::f32, {world.size()}, {{world.rank()}, {1}}};
    int const next = (world.rank() + 1) % world.size();
    shard_descriptor const after{"w", data_type::f32, {world.size()}, {{next}, {1}}};
    for (int skipped = 0; skipped < 3; ++skipped) {
        testing::fake_device fake(std::size_t{1} << 16);
        float const number = static_cast<float>(world.rank() + 1);
        auto* const source = static_cast<float*>(fake.allocate(4));
        auto* const target = static_cast<float*>(fake.allocate(4));
        fake.write(source, &number, sizeof number);
        state_dict have, want;
        have.add(before, tensor_view{source, data_type::f32, {1}, {1}, fake.space()});
        want.add(after, tensor_view{target, data_type::f32, {1}, {1}, fake.space()});
        auto const forgetful = std::make_shared<forgetful_device>(fake, skipped);
        job moving = prepare(world, have, want,
                             {.on_node = node_exchange::messages, .devices = {forgetful}});
        run(moving);
        float moved = 0;
        fake.read(&moved, target, sizeof moved);
        bool const is_right = moved == static_cast<float>(next + 1);
        // Among several ranks, there is one wait for the send, and one for the receive.
        int const waits = world.size() == 1 ? 1 : 2;
        BOOST_TEST(sum(is_right) == (skipped < waits ? 0 : world.size()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
