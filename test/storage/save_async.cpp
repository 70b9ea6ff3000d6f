// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/save_async.hpp>

#include <reshard/storage/load.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>

/// \file
/// Saves in the background: tensors may change at once, and their old values are saved.

namespace {

using namespace reshard;
using namespace reshard::test;

using names = std::vector<std::string>;

/// Rows of `w`, of which the last rank has most, and `everywhere` on all ranks.
held rows() {
    int const rank = world().rank(), size = world().size();
    index_t const count = rank + 1 == size ? 7 : 1;
    return held({shard_of("w", data_type::f32, {size + 6, 5}, {rank, 0}, {count, 5}),
                 whole_of("everywhere", data_type::u8, {100})});
}

/// Columns of `w`, which no rank holds as a Hugging Face file has them.
held columns() {
    int const rank = world().rank(), size = world().size();
    return held({shard_of("w", data_type::f32, {3, size}, {0, rank}, {3, 1}),
                 whole_of("scalar", data_type::f64, {})});
}

void clear(held& tensors) { tensors.cleared(); }

/// Loads a checkpoint into the tensors, and returns the errors.
std::string wrong_in(std::filesystem::path const& path, held& tensors) {
    checkpoint const saved = open_checkpoint(world(), path);
    load(world(), saved, tensors.cleared().tensors());
    return tensors.wrong() + (verify(world(), saved).ok() ? "" : " and digests differ");
}

} // namespace

BOOST_AUTO_TEST_SUITE(storage_save_async)

BOOST_AUTO_TEST_CASE(tensors_may_change_as_soon_as_it_returns) {
    shared_directory const directory;
    async_saver saver;
    for (save_form const form : {save_form::sharded, save_form::huggingface})
        for (held (*const make)() : {&rows, &columns}) {
            held tensors = make();
            auto const path =
                directory / std::to_string(2 * static_cast<int>(form) + (make == &rows ? 0 : 1));
            auto const done = save_async(world(), tensors.tensors(), path, saver, {.form = form});
            clear(tensors);
            save_report const report = done.get();
            meet();
            BOOST_TEST(wrong_in(path, tensors) == "");
            BOOST_TEST(report.save == open_checkpoint(world(), path).metadata().save);
        }
    BOOST_TEST((directory.names() == names{"0", "1", "2", "3"}));
}

BOOST_AUTO_TEST_CASE(it_writes_what_a_save_in_the_foreground_writes) {
    shared_directory const directory;
    held tensors = rows();
    async_saver saver;
    save(world(), tensors.tensors(), directory / "now");
    save_async(world(), tensors.tensors(), directory / "later", saver).wait();
    meet();
    BOOST_TEST((directory.names("now") == directory.names("later")));
    for (std::string const& name : directory.names("now"))
        BOOST_TEST(
            (lasting_bytes(directory / "now" / name) == lasting_bytes(directory / "later" / name)));
}

BOOST_AUTO_TEST_CASE(many_saves_queue) {
    shared_directory const directory;
    held tensors = rows();
    {
        async_saver saver;
        for (int i = 0; i < 5; ++i) {
            save_async(world(), tensors.tensors(), directory / std::to_string(i), saver);
            clear(tensors);
            tensors = rows();
        }
    }
    meet(); // each saver has written its part, and the last one completed each save
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(wrong_in(directory / std::to_string(i), tensors) == "");
    BOOST_TEST((directory.names() == names{"0", "1", "2", "3", "4"}));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_replaced_when_the_new_one_is_complete) {
    shared_directory const directory;
    held tensors = rows();
    async_saver saver;
    save(world(), columns().tensors(), directory / "one");
    BOOST_CHECK_EXCEPTION(save_async(world(), tensors.tensors(), directory / "one", saver), error,
                          mentions(errc::already_exists, "already exists"));
    save_async(world(), tensors.tensors(), directory / "one", saver,
               {.form = save_form::sharded, .writing = {.replace = true}})
        .get();
    meet();
    BOOST_TEST(wrong_in(directory / "one", tensors) == "");
    BOOST_TEST((directory.names() == names{"one"}));
}

BOOST_AUTO_TEST_CASE(an_error_is_that_of_the_future_and_of_the_next_save) {
    shared_directory const directory;
    held tensors({whole_of("w", data_type::u8, {50000})});
    async_saver saver;
    auto const limited = [&] {
        rlimit before{};
        ::getrlimit(RLIMIT_FSIZE, &before);
        rlimit const limit{4096, before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        auto const failed = save_async(world(), tensors.tensors(), directory / "one", saver);
        failed.wait();
        meet();
        ::setrlimit(RLIMIT_FSIZE, &before);
        return failed;
    }();
    BOOST_CHECK_EXCEPTION(limited.get(), error, mentions(errc::io, "File too large"));
    BOOST_CHECK_EXCEPTION(save_async(world(), tensors.tensors(), directory / "two", saver), error,
                          mentions(errc::io, "File too large"));
    save_async(world(), tensors.tensors(), directory / "two", saver).get();
    meet();
    BOOST_TEST(wrong_in(directory / "two", tensors) == "");
    BOOST_TEST((directory.names() == names{"two"}));
}

BOOST_AUTO_TEST_SUITE_END()
