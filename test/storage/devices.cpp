// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/agreed_error.hpp"
#include "support/device_memory.hpp"
#include "support/ranks_per_node.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// \file
/// Tensors on devices are saved and loaded. What is in the files is what the host saves and loads.

namespace {

using namespace reshard;
using namespace reshard::test;
using testing::fake_device;
using testing::fake_order;

/// A device, and the tensors of this rank on it or, every second one, in host memory.
template <class View>
struct moved {
    moved(held& tensors, bool mixes)
        : device(std::size_t{1} << 18, 0,
                 world().rank() % 2 == 0 ? fake_order::shuffled : fake_order::reversed),
          memory(tensors.tensors(), {&device}, mixes, 0) {}

    detail::basic_state_dict<View> tensors() const { return memory.shards(); }
    detail::device_list devices() { return listed({&device}); }

    fake_device device;
    device_memory<View> memory;
};

std::vector<shard_descriptor> rows() {
    int const rank = world().rank(), size = world().size();
    index_t const count = rank + 1 == size ? 7 : 1;
    return {shard_of("w", data_type::f32, {size + 6, 5}, {rank, 0}, {count, 5}),
            whole_of("everywhere", data_type::bf16, {100}), whole_of("packed", data_type::f4, {6}),
            whole_of("scalar", data_type::f64, {}), whole_of("empty", data_type::f32, {0, 3})};
}

/// The same tensors, of which no rank holds `w` as a file has it.
std::vector<shard_descriptor> columns() {
    int const rank = world().rank(), size = world().size();
    index_t const first = 5 * rank / size, last = 5 * (rank + 1) / size;
    return {shard_of("w", data_type::f32, {size + 6, 5}, {0, first}, {size + 6, last - first}),
            whole_of("everywhere", data_type::bf16, {100}), whole_of("packed", data_type::f4, {6}),
            whole_of("scalar", data_type::f64, {}), whole_of("empty", data_type::f32, {0, 3})};
}

/// Loads into tensors of the host, and returns the first one with other elements.
std::string wrong_in(std::filesystem::path const& path) {
    held loaded(columns());
    load(world(), open_checkpoint(world(), path), loaded.cleared().tensors());
    return loaded.wrong();
}

} // namespace

BOOST_AUTO_TEST_SUITE(storage_devices)

BOOST_AUTO_TEST_CASE(tensors_on_devices_are_saved) {
    for (bool const mixes : {false, true})
        for (save_form const form : {save_form::sharded, save_form::huggingface})
            for (auto* const shards : {&rows, &columns}) {
                shared_directory const directory;
                held tensors(shards());
                moved<const_tensor_view> have(tensors, mixes);
                save(world(), have.tensors(), directory / "saved",
                     {.form = form, .devices = have.devices()});
                BOOST_TEST(wrong_in(directory / "saved") == "");
            }
}

namespace {

/// A device that knows the memory that it has provided, and counts the copies from there and to
/// there.
class pinning_device final : public device {
public:
    explicit pinning_device(fake_device& next) : next_(next) {}
    memory_space space() const override { return next_.space(); }
    void copy(device_copy const& work) override {
        auto const first = reinterpret_cast<std::uintptr_t>(pinned_.get());
        auto const at =
            reinterpret_cast<std::uintptr_t>(work.reads_device ? work.target : work.source);
        at_pinned += at >= first && at - first < bytes_;
        next_.copy(work);
    }
    void submit() override { ++submits; }
    void wait() override { next_.wait(); }
    std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
        bytes_ = bytes;
        ++memories;
        return pinned_ = std::shared_ptr<std::byte[]>(new std::byte[bytes]);
    }

    int at_pinned = 0;
    int memories = 0;
    int submits = 0;

private:
    fake_device& next_;
    std::shared_ptr<std::byte[]> pinned_;
    std::size_t bytes_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(tensors_on_devices_are_saved_in_the_background) {
    for (bool const mixes : {false, true}) {
        shared_directory const directory;
        held tensors(rows());
        moved<const_tensor_view> have(tensors, mixes);
        auto const pinning = std::make_shared<pinning_device>(have.device);
        async_saver saver;
        for (std::string const name : {"first", "second"}) {
            auto const done = save_async(world(), have.tensors(), directory / name, saver,
                                         {.devices = {pinning}});
            done.get();
            meet();
            BOOST_TEST(wrong_in(directory / name) == "");
        }
        // The thread writes from memory of the device. If it mixes, others may write this rank's.
        BOOST_TEST((mixes || pinning->at_pinned > 0));
        BOOST_TEST(pinning->memories == 1);
    }
}

BOOST_AUTO_TEST_CASE(tensors_are_loaded_to_devices) {
    shared_directory const directory;
    save(world(), held(rows()).tensors(), directory / "saved");
    for (bool const mixes : {false, true})
        for (bool const maps : {false, true})
            for (file_reads const reads : {file_reads::once, file_reads::direct})
                for (auto* const shards : {&rows, &columns}) {
                    held tensors(shards());
                    moved<tensor_view> want(tensors.cleared(), mixes);
                    load(world(), open_checkpoint(world(), directory / "saved", {.mapped = maps}),
                         want.tensors(), {.devices = want.devices(), .reads = reads});
                    want.memory.fetch();
                    BOOST_TEST(tensors.wrong() == "");
                }
}

BOOST_AUTO_TEST_CASE(files_are_read_to_memory_that_the_device_provides) {
    shared_directory const directory;
    save(world(), held(rows()).tensors(), directory / "saved");
    held tensors({whole_of("everywhere", data_type::bf16, {100})});
    moved<tensor_view> want(tensors.cleared(), false);
    auto const pinning = std::make_shared<pinning_device>(want.device);
    load(world(), open_checkpoint(world(), directory / "saved"), want.tensors(),
         {.devices = {pinning}, .reads = file_reads::direct});
    want.memory.fetch();
    BOOST_TEST(tensors.wrong() == "");
    BOOST_TEST(pinning->at_pinned > 0);
    BOOST_TEST(pinning->submits > 0); // it copies while the next window is read
}

BOOST_AUTO_TEST_CASE(relayed_windows_reach_devices) {
    ranks_per_node_variable const per_node("1");
    shared_directory const directory;
    save(world(), held({whole_of("w", data_type::f32, {300, 5})}).tensors(), directory / "saved");
    held tensors({whole_of("w", data_type::f32, {300, 5})});
    moved<tensor_view> want(tensors.cleared(), false);
    load(world(), open_checkpoint(world(), directory / "saved"), want.tensors(),
         {.between_nodes = relays(), .devices = want.devices(), .reads = file_reads::once});
    want.memory.fetch();
    BOOST_TEST(tensors.wrong() == "");
}

BOOST_AUTO_TEST_CASE(programs_save_and_load_tensors_on_devices) {
    shared_directory const directory;
    held tensors(rows());
    moved<const_tensor_view> have(tensors, false);
    save(world(), have.tensors(), directory / "saved",
         {.program = aoa::parse("w -> t, permute=\"[1, 0]\"\neverywhere -> a, b, axis=0"),
          .devices = have.devices()});
    checkpoint const saved = open_checkpoint(world(), directory / "saved");
    held back(rows());
    moved<tensor_view> want(back.cleared(), true);
    load(world(), saved, want.tensors(),
         {.program = aoa::parse("t -> w, permute=\"[1, 0]\"\na, b -> everywhere, axis=0"),
          .devices = want.devices()});
    want.memory.fetch();
    BOOST_TEST(back.wrong() == "");
}

BOOST_AUTO_TEST_CASE(elements_without_a_source_become_zeros_on_devices) {
    shared_directory const directory;
    save(world(), held({whole_of("w", data_type::f32, {3})}).tensors(), directory / "saved");
    held tensors({whole_of("w", data_type::f32, {5})});
    moved<tensor_view> want(tensors.cleared(), false);
    load(world(), open_checkpoint(world(), directory / "saved"), want.tensors(),
         {.shape_mismatch = {"w"}, .devices = want.devices()});
    want.memory.fetch();
    std::vector<std::byte> expected = held({whole_of("w", data_type::f32, {3})}).memory(0);
    expected.resize(20);
    BOOST_TEST((tensors.memory(0) == expected));
}

BOOST_AUTO_TEST_CASE(aliases_on_devices_are_compared) {
    for (bool const differ : {false, true}) {
        shared_directory const directory;
        held tensors({whole_of("w", data_type::f32, {4}), whole_of("v", data_type::f32, {4})});
        tensors.memory(1) = tensors.memory(0);
        if (differ)
            tensors.memory(1)[0] ^= std::byte{1};
        moved<const_tensor_view> have(tensors, false);
        std::string const said = agreed_error(boost::mpi::communicator(), [&] {
            save(world(), have.tensors(), directory / "saved",
                 {.aliases = {{"v", "w"}}, .devices = have.devices()});
        });
        meet();
        BOOST_TEST((said.find("differs from it") != std::string::npos) == differ);
    }
}

namespace {

/// A device of which every copy fails.
class failing_device final : public device {
public:
    memory_space space() const override { return memory_space::device; }
    void copy(device_copy const&) override { throw std::runtime_error("the device is lost"); }
    void wait() override {}
};

} // namespace

BOOST_AUTO_TEST_CASE(a_device_that_fails_on_one_rank_fails_on_all) {
    shared_directory const directory;
    save(world(),
         held({whole_of("w", data_type::f32, {3}), whole_of("v", data_type::f32, {3})}).tensors(),
         directory / "saved");
    detail::device_list const failing{std::make_shared<failing_device>()};
    bool const fails = world().rank() == world().size() - 1;
    for (bool const has_zeros : {false, true}) {
        held host({whole_of(has_zeros ? "v" : "w", data_type::f32, {has_zeros ? 5 : 3})});
        moved<tensor_view> target(host.cleared(), false);
        options options{.devices = fails ? failing : target.devices()};
        if (has_zeros)
            options.shape_mismatch = {"v"};
        std::string const said = agreed_error(boost::mpi::communicator(), [&] {
            load(world(), open_checkpoint(world(), directory / "saved"), target.tensors(), options);
        });
        BOOST_TEST(said.find("the device is lost") != std::string::npos);
    }
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        held source(columns());
        moved<const_tensor_view> have(source, false);
        std::string const said = agreed_error(boost::mpi::communicator(), [&] {
            save(world(), have.tensors(), directory / "other",
                 {.form = form, .devices = fails ? failing : have.devices()});
        });
        // Replicas are written by other ranks, so a rank of a sharded save may have nothing to write.
        if (form == save_form::huggingface || world().size() == 1)
            BOOST_TEST(said.find("the device is lost") != std::string::npos);
        meet();
    }
}

BOOST_AUTO_TEST_CASE(without_the_device_nothing_is_written) {
    shared_directory const directory;
    save(world(), held(rows()).tensors(), directory / "saved");
    held tensors(rows());
    moved<tensor_view> want(tensors.cleared(), false);
    auto const refused = [&](auto const& work) {
        return agreed_error(boost::mpi::communicator(), work);
    };
    std::string const memory = "in the memory of device:0; give the call its device";
    BOOST_TEST(refused([&] { save(world(), want.tensors(), directory / "other"); }).find(memory) !=
               std::string::npos);
    async_saver saver;
    BOOST_TEST(refused([&] {
                   save_async(world(), want.tensors(), directory / "other", saver);
               }).find(memory) != std::string::npos);
    BOOST_TEST(refused([&] {
                   load(world(), open_checkpoint(world(), directory / "saved"), want.tensors());
               }).find(memory) != std::string::npos);
    BOOST_TEST(directory.names() == std::vector<std::string>{"saved"},
               boost::test_tools::per_element());
    want.memory.fetch();
    BOOST_TEST(tensors.is_untouched());
}

BOOST_AUTO_TEST_SUITE_END()
