// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/shared_save.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <fcntl.h>

/// \file
/// One process of several completes a save, and all of them have the same end. Here one process plays
/// all of them.

namespace {

using namespace reshard;
using namespace reshard::test;

/// Two processes that save to `one`; each rank has its own directory.
class two_processes {
public:
    two_processes() {
        std::filesystem::create_directory(temporary);
        seen = detail::file_descriptor::open(temporary.string(), O_RDONLY | O_DIRECTORY);
    }

    detail::shared_save rank(int number) const { return {target, temporary, seen, number, 2}; }

    /// The result of a look at the directory: an error, or how often `complete` was run.
    std::string look(int number, std::string const& problem = {}) {
        int count = 0;
        try {
            detail::complete_if_ready(rank(number), [&](detail::runs_by_rank const& runs) {
                BOOST_TEST(runs.size() == 2u);
                BOOST_TEST(runs.back().front().first_chunk == 7u);
                ++count;
                if (!problem.empty())
                    fail(errc::io, problem);
            });
        } catch (error const& failed) {
            return failed.what();
        }
        return std::to_string(count);
    }

    void publish(int number) {
        detail::publish_runs(rank(number), {{0, 0, number == 1 ? 7u : 0u, {1, 2}}});
    }

    shared_directory directory;
    std::filesystem::path own = directory / std::to_string(world().rank());
    std::filesystem::path target = own.string() + "-one";
    std::filesystem::path temporary = own.string() + "-temporary";
    detail::file_descriptor seen;
};

} // namespace

BOOST_AUTO_TEST_SUITE(storage_shared_save)

BOOST_AUTO_TEST_CASE(it_is_completed_once_when_all_have_written) {
    two_processes both;
    BOOST_TEST(both.look(0) == "0");
    both.publish(1);
    BOOST_TEST(both.look(1) == "0");
    both.publish(0);
    BOOST_TEST(both.look(1) == "1");
    BOOST_TEST(both.look(0) == "0"); // which has not ended its claim
}

BOOST_AUTO_TEST_CASE(who_has_no_claim_does_not_miss_what_is_removed) {
    two_processes both;
    both.publish(0);
    both.publish(1);
    BOOST_TEST(detail::claim(both.rank(1)));
    BOOST_TEST(!detail::claim(both.rank(0)));
    std::filesystem::remove(both.temporary / ".written-1");
    BOOST_TEST(both.look(0) == "0");
}

BOOST_AUTO_TEST_CASE(what_another_one_has_replaced_is_not_touched) {
    two_processes both;
    std::filesystem::rename(both.temporary, both.target);
    std::filesystem::create_directory(both.temporary); // the content of the target
    BOOST_TEST(!detail::claim(both.rank(0)));
    BOOST_TEST(std::filesystem::is_empty(both.temporary));
}

BOOST_AUTO_TEST_CASE(what_another_one_is_about_to_put_in_place_is_not_claimed) {
    two_processes both; // without notes and claim, which that one has removed
    BOOST_TEST(!detail::claim(both.rank(0)));
    BOOST_TEST(std::filesystem::is_empty(both.temporary));
    std::filesystem::rename(both.temporary, both.target);
    BOOST_TEST(!detail::claim(both.rank(0)));
    BOOST_TEST(std::filesystem::is_empty(both.target));
}

BOOST_AUTO_TEST_CASE(who_fails_to_complete_it_fails_for_all) {
    two_processes both;
    both.publish(0);
    both.publish(1);
    BOOST_TEST(both.look(1, "no room") == "no room");
    BOOST_TEST(both.look(0) == "no room");
    BOOST_TEST(both.look(1) == "no room");
}

BOOST_AUTO_TEST_CASE(a_note_that_cannot_be_read_is_the_error_of_all) {
    two_processes both;
    both.publish(0);
    std::ofstream(both.temporary / ".written-1") << "no note";
    std::string const first = both.look(0);
    BOOST_TEST(first.find("note of another rank") != std::string::npos, first);
    BOOST_TEST(both.look(1) == first);
    BOOST_TEST(!std::filesystem::exists(both.temporary / ".completing"));
}

BOOST_AUTO_TEST_CASE(the_error_of_the_lowest_process_is_that_of_all) {
    two_processes both;
    detail::publish_failure(both.rank(1), errc::io, "rank 1: no room");
    BOOST_TEST(both.look(0) == "rank 1: no room");
    detail::publish_failure(both.rank(0), errc::io, "rank 0: no disk");
    BOOST_TEST(both.look(1) == "rank 0: no disk");
}

BOOST_AUTO_TEST_CASE(a_process_that_could_not_say_why_it_failed_is_named) {
    two_processes both;
    std::ofstream(both.temporary / ".failed-1");
    BOOST_TEST(both.look(0) == both.target.string() +
                                   ": rank 1 could not write its part; see the error of that rank");
}

BOOST_AUTO_TEST_SUITE_END()
