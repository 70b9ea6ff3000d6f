// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <reshard/aoa/expand.hpp>

#include "oracle/generate.hpp"
#include "oracle/trace.hpp"
#include "oracle/world.hpp"
#include "support/experiment.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;

BOOST_AUTO_TEST_SUITE(laws_reverse)

namespace {

using arrays = std::map<std::string, oracle::array>;

catalog_entry entry_of(oracle::tensor const& tensor) {
    oracle::numbers const parts = oracle::parts_of(tensor);
    return {tensor.key,
            data_type_from_name(tensor.dtype).value(),
            {tensor.shape.begin(), tensor.shape.end()},
            {parts.begin(), parts.end()}};
}

catalog catalog_of_side(std::vector<oracle::tensor> const& tensors) {
    std::vector<catalog_entry> entries;
    for (oracle::tensor const& tensor : tensors)
        entries.push_back(entry_of(tensor));
    return catalog(std::move(entries));
}

/// What is added.
oracle::array zeros(catalog_entry const& entry) {
    return oracle::make_array({entry.shape.begin(), entry.shape.end()},
                              std::string(reshard::name(entry.dtype)),
                              [](oracle::numbers const&) { return 0; });
}

/// A random program with its sides. The target is the generator's choice, or everything that the
/// program leaves over.
struct reverse_case {
    explicit reverse_case(std::uint64_t seed)
        : all(oracle::generator(seed).make()),
          written(parse(all.text)),
          source(catalog_of_side(all.sources)),
          target(catalog_of_side(all.targets)),
          before(oracle::world_of(all)) {
        if (seed % 4 != 0)
            keep_everything();
        code = expand(written, source, &target).code;
    }

    /// Adds the tensors that the program leaves over to the target, in one part each.
    void keep_everything() {
        mapping const map = lower(expand(written, source, &target).code, source);
        std::vector<catalog_entry> entries(target.begin(), target.end());
        for (mapping_output const& output : map.outputs())
            if (!target.find(output.key)) {
                index_vector const parts = index_vector::filled(output.value.ndim(), 1);
                entries.push_back({output.key, output.value.dtype, output.value.shape, parts});
                before.target_keys.insert(output.key);
                before.target_parts[output.key] = {parts.begin(), parts.end()};
            }
        target = catalog(std::move(entries));
    }

    /// The program's results; added tensors are zeros.
    arrays made() const {
        oracle::evaluation const after(written, before);
        arrays result;
        for (catalog_entry const& entry : target)
            result[entry.key] = after[entry.key].value_or(zeros(entry));
        return result;
    }

    oracle::scenario all;
    program written;
    program code; ///< without macros
    catalog source;
    catalog target;
    oracle::world before;
};

/// The oracle's result for `from` by a program's text, without tensors that are only added.
std::map<std::string, std::optional<oracle::array>>
evaluate(program const& code, arrays const& from, catalog const& to) {
    oracle::world world;
    world.sources = from;
    for (catalog_entry const& entry : to)
        world.target_keys.insert(entry.key);
    program const again = parse(print(code));
    oracle::evaluation const after(again, world);
    std::map<std::string, std::optional<oracle::array>> result;
    for (catalog_entry const& entry : to)
        result[entry.key] = after[entry.key];
    return result;
}

/// The same; added tensors are zeros.
arrays run(program const& code, arrays const& from, catalog const& to) {
    arrays result;
    for (auto& [key, value] : evaluate(code, from, to))
        result[key] = value.value_or(zeros(*to.find(key)));
    return result;
}

/// A side as somebody else has spread it over ranks.
std::vector<oracle::tensor> spread_anew(catalog const& side, oracle::random_numbers& random,
                                        std::int64_t ranks) {
    std::vector<oracle::tensor> tensors;
    oracle::spreader on_ranks(random, ranks);
    for (catalog_entry const& entry : side) {
        tensors.push_back({entry.key,
                           {entry.shape.begin(), entry.shape.end()},
                           std::string(reshard::name(entry.dtype)),
                           {},
                           false});
        on_ranks.spread(tensors.back(), {});
    }
    return tensors;
}

/// Runs a reversed program in memory, from ranks to ranks; the number of those that end with other
/// bytes than the oracle's.
std::int64_t differences_in_memory(reverse_case const& reverse_case, program const& back,
                                   arrays const& new_arrays, std::uint64_t seed) {
    oracle::random_numbers random(seed);
    oracle::scenario scenario;
    scenario.text = print(back);
    scenario.source_ranks = random.between(1, 4);
    scenario.target_ranks = random.between(1, 4);
    scenario.sources = spread_anew(reverse_case.target, random, scenario.source_ranks);
    scenario.targets = spread_anew(reverse_case.source, random, scenario.target_ranks);
    test::experiment backwards(scenario, new_arrays,
                               evaluate(back, new_arrays, reverse_case.source));
    backwards.run(test::mapping_of(scenario));
    return backwards.differences();
}

/// The trace of the oracle for all tensors of the source together.
struct verdict {
    bool is_lost = false;    ///< an element that nothing has
    bool is_rounded = false; ///< an element of which no target has all digits, and its range
};

verdict verdict_of(oracle::fate const& fate) {
    verdict result;
    for (std::size_t i = 0; i < fate.arrived.size(); ++i) {
        result.is_lost |= !fate.arrived[i];
        result.is_rounded |= fate.arrived[i] && !fate.kept[i];
    }
    return result;
}

/// Whether some statement casts to a type that has not the range of `dtype`: the oracle, which
/// knows integers only, does not see that if a wider type follows.
bool may_leave_range(program const& code, std::string const& dtype) {
    return std::ranges::any_of(code.statements(), [&](statement const& statement) {
        return std::ranges::any_of(code.attributes(statement), [&](attribute const& each) {
            auto const* const to = std::get_if<std::string>(&each.value);
            return to && each.word.ends_with("dtype") && !oracle::holds(dtype, *to);
        });
    });
}

struct tally {
    int reversed = 0;
    int twice = 0;   ///< and reversed again
    int rounded = 0; ///< reversed, by a pair of types that rounds
    int refused = 0;
    int at_a_statement = 0; ///< refused, and a statement named
    int lost = 0;           ///< refused: the oracle finds elements in no target
    int digits = 0;         ///< refused: the oracle finds elements that are rounded
    int range = 0;          ///< refused: a cast on the way has another range
    int in_vain = 0;        ///< refused, and nothing is lost
};

/// Compares the boxes of a loss with the elements that nothing has, or nobody has unrounded.
void check_boxes(loss const& loss, oracle::fate const& fate, index_vector const& shape) {
    bool const is_rounding = loss.type == loss::kind::rounded;
    std::vector<bool> const& has = is_rounding ? fate.kept : fate.arrived;
    std::int64_t match = 0, wrong = 0;
    for (box const& region : loss.boxes)
        oracle::for_each_index(
            {region.shape.begin(), region.shape.end()}, [&](oracle::numbers index) {
                for (std::size_t axis = 0; axis < index.size(); ++axis)
                    index[axis] += region.offset[axis];
                wrong += has[oracle::place_of(index, {shape.begin(), shape.end()})];
                ++match;
            });
    BOOST_TEST(wrong == 0, loss.key);
    if (!loss.has_more)
        BOOST_TEST(match == std::ranges::count(has, false), loss.key);
}

/// The library's losses are the oracle's, box by box.
void check_losses(reverse_case const& reverse_case, reversal const& back,
                  std::map<std::string, oracle::fate> const& fates) {
    std::map<std::string, loss const*> losses;
    for (loss const& each : back.losses)
        losses[each.key] = &each;
    for (auto const& [key, fate] : fates) {
        bool const is_vague = may_leave_range(reverse_case.code, fate.dtype);
        verdict const verdict = verdict_of(fate);
        auto const said = losses.find(key);
        if (said == losses.end())
            BOOST_TEST((!verdict.is_lost && !verdict.is_rounded), key);
        else if (said->second->type != loss::kind::rounded || !is_vague)
            check_boxes(*said->second, fate, reverse_case.source.find(key)->shape);
    }
}

/// Every tensor that is refused must be lost: the oracle says how.
void check_refusal(reverse_case const& reverse_case, reversal const& back,
                   std::map<std::string, oracle::fate> const& fates, tally& sum) {
    ++sum.refused;
    finding const& first = *first_error_of(back.findings);
    sum.at_a_statement += first.where.last > first.where.first;
    bool is_lost = false, is_rounded = false, is_range = false, is_vain = false;
    for (finding const& each : back.findings) {
        if (each.level != severity::error)
            continue;
        BOOST_TEST(each.code == "not_invertible", describe(back.code, each));
        oracle::fate const& fate = fates.at(each.key);
        verdict const verdict = verdict_of(fate);
        is_lost |= verdict.is_lost;
        is_rounded |= !verdict.is_lost && verdict.is_rounded;
        bool const is_whole = !verdict.is_lost && !verdict.is_rounded;
        bool const is_vague = is_whole && may_leave_range(reverse_case.code, fate.dtype);
        is_range |= is_vague;
        is_vain |= is_whole && !is_vague;
    }
    sum.lost += is_lost;
    sum.digits += is_rounded;
    sum.range += is_range;
    sum.in_vain += is_vain;
}

void check_twice(reverse_case const& reverse_case, program const& back, arrays const& new_arrays,
                 tally& sum) {
    reverse_options options;
    options.allow_rounding = options.allow_removed = true;
    reversal const twice = reverse_all(back, reverse_case.target, &reverse_case.source, options);
    if (twice.first_error) { // elements that a resize had added are cut off, and lost
        BOOST_TEST(print(back).find("slice") != std::string::npos, print(back));
        return;
    }
    program const& again = twice.code;
    arrays const after = run(again, reverse_case.before.sources, reverse_case.target);
    BOOST_TEST((after == new_arrays), print(back) << "reversed:\n" << print(again));
    ++sum.twice;
}

bool has_copies(reversal const& back) {
    return std::ranges::any_of(back.findings,
                               [](finding const& finding) { return finding.code == "copy"; });
}

/// First the program, then its reverse.
void check_identity(reverse_case const& reverse_case, reversal const& back, std::uint64_t seed,
                    tally& sum) {
    ++sum.reversed;
    arrays const new_arrays = reverse_case.made();
    arrays const after = run(back.code, new_arrays, reverse_case.source);
    BOOST_TEST(differences_in_memory(reverse_case, back.code, new_arrays, seed) == 0,
               print(back.code));
    if (!back.losses.empty()) {
        // Only a pair of types may round: it gives its reverse itself.
        for (loss const& each : back.losses)
            BOOST_TEST((each.type == loss::kind::rounded), each.key);
        BOOST_TEST(reverse_case.all.text.find("dst_dtype") != std::string::npos);
        ++sum.rounded;
        return;
    }
    BOOST_TEST((after == reverse_case.before.sources), print(back.code));
    if (!has_copies(back))
        check_twice(reverse_case, back.code, new_arrays, sum);
}

} // namespace

BOOST_AUTO_TEST_CASE(forward_then_reversed_is_the_identity) {
    constexpr std::uint64_t programs = test::trials(10000);
    tally sum;
    for (std::uint64_t seed = 0; seed < programs; ++seed) {
        reverse_case const reverse_case(seed);
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << reverse_case.all.text) {
            reversal const back =
                reverse_all(reverse_case.code, reverse_case.source, &reverse_case.target);
            auto const fates = oracle::trace(reverse_case.written, reverse_case.before).fates();
            check_losses(reverse_case, back, fates);
            if (back.first_error)
                check_refusal(reverse_case, back, fates, sum);
            else
                check_identity(reverse_case, back, seed, sum);
        }
    }
    std::cout << "reversed " << sum.reversed << ", twice " << sum.twice
              << ", by a pair that rounds " << sum.rounded << "; refused " << sum.refused
              << ", at a statement " << sum.at_a_statement << ": elements lost " << sum.lost
              << ", rounded " << sum.digits << ", out of range " << sum.range << ", in vain "
              << sum.in_vain << '\n';
    BOOST_TEST(sum.reversed >= static_cast<int>(programs / 3));
    BOOST_TEST(sum.twice >= static_cast<int>(programs / 8));
    BOOST_TEST(sum.refused >= static_cast<int>(programs / 5));
    BOOST_TEST(sum.in_vain == 0);
}

BOOST_AUTO_TEST_SUITE_END()
