// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// The tensors that a job needs are looked for on all ranks before anything is written.

BOOST_AUTO_TEST_SUITE(storage_needs)

namespace {

using namespace reshard;
using namespace reshard::test;

/// Rank `r` holds the weight `w<r>` and what else is said to be beside it.
struct own_weight {
    std::vector<float> elements = std::vector<float>(2, static_cast<float>(world().rank()));
    std::vector<std::vector<float>> beside = {};
    state_dict tensors = {};

    explicit own_weight(std::vector<std::string> const& suffixes) {
        std::string const key = "w" + std::to_string(world().rank());
        add(key, elements);
        beside.assign(suffixes.size(), std::vector<float>(2, 5));
        for (std::size_t i = 0; i < suffixes.size(); ++i)
            add(key + suffixes[i], beside[i]);
    }

private:
    void add(std::string const& key, std::vector<float>& values) {
        tensors.add(replicated(key, data_type::f32, {2}),
                    tensor_view{values.data(), data_type::f32, {2}, {1}});
    }
};

std::vector<state_need> const moments{{"w*", {"*.m", "*.v"}}};

} // namespace

BOOST_AUTO_TEST_CASE(a_job_that_has_all_is_saved_and_loaded) {
    shared_directory const directory;
    own_weight const source({".m", ".v"});
    save(world(), source.tensors, directory / "saved", {.needs = moments});
    own_weight target({".m", ".v"});
    target.elements = {-1, -1};
    load(world(), open_checkpoint(world(), directory / "saved"), target.tensors,
         {.needs = moments});
    BOOST_TEST(target.elements == source.elements, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_of_the_layout_that_a_rank_does_not_give_is_an_error_on_all) {
    shared_directory const directory;
    int const last = world().size() - 1;
    own_weight const source({".m"});
    save(world(), source.tensors, directory / "saved");
    layout const all = gather_layout(world(), source.tensors.descriptors());
    own_weight target(world().rank() == last ? std::vector<std::string>{}
                                             : std::vector<std::string>{".m"});
    target.elements = {-1, -1};
    std::string const rank = std::to_string(last);
    BOOST_CHECK_EXCEPTION(
        load(world(), open_checkpoint(world(), directory / "saved"), {target.tensors, all}), error,
        mentions(errc::bad_layout,
                 "rank " + rank + " holds no tensor for w" + rank + ".m: float32 [2]"));
    BOOST_TEST(target.elements == (std::vector<float>{-1, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_the_last_rank_lacks_is_not_saved_by_any) {
    shared_directory const directory;
    int const last = world().size() - 1;
    own_weight const source(world().rank() == last ? std::vector<std::string>{".m", ".u"}
                                                   : std::vector<std::string>{".m", ".v"});
    std::string const key = "w" + std::to_string(last);
    BOOST_CHECK_EXCEPTION(
        save(world(), source.tensors, directory / "saved", {.needs = moments}), error,
        says(errc::unknown_key, (directory / "saved").string() +
                                    ": save_options.needs: 1 needed key is missing: '" + key +
                                    ".v' beside '" + key + "' (did you mean '" + key +
                                    ".u'?); give a tensor for each, or change save_options.needs"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(ranks_that_need_other_things_are_told) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    own_weight const source({".m", ".v"});
    BOOST_CHECK_EXCEPTION(
        save(world(), source.tensors, directory / "saved",
             {.needs = world().rank() == 0 ? moments : std::vector<state_need>{}}),
        error, [](error const& problem) { return problem.code() == errc::ranks_disagree; });
}

BOOST_AUTO_TEST_CASE(a_load_that_lacks_something_writes_nothing) {
    shared_directory const directory;
    own_weight const source({".m"});
    save(world(), source.tensors, directory / "saved");
    auto const saved = open_checkpoint(world(), directory / "saved");
    std::string const path = (directory / "saved").string();
    int const last = world().size() - 1;
    std::string const key = "w" + std::to_string(last);

    // The job itself has no such state, on the last rank.
    std::vector<float> const before{-1, -1};
    own_weight target(world().rank() == last ? std::vector<std::string>{}
                                             : std::vector<std::string>{".m"});
    target.elements = before;
    std::vector<state_need> const with_m{{"w*", {"*.m"}}};
    std::string const remainder = "; give a tensor for each, or change options.needs";
    BOOST_CHECK_EXCEPTION(
        load(world(), saved, target.tensors, {.needs = with_m}), error,
        says(errc::unknown_key, path + ": options.needs: 1 needed key is missing: '" + key +
                                    ".m' beside '" + key + "'" + remainder));
    BOOST_TEST(target.elements == before, boost::test_tools::per_element());

    // The job has it, the checkpoint does not, and `strict` would have left it out.
    own_weight wider({".m", ".v"});
    wider.elements = before;
    BOOST_CHECK_EXCEPTION(
        load(world(), saved, wider.tensors,
             {.strict = strictness::ignore_all, .needs = {{"w0.v"}}}),
        error,
        says(errc::unknown_key, path + ": options.needs: 1 needed key is missing: 'w0.v'" +
                                    " (did you mean 'w0.m'?)" + remainder));
    BOOST_TEST(wider.elements == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_common_value_and_an_object_are_needed_by_the_names_of_the_checkpoint) {
    shared_directory const directory;
    model_state const state{
        {"step", stored_value{"7"}},
        {"generator", stored_object{{"rng", {world().size()}, {world().rank()}}, "x"}}};
    std::vector<state_need> const needs{{"common/step"}, {"rng/shard_*"}};
    save_state(world(), state, directory / "saved", {.needs = needs});
    auto const saved = open_checkpoint(world(), directory / "saved");
    model_state target;
    BOOST_CHECK_EXCEPTION(
        load_state(world(), saved, target, {.needs = needs}), error,
        says(errc::unknown_key,
             (directory / "saved").string() +
                 ": options.needs: 1 needed key is missing: 'rng/shard_*', which no key "
                 "matches; give a tensor for each, or change options.needs"));
    target = state;
    load_state(world(), saved, target, {.needs = needs});
}

BOOST_AUTO_TEST_CASE(a_redistribution_takes_no_needs) {
    BOOST_CHECK_EXCEPTION(
        redistribute(solo(), const_state_dict(), state_dict(), {.needs = {{"w"}}}), error,
        says(errc::usage, "options.needs of size 1 is not used by a redistribution; pass it to a "
                          "load or a save"));
}

BOOST_AUTO_TEST_SUITE_END()
