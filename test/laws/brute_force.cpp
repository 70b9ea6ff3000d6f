// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include "oracle/generate.hpp"
#include "oracle/trace.hpp"
#include "support/experiment.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
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

/// Where an element comes from: the source's key, and the element's number in it, row by row; and
/// the ranks that may give it, ascending. None: zeros.
struct origin {
    std::string key;
    std::int64_t number = 0;
    std::vector<std::int64_t> givers;
};

/// By target holder, key and element.
using element_name = std::tuple<std::int64_t, std::string, std::int64_t>;
using origins = std::map<element_name, origin>;

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

/// The rule, told anew: who has it takes its own, others are given it by anybody who has it.
std::vector<std::int64_t> allowed(std::vector<std::int64_t> const& ranks, std::int64_t target) {
    if (std::find(ranks.begin(), ranks.end(), target) != ranks.end())
        return {target};
    return ranks;
}

/// Every element of every target shard, looked up among all elements of all source shards.
origins expected_of(oracle::scenario const& all) {
    oracle::world const before = oracle::world_of(all);
    aoa::program const program = aoa::parse(all.text);
    oracle::trace const traced(program, before);
    std::map<std::string, std::vector<std::vector<std::int64_t>>> holders;
    for (oracle::tensor const& one : all.sources)
        holders[one.key] = holders_of(one);
    origins expected;
    for (oracle::tensor const& one : all.targets)
        for (oracle::shard const& held : one.shards)
            for (std::int64_t const number : elements_of(one, held)) {
                if (!traced.is_made(one.key))
                    continue;
                origin& from = expected[{held.rank, one.key, number}];
                auto const found = traced.origin_of(one.key, static_cast<std::size_t>(number));
                from = {};
                if (found)
                    from = {found->first, static_cast<std::int64_t>(found->second),
                            allowed(holders[found->first][found->second], held.rank)};
            }
    return expected;
}

/// Every element of every transfer, with the one rank that gives it.
origins planned_of(plan const& whole, plan_problem const& problem,
                   std::map<std::string, index_vector> const& shapes) {
    origins found;
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
            origin from;
            if (!is_zero) {
                index_vector place = detail::joined_offset(geometry.order.undo(at),
                                                           geometry.order.undo(geometry.extent),
                                                           geometry.joins.source);
                for (std::size_t axis = 0; axis < place.size(); ++axis)
                    place[axis] += geometry.source_offset[axis];
                from = {source, ravel_index(place, shapes.at(source)), {part.source_holder}};
            }
            index_t const number = ravel_index(to, shapes.at(target + " of target"));
            auto const [place, is_new] =
                found.emplace(element_name{index_t{part.target_holder}, target, number}, from);
            // A rank may hold two shards with it.
            BOOST_TEST(
                (is_new || (place->second.key == from.key && place->second.number == from.number)));
        }
    }
    return found;
}

bool agree(origins const& planned, origins const& expected) {
    return std::equal(planned.begin(), planned.end(), expected.begin(), expected.end(),
                      [](auto const& one, auto const& other) {
                          auto const& [name, from] = one;
                          std::vector<std::int64_t> const& may = other.second.givers;
                          return name == other.first && from.key == other.second.key &&
                                 from.number == other.second.number &&
                                 (from.givers.empty() ? may.empty()
                                                      : std::find(may.begin(), may.end(),
                                                                  from.givers[0]) != may.end());
                      });
}

/// Bytes that any rank of a set may send, by the set as bits.
using demands = std::map<std::uint32_t, std::int64_t>;

/// What all transfers between ranks ask of whom, by who holds the elements.
demands demands_of(plan const& whole, plan_problem const& problem, layout const& source) {
    demands found;
    for (transfer const& part : whole.transfers) {
        if (part.source_holder == part.target_holder || part.source_key == zero_source)
            continue;
        tensor_shards const shards = problem.sources[part.source_key].shards;
        box const wanted = cut_of(whole, part).source_box();
        std::uint32_t holders = 0;
        for (std::size_t i = 0; i < shards.size(); ++i)
            for (box const& held : shards.boxes(i))
                if (auto const common = intersect(held, wanted); common && *common == wanted)
                    holders |= 1u << shards.holder(i);
        found[holders] += wire_bytes(whole, part);
    }
    BOOST_TEST_REQUIRE(source.holders <= 16u);
    return found;
}

/// The least that the busiest rank can send, where bytes can be divided at will.
///
/// \par Source Hall's condition for fractional matchings: for each set of ranks, what only they can
///             send, divided by how many they are
double least_busiest(demands const& all, holder_t ranks) {
    double most = 0;
    for (std::uint32_t set = 1; set < 1u << ranks; ++set) {
        std::int64_t bytes = 0;
        for (auto const& [holders, wanted] : all)
            if ((holders & ~set) == 0)
                bytes += wanted;
        most = std::max(most, static_cast<double>(bytes) / std::popcount(set));
    }
    return most;
}

std::int64_t busiest(plan const& whole) {
    std::map<holder_t, std::int64_t> sent;
    for (transfer const& part : whole.transfers)
        if (part.source_key != zero_source && part.source_holder != part.target_holder)
            sent[part.source_holder] += wire_bytes(whole, part);
    std::int64_t most = 0;
    for (auto const& [rank, bytes] : sent)
        most = std::max(most, bytes);
    return most;
}

/// The bytes that one step of dividing moves at least: of what cannot be divided, all.
std::int64_t coarsest(plan const& whole) {
    std::int64_t most = 0;
    for (transfer const& part : whole.transfers) {
        cut const geometry = cut_of(whole, part);
        std::int64_t const elements = element_count(geometry.extent);
        std::int64_t const bytes = wire_bytes(whole, part);
        bool const can_be_cut = !geometry.joins.any() && elements > 0 && bytes % elements == 0;
        most = std::max(most, can_be_cut ? bytes / elements : bytes);
    }
    return most;
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
        origins const expected = expected_of(all);
        BOOST_TEST(agree(planned_of(make_plan(problem), problem, shapes), expected),
                   "seed " << seed << ":\n"
                           << all.text);
        elements += expected.size();
        ++programs;
    }
    BOOST_TEST_MESSAGE(programs << " programs, " << elements << " elements");
}

BOOST_AUTO_TEST_CASE(no_rank_sends_much_more_than_the_busiest_must) {
    std::size_t with_choice = 0;
    for (std::uint64_t seed = 0; seed < test::trials(3000); ++seed) {
        oracle::scenario const all = oracle::generator(seed).make();
        layout const source = test::source_layout(all), target = test::target_layout(all);
        mapping const program = test::mapping_of(all);
        plan_problem const problem = problem_of(program, source, target);
        plan const whole = make_plan(problem);
        demands const wanted = demands_of(whole, problem, source);
        double const least = least_busiest(wanted, source.holders);
        BOOST_TEST(static_cast<double>(busiest(whole)) <=
                       1.05 * least + static_cast<double>(coarsest(whole)),
                   "seed " << seed << ": " << busiest(whole) << " bytes of " << least << "\n"
                           << all.text);
        with_choice += std::any_of(wanted.begin(), wanted.end(),
                                   [](auto const& one) { return std::popcount(one.first) > 1; });
    }
    BOOST_TEST(with_choice > test::trials(3000) / 10);
}

BOOST_AUTO_TEST_SUITE_END()
