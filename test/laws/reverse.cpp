// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>

#include <reshard/aoa/expand.hpp>

#include "oracle/generate.hpp"
#include "oracle/world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::aoa;

BOOST_AUTO_TEST_SUITE(laws_reverse)

namespace {

using arrays = std::map<std::string, oracle::array>;

catalog_entry entry_of(oracle::tensor const& one) {
    oracle::numbers const parts = oracle::parts_of(one);
    return {one.key,
            data_type_from_name(one.dtype).value(),
            {one.shape.begin(), one.shape.end()},
            {parts.begin(), parts.end()}};
}

catalog catalog_of_side(std::vector<oracle::tensor> const& tensors) {
    std::vector<catalog_entry> entries;
    for (oracle::tensor const& one : tensors)
        entries.push_back(entry_of(one));
    return catalog(std::move(entries));
}

/// What is added.
oracle::array zeros(catalog_entry const& one) {
    return oracle::make_array({one.shape.begin(), one.shape.end()},
                              std::string(reshard::name(one.dtype)),
                              [](oracle::numbers const&) { return 0; });
}

/// A random program with its sides. The target is what the generator chose, or everything that the
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

    /// Adds what the program leaves over to the target, in one part each.
    void keep_everything() {
        mapping const map = lower(expand(written, source, &target).code, source);
        std::vector<catalog_entry> entries(target.begin(), target.end());
        for (mapping_output const& one : map.outputs())
            if (!target.find(one.key)) {
                index_vector const parts = index_vector::filled(one.value.ndim(), 1);
                entries.push_back({one.key, one.value.dtype, one.value.shape, parts});
                before.target_keys.insert(one.key);
                before.target_parts[one.key] = {parts.begin(), parts.end()};
            }
        target = catalog(std::move(entries));
    }

    /// What the program makes; what it only adds is zeros.
    arrays made() const {
        oracle::evaluation const after(written, before);
        arrays result;
        for (catalog_entry const& one : target)
            result[one.key] = after[one.key].value_or(zeros(one));
        return result;
    }

    oracle::scenario all;
    program written;
    program code; ///< without macros
    catalog source;
    catalog target;
    oracle::world before;
};

/// A program without macros run by the oracle, as its text says.
arrays run(program const& code, arrays const& from, catalog const& to) {
    oracle::world world;
    world.sources = from;
    arrays result;
    for (catalog_entry const& one : to)
        world.target_keys.insert(one.key);
    program const again = parse(print(code));
    oracle::evaluation const after(again, world);
    for (catalog_entry const& one : to)
        result[one.key] = after[one.key].value_or(zeros(one));
    return result;
}

/// Whether every element of the source arrives somewhere without having been rounded.
bool loses_nothing(mapping const& map) {
    std::vector<std::vector<bool>> arrived;
    for (mapping_source const& one : map.sources())
        arrived.emplace_back(static_cast<std::size_t>(element_count(one.shape)), false);
    for (mapping_output const& output : map.outputs())
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            piece const part = output.value.pieces[i];
            bool const is_exact = std::ranges::all_of(
                part.casts.steps(), [&](data_type to) { return is_lossless(part.stored, to); });
            if (part.source == zero_source || !is_exact)
                continue;
            box const from = part.source_box();
            oracle::for_each_index({from.shape.begin(), from.shape.end()}, [&](oracle::numbers
                                                                                   index) {
                for (std::size_t axis = 0; axis < index.size(); ++axis)
                    index[axis] += from.offset[axis];
                index_vector const& shape = map.sources()[part.source].shape;
                arrived[part.source][oracle::place_of(index, {shape.begin(), shape.end()})] = true;
            });
        }
    return std::ranges::all_of(arrived, [](std::vector<bool> const& one) {
        return std::ranges::all_of(one, [](bool here) { return here; });
    });
}

bool has_copies(reversal const& back) {
    return std::ranges::any_of(back.findings,
                               [](finding const& one) { return one.code == "copy"; });
}

struct tally {
    int reversed = 0;
    int twice = 0;   ///< and reversed again
    int rounded = 0; ///< reversed, by a pair of types that rounds
    int refused = 0;
    int at_a_statement = 0; ///< refused, and a statement named
    int in_vain = 0;        ///< refused, and nothing would have been lost
};

void check_refusal(reverse_case const& one, reversal const& back, tally& sum) {
    ++sum.refused;
    finding const* first = nullptr;
    for (finding const& each : back.findings)
        if (!first && each.level == severity::error)
            first = &each;
    BOOST_TEST_REQUIRE(first != nullptr);
    BOOST_TEST((back.first_error == errc::not_invertible), describe(back.code, *first));
    BOOST_TEST(!first->key.empty());
    sum.at_a_statement += first->where.last > first->where.first;
    if (loses_nothing(
            lower(expand(one.written, one.source, &one.target).code, one.source, &one.target))) {
        ++sum.in_vain;
    }
}

void check_twice(reverse_case const& one, program const& back, arrays const& made, tally& sum) {
    reverse_options options;
    options.allow_rounding = options.allow_removed = true;
    reversal const twice = reverse_all(back, one.target, &one.source, options);
    if (twice.first_error) { // what a resize had added is cut off, and lost
        BOOST_TEST(print(back).find("slice") != std::string::npos, print(back));
        return;
    }
    program const& again = twice.code;
    arrays const after = run(again, one.before.sources, one.target);
    BOOST_TEST((after == made), print(back) << "reversed:\n" << print(again));
    ++sum.twice;
}

} // namespace

BOOST_AUTO_TEST_CASE(forward_then_reversed_is_the_identity) {
    tally sum;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        reverse_case const one(seed);
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << one.all.text) {
            reversal const back = reverse_all(one.code, one.source, &one.target);
            if (back.first_error) {
                check_refusal(one, back, sum);
                continue;
            }
            ++sum.reversed;
            arrays const made = one.made();
            arrays const after = run(back.code, made, one.source);
            if (!loses_nothing(lower(one.code, one.source, &one.target))) {
                // Only a pair of types may round: it says itself what it is reversed to.
                BOOST_TEST(one.all.text.find("dst_dtype") != std::string::npos);
                ++sum.rounded;
                continue;
            }
            BOOST_TEST((after == one.before.sources), print(back.code));
            if (!has_copies(back))
                check_twice(one, back.code, made, sum);
        }
    }
    std::cout << "reversed " << sum.reversed << ", twice " << sum.twice << ", refused "
              << sum.refused << ", rounded " << sum.rounded << ", at a statement "
              << sum.at_a_statement << ", in vain " << sum.in_vain << '\n';
    BOOST_TEST(sum.reversed >= 1000);
    BOOST_TEST(sum.twice >= 400);
    BOOST_TEST(sum.refused >= 600);
    // Statements are looked at one by one: several that lose parts may keep the whole together.
    BOOST_TEST(sum.in_vain <= sum.refused / 20);
}

BOOST_AUTO_TEST_SUITE_END()
