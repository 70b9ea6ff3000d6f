// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/retention.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(storage_retention)

namespace {

using namespace reshard;
using namespace reshard::detail;

using names = std::vector<std::string>;

listed_save save_of(std::string const& name, std::int64_t completed,
                    std::map<std::string, double> const& numbers = {}, names const& needs = {}) {
    listed_save save{name};
    save.record = {"id of " + name, {}, {completed, numbers, needs}};
    return save;
}

listed_save in_state(std::string const& name, completeness state) {
    listed_save save{name};
    save.state = state;
    return save;
}

listed_save pinned(listed_save save) {
    save.is_pinned = true;
    return save;
}

/// What goes, in the order of the saves.
names what_goes(std::vector<listed_save> const& saves, retention const& rules) {
    auto const verdicts = judge(saves, rules);
    BOOST_TEST_REQUIRE(verdicts.size() == saves.size());
    names gone;
    for (std::size_t i = 0; i < saves.size(); ++i)
        if (verdicts[i].goes)
            gone.push_back(saves[i].name);
    return gone;
}

void goes(std::vector<listed_save> const& saves, retention const& rules, names const& expected) {
    BOOST_TEST(what_goes(saves, rules) == expected, boost::test_tools::per_element());
}

std::string why_of(std::vector<listed_save> const& saves, retention const& rules, std::size_t i) {
    return judge(saves, rules)[i].why;
}

std::vector<listed_save> const three{save_of("a", 10), save_of("b", 30), save_of("c", 20)};

double const none = std::nan("");

} // namespace

BOOST_AUTO_TEST_CASE(without_a_rule_all_stay) {
    goes(three, {}, {});
    goes({}, {.last = 1}, {});
}

BOOST_AUTO_TEST_CASE(the_last_stay_by_their_times) {
    goes(three, {.last = 1}, {"a", "c"});
    goes(three, {.last = 2}, {"a"});
    goes(three, {.last = 3}, {});
    goes(three, {.last = 4}, {});
    BOOST_TEST(why_of(three, {.last = 2}, 1) == "one of the last 2");
}

BOOST_AUTO_TEST_CASE(of_equal_times_names_decide_and_numbers_in_them_are_numbers) {
    goes({save_of("step_100", 5), save_of("step_90", 5), save_of("step_9", 5)}, {.last = 1},
         {"step_90", "step_9"});
    goes({save_of("a", 5), save_of("b", 5)}, {.last = 1}, {"a"});
    goes({save_of("a1", 5), save_of("a", 5)}, {.last = 1}, {"a"});
    goes({save_of("a01", 5), save_of("a1", 5)}, {.last = 1}, {"a01"});
}

BOOST_AUTO_TEST_CASE(a_record_without_a_time_is_older_than_all_others) {
    goes({save_of("z", 0), save_of("a", 1)}, {.last = 1}, {"z"});
}

BOOST_AUTO_TEST_CASE(the_only_one_never_goes) {
    goes({save_of("a", 1)}, {.last = 0}, {});
    goes(three, {.last = 0}, {"a", "c"});
    goes({save_of("a", 1), in_state("b", completeness::damaged),
          in_state("c", completeness::foreign)},
         {.last = 0}, {});
    BOOST_TEST(why_of(three, {.last = 0}, 1) == "the newest; one complete checkpoint always stays");
}

BOOST_AUTO_TEST_CASE(the_best_stay_by_a_number) {
    std::vector<listed_save> const saves{save_of("a", 1, {{"loss", 3}}),
                                         save_of("b", 2, {{"loss", 1}}),
                                         save_of("c", 3, {{"loss", 2}})};
    goes(saves, {.best = 1, .by = "loss"}, {"a", "c"});
    goes(saves, {.best = 2, .by = "loss"}, {"a"});
    goes(saves, {.best = 1, .by = "loss", .highest = true}, {"b", "c"});
    goes(saves, {.last = 1, .best = 1, .by = "loss"}, {"a"});
    BOOST_TEST(why_of(saves, {.best = 1, .by = "loss"}, 1) == "one of the best 1 by 'loss'");
}

BOOST_AUTO_TEST_CASE(what_has_no_number_or_none_that_is_one_is_not_among_the_best) {
    std::vector<listed_save> const saves{
        save_of("a", 1, {{"loss", none}}), save_of("b", 2, {{"step", -9}}),
        save_of("c", 3, {{"loss", 2}}), save_of("d", 4, {{"loss", -HUGE_VAL}})};
    goes(saves, {.best = 1, .by = "loss"}, {"a", "b", "d"});
    goes(saves, {.best = 4, .by = "loss"}, {"a", "b", "d"});
    goes(saves, {.best = 4, .by = "loss", .highest = true}, {"a", "b", "d"});
    goes({save_of("a", 1, {{"loss", none}}), save_of("b", 2, {{"loss", none}})},
         {.best = 1, .by = "loss"}, {"a"});
}

BOOST_AUTO_TEST_CASE(of_equal_numbers_the_newer_is_better) {
    std::vector<listed_save> const saves{save_of("a", 1, {{"loss", 1}}),
                                         save_of("b", 3, {{"loss", 1}}),
                                         save_of("c", 2, {{"loss", 1}})};
    goes(saves, {.best = 1, .by = "loss"}, {"a", "c"});
    goes(saves, {.best = 2, .by = "loss", .highest = true}, {"a"});
}

BOOST_AUTO_TEST_CASE(what_is_pinned_stays) {
    std::vector<listed_save> saves{pinned(save_of("a", 1)), save_of("b", 2), save_of("c", 3)};
    goes(saves, {.last = 1}, {"b"});
    goes(saves, {.last = 0}, {"b", "c"}); // one stays: the pinned one
    for (listed_save& save : saves)
        save.is_pinned = true;
    goes(saves, {.last = 0}, {});
}

BOOST_AUTO_TEST_CASE(what_is_not_complete_stays_and_is_not_counted) {
    std::vector<listed_save> const saves{save_of("a", 1), in_state("b", completeness::damaged),
                                         in_state("c", completeness::foreign), save_of("d", 2)};
    goes(saves, {.last = 1}, {"a"});
    goes(saves, {.last = 2}, {});
}

BOOST_AUTO_TEST_CASE(a_save_in_progress_stays_and_so_does_what_it_may_need) {
    listed_save temporary = in_state(".c.partial-x", completeness::in_progress);
    temporary.target = "c";
    std::vector<listed_save> const saves{
        temporary, save_of("a", 1, {{"loss", 1}}), save_of("b", 3, {{"loss", 2}}),
        save_of("c", 2, {{"loss", 3}}), save_of("d", 1, {{"loss", 4}})};
    goes(saves, {.best = 1, .by = "loss"}, {"d"}); // b is the newest, c is being replaced
    BOOST_TEST(why_of(saves, {.best = 1, .by = "loss"}, 3) == "a save of it is in progress");
}

BOOST_AUTO_TEST_CASE(what_a_dead_writer_has_left_goes) {
    listed_save leftover = in_state(".a.partial-x", completeness::leftover);
    leftover.target = "a";
    goes({leftover, save_of("a", 1)}, {}, {".a.partial-x"});
}

BOOST_AUTO_TEST_CASE(what_a_save_that_stays_needs_stays) {
    std::vector<listed_save> const chain{save_of("a", 1), save_of("b", 2, {}, {"id of a"}),
                                         save_of("c", 3, {}, {"id of b"}),
                                         save_of("d", 4, {}, {"id of a"}), save_of("e", 5)};
    goes(chain, {.last = 1}, {"a", "b", "c", "d"});
    goes(chain, {.last = 2}, {"b", "c"});
    goes(chain, {.last = 3}, {});
    BOOST_TEST(why_of(chain, {.last = 2}, 0) == "'d' needs it");
    goes({save_of("a", 1), pinned(save_of("b", 2, {}, {"id of a", "id of none"})), save_of("c", 3)},
         {.last = 1}, {});
    listed_save damaged = save_of("b", 2, {}, {"id of a"});
    damaged.state = completeness::damaged; // it may be mended
    goes({save_of("a", 1), damaged, save_of("c", 3)}, {.last = 1}, {});
}

BOOST_AUTO_TEST_CASE(the_base_of_a_save_in_progress_stays_with_those_that_it_needs) {
    std::vector<listed_save> saves{save_of("a", 1), save_of("b", 2, {}, {"id of a"}),
                                   save_of("c", 3), save_of("d", 4)};
    goes(saves, {.last = 1}, {"a", "b", "c"});
    saves[1].is_in_use = true;
    goes(saves, {.last = 1}, {"c"});
    BOOST_TEST(why_of(saves, {.last = 1}, 1) == "a save in progress is a delta of it");
    BOOST_TEST(why_of(saves, {.last = 1}, 0) == "'b' needs it");
}

BOOST_AUTO_TEST_CASE(what_has_files_of_others_in_it_stays) {
    listed_save mixed = save_of("a", 1);
    mixed.stranger = "optimizer.pt";
    goes({mixed, save_of("b", 2), save_of("c", 3)}, {.last = 1}, {"b"});
    BOOST_TEST(why_of({mixed, save_of("b", 2)}, {.last = 1}, 0).find("'optimizer.pt'") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(rules_that_make_no_sense_are_refused) {
    auto const refuses = [](retention const& rules, std::string const& sentence) {
        std::vector<listed_save> const saves{save_of("a", 1, {{"loss", 1}, {"step", 2}})};
        BOOST_CHECK_EXCEPTION(judge(saves, rules), error, test::mentions(errc::usage, sentence));
    };
    refuses({.last = -1}, "-1");
    refuses({.best = -2, .by = "loss"}, "-2");
    refuses({.best = 1}, "retention::best needs retention::by");
    refuses({.by = "loss"}, "retention::by, 'loss', needs retention::best");
    refuses({.best = 1, .by = "los"},
            "no checkpoint has the number 'los'; their numbers are 'loss', 'step'");
    BOOST_CHECK_EXCEPTION(judge(three, {.best = 1, .by = "loss"}), error,
                          test::mentions(errc::usage, "the checkpoints have no numbers"));
    goes({in_state("c", completeness::foreign)}, {.best = 1, .by = "loss"}, {});
}

BOOST_AUTO_TEST_SUITE_END()
