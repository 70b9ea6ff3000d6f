// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/experiment.hpp"

#include "oracle/generate.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <map>
#include <optional>
#include <regex>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_states)

namespace {

std::string const moment = ".moment1_0";

/// The state of each tensor, in its own data type. Where parts do not matter to the program, it is
/// spread in another way than its parameter: over other boxes, or as flat ranges, as ZeRO has it.
std::vector<oracle::tensor> states_of(std::vector<oracle::tensor> const& parameters,
                                      std::optional<oracle::spreader> spread) {
    std::vector<oracle::tensor> states;
    for (oracle::tensor tensor : parameters) {
        tensor.key += moment;
        tensor.dtype = "float64";
        if (spread) {
            tensor.shards.clear();
            spread->spread(tensor, {});
        }
        states.push_back(tensor);
    }
    return states;
}

/// Programs that are run on parameters and on their state.
class state_experiment {
public:
    explicit state_experiment(std::uint64_t seed)
        : all_(oracle::generator(seed).make()), random_(seed) {
        auto const spread = [&](std::int64_t ranks) {
            return all_.only_text ? std::nullopt
                                  : std::optional<oracle::spreader>(std::in_place, random_, ranks);
        };
        sources_ = states_of(all_.sources, spread(all_.source_ranks));
        targets_ = states_of(all_.targets, spread(all_.target_ranks));
    }

    /// The number of ranks whose state differs from the oracle's, which treats states as
    /// parameters, without casts.
    std::int64_t differences() const {
        auto sources = test::memory_of(joined(all_.sources, sources_), all_.source_ranks);
        auto targets = test::memory_of(targets_, all_.target_ranks);
        auto expected = targets;
        oracle::world const before = states();
        auto source = oracle::world_of(all_).sources;
        for (auto const& [key, value] : before.sources)
            source[key + moment] = value;
        for (test::rank_memory& memory : sources)
            memory.fill(source);
        for (test::rank_memory& memory : expected)
            memory.fill(after(before));
        run(sources, targets);
        std::int64_t count = 0;
        for (std::size_t rank = 0; rank < targets.size(); ++rank)
            count += targets[rank].difference(expected[rank]).has_value();
        return count;
    }

    std::string const& text() const { return all_.text; }

private:
    static std::vector<oracle::tensor> joined(std::vector<oracle::tensor> tensors,
                                              std::vector<oracle::tensor> const& other_tensors) {
        tensors.insert(tensors.end(), other_tensors.begin(), other_tensors.end());
        return tensors;
    }

    /// The states as if they were the parameters.
    oracle::world states() const {
        oracle::world result = oracle::world_of(all_);
        std::int64_t number = 0;
        for (auto& [key, value] : result.sources) {
            std::int64_t index = 0;
            ++number;
            value = oracle::make_array(value.shape, "float64", [&](oracle::numbers const&) {
                return oracle::source_value("float64", 100 + number, index++);
            });
        }
        return result;
    }

    std::map<std::string, std::optional<oracle::array>> after(oracle::world const& before) const {
        static std::regex const casts(R"(, *(src_|dst_)?dtype *= *("[^"]*"|'[^']*'))");
        auto const program = aoa::parse(std::regex_replace(all_.text, casts, ""));
        oracle::evaluation const evaluation(program, before);
        std::map<std::string, std::optional<oracle::array>> result;
        for (oracle::tensor const& tensor : all_.targets)
            result[tensor.key + moment] = evaluation[tensor.key];
        return result;
    }

    /// Moves the states alone: parameters are sources that nothing of this target is made of.
    void run(std::vector<test::rank_memory>& from, std::vector<test::rank_memory>& to) const {
        catalog const source =
            catalog_of(test::layout_of(joined(all_.sources, sources_), all_.source_ranks));
        catalog const target =
            catalog_of(test::layout_of(joined(all_.targets, targets_), all_.target_ranks));
        auto const expanded = aoa::expand(aoa::parse(all_.text, "program"), source, &target);
        test::redistribute(from, to, aoa::lower(expanded.code, source, &target));
    }

    oracle::scenario all_;
    oracle::random_numbers random_;
    std::vector<oracle::tensor> sources_, targets_; ///< states
};

} // namespace

BOOST_AUTO_TEST_CASE(state_goes_where_its_parameter_goes) {
    std::int64_t differences = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; ++seed) {
        state_experiment const experiment(seed);
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << experiment.text())
        differences += experiment.differences();
    }
    std::cout << "states: " << test::program_count << " programs, " << differences
              << " differences\n";
    BOOST_TEST(differences == 0);
}

BOOST_AUTO_TEST_SUITE_END()
