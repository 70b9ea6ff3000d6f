// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage/shared_reads.hpp>

#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/ranks_per_node.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

/// \file
/// Bytes that several ranks need are read by one of them, and reach all ranks of a node, or, if
/// they are passed on, of all nodes.

BOOST_AUTO_TEST_SUITE(storage_shared_reads)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

options reading(file_reads reads, bool verify = true) {
    options asked;
    asked.reads = reads;
    asked.verify = verify;
    return asked;
}

/// More tensors than two rounds have slots for, whole on every rank.
std::vector<shard_descriptor> whole_tensors() {
    std::vector<shard_descriptor> shards;
    for (int i = 0; i < 40; ++i)
        shards.push_back(whole_of("w" + std::to_string(i), data_type::u8, {i, 3}));
    return shards;
}

/// The bytes of all tensors of `whole_tensors`.
index_t const all_bytes = 3 * 39 * 40 / 2;

options relaying(bool verify = true) {
    options asked = reading(file_reads::chosen, verify);
    asked.between_nodes = relays();
    asked.deadline = std::chrono::seconds(60);
    return asked;
}

/// How many bytes all ranks read that load each tensor whole.
index_t bytes_read(checkpoint const& source, options const& options) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<stored_loop> loops;
    for (std::uint32_t i = 0; i < source.metadata().tensors.size(); ++i) {
        index_t const count = element_count(source.metadata().tensors[i].shape);
        memory.emplace_back(static_cast<std::size_t>(count));
        loops.push_back(
            {{i, 0}, {{count}, 0, {1}, 0, {1}}, {data_type::u8, {}}, memory.back().data()});
    }
    planned_reads reads(source, std::move(loops), options.verify);
    read_windows(world(), reads, gather_values(world(), notice_of(reads, options.reads)), options);
    index_t total = 0;
    for (std::uint64_t const element : gather_values(world(), reads.reader.bytes_read()))
        total += static_cast<index_t>(element);
    return total;
}

/// Calls `run(seed, load_with)` for random layouts; `load_with(options)` saves one, loads it into
/// the other one, and checks that.
void for_each_random_load(auto&& run) {
    shared_directory const directory;
    for (unsigned seed = 1; seed <= test::trials(40, 6); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            auto const tensors = random_tensors(seed);
            auto const path = directory / std::to_string(seed);
            auto const rank = static_cast<std::size_t>(world().rank());
            held source(random_layout(tensors, world().size(), seed + 1000)[rank]);
            held target(random_layout(tensors, world().size(), seed + 2000)[rank]);
            run(seed, [&](options const& options) {
                save(world(), source.tensors(), path);
                load(world(), open_checkpoint(world(), path), target.cleared().tensors(), options);
                BOOST_TEST(target.wrong() == "");
            });
        }
    }
}

/// Files that a rank can read until it refuses.
class refusing_files : public system_files {
public:
    class file : public file_store::file {
    public:
        file(std::unique_ptr<file_store::file> real, bool const& refuses)
            : real_(std::move(real)), refuses_(refuses) {}

        file_store::identity facts() const override { return real_->facts(); }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (refuses_)
                fail(errc::io, "rank ", world().rank(), " has lost its disk");
            real_->read(position, target);
        }

    private:
        std::unique_ptr<file_store::file> real_;
        bool const& refuses_;
    };

    std::unique_ptr<file_store::file> open(std::filesystem::path const& path) const override {
        return std::make_unique<file>(system_files::open(path), refuses);
    }

    bool refuses = false;
};

} // namespace

BOOST_AUTO_TEST_CASE(each_byte_is_read_once_or_by_each_rank) {
    shared_directory const directory;
    save(world(), held(whole_tensors()).tensors(), directory / "all");
    auto const saved = open_checkpoint(world(), directory / "all");
    for (bool const verify : {false, true}) {
        BOOST_TEST(bytes_read(saved, reading(file_reads::once, verify)) == all_bytes);
        BOOST_TEST(bytes_read(saved, reading(file_reads::direct, verify)) ==
                   all_bytes * world().size());
    }
}

BOOST_AUTO_TEST_CASE(tensors_of_many_rounds_reach_all_ranks) {
    shared_directory const directory;
    held full_held(whole_tensors());
    save(world(), full_held.tensors(), directory / "all");
    auto const saved = open_checkpoint(world(), directory / "all");
    load(world(), saved, full_held.cleared().tensors(), reading(file_reads::once));
    BOOST_TEST(full_held.wrong() == "");
    held some(world().rank() == 1 ? std::vector<shard_descriptor>() : whole_tensors());
    load(world(), saved, some.cleared().tensors(), reading(file_reads::once));
    BOOST_TEST(some.wrong() == "");
}

BOOST_AUTO_TEST_CASE(random_layouts_are_read_once) {
    for_each_random_load([](unsigned seed, auto const& load_with) {
        load_with(reading(file_reads::once, seed % 2 == 0));
    });
}

BOOST_AUTO_TEST_CASE(what_is_passed_on_is_read_once_by_all_nodes) {
    shared_directory const directory;
    save(world(), held(whole_tensors()).tensors(), directory / "all");
    auto const saved = open_checkpoint(world(), directory / "all");
    for (int const per_node : {1, 2, 3}) {
        ranks_per_node_variable const variable(std::to_string(per_node));
        int const nodes = (world().size() + per_node - 1) / per_node;
        for (bool const verify : {false, true}) {
            if (nodes > 1)
                BOOST_TEST(bytes_read(saved, relaying(verify)) == all_bytes);
            BOOST_TEST(bytes_read(saved, reading(file_reads::once, verify)) == all_bytes * nodes);
        }
    }
}

BOOST_AUTO_TEST_CASE(stages_of_a_pipeline_take_their_turns_at_the_same_time) {
    auto const turns_of_node = [](std::uint32_t number) {
        relayed_windows windows({{world(), {}}, number, {{0}, {1}, {2}, {3}}, 1});
        for (std::uint32_t const shard : {0u, 1u, 2u})
            windows.add({{0, shard}, 0, {0, 1}}, {0, 1});
        for (std::uint32_t const shard : {3u, 4u})
            windows.add({{0, shard}, 0, {0, 1}}, {2, 3});
        windows.add({{0, 5}, 0, {0, 1}}, {0, 1, 2, 3});
        windows.add({{0, 6}, 0, {0, 1}}, {0, 1});
        std::vector<std::pair<std::uint32_t, std::uint64_t>> turns;
        for (relayed_window const& window : windows.windows())
            turns.emplace_back(window.window.position.shard, window.turn);
        BOOST_TEST(windows.find(3)->window.position.shard == 5u);
        BOOST_TEST((windows.find(2) == nullptr) == (number >= 2));
        return turns;
    };
    std::vector<std::pair<std::uint32_t, std::uint64_t>> const first{
        {0, 0}, {1, 1}, {2, 2}, {5, 3}, {6, 4}};
    std::vector<std::pair<std::uint32_t, std::uint64_t>> const second{{3, 0}, {4, 1}, {5, 3}};
    BOOST_TEST((turns_of_node(1) == first));
    BOOST_TEST((turns_of_node(2) == second));
}

BOOST_AUTO_TEST_CASE(what_one_node_needs_alone_is_not_passed_on) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    index_t const rows = 20 * world().size(), columns = 3001;
    held full_held({whole_of("w", data_type::u8, {rows, columns})});
    save(world(), full_held.tensors(), directory / "all", {.writing = {.digests = false}});
    ranks_per_node_variable const variable("1");
    held part(
        {shard_of("w", data_type::u8, {rows, columns}, {20 * world().rank(), 0}, {20, columns})});
    auto const saved = open_checkpoint(world(), directory / "all");
    auto const nodes = nodes_of(world());
    chunk_reader const reader(saved, true);
    // Each node reads other bytes of windows that all need: to read them once saves nothing.
    index_t const own = 20 * columns * world().rank();
    std::vector<std::byte> memory(static_cast<std::size_t>(20 * columns));
    window_reads reads(
        saved.metadata(),
        {{{0, 0}, {{20 * columns}, own, {1}, 0, {1}}, {data_type::u8, {}}, memory.data()}});
    std::vector<window_run> windows;
    reads.for_each_window([&](window_run const& window) { windows.push_back(window); });
    auto const relayed = find_relayed(world(), nodes, reader, reads, windows, file_reads::chosen);
    BOOST_TEST(relayed.most_bytes == 0u);
    load(world(), saved, part.cleared().tensors(), relaying());
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(random_layouts_are_passed_on) {
    for_each_random_load([](unsigned seed, auto const& load_with) {
        ranks_per_node_variable const variable(std::to_string(1 + seed % 3));
        load_with(relaying(seed % 2 == 0));
    });
}

BOOST_AUTO_TEST_CASE(many_windows_of_a_tensor_are_passed_on_where_some_nodes_need_them) {
    shared_directory const directory;
    // More than two windows, which do not end where it does; ranks need different parts of it.
    index_t const rows = 700, columns = 3001;
    save(world(), held({whole_of("w", data_type::u8, {rows, columns})}).tensors(),
         directory / "all");
    auto const saved = open_checkpoint(world(), directory / "all");
    index_t const me = world().rank(), size = world().size();
    index_t const first = rows * me / (2 * size);
    held part({shard_of("w", data_type::u8, {rows, columns}, {first, 1},
                        {me == 1 ? 0 : rows - first, columns - 1})});
    ranks_per_node_variable const variable("1");
    load(world(), saved, part.cleared().tensors(), relaying());
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_cannot_read_what_it_passes_on_is_an_error_on_every_rank) {
    shared_directory const directory;
    save(world(), held(whole_tensors()).tensors(), directory / "all");
    for (int const per_node : {1, 2})
        for (int rank = 0; rank < world().size(); ++rank) {
            if (world().size() % per_node != 0 && rank % per_node != 0)
                continue; // the last node has no such rank, so none of them reads
            ranks_per_node_variable const variable(std::to_string(per_node));
            auto const files = std::make_shared<refusing_files>();
            auto const saved = open_checkpoint(world(), directory / "all", {.files = files});
            files->refuses = rank == world().rank();
            held full_held(whole_tensors());
            BOOST_CHECK_EXCEPTION(load(world(), saved, full_held.tensors(), relaying()), error,
                                  mentions(errc::io, "rank " + std::to_string(rank) + " has lost"));
        }
}

BOOST_AUTO_TEST_CASE(what_each_rank_reads_for_itself_is_not_passed_on) {
    shared_directory const directory;
    held full_held(whole_tensors());
    save(world(), full_held.tensors(), directory / "all");
    options direct = relaying();
    direct.reads = file_reads::direct;
    BOOST_CHECK_EXCEPTION(
        load(world(), open_checkpoint(world(), directory / "all"), full_held.tensors(), direct),
        error, mentions(errc::usage, "options.reads = direct"));
    auto const mapped = open_checkpoint(world(), directory / "all", {.mapped = true});
    BOOST_CHECK_EXCEPTION(load(world(), mapped, full_held.tensors(), relaying()), error,
                          mentions(errc::usage, "a mapped checkpoint"));
}

BOOST_AUTO_TEST_CASE(a_changed_chunk_is_an_error_on_every_rank) {
    shared_directory const directory;
    auto const path = directory / "all";
    save(world(), held(whole_tensors()).tensors(), path,
         {.form = save_form::huggingface, .writing = {.most_file_bytes = 1 << 20}});
    auto const file = path / "model.safetensors";
    std::string bytes = read_file(file);
    for (std::size_t const from_end : {std::size_t{1}, std::size_t{1000}}) {
        ranks_per_node_variable const variable("2");
        std::string changed = bytes;
        changed[bytes.size() - from_end] ^= 1;
        meet();
        on_first_rank([&] { write_file(file, changed); });
        held full_held(whole_tensors());
        for (options const& options : {reading(file_reads::once), relaying()})
            BOOST_CHECK_EXCEPTION(
                load(world(), open_checkpoint(world(), path), full_held.tensors(), options), error,
                mentions(errc::corrupt_file, "digest"));
        meet();
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_became_shorter_is_named_with_its_size) {
    for (options const& options :
         {reading(file_reads::chosen), reading(file_reads::once), relaying()}) {
        ranks_per_node_variable const variable("1");
        shared_directory const directory;
        auto const path = directory / "all", file = path / "model.safetensors";
        held full_held(whole_tensors());
        save(world(), full_held.tensors(), path, {.form = save_form::huggingface});
        auto const saved = open_checkpoint(world(), path);
        auto const left = std::filesystem::file_size(file) - 1500; // of 2340 bytes of tensors
        meet();
        on_first_rank([&] { std::filesystem::resize_file(file, left); });
        BOOST_CHECK_EXCEPTION(load(world(), saved, full_held.tensors(), options), error,
                              mentions(errc::corrupt_file, file.string() + ": ends at byte " +
                                                               std::to_string(left) + ", "));
    }
}

BOOST_AUTO_TEST_CASE(ranks_that_ask_for_different_reads_are_refused) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    held full_held(whole_tensors());
    save(world(), full_held.tensors(), directory / "all");
    auto const saved = open_checkpoint(world(), directory / "all");
    BOOST_CHECK_EXCEPTION(
        load(world(), saved, full_held.tensors(),
             reading(world().rank() == 0 ? file_reads::once : file_reads::direct)),
        error, mentions(errc::ranks_disagree, "a different options.reads;"));
}

BOOST_AUTO_TEST_SUITE_END()
