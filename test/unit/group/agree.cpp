// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/agree.hpp>

#include "support/says.hpp"

#include <reshard/group/solo.hpp>

#include <new>
#include <string_view>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(group_agree)

namespace {

struct left_collective {};

/// One rank of several that take turns in this thread: it first notes its value, and leaves the
/// collective; when all have, it is called again and gets everybody's text.
struct turn_keeper {
    int number;
    std::vector<std::vector<std::string>> const* complete; ///< collectives that all have come to
    std::vector<std::string>* texts;                       ///< of the next one
    mutable std::size_t calls = 0;

    int rank() const { return number; }
    int size() const { return static_cast<int>(texts->size()); }
    std::vector<std::string> all_gather(std::string const& bytes) const {
        if (calls < complete->size())
            return (*complete)[calls++];
        (*texts)[static_cast<std::size_t>(number)] = bytes;
        throw left_collective();
    }
};

static_assert(group<turn_keeper>);

/// The result of each of `ranks` ranks when all call `work(group)`.
template <class Work>
std::vector<local_error> outcomes(int ranks, Work&& work) {
    std::vector<std::vector<std::string>> complete;
    for (;;) {
        std::vector<std::string> texts(static_cast<std::size_t>(ranks));
        std::vector<local_error> results(texts.size());
        bool is_over = true;
        for (int rank = 0; rank < ranks; ++rank)
            try {
                work(turn_keeper{rank, &complete, &texts});
            } catch (left_collective const&) {
                is_over = false;
            } catch (error const& problem) {
                results[static_cast<std::size_t>(rank)] = problem;
            }
        if (is_over)
            return results;
        complete.push_back(std::move(texts));
    }
}

void check_all(std::vector<local_error> const& results, errc code, std::string const& text) {
    for (local_error const& error : results) {
        BOOST_TEST_REQUIRE(error.has_value());
        BOOST_TEST(name(error->code()) == name(code));
        BOOST_TEST(error->what() == text);
    }
}

bool none_failed(std::vector<local_error> const& results) {
    for (local_error const& error : results)
        if (error)
            return false;
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(work_that_succeeds_leaves_no_error) {
    int calls = 0;
    BOOST_TEST(!attempt([&] { ++calls; }));
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(the_error_of_work_is_kept_as_it_is) {
    local_error const problem = attempt([] { fail(errc::overlap, "'w' twice"); });
    BOOST_TEST_REQUIRE(problem.has_value());
    BOOST_TEST(name(problem->code()) == "overlap");
    BOOST_TEST(problem->what() == "'w' twice");
}

BOOST_AUTO_TEST_CASE(other_exceptions_become_errors_of_the_system) {
    local_error const error = attempt([] { throw std::runtime_error("disk full"); });
    BOOST_TEST_REQUIRE(error.has_value());
    BOOST_TEST(name(error->code()) == "io");
    BOOST_TEST(error->what() == "disk full");
    local_error const memory = attempt([] { throw std::bad_alloc(); });
    BOOST_TEST_REQUIRE(memory.has_value());
    BOOST_TEST(name(memory->code()) == "io");
    BOOST_TEST(memory->what() == "out of memory");
    local_error const unknown = attempt([] { throw 7; });
    BOOST_TEST_REQUIRE(unknown.has_value());
    BOOST_TEST(name(unknown->code()) == "io");
}

BOOST_AUTO_TEST_CASE(without_errors_all_ranks_go_on) {
    BOOST_TEST(none_failed(outcomes(3, [](auto const& world) { agree(world, {}); })));
    BOOST_CHECK_NO_THROW(agree(solo{}, {}));
}

BOOST_AUTO_TEST_CASE(a_group_of_one_throws_its_own_error) {
    BOOST_CHECK_EXCEPTION(agree(solo{}, error(errc::io, "no disk")), error,
                          says(errc::io, "no disk"));
}

BOOST_AUTO_TEST_CASE(every_rank_throws_the_error_of_the_lowest) {
    auto const results = outcomes(4, [](auto const& world) {
        agree(world, world.rank() == 2   ? local_error(error(errc::overlap, "of rank 2"))
                     : world.rank() == 1 ? local_error(error(errc::corrupt_file, "of rank 1"))
                                         : std::nullopt);
    });
    check_all(results, errc::corrupt_file, "of rank 1");
}

BOOST_AUTO_TEST_CASE(the_first_and_the_last_code_travel_unharmed) {
    for (errc const code : {errc::syntax, errc::io})
        check_all(outcomes(2,
                           [&](auto const& world) {
                               agree(world, world.rank() == 1 ? local_error(error(code, ""))
                                                              : std::nullopt);
                           }),
                  code, "");
}

BOOST_AUTO_TEST_CASE(work_that_fails_on_one_rank_fails_on_all) {
    std::vector<int> calls(3);
    auto const results = outcomes(3, [&](auto const& world) {
        agree_on(world, [&] {
            ++calls[static_cast<std::size_t>(world.rank())];
            if (world.rank() == 2)
                fail(errc::missing_file, "a.bin is not there");
        });
    });
    check_all(results, errc::missing_file, "a.bin is not there");
    BOOST_TEST(calls == (std::vector{2, 2, 2}), boost::test_tools::per_element()); // two turns
}

BOOST_AUTO_TEST_CASE(equal_calls_run) {
    BOOST_TEST(none_failed(
        outcomes(3, [](auto const& world) { agree_to_run(world, "save", 0xffffffffffffffff); })));
}

BOOST_AUTO_TEST_CASE(ranks_that_do_different_things_are_told_so) {
    auto const results = outcomes(
        3, [](auto const& world) { agree_to_run(world, world.rank() == 2 ? "load" : "save", 7); });
    check_all(results, errc::ranks_disagree,
              "rank 0 runs save and rank 2 runs load; every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(operations_may_have_any_sign_in_their_names) {
    auto const results = outcomes(2, [](auto const& world) {
        agree_to_run(world, world.rank() == 1 ? "save of 'a#1'" : "load of 'b'", 7);
    });
    check_all(
        results, errc::ranks_disagree,
        "rank 0 runs load of 'b' and rank 1 runs save of 'a#1'; every rank must make the same "
        "call");
}

BOOST_AUTO_TEST_CASE(one_operation_with_two_programs_is_a_difference_too) {
    auto const results = outcomes(
        3, [](auto const& world) { agree_to_run(world, "load", world.rank() == 1 ? 7 : 8); });
    check_all(results, errc::ranks_disagree,
              "rank 0 runs load and rank 1 runs it with a different program or different options; "
              "every rank must make the same call");
}

/// Two options that have names.
struct two_options {
    int width = 1;
    std::vector<std::string> keys = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.width, self.keys); }
    static constexpr std::string_view member_names[] = {"width", "keys"};
};

/// The result of a load with the options of this rank, on each of three ranks.
std::vector<local_error> load_with(std::vector<two_options> const& options) {
    return outcomes(3, [&](auto const& world) {
        compared_values fingerprint("options", options[static_cast<std::size_t>(world.rank())]);
        agree_to_run(world, "load", fingerprint);
    });
}

BOOST_AUTO_TEST_CASE(the_option_that_differs_is_named) {
    check_all(load_with({{}, {}, {.width = 2}}), errc::ranks_disagree,
              "rank 0 runs load with options.width 1 and rank 2 with 2; every rank must make the "
              "same call");
    check_all(load_with({{}, {.keys = {"w"}}, {.width = 2}}), errc::ranks_disagree,
              "rank 0 runs load with options.width 1 and rank 2 with 2; every rank must make the "
              "same call");
    check_all(load_with({{}, {.keys = {"w"}}, {}}), errc::ranks_disagree,
              "rank 0 runs load and rank 1 runs it with a different options.keys; every rank must "
              "make the same call");
    BOOST_TEST(none_failed(load_with({{3, {"w"}}, {3, {"w"}}, {3, {"w"}}})));
}

BOOST_AUTO_TEST_CASE(what_only_some_ranks_have_is_named) {
    auto const results = outcomes(2, [](auto const& world) {
        compared_values fingerprint;
        fingerprint.add_digest("program", 7);
        fingerprint.add_presence("options.cache", world.rank() == 1);
        agree_to_run(world, "load", fingerprint);
    });
    check_all(results, errc::ranks_disagree,
              "rank 0 runs load with options.cache none and rank 1 with set; every rank must make "
              "the same call");
}

BOOST_AUTO_TEST_CASE(options_are_not_compared_where_a_rank_is_in_another_call) {
    auto const results = outcomes(3, [](auto const& world) {
        compared_values const fingerprint("width", world.rank());
        agree_to_run(world, world.rank() == 2 ? "save" : "load", fingerprint);
    });
    check_all(results, errc::ranks_disagree,
              "rank 0 runs load and rank 1 runs it with a different program or different options; "
              "every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(a_rank_in_the_midst_of_something_runs_something_else) {
    auto const results = outcomes(2, [](turn_keeper const& rank) {
        if (rank.number == 0)
            agree_to_run(rank, "load", 7);
        else
            agree(rank, std::nullopt);
    });
    BOOST_TEST_REQUIRE(results[0].has_value());
    BOOST_TEST(
        results[0]->what() ==
        "rank 0 runs load and rank 1 runs something else; every rank must make the same call");
    BOOST_TEST_REQUIRE(results[1].has_value()); // it would wait for rank 0 in its next collective
    BOOST_TEST((results[1]->code() == errc::ranks_disagree));
    BOOST_TEST(results[1]->what() == "rank 0 runs load while other ranks are in another call; "
                                     "every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(an_error_that_is_known_comes_before_a_difference) {
    auto const results = outcomes(3, [](auto const& world) {
        agree_to_run(world, "load", static_cast<std::uint64_t>(world.rank()),
                     world.rank() == 2 ? local_error(error(errc::usage, "no path")) : std::nullopt);
    });
    check_all(results, errc::usage, "no path");
}

BOOST_AUTO_TEST_SUITE_END()
