// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/plan_file.hpp>

#include "shared_directory.hpp"
#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/format/text_file.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/plan/make_plan.hpp>

/// \file
/// Plans in files, and files of other plans.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

plan small_plan() {
    return make_plan(whole_problem({{part("w", {6}, {{0}, {6}})}},
                                   {{part("w", {6}, {{0}, {4}})}, {part("w", {6}, {{4}, {2}})}})());
}

/// A file for each rank, in a directory that all of them see.
struct plan_file_fixture {
    shared_directory all;
    plan_scope const scope{{}, holder_set({static_cast<holder_t>(world().rank())})};

    std::filesystem::path path() const { return all / ("plan." + std::to_string(world().rank())); }
    std::string name() const { return path().string(); }

    std::string bytes() const { return read_text_file(path()); }
    void replace(std::string const& text) const { write_whole_file(path(), text); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_plan_file, plan_file_fixture)

BOOST_AUTO_TEST_CASE(a_plan_comes_back_for_what_it_was_made_from) {
    write_plan(path(), 7, small_plan());
    BOOST_TEST((read_plan(path(), 7) == small_plan()));
    write_plan(path(), 8, plan()); // in its place
    BOOST_TEST((read_plan(path(), 8) == plan()));
}

BOOST_AUTO_TEST_CASE(the_plan_of_something_else_is_refused_with_both_digests) {
    write_plan(path(), 7, small_plan());
    BOOST_CHECK_EXCEPTION(
        read_plan(path(), 8), error,
        says(errc::bad_layout,
             name() + ": this plan was made for other layouts, another program or other options "
                      "(digest 7); the digest is now 8; make the plan again"));
}

BOOST_AUTO_TEST_CASE(files_that_are_no_plans_any_more_are_refused) {
    write_plan(path(), 7, small_plan());
    std::string const text = bytes();
    replace(text.substr(0, text.size() - 1));
    BOOST_CHECK_EXCEPTION(read_plan(path(), 7), error, [&](error const& problem) {
        return problem.code() == errc::corrupt_file &&
               std::string(problem.what())
                   .starts_with(name() + ": the archive of a kept plan cannot be read to its end");
    });
    std::string altered = text;
    altered[altered.size() / 2] = static_cast<char>(altered[altered.size() / 2] ^ 1);
    replace(altered);
    BOOST_CHECK_EXCEPTION(read_plan(path(), 7), error, [&](error const& problem) {
        return problem.code() == errc::corrupt_file &&
               std::string(problem.what())
                   .starts_with(name() + ": the archive of a kept plan contradicts itself: its "
                                         "plan has checksum ");
    });
    std::string earlier = text;
    earlier[5] = 1;
    replace(earlier);
    BOOST_CHECK_EXCEPTION(
        read_plan(path(), 7), error,
        says(
            errc::unsupported,
            name() +
                ": the archive holds a kept plan of version 1, but this library reads version 13"));
    replace("");
    BOOST_CHECK_THROW(read_plan(path(), 7), error);
    std::filesystem::remove(path());
    BOOST_CHECK_EXCEPTION(read_plan(path(), 7), error,
                          says(errc::missing_file, name() + ": no such file"));
}

BOOST_AUTO_TEST_CASE(a_stale_plan_on_one_rank_is_an_error_on_every_rank) {
    write_plan(path(), plan_digest(7, scope), small_plan());
    BOOST_TEST((read_plan(world(), path(), 7, scope) == small_plan()));
    int const last = world().size() - 1;
    if (world().rank() == last)
        write_plan(path(), plan_digest(6, scope), small_plan());
    std::string const stale = (all / ("plan." + std::to_string(last))).string();
    BOOST_CHECK_EXCEPTION(read_plan(world(), path(), 7, scope), error, [&](error const& problem) {
        return problem.code() == errc::bad_layout &&
               std::string(problem.what()).starts_with(stale + ": this plan was made for other");
    });
}

BOOST_AUTO_TEST_CASE(ranks_with_other_structures_are_refused) {
    std::uint64_t const structure = world().rank() == 0 ? 7 : 8;
    write_plan(path(), plan_digest(structure, scope), small_plan());
    if (world().size() == 1)
        BOOST_CHECK_NO_THROW(read_plan(world(), path(), structure, scope));
    else
        BOOST_CHECK_EXCEPTION(read_plan(world(), path(), structure, scope), error,
                              says(errc::ranks_disagree,
                                   "rank 0 has a structure with digest 7, but rank 1 has "
                                   "digest 8; it must be equal on every rank"));
}

BOOST_AUTO_TEST_CASE(ranks_that_do_something_else_are_told_so) {
    if (world().size() == 1)
        return;
    write_plan(path(), plan_digest(7, scope), small_plan());
    auto const call = [&] {
        if (world().rank() == 0)
            read_plan(world(), path(), 7, scope);
        else
            agree_to_run(world(), "load", 0);
    };
    BOOST_CHECK_EXCEPTION(call(), error,
                          says(errc::ranks_disagree, "rank 0 runs read_plan and rank 1 runs load; "
                                                     "every rank must make the same call"));
}

BOOST_AUTO_TEST_CASE(where_a_file_cannot_be_written_the_error_names_it) {
    std::filesystem::path const nowhere = all / "nowhere" / "plan";
    BOOST_CHECK_EXCEPTION(write_plan(nowhere, 7, plan()), error,
                          says(errc::io, nowhere.string() + ": " + nowhere.parent_path().string() +
                                             ", its parent directory, does not exist"));
    std::filesystem::create_directories(path());
    BOOST_CHECK_EXCEPTION(
        write_plan(path(), 7, plan()), error,
        says(errc::io, name() + ": cannot be written, because it is a directory"));
}

BOOST_AUTO_TEST_SUITE_END()
