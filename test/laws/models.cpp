// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/experiment.hpp"

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

// The programs of test/aoa/models, over models scaled down to a few layers and elements. Comments
// at the beginning give the tensors, with the parts along each axis, each held by one rank:
//     #! source KEY DTYPE SHAPE [PARTS]
//     #! target KEY DTYPE SHAPE [PARTS]
// `{0:3}` in a key means the numbers 0 to 2.

using namespace reshard;
using namespace reshard::detail;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(laws_models)

namespace {

fs::path const model_programs = fs::path(RESHARD_TEST_DATA).parent_path() / "aoa" / "models";

/// The keys that `{a:b}` in a key means.
std::vector<std::string> written_out(std::string const& key) {
    auto const open = key.find('{'), colon = key.find(':', open), close = key.find('}', colon);
    if (open == key.npos)
        return {key};
    std::vector<std::string> all;
    int const last = std::stoi(key.substr(colon + 1));
    for (int i = std::stoi(key.substr(open + 1)); i < last; ++i)
        for (std::string const& element :
             written_out(key.substr(0, open) + std::to_string(i) + key.substr(close + 1)))
            all.push_back(element);
    return all;
}

oracle::numbers numbers_of(std::string const& text) {
    oracle::numbers all_numbers;
    std::istringstream list(text);
    for (std::string number; std::getline(list, number, ',');)
        all_numbers.push_back(std::stoll(number));
    return all_numbers;
}

/// Puts each of the equal parts of a tensor on a rank, the first one on rank 0; a tensor in one part
/// is a replica on all.
void spread(oracle::tensor& tensor, oracle::numbers const& parts, std::int64_t ranks) {
    std::int64_t rank = 0;
    oracle::for_each_index(parts, [&](oracle::numbers const& cell) {
        oracle::shard part{rank++, {}, tensor.shape, {}, 0};
        for (std::size_t axis = 0; axis < cell.size(); ++axis) {
            part.shape[axis] /= parts[axis];
            part.offset.push_back(part.shape[axis] * cell[axis]);
        }
        tensor.shards.push_back(part);
    });
    for (oracle::shard copy = tensor.shards[0]; rank == 1 && copy.rank + 1 < ranks;) {
        ++copy.rank;
        tensor.shards.push_back(copy);
    }
}

oracle::scenario model_of(fs::path const& file) {
    std::ifstream stream(file, std::ios::binary);
    oracle::scenario scenario;
    scenario.text = {std::istreambuf_iterator<char>(stream), {}};
    scenario.source_ranks = scenario.target_ranks = 2;
    std::istringstream lines(scenario.text);
    for (std::string line; std::getline(lines, line) && line.starts_with("#!");) {
        std::istringstream words(line.substr(2));
        std::string side, keys, dtype, shape, parts;
        words >> side >> keys >> dtype >> shape >> parts;
        for (std::string const& key : written_out(keys)) {
            oracle::tensor tensor{key, numbers_of(shape), dtype, {}};
            spread(tensor,
                   parts.empty() ? oracle::numbers(tensor.shape.size(), 1) : numbers_of(parts), 2);
            (side == "source" ? scenario.sources : scenario.targets).push_back(tensor);
        }
    }
    return scenario;
}

std::vector<fs::path> model_files() {
    std::vector<fs::path> paths;
    for (fs::directory_entry const& entry : fs::directory_iterator(model_programs))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    return paths;
}

/// A model's program reversed, written as text and read again.
struct model_back {
    explicit model_back(oracle::scenario const& scenario, aoa::reverse_options const& options = {})
        : forward(scenario),
          source(catalog_of(test::source_layout(scenario))),
          target(catalog_of(test::target_layout(scenario))),
          back(aoa::reverse_all(aoa::expand(aoa::parse(scenario.text), source, &target).code,
                                source, &target, options)) {
        if (!back.first_error)
            again = aoa::parse(aoa::print(back.code));
    }

    /// The errors, and the copies of which another one is taken, one line each.
    std::string remarks() const {
        std::string text;
        for (aoa::finding const& finding : back.findings)
            text += finding.code + ": " + finding.message + "\n";
        return text;
    }

    /// The oracle's result for the source, by running the program forward.
    std::map<std::string, oracle::array> there() const {
        std::map<std::string, oracle::array> arrays;
        for (auto const& [key, result] : oracle::answers(forward, oracle::world_of(forward)))
            arrays[key] = result.value();
        return arrays;
    }

    /// And then back; removed elements are missing.
    std::map<std::string, oracle::array> there_and_back() const {
        oracle::world after;
        after.sources = there();
        for (oracle::tensor const& tensor : forward.sources)
            after.target_keys.insert(tensor.key);
        oracle::evaluation const result(again, after);
        std::map<std::string, oracle::array> arrays;
        for (oracle::tensor const& tensor : forward.sources)
            if (auto value = result[tensor.key])
                arrays[tensor.key] = std::move(*value);
        return arrays;
    }

    /// The number of ranks that the library leaves with other bytes than the model had.
    std::int64_t differences() const {
        oracle::scenario backwards = forward;
        std::swap(backwards.sources, backwards.targets);
        backwards.text = aoa::print(again);
        auto const before = oracle::world_of(forward).sources;
        test::experiment experiment(backwards, there(), {before.begin(), before.end()});
        experiment.run(test::mapping_of(backwards));
        return experiment.differences();
    }

    oracle::scenario const& forward;
    catalog source;
    catalog target;
    aoa::reversal back;
    aoa::program again;
};

} // namespace

BOOST_AUTO_TEST_CASE(programs_of_models_do_what_the_oracle_does) {
    test::tally sum;
    for (fs::path const& file : model_files()) {
        oracle::scenario const scenario = model_of(file);
        BOOST_TEST_CONTEXT(file.filename()) {
            test::experiment experiment(scenario);
            experiment.run(test::mapping_of(scenario));
            ++sum.programs;
            sum.elements += experiment.elements();
            sum.differences += experiment.differences();
        }
    }
    BOOST_TEST_MESSAGE(sum.text());
    BOOST_TEST(sum.programs == 9);
    BOOST_TEST(sum.differences == 0);
}

BOOST_AUTO_TEST_CASE(programs_of_models_leave_nothing_to_say) {
    for (fs::path const& file : model_files()) {
        oracle::scenario const scenario = model_of(file);
        catalog const source = catalog_of(test::source_layout(scenario));
        catalog const target = catalog_of(test::target_layout(scenario));
        auto const expanded =
            aoa::expand(aoa::parse(scenario.text, file.filename().string()), source, &target);
        auto const lowered = aoa::lower_all(expanded.code, source, &target);
        for (auto const* findings : {&expanded.findings, &lowered.findings})
            for (aoa::finding const& finding : *findings)
                BOOST_ERROR(aoa::describe(expanded.code, finding));
        BOOST_TEST(!lowered.first_error.has_value());
    }
}

// What cannot be recovered, and of what there are copies, is worked out by hand: a tied head that is
// saved is dropped, and a head that is made of the embedding is a copy of it. Everything else is
// renamed, transposed, put together and cast to a wider type, and comes back.
BOOST_AUTO_TEST_CASE(programs_of_models_go_back) {
    std::map<std::string, std::string> const remarks{
        {"gemma3.aoa",
         "copy: nothing is recovered from 'lm_head.weight': all of its elements are recovered from "
         "elsewhere; it must equal 'model.embed_tokens.weight', which is checked only when the "
         "program runs (option take_first)\n"},
        {"qwen3.aoa",
         "copy: nothing is recovered from 'lm_head.weight': all of its elements are recovered from "
         "elsewhere; it must equal 'model.embed_tokens.weight', which is checked only when the "
         "program runs (option take_first)\n"},
        {"tied_head_saving.aoa",
         "not_invertible: 'lm_head.weight' cannot be recovered: this statement "
         "removes it; it can come back as zeros (option allow_removed)\n"}};
    int reversed = 0;
    for (fs::path const& file : model_files()) {
        oracle::scenario const scenario = model_of(file);
        BOOST_TEST_CONTEXT(file.filename()) {
            model_back const way(scenario);
            auto const said = remarks.find(file.filename().string());
            BOOST_TEST(way.remarks() == (said == remarks.end() ? "" : said->second));
            if (way.back.first_error)
                continue;
            ++reversed;
            BOOST_TEST((way.there_and_back() == oracle::world_of(scenario).sources));
            BOOST_TEST(way.differences() == 0);
        }
    }
    BOOST_TEST(reversed == 8);
}

BOOST_AUTO_TEST_CASE(a_tied_head_that_is_not_saved_is_named_and_the_rest_comes_back) {
    oracle::scenario const scenario = model_of(model_programs / "tied_head_saving.aoa");
    model_back const refused(scenario);
    BOOST_TEST_REQUIRE((refused.back.first_error == errc::not_invertible));
    aoa::finding const& lost = *aoa::first_error_of(refused.back.findings);
    BOOST_TEST(scenario.text.substr(lost.where.first, lost.where.last - lost.where.first) ==
               "lm_head.weight -> _");
    model_back const way(scenario, {.allow_removed = true});
    auto expected = oracle::world_of(scenario).sources;
    expected.erase("lm_head.weight"); // zeros: it has no source
    BOOST_TEST((way.there_and_back() == expected));
}

BOOST_AUTO_TEST_SUITE_END()
