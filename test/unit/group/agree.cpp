// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/agree.hpp>

#include "support/says.hpp"

#include <reshard/group/solo.hpp>

#include <memory>
#include <stdexcept>

using namespace reshard;
using reshard::test::says;

namespace {

/// Ranks that act one after the other: each says what it has to say, and hears what those before it said.
///
/// The last one hears all, so what it throws is what all throw.
class in_turn {
public:
    in_turn(int rank, int size, std::shared_ptr<std::vector<std::string>> said)
        : rank_(rank), size_(size), said_(std::move(said)) {}

    int rank() const { return rank_; }
    int size() const { return size_; }

    std::vector<std::string> all_gather(std::string const& bytes) const {
        said_->push_back(bytes);
        return *said_;
    }

private:
    int rank_;
    int size_;
    std::shared_ptr<std::vector<std::string>> said_;
};

static_assert(group<in_turn>);

/// What the last of `size` ranks throws when each of them does `work(group)`.
template <class Work>
local_error last_of(int size, Work&& work) {
    auto const said = std::make_shared<std::vector<std::string>>();
    local_error heard;
    for (int rank = 0; rank < size; ++rank)
        heard = attempt([&] { work(in_turn(rank, size, said)); });
    return heard;
}

bool is(local_error const& found, errc code, std::string const& text) {
    return found && says(code, text)(*found);
}

} // namespace

BOOST_AUTO_TEST_SUITE(group_agree)

BOOST_AUTO_TEST_CASE(an_attempt_is_nothing_or_an_error) {
    BOOST_TEST(!attempt([] {}));
    BOOST_TEST(is(attempt([] { fail(errc::overlap, "both"); }), errc::overlap, "both"));
    BOOST_TEST(is(attempt([] { throw std::runtime_error("disk"); }), errc::io, "disk"));
    BOOST_TEST(is(attempt([] { throw 7; }), errc::io, "something was thrown that is no exception"));
}

BOOST_AUTO_TEST_CASE(nothing_happens_where_nobody_fails) {
    agree(solo(), std::nullopt);
    agree_on(solo(), [] {});
    BOOST_TEST(!last_of(3, [](in_turn const& world) { agree(world, std::nullopt); }));
}

BOOST_AUTO_TEST_CASE(the_lowest_failing_rank_speaks) {
    auto const found = last_of(4, [](in_turn const& world) {
        agree_on(world, [&] {
            if (world.rank() == 1)
                fail(errc::not_covered, "of rank 1");
            if (world.rank() == 2)
                fail(errc::io, "of rank 2");
        });
    });
    BOOST_TEST(is(found, errc::not_covered, "of rank 1"));
}

BOOST_AUTO_TEST_CASE(every_code_and_every_byte_of_a_message_arrives) {
    for (int code = 0; code <= static_cast<int>(errc::io); ++code) {
        std::string const text("line\n\0 and more", 15);
        BOOST_CHECK_EXCEPTION(agree(solo(), error(static_cast<errc>(code), text)), error,
                              [&](error const& problem) {
                                  return problem.code() == static_cast<errc>(code) &&
                                         std::string(problem.what()) == text.c_str();
                              });
    }
    BOOST_CHECK_EXCEPTION(agree(solo(), error(errc::io, "")), error, says(errc::io, ""));
}

BOOST_AUTO_TEST_CASE(ranks_that_do_the_same_go_on) {
    BOOST_TEST(!last_of(3, [](in_turn const& world) { agree_to_run(world, "load", 42); }));
}

BOOST_AUTO_TEST_CASE(ranks_with_other_options_are_named) {
    auto const found = last_of(
        4, [](in_turn const& world) { agree_to_run(world, "load", world.rank() >= 2 ? 7u : 8u); });
    BOOST_TEST(
        is(found, errc::ranks_disagree,
           "rank 0 runs load and rank 2 runs it with another program or other options; every "
           "rank must make the same call"));
}

BOOST_AUTO_TEST_CASE(ranks_that_run_other_operations_are_named) {
    auto const found = last_of(3, [](in_turn const& world) {
        agree_to_run(world, world.rank() == 1 ? "save of 'a#1'" : "load of 'b'", 7);
    });
    BOOST_TEST(is(found, errc::ranks_disagree,
                  "rank 0 runs load of 'b' and rank 1 runs save of 'a#1'; every rank must make the "
                  "same call"));
}

BOOST_AUTO_TEST_CASE(an_error_that_is_known_before_goes_first) {
    auto const found = last_of(3, [](in_turn const& world) {
        agree_to_run(world, "load", static_cast<std::uint64_t>(world.rank()),
                     world.rank() == 2 ? local_error(error(errc::missing_file, "no file"))
                                       : std::nullopt);
    });
    BOOST_TEST(is(found, errc::missing_file, "no file"));
}

BOOST_AUTO_TEST_SUITE_END()
