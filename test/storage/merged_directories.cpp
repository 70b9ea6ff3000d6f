// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/merged_directories.hpp>

#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

/// \file
/// Machines that have some of the files of a checkpoint each: every rank has its own directory.

BOOST_AUTO_TEST_SUITE(storage_merged_directories)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// A directory for each rank.
class machines {
public:
    machines() {
        on_first_rank([&] {
            for (int rank = 0; rank < world().size(); ++rank)
                std::filesystem::create_directory(at(rank));
        });
    }

    std::filesystem::path at(int rank) const { return directory_ / std::to_string(rank); }
    std::filesystem::path here() const { return at(world().rank()); }
    std::filesystem::path shared() const { return directory_ / "shared"; }

    /// Gives each file of the shared directory to one rank, or, with a step, to some.
    void deal(int step) const {
        int number = 0;
        for (std::string const& name : directory_.names("shared")) {
            on_first_rank([&] {
                for (int rank = number % world().size(); rank < world().size(); rank += step)
                    std::filesystem::copy_file(shared() / name, at(rank) / name,
                                               std::filesystem::copy_options::overwrite_existing);
            });
            ++number;
        }
    }

private:
    shared_directory directory_;
};

held random_part(std::vector<shard_descriptor> const& tensors, unsigned seed) {
    return held(
        random_layout(tensors, world().size(), seed)[static_cast<std::size_t>(world().rank())]);
}

/// Rows of `w` on each rank, and all of `b`.
std::vector<shard_descriptor> rows() {
    index_t const rank = world().rank(), size = world().size();
    return {shard_of("w", data_type::f32, {2 * size, 3}, {2 * rank, 0}, {2, 3}),
            whole_of("b", data_type::u8, {5})};
}

std::string file_of_rank(int rank) {
    return "shard-0000" + std::to_string(rank + 1) + "-model-00001-of-00001.safetensors";
}

boost::test_tools::assertion_result several_ranks(boost::unit_test::test_unit_id) {
    return world().size() > 1;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_layouts_are_loaded_from_machines_with_some_files_each) {
    for (unsigned seed = 1; seed <= test::trials(20, 6); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            machines const machines;
            auto const tensors = random_model(seed);
            held source = random_part(tensors, seed + 1000);
            save(world(), source.tensors(), machines.shared(),
                 {.form = seed % 2 == 0 ? save_form::sharded : save_form::huggingface,
                  .writing = {.most_file_bytes = 100}});
            machines.deal(seed % 3 == 0 ? 2 : world().size());
            auto const opened = open_checkpoint(world(), machines.here());
            BOOST_TEST(verify(world(), opened).ok());
            held target = random_part(tensors, seed + 2000);
            load(world(), opened, target.cleared().tensors());
            BOOST_TEST(target.wrong() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_machine_without_any_file_takes_part,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    held part(rows());
    save(world(), part.tensors(), machines.shared());
    auto const path = world().rank() == 0 ? machines.shared() : machines.here() / "nothing";
    load(world(), open_checkpoint(world(), path), part.cleared().tensors());
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_file_that_nobody_has_is_named_and_who_wrote_it,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    held part(rows());
    save(world(), part.tensors(), machines.shared());
    on_first_rank([&] { std::filesystem::remove(machines.shared() / file_of_rank(1)); });
    machines.deal(world().size());
    std::string const text =
        file_of_rank(1) + " is missing, but reshard.json lists it; none of the " +
        std::to_string(world().size()) + " ranks sees it, and rank 1 of the save wrote it";
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), machines.here()), error,
                          mentions(errc::missing_file, text));
}

BOOST_AUTO_TEST_CASE(who_wrote_a_file_is_told_by_its_name) {
    auto const by = [](int rank) {
        return ", and rank " + std::to_string(rank) + " of the save wrote it";
    };
    BOOST_TEST(writer_of("no shard-00003-model-00001-of-00001.safetensors") == by(2));
    BOOST_TEST(writer_of("no shard-123456-model-00001-of-00001.safetensors") == by(123455));
    BOOST_TEST(writer_of("shard-data/rank-00000.safetensors is gone") == by(0));
    BOOST_TEST(writer_of("shard-1/model.safetensors is gone") == "");
    BOOST_TEST(writer_of("model.safetensors is gone") == "");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_save_is_refused,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    held part(rows());
    save(world(), part.tensors(), machines.shared());
    machines.deal(world().size());
    part.memory(0)[0] ^= std::byte{1}; // another save of the same tensors
    on_first_rank([&] { std::filesystem::remove_all(machines.shared()); });
    save(world(), part.tensors(), machines.shared());
    on_first_rank([&] { // the first rank has the record, and the second one the first one's file
        std::filesystem::copy_file(machines.shared() / file_of_rank(1),
                                   machines.at(0) / file_of_rank(1),
                                   std::filesystem::copy_options::overwrite_existing);
    });
    BOOST_CHECK_THROW(open_checkpoint(world(), machines.here()), error);
}

BOOST_AUTO_TEST_CASE(two_saves_on_two_machines_are_not_one_checkpoint,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    held own({whole_of("w", data_type::u8, {3})});
    save(solo(), own.tensors(), machines.here() / "one");
    load(world(), open_checkpoint(world(), machines.here() / "one"), own.cleared().tensors());
    BOOST_TEST(own.wrong() == ""); // equal saves are one
    own.memory(0)[0] = std::byte(world().rank());
    save(solo(), own.tensors(), machines.here() / "two");
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), machines.here() / "two"), error,
                          mentions(errc::ranks_disagree, "differs between rank 0"));
}

// One rank opens its own file, and the other ones open a directory, or the other way round.
BOOST_AUTO_TEST_CASE(a_file_and_a_directory_are_not_one_checkpoint,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    bool const is_second = world().rank() == 1;
    auto const refuses = [&](std::filesystem::path const& path) {
        BOOST_CHECK_EXCEPTION(open_checkpoint(world(), path), error,
                              mentions(errc::ranks_disagree, "every rank must open the same"));
    };
    auto const file = machines.here() / "model.safetensors";
    write_safetensors(file, {{"w", "U8", is_second ? "[4]" : "[2,2]", "0123"}});
    refuses(is_second ? machines.here() : file);
    refuses(is_second ? file : machines.here());
    held own({whole_of("w", data_type::u8, {3})});
    save(solo(), own.tensors(), machines.here() / "saved");
    refuses(is_second ? file : machines.here() / "saved");
    refuses(is_second ? machines.here() / "saved" : file);
}

BOOST_AUTO_TEST_CASE(a_changed_byte_elsewhere_is_an_error_on_every_rank,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    held part(rows());
    save(world(), part.tensors(), machines.shared());
    on_first_rank([&] {
        auto const path = machines.shared() / file_of_rank(1);
        std::string bytes = read_file(path);
        bytes.back() ^= 1;
        write_file(path, bytes);
    });
    machines.deal(world().size());
    auto const opened = open_checkpoint(world(), machines.here());
    held whole_held({whole_of("w", data_type::f32, {2 * world().size(), 3})});
    BOOST_CHECK_EXCEPTION(load(world(), opened, whole_held.tensors()), error,
                          mentions(errc::corrupt_file, "digest"));
    BOOST_TEST(!verify(world(), opened).ok());
    BOOST_CHECK_EXCEPTION(convert(world(), opened, machines.shared() / "new"), error,
                          mentions(errc::missing_file, "is on the machine of rank"));
}

BOOST_AUTO_TEST_CASE(copies_on_two_machines_are_compared,
                     *boost::unit_test::precondition(several_ranks)) {
    machines const machines;
    std::string const data = world().rank() == 0 ? "0123" : "0723";
    std::string const name = "part-" + std::to_string(world().rank()) + ".safetensors";
    write_safetensors(machines.here() / name, {{"w", "U8", "[2,2]", data, "[0,0]"}});
    auto const opened = open_checkpoint(world(), machines.here());
    held whole_held({whole_of("w", data_type::u8, {2, 2})});
    BOOST_CHECK_EXCEPTION(load(world(), opened, whole_held.tensors()), error,
                          mentions(errc::overlap, "differs from the digest of the copy in"));
}

BOOST_AUTO_TEST_SUITE_END()
