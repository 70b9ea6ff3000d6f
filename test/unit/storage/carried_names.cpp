// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/convert.hpp>

#include <reshard/expr/algebra.hpp>
#include <reshard/storage/impl/carried_names.ipp>

#include "support/says.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(storage_carried_names)

namespace {

/// A model of four parameters, and state of each but the last one.
catalog model_with_state() {
    std::vector<catalog_entry> entries;
    auto const add = [&](std::string key) {
        entries.push_back({std::move(key), data_type::f32, {2}, {1}});
    };
    for (std::string const name : {"l.q", "l.k", "l.o"}) {
        add("model." + name);
        add("optim.state." + name + ".exp_avg");
    }
    add("model.norm");
    return catalog(entries);
}

saved_object list(std::string key, texts const& names) {
    return {std::move(key), archive_of(names)};
}

texts keys(std::vector<saved_object> const& objects) {
    texts all_texts;
    for (saved_object const& object : objects)
        all_texts.push_back(object.key);
    return all_texts;
}

expression of(mapping& program, std::string const& key) {
    return program.source(key, {2}, data_type::f32);
}

} // namespace

BOOST_AUTO_TEST_CASE(lists_of_parameters_have_the_names_that_a_program_gives) {
    mapping program(model_with_state());
    program.define("model.l.qk", concat({of(program, "model.l.q"), of(program, "model.l.k")}, 0));
    program.define("optim.state.l.qk.exp_avg", concat({of(program, "optim.state.l.q.exp_avg"),
                                                       of(program, "optim.state.l.k.exp_avg")},
                                                      0));
    auto halves = split(of(program, "model.l.o"), 0, std::size_t{2});
    program.define("model.l.o1", halves[1]);
    program.define("model.l.o0", halves[0]);
    program.define("model.n", of(program, "model.norm"));
    auto const renamed = carried_names(program).rename(
        {list("optim.param_groups.0.params", {"l.q", "l.k", "l.o", "another"}),
         list("optim.param_groups.1.params", {"norm"}), list("names", {"l.q"})});
    BOOST_TEST(texts_in(renamed[0]).value() == (texts{"l.qk", "l.o0", "l.o1", "another"}),
               boost::test_tools::per_element());
    BOOST_TEST(texts_in(renamed[1]).value() == texts{"n"}, boost::test_tools::per_element());
    BOOST_TEST(texts_in(renamed[2]).value() == texts{"l.q"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_parameter_that_is_removed_is_in_no_list) {
    mapping program(model_with_state());
    program.define("model.l.q", of(program, "model.l.q"));
    auto const renamed =
        carried_names(program).rename({list("optim.param_groups.0.params", {"l.q", "l.k"})});
    BOOST_TEST(texts_in(renamed[0]).value() == texts{"l.q"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_parameter_that_was_left_out_is_in_no_list) {
    mapping program(model_with_state());
    for (char const* const key : {"model.l.q", "model.l.k", "optim.state.l.k.exp_avg"})
        program.define(key, of(program, key));
    auto const listed = [&](std::set<std::string, std::less<>> const& left_out) {
        auto const renamed =
            carried_names(program, left_out)
                .rename({list("optim.param_groups.0.params", {"l.q", "l.x", "l.y"})});
        return texts_in(renamed[0]).value();
    };
    BOOST_TEST(listed({"model.l.x"}) == (texts{"l.q", "l.y"}), boost::test_tools::per_element());
    BOOST_TEST(listed({"optim.state.l.y.exp_avg"}) == (texts{"l.q", "l.x"}),
               boost::test_tools::per_element());
    BOOST_TEST(listed({"l.x", "ema.l.x"}) == (texts{"l.q", "l.x", "l.y"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_beside_a_module_of_deepspeed_follow) {
    mapping program(model_with_state());
    program.define("model.l.qk", concat({of(program, "model.l.q"), of(program, "model.l.k")}, 0));
    program.define("model.n", of(program, "model.norm"));
    program.define("model.l.o", of(program, "model.l.o"));
    std::string const shape = archive_of_shape({2});
    auto const renamed =
        carried_names(program).rename({{"param_shapes.0.l.q", shape},
                                       {"param_shapes.0.l.k", shape},
                                       {"param_shapes.1.l.o", shape},
                                       {"shared_params.l.o", archive_of_text("l.k")},
                                       {"shared_params.norm", archive_of_text("x")},
                                       list("buffer_names", {"norm"}),
                                       {"param_shapes", shape}});
    BOOST_TEST(keys(renamed) ==
                   (texts{"param_shapes.0.l.qk", "param_shapes.1.l.o", "shared_params.l.o",
                          "shared_params.n", "buffer_names", "param_shapes"}),
               boost::test_tools::per_element());
    BOOST_TEST((renamed[0].archive == archive_of_shape({4})));
    BOOST_TEST((renamed[1].archive == shape));
    BOOST_TEST(texts_in(renamed[2]).value() == texts{"l.qk"}, boost::test_tools::per_element());
    BOOST_TEST(texts_in(renamed[3]).value() == texts{"x"}, boost::test_tools::per_element());
    BOOST_TEST(texts_in(renamed[4]).value() == texts{"n"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(names_beside_the_parameters_of_a_group_follow_too) {
    mapping program(model_with_state());
    program.define("model.l.p", of(program, "model.l.q"));
    auto const renamed =
        carried_names(program).rename({list("optim.param_groups.0.params", {"l.q", "l.k"}),
                                       list("optim.param_groups.0.param_names", {"l.q", "l.k"})});
    for (saved_object const& object : renamed)
        BOOST_TEST(texts_in(object).value() == texts{"l.p"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(state_that_is_a_number_follows_its_parameter) {
    mapping program(model_with_state());
    program.define("model.l.p", of(program, "model.l.q"));
    auto halves = split(of(program, "model.l.o"), 0, std::size_t{2});
    program.define("model.l.o0", halves[0]);
    program.define("model.l.o1", halves[1]);
    auto const renamed = carried_names(program).rename({{"optim.state.l.q.step", "7"},
                                                        {"optim.state.l.k.step", "7"},
                                                        {"optim.state.l.o.step", "7"},
                                                        {"optim.state.3.step", "7"},
                                                        {"optim.state.epoch", "7"}});
    BOOST_TEST(keys(renamed) ==
                   (texts{"optim.state.l.p.step", "optim.state.l.o0.step", "optim.state.l.o1.step",
                          "optim.state.3.step", "optim.state.epoch"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_with_the_name_of_a_parameter_follow_it) {
    mapping program(model_with_state());
    program.define("model.l.qk", concat({of(program, "model.l.q"), of(program, "model.l.k")}, 0));
    program.define("model.l.p", of(program, "model.l.o"));
    std::string const lr = archive_of({"0.1"});
    auto const renamed = carried_names(program).rename({{"optim.param_groups.l.q.lr", lr},
                                                        {"optim.param_groups.l.k.lr", lr},
                                                        {"optim.param_groups.l.o.lr", lr},
                                                        {"optim.param_groups.norm.lr", lr},
                                                        {"epoch", lr}});
    BOOST_TEST(keys(renamed) ==
                   (texts{"optim.param_groups.l.qk.lr", "optim.param_groups.l.p.lr", "epoch"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_parameter_of_two_groups_is_refused) {
    mapping program(model_with_state());
    program.define("model.l.qk", concat({of(program, "model.l.q"), of(program, "model.l.k")}, 0));
    BOOST_CHECK_EXCEPTION(
        carried_names(program).rename({list("optim.param_groups.0.params", {"l.q"}),
                                       list("optim.param_groups.1.params", {"l.k"})}),
        error,
        test::mentions(errc::unsupported,
                       "'l.qk' is made from parameters of 'optim.param_groups.0.params' and of "
                       "'optim.param_groups.1.params'"));
    BOOST_CHECK_EXCEPTION(
        carried_names(program).rename({{"optim.param_groups.l.q.lr", archive_of({"0.1"})},
                                       {"optim.param_groups.l.k.lr", archive_of({"0.2"})}}),
        error, test::mentions(errc::unsupported, "differ, but the program merges"));
}

BOOST_AUTO_TEST_SUITE_END()
