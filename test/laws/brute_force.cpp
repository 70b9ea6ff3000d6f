// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include "oracle/generate.hpp"
#include "oracle/trace.hpp"
#include "support/experiment.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_brute_force)

namespace {

/// Who gives an element: the source's holder and key, and the element's number in it, row by row.
/// Holder -1: zeros.
using giver = std::tuple<std::int64_t, std::string, std::int64_t>;

/// By target holder, key and element, the giver.
using givers = std::map<std::tuple<std::int64_t, std::string, std::int64_t>, giver>;

/// The numbers, row by row, of the elements that a shard holds.
std::vector<std::int64_t> elements_of(oracle::tensor const& all, oracle::shard const& held) {
    std::vector<std::int64_t> found;
    std::int64_t const count = oracle::count_of(held.shape);
    for (std::int64_t i = 0; i < count; ++i) {
        if (held.flat && (i < held.flat->first || i >= held.flat->second))
            continue;
        std::int64_t rest = i, number = 0, stride = 1;
        for (std::size_t axis = held.shape.size(); axis-- > 0;) {
            number += (held.offset[axis] + rest % held.shape[axis]) * stride;
            stride *= all.shape[axis];
            rest /= held.shape[axis];
        }
        found.push_back(number);
    }
    return found;
}

/// By element of a tensor, the ranks that hold it, ascending.
std::vector<std::vector<std::int64_t>> holders_of(oracle::tensor const& all) {
    std::vector<std::vector<std::int64_t>> holders(
        static_cast<std::size_t>(oracle::count_of(all.shape)));
    for (oracle::shard const& held : all.shards)
        for (std::int64_t const number : elements_of(all, held))
            holders[static_cast<std::size_t>(number)].push_back(held.rank);
    for (auto& ranks : holders)
        std::sort(ranks.begin(), ranks.end());
    return holders;
}

/// The rule, told anew: who has it takes its own, others take turns.
std::int64_t chosen(std::vector<std::int64_t> const& ranks, std::int64_t target) {
    for (std::int64_t const rank : ranks)
        if (rank == target)
            return rank;
    return ranks[static_cast<std::size_t>(target) % ranks.size()];
}

/// Every element of every target shard, looked up among all elements of all source shards.
givers expected_of(oracle::scenario const& all) {
    oracle::world const before = oracle::world_of(all);
    aoa::program const program = aoa::parse(all.text);
    oracle::trace const traced(program, before);
    std::map<std::string, std::vector<std::vector<std::int64_t>>> holders;
    for (oracle::tensor const& one : all.sources)
        holders[one.key] = holders_of(one);
    givers expected;
    for (oracle::tensor const& one : all.targets)
        for (oracle::shard const& held : one.shards)
            for (std::int64_t const number : elements_of(one, held)) {
                if (!traced.is_made(one.key))
                    continue;
                giver& from = expected[{held.rank, one.key, number}];
                auto const origin = traced.origin_of(one.key, static_cast<std::size_t>(number));
                from = {-1, "", 0};
                if (origin)
                    from = {chosen(holders[origin->first][origin->second], held.rank),
                            origin->first, static_cast<std::int64_t>(origin->second)};
            }
    return expected;
}

/// Every element of every transfer.
givers planned_of(plan const& whole, plan_problem const& problem,
                  std::map<std::string, index_vector> const& shapes) {
    givers found;
    for (transfer const& part : whole.transfers) {
        cut const geometry = cut_of(whole, part);
        std::string const target(problem.targets[part.target_key].key);
        bool const is_zero = part.source_key == zero_source;
        std::string const source(is_zero ? "" : problem.sources[part.source_key].key);
        index_t const count = element_count(geometry.extent);
        for (index_t i = 0; i < count; ++i) {
            index_vector const at = unravel_index(i, geometry.extent);
            index_vector to = detail::joined_offset(at, geometry.extent, geometry.joins.target);
            for (std::size_t axis = 0; axis < to.size(); ++axis)
                to[axis] += geometry.target_offset[axis];
            giver from{-1, "", 0};
            if (!is_zero) {
                index_vector place = detail::joined_offset(geometry.order.undo(at),
                                                           geometry.order.undo(geometry.extent),
                                                           geometry.joins.source);
                for (std::size_t axis = 0; axis < place.size(); ++axis)
                    place[axis] += geometry.source_offset[axis];
                from = {part.source_holder, source, ravel_index(place, shapes.at(source))};
            }
            index_t const number = ravel_index(to, shapes.at(target + " of target"));
            auto const [place, is_new] =
                found.emplace(std::tuple{index_t{part.target_holder}, target, number}, from);
            BOOST_TEST((is_new || place->second == from)); // a rank may hold two shards with it
        }
    }
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(plans_say_what_comparing_all_elements_says) {
    std::size_t elements = 0, programs = 0;
    for (std::uint64_t seed = 0; seed < test::trials(5000); ++seed) {
        oracle::scenario const all = oracle::generator(seed).make();
        layout const source = test::source_layout(all), target = test::target_layout(all);
        mapping const program = test::mapping_of(all);
        plan_problem const problem = problem_of(program, source, target);
        std::map<std::string, index_vector> shapes;
        for (tensor_layout const& one : source.tensors)
            shapes[one.key] = source.shape_of(one);
        for (tensor_layout const& one : target.tensors)
            shapes[one.key + " of target"] = target.shape_of(one);
        givers const expected = expected_of(all);
        BOOST_TEST((planned_of(make_plan(problem), problem, shapes) == expected),
                   "seed " << seed << ":\n"
                           << all.text);
        elements += expected.size();
        ++programs;
    }
    BOOST_TEST_MESSAGE(programs << " programs, " << elements << " elements");
}

BOOST_AUTO_TEST_SUITE_END()
