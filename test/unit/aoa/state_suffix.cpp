// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/state_suffix.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <boost/test/unit_test.hpp>

#include <reshard/core/vector.hpp>
#include <string>

using namespace reshard;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_state_suffix)

BOOST_AUTO_TEST_CASE(the_endings_of_paddle_are_known) {
    auto const suffixes = default_state_suffixes();
    for (char const* ending : {".w_0", ".moment1_0", ".moment2_0"})
        BOOST_TEST(!state_suffix_of("a.b" + std::string(ending), suffixes)->scalar);
    for (char const* ending : {".beta1_pow_acc_0", ".beta2_pow_acc_0"})
        BOOST_TEST(state_suffix_of("a.b" + std::string(ending), suffixes)->scalar);
}

BOOST_AUTO_TEST_CASE(a_parameter_is_its_own_parameter) {
    auto const suffixes = default_state_suffixes();
    BOOST_TEST(parameter_of("a.b", suffixes) == "a.b");
    BOOST_TEST(parameter_of("a.b.moment1_0", suffixes) == "a.b");
    BOOST_TEST(parameter_of("a.w_0.x", suffixes) == "a.w_0.x");
    BOOST_TEST(parameter_of(".w_0", suffixes) == ".w_0");
    BOOST_TEST(state_suffix_of("a.b", suffixes) == nullptr);
}

BOOST_AUTO_TEST_CASE(other_endings_can_be_named) {
    reshard::vector<state_suffix> const suffixes = {{"/m", false}};
    BOOST_TEST(parameter_of("a/m", suffixes) == "a");
    BOOST_TEST(parameter_of("a.w_0", suffixes) == "a.w_0");
}

namespace {

/// The keys that a program makes of parameters `model.l.q` and `model.l.k`, or without `model.`,
/// whose state is called by `name`.
reshard::vector<std::string> made(std::string const& container, std::string const& program,
                                  reshard::vector<model::state_kind> const& kinds) {
    reshard::vector<catalog_entry> entries;
    for (std::string const parameter : {"l.q", "l.k"}) {
        entries.push_back(test::tensor(container + parameter, {2, 3}, data_type::bf16));
        for (model::state_kind const& kind : kinds)
            entries.push_back(test::tensor(model::key_of(kind, parameter),
                                           kind.scalar_shape.value_or(index_vector{2, 3})));
    }
    reshard::vector<std::string> keys;
    mapping const map = mapping_of(test::parsed(program), catalog(entries));
    for (mapping_output const& output : map.outputs())
        keys.push_back(output.key);
    return keys;
}

reshard::vector<std::string> wanted(std::string const& container, std::string const& parameter,
                                    reshard::vector<model::state_kind> const& kinds) {
    reshard::vector<std::string> keys{container + parameter};
    for (model::state_kind const& kind : kinds)
        keys.push_back(model::key_of(kind, parameter));
    std::ranges::sort(keys);
    return keys;
}

} // namespace

BOOST_AUTO_TEST_CASE(states_of_all_trainers_follow_their_parameter) {
    reshard::vector<model::state_kind> lightning = model::torch_states(), optax, dump;
    for (model::state_kind& kind : lightning)
        kind.prefix = "optimizer_0." + kind.prefix;
    for (std::string const name : {"mu", "nu"})
        optax.push_back({.prefix = "opt_state.0." + name + "."});
    for (std::string const name : {"exp_avg", "exp_avg_sq"})
        dump.push_back({.prefix = "optimizer/" + name + "/"});
    reshard::vector<model::state_kind> const by_class{
        {.prefix = "optimizer.adamw.", .suffix = ".exp_avg"}},
        composer{{.prefix = "state.optimizers.DecoupledAdamW.state.", .suffix = ".exp_avg"}},
        lion{{.prefix = "lion.state.", .suffix = ".exp_avg"}},
        joined{{.prefix = "optimizer.", .suffix = "_exp_avg_sq"}};
    for (std::string const container : {"", "model.", "app.model.", "state.model."})
        for (auto const& kinds : {model::torch_states(), model::megatron_states(), lightning, optax,
                                  dump, by_class, composer, lion, joined})
            BOOST_TEST_CONTEXT(container << kinds[0].prefix << kinds[0].suffix) {
                std::string const c = container;
                BOOST_TEST(made(c, c + "l.q, " + c + "l.k -> " + c + "l.qk, axis=0", kinds) ==
                               wanted(c, "l.qk", kinds),
                           boost::test_tools::per_element());
            }
    BOOST_TEST(made("", "l.q, l.k -> l.qk, axis=0", model::paddle_states()) ==
                   wanted("", "l.qk", model::paddle_states()),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(short_names_are_states_only_inside_an_optimizer) {
    for (std::string const key : {"optimizer.l.v", "optimizer.v.l"})
        BOOST_TEST(!optimizer_readings(key).empty(), key);
    for (std::string const key : {"l.v", "v.l", "optimizer.", "optimizer", ""})
        BOOST_TEST(optimizer_readings(key).empty(), key);
}

namespace {

struct left_state {
    std::string parameter, other;
    bool is_left = true;
    index_vector shape = {2, 3}; ///< of the other one; the parameter's is {2, 3}
};

bool is_warned_of(left_state const& trial) {
    catalog const source(
        {test::tensor(trial.parameter, {2, 3}), test::tensor(trial.other, trial.shape)});
    program const renames = test::parsed('"' + trial.parameter + "\" -> model.new");
    auto const findings = lower_all(expand(renames, source).code, source).findings;
    return std::ranges::count(findings, "left_state", &finding::code) > 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(unknown_state_is_a_warning) {
    left_state const trials[] = {{"model.l.w", "fp32_master.0.l.w"},
                                 {"model.w", "ema.w"},
                                 {"state.model.module.l.w", "slots.l.w.x"},
                                 {"l.w", "l.w_exp_avg_row", true, {2}},
                                 {"l.w", "l.w_mine"},
                                 {"l.w", "l.w:mine", true, {5}},
                                 {"l.w", "l.w_count", true, {}},
                                 {"l.w", "exp_avg_l.w.mine"},
                                 {"model.l.w", "optimizer.state.l.w.block_0.factor", true, {7}},
                                 {"model.l.w", "model.l.w.mine"},
                                 {"net2.l.w", "optimizer.mine.l.w.exp_avg"},
                                 {"model:l:w", "optim:state:l:w:exp_avg"},
                                 {"model:l:w", "exp_avg:l:w"},
                                 {"l:w", "l:w:exp_avg"},
                                 {"l:w", "mine.l.w"},
                                 {"model.l.w", "exp_avg:model:l:w"},
                                 {"model.l.w", "mine/l/w"},
                                 {"encoder:l:w", "decoder:l:w", false},
                                 {"l.w", "l.w_norm", false, {3}},
                                 {"l.w", "x_l.w", false},
                                 {"l.w", "al.w.mine", false},
                                 {"model.l.w", "model.q.l.w", false},
                                 {"encoder.l.w", "decoder.l.w", false},
                                 {"net2.w", "optimizer.mine.head.w.exp_avg", false}};
    for (left_state const& trial : trials)
        BOOST_TEST(is_warned_of(trial) == trial.is_left, trial.parameter << " and " << trial.other);
}

BOOST_AUTO_TEST_CASE(state_of_a_tensor_that_stays_is_not_left) {
    catalog const source({test::tensor("norm", {2}), test::tensor("l.norm", {2}),
                          test::tensor("optimizer.mine.l.norm.exp_avg", {2})});
    auto const findings =
        lower_all(expand(test::parsed("norm -> final"), source).code, source).findings;
    for (finding const& finding : findings)
        BOOST_TEST((finding.code != "left_state" || finding.key == "l.norm"));
}

BOOST_AUTO_TEST_CASE(a_state_beside_one_that_follows_is_left) {
    catalog const source({test::tensor("l.w", {4, 2}),
                          test::tensor("optim.state.l.w.exp_avg", {4, 2}),
                          test::tensor("optim.state.l.w.exp_avg_sq_row", {4})});
    auto const result = lower_all(expand(test::parsed("l.w -> l.v"), source).code, source);
    BOOST_TEST(result.map.find("optim.state.l.v.exp_avg"));
    BOOST_TEST(std::ranges::count(result.findings, "left_state", &finding::code) == 1);
}

BOOST_AUTO_TEST_CASE(keys_without_an_optimizer_are_no_state) {
    for (std::string const key : {"model.layers.0.state.w", "opt_model.l.q", "l.q.exp", "optim",
                                  "optimizer.state", "state"})
        BOOST_TEST(optimizer_readings(key).empty(), key);
    BOOST_TEST(optimizer_readings("optim.state.l.q.exp_avg").size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
