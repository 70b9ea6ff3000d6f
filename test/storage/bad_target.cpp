// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/checkpoint_writer.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/listed_layout.hpp"
#include "support/says.hpp"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// \file
/// Targets that cannot be written: the old files are still there, and no others.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

using names = std::vector<std::string>;

/// A source, `w` of 64 x 64 numbers, and a directory for targets.
class bad_target_fixture {
public:
    bad_target_fixture() {
        on_first_rank([&] {
            std::filesystem::create_directory(path("source"));
            write_safetensors(path("source") / "model.safetensors",
                              {{"w", "F32", "[64,64]", std::string(16384, 'x')}});
        });
        source.emplace(open_checkpoint(world(), path("source")));
    }

    std::filesystem::path path(std::string const& name) const { return directory / name; }
    std::string text(std::string const& name) const { return path(name).string(); }

    mapping program() const { return identity_mapping(catalog_of(*source)); }

    /// `w` in these shards, one rank for each process.
    layout of_w(shard_table shards) const {
        return test::listed_layout(static_cast<holder_t>(world().size()),
                                   {{"w", data_type::f32, {64, 64}, std::move(shards)}});
    }

    /// `w` by rows, one rank for each process.
    layout by_rows() const {
        auto const size = static_cast<index_t>(world().size());
        shard_table shards(2);
        for (index_t rank = 0; rank < size; ++rank) {
            index_t const first = 64 * rank / size;
            shards.push_back(static_cast<holder_t>(rank),
                             {{first, 0}, {64 * (rank + 1) / size - first, 64}});
        }
        return of_w(std::move(shards));
    }

    convert_report run(std::string const& target, write_options const& options = {},
                       progress_function const& progress = {}) {
        return convert(
            world(), *source, path(target),
            {.program = program(), .wanted = by_rows(), .writing = options, .progress = progress});
    }

    /// Converting says this, on every rank.
    void refuses(std::string const& target, write_options const& options, errc code,
                 std::string const& text) {
        BOOST_CHECK_EXCEPTION(run(target, options), error, says(code, text));
    }

    std::string lost(std::string const& target, std::string const& part) const {
        return text(target) + ": is not replaced, because " + text(part) +
               " is not part of the checkpoint there and would be lost; move it away, or "
               "give another target";
    }

    void make_file(std::string const& name, std::string const& bytes) const {
        on_first_rank([&] {
            std::filesystem::create_directories(path(name).parent_path());
            write_file(path(name), bytes);
        });
    }

    shared_directory directory;
    std::optional<checkpoint> source;
};

/// No process may write a file of more bytes, until this goes away.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    file_size_limit(file_size_limit const&) = delete;
    file_size_limit& operator=(file_size_limit const&) = delete;
    ~file_size_limit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int);
};

std::size_t files_of(layout const& wanted) { return wanted.shards_of(wanted.tensors[0]).size(); }

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_bad_target, bad_target_fixture)

BOOST_AUTO_TEST_CASE(what_is_there_is_not_overwritten) {
    make_file("target/model.safetensors", "precious");
    refuses("target", {}, errc::already_exists,
            text("target") + ": already exists; give another target, or allow it to be replaced");
    BOOST_TEST((directory.names() == names{"source", "target"}));
    BOOST_TEST(read_file(path("target") / "model.safetensors") == "precious");
    held tensors({whole_of("w", data_type::u8, {1})});
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors.tensors(), path("target")), error,
        says(errc::already_exists, text("target") + ": already exists; give another target, or "
                                                    "allow it to be replaced"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_replaced_where_that_is_asked_for) {
    convert(world(), *source, path("target"), {.program = program()});
    BOOST_TEST((directory.names("target") == names{"model.safetensors", "reshard.json"}));
    run("target", {.replace = true});
    BOOST_TEST((directory.names() == names{"source", "target"}));
    BOOST_TEST(directory.names("target").size() == files_of(by_rows()) + 1); // the record
    BOOST_TEST(directory.names("target")[1] == "shard-00001-model-00001-of-00001.safetensors");
}

BOOST_AUTO_TEST_CASE(files_beside_a_checkpoint_that_hold_no_tensors_stay) {
    run("target");
    make_file("target/config.json", "{}");
    make_file("target/tokenizer.model", "words");
    convert(world(), *source, path("target"), {.program = program(), .writing = {.replace = true}});
    BOOST_TEST((directory.names("target") ==
                names{"config.json", "model.safetensors", "reshard.json", "tokenizer.model"}));
    BOOST_TEST(read_file(path("target") / "tokenizer.model") == "words");
    open_checkpoint(world(), path("target"));
}

BOOST_AUTO_TEST_CASE(tensors_that_no_record_and_no_index_lists_are_never_lost) {
    for (std::string const name : {"optimizer-00001.safetensors", "pytorch_model.bin", "state.pt",
                                   "optimizer.safetensors.index.json"}) {
        run("target", {.replace = true});
        make_file("target/" + name, "precious");
        auto const before = directory.names("target");
        refuses("target", {.replace = true}, errc::already_exists,
                lost("target", "target/" + name));
        BOOST_TEST((directory.names("target") == before));
        on_first_rank([&] { std::filesystem::remove(path("target") / name); });
    }
}

BOOST_AUTO_TEST_CASE(a_link_is_followed_and_stays) {
    run("first");
    on_first_rank([&] {
        std::filesystem::create_directory_symlink("first", path("latest"));
        std::filesystem::create_directory_symlink("nothing", path("dangling"));
    });
    convert(world(), *source, path("latest"), {.program = program(), .writing = {.replace = true}});
    BOOST_TEST(std::filesystem::is_symlink(path("latest")));
    BOOST_TEST((directory.names("first") == names{"model.safetensors", "reshard.json"}));
    BOOST_CHECK_EXCEPTION(run("dangling", {.replace = true}), error,
                          mentions(errc::io, "is a dangling symbolic link"));
    meet();
}

BOOST_AUTO_TEST_CASE(a_file_of_a_checkpoint_is_not_replaced_by_a_directory) {
    convert(world(), *source, path("target"), {.program = program()});
    BOOST_CHECK_EXCEPTION(run("target/model.safetensors", {.replace = true}), error,
                          mentions(errc::already_exists, "is a file of the checkpoint"));
    BOOST_TEST((directory.names("target") == names{"model.safetensors", "reshard.json"}));
}

BOOST_AUTO_TEST_CASE(a_mount_point_is_refused_before_anything_is_written) {
    struct stat own {
    }, outer{};
    if (::stat("/dev/shm", &own) == 0 && ::stat("/dev", &outer) == 0 && own.st_dev != outer.st_dev)
        BOOST_CHECK_EXCEPTION(convert(world(), *source, "/dev/shm",
                                      {.program = program(), .writing = {.replace = true}}),
                              error, mentions(errc::io, "mount point"));
}

BOOST_AUTO_TEST_CASE(an_empty_directory_and_a_single_file_are_replaced_too) {
    on_first_rank([&] { std::filesystem::create_directory(path("empty")); });
    make_file("one.safetensors", "old");
    run("empty", {.replace = true});
    run("one.safetensors", {.replace = true});
    BOOST_TEST((directory.names() == names{"empty", "one.safetensors", "source"}));
    BOOST_TEST(directory.names("empty").size() == files_of(by_rows()) + 1);           // the record
    BOOST_TEST(directory.names("one.safetensors").size() == files_of(by_rows()) + 1); // the record
}

BOOST_AUTO_TEST_CASE(what_is_no_part_of_a_checkpoint_is_never_lost) {
    make_file("letters/love.txt", "dear");
    make_file("unreadable/model.safetensors", "");
    run("home");
    make_file("home/photos/one.png", "");
    make_file("note.txt", "");
    std::pair<std::string, std::string> const pair[] = {
        {"letters", "letters/love.txt"},
        {"unreadable", "unreadable/model.safetensors"},
        {"home", "home/photos"},
        {"note.txt", "note.txt"}};
    for (auto const& [name, part] : pair)
        refuses(name, {.replace = true}, errc::already_exists, lost(name, part));
    BOOST_TEST((directory.names() == names{"home", "letters", "note.txt", "source", "unreadable"}));
    BOOST_TEST((directory.names("home/photos") == names{"one.png"}));
}

BOOST_AUTO_TEST_CASE(a_conversion_that_fails_leaves_the_old_checkpoint_and_no_other_file) {
    run("target");
    auto const before = directory.names("target");
    int const last = world().size() - 1;
    auto const fail_on_last_rank = [&](index_t, index_t) {
        if (world().rank() == last)
            fail(errc::io, "the last rank gives up");
    };
    BOOST_CHECK_EXCEPTION(run("target", {.replace = true}, fail_on_last_rank), error,
                          says(errc::io, "the last rank gives up"));
    BOOST_TEST((directory.names() == names{"source", "target"}));
    BOOST_TEST((directory.names("target") == before));
    open_checkpoint(world(), path("target"));
}

BOOST_AUTO_TEST_CASE(what_a_caller_throws_that_is_no_exception_stops_all_ranks_too) {
    int const last = world().size() - 1;
    BOOST_CHECK_EXCEPTION(run("target", {},
                              [&](index_t, index_t) {
                                  if (world().rank() == last)
                                      throw 7;
                              }),
                          error, says(errc::io, "a non-standard exception was thrown"));
    BOOST_TEST((directory.names() == names{"source"}));
}

BOOST_AUTO_TEST_CASE(a_target_that_appears_meanwhile_is_not_overwritten) {
    auto const somebody_else = [&](index_t done, index_t total) {
        if (world().rank() == 0 && done == total) {
            std::filesystem::create_directory(path("target"));
            write_file(path("target") / "other.safetensors", "other");
        }
    };
    BOOST_CHECK_EXCEPTION(
        run("target", {}, somebody_else), error,
        says(errc::already_exists,
             text("target") + ": another process has created it meanwhile; give another target"));
    BOOST_TEST((directory.names() == names{"source", "target"}));
    BOOST_TEST((directory.names("target") == names{"other.safetensors"}));
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_is_named) {
    refuses("no/target", {}, errc::io,
            text("no/target") + ": " + text("no") + ", its parent directory, does not exist");
    make_file("file", "");
    refuses("file/target", {}, errc::io,
            text("file/target") + ": " + text("file") +
                ", its parent directory, is not a directory");
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, "", {.program = program()}), error,
        says(errc::usage, "the target is an empty path; give the name of a directory"));
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_written_is_an_error_of_the_target) {
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, "/proc/target", {.program = program()}), error,
        says(errc::io, "/proc/target: cannot be written: No such file or directory"));
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, path(std::string(250, 'n')), {.program = program()}), error,
        says(errc::io, text(std::string(250, 'n')) + ": cannot be written: File name too long"));
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_full_for_one_rank_is_an_error_on_all) {
    run("target");
    auto const before = directory.names("target");
    int const last = world().size() - 1;
    std::string const file =
        "shard-0000" + std::to_string(last + 1) + "-model-00001-of-00001.safetensors";
    std::string problem;
    errc code{};
    {
        std::optional<file_size_limit> limit;
        if (world().rank() == last)
            limit.emplace(1000);
        try {
            run("target", {.replace = true});
        } catch (error const& thrown) {
            problem = thrown.what();
            code = thrown.code();
        }
    }
    BOOST_TEST(name(code) == "io");
    BOOST_TEST(problem.find("/.target.partial-") != problem.npos);
    std::string const begin = file + ": cannot reserve ";
    BOOST_TEST(problem.find(begin) != problem.npos);
    BOOST_TEST(problem.ends_with(" bytes: File too large"));
    BOOST_TEST((directory.names() == names{"source", "target"}));
    BOOST_TEST((directory.names("target") == before));
}

BOOST_AUTO_TEST_CASE(a_save_to_a_full_disk_leaves_nothing) {
    held tensors({whole_of("w", data_type::u8, {5000})});
    {
        file_size_limit const limit(4096);
        BOOST_CHECK_THROW(save(world(), tensors.tensors(), path("target")), error);
    }
    BOOST_TEST((directory.names() == names{"source"}));
    save(world(), tensors.tensors(), path("target"));
    BOOST_TEST((directory.names() == names{"source", "target"}));
}

BOOST_AUTO_TEST_CASE(a_target_layout_with_a_gap_is_refused_unless_it_may_be_partial) {
    shard_table shards(2);
    shards.push_back(0, {{0, 0}, {64, 63}});
    layout wanted = of_w(shards);
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, path("target"), {.program = program(), .wanted = wanted}), error,
        says(errc::not_covered, text("target") +
                                    ": 'w': the target layout gives elements [0:64, 63:64] of "
                                    "[64, 64] to no rank; add a shard, or allow a partial target"));
    shards.push_back(1, {{0, 62}, {64, 2}});
    wanted = of_w(shards);
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, path("target"), {.program = program(), .wanted = wanted}), error,
        says(errc::overlap, text("target") +
                                ": 'w': the target layout gives elements [0:64, 62:63] to unequal "
                                "shards, rank 0 [0:64, 0:63] and rank 1 [0:64, 62:64]; make them "
                                "equal, or allow a partial target"));
    BOOST_TEST((directory.names() == names{"source"}));
    auto const report =
        convert(world(), *source, path("target"),
                {.program = program(), .wanted = wanted, .writing = {.partial = true}});
    BOOST_TEST(report.bytes == 4 * 64 * 65);
}

BOOST_AUTO_TEST_CASE(tensors_with_a_gap_are_saved_only_where_that_is_allowed) {
    held const none({});
    held tensors({shard_of("w", data_type::u8, {4}, {1}, {2})});
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors.tensors(), path("target")), error,
        says(errc::not_covered, text("target") +
                                    ": 'w': the target layout gives elements [0:1] of [4] to no "
                                    "rank; add a shard, or allow a partial target"));
    save(world(), tensors.tensors(), path("target"),
         {.form = save_form::sharded, .writing = {.partial = true}});
    BOOST_TEST((directory.names("target") ==
                names{"reshard.json", "shard-00001-model-00001-of-00001.safetensors"}));
}

BOOST_AUTO_TEST_CASE(a_shard_of_half_a_pair_cannot_be_saved) {
    held tensors({whole_of("w", data_type::f4, {3})});
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors.tensors(), path("target")), error,
        says(errc::unsupported,
             text("target") +
                 ": \"w\": elements of float4_e2m1 are stored in pairs along the last axis, which "
                 "has 3 elements in shape [3]; readers of sharded_safetensors load only even "
                 "extents: cut between pairs, or cast it to bfloat16"));
    BOOST_TEST((directory.names() == names{"source"}));
}

BOOST_AUTO_TEST_SUITE_END()
