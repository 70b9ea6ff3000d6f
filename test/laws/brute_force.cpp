// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>
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
    std::vector<std::int64_t> senders;
};

/// By target holder, key and element.
using element_name = std::tuple<std::int64_t, std::string, std::int64_t>;
using origins = std::map<element_name, origin>;

/// The numbers, row by row, of the elements that a shard holds.
std::vector<std::int64_t> elements_of(oracle::tensor const& tensor, oracle::shard const& shard) {
    std::vector<std::int64_t> matches;
    std::int64_t const count = oracle::count_of(shard.shape);
    for (std::int64_t i = 0; i < count; ++i) {
        if (shard.flat && (i < shard.flat->first || i >= shard.flat->second))
            continue;
        std::int64_t remainder = i, number = 0, stride = 1;
        for (std::size_t axis = shard.shape.size(); axis-- > 0;) {
            number += (shard.offset[axis] + remainder % shard.shape[axis]) * stride;
            stride *= tensor.shape[axis];
            remainder /= shard.shape[axis];
        }
        matches.push_back(number);
    }
    return matches;
}

/// By element of a tensor, the ranks that hold it, ascending.
std::vector<std::vector<std::int64_t>> holders_of(oracle::tensor const& tensor) {
    std::vector<std::vector<std::int64_t>> holders(
        static_cast<std::size_t>(oracle::count_of(tensor.shape)));
    for (oracle::shard const& shard : tensor.shards)
        for (std::int64_t const number : elements_of(tensor, shard))
            holders[static_cast<std::size_t>(number)].push_back(shard.rank);
    for (auto& ranks : holders)
        std::sort(ranks.begin(), ranks.end());
    return holders;
}

/// The rule, stated again: a holder takes its own, others get it from any holder.
std::vector<std::int64_t> allowed(std::vector<std::int64_t> const& ranks, std::int64_t target) {
    if (std::find(ranks.begin(), ranks.end(), target) != ranks.end())
        return {target};
    return ranks;
}

/// Every element of every target shard, looked up among all elements of all source shards.
origins expected_of(oracle::scenario const& scenario) {
    oracle::world const before = oracle::world_of(scenario);
    aoa::program const program = aoa::parse(scenario.text);
    oracle::trace const traced(program, before);
    std::map<std::string, std::vector<std::vector<std::int64_t>>> holders;
    for (oracle::tensor const& tensor : scenario.sources)
        holders[tensor.key] = holders_of(tensor);
    origins expected;
    for (oracle::tensor const& tensor : scenario.targets)
        for (oracle::shard const& shard : tensor.shards)
            for (std::int64_t const number : elements_of(tensor, shard)) {
                if (!traced.is_made(tensor.key))
                    continue;
                origin& from = expected[{shard.rank, tensor.key, number}];
                auto const origin = traced.origin_of(tensor.key, static_cast<std::size_t>(number));
                from = {};
                if (origin)
                    from = {origin->first, static_cast<std::int64_t>(origin->second),
                            allowed(holders[origin->first][origin->second], shard.rank)};
            }
    return expected;
}

/// Every element of every transfer, with the one rank that gives it.
origins planned_of(plan const& plan, plan_problem const& problem,
                   std::map<std::string, index_vector> const& shapes) {
    origins found_origins;
    for (transfer const& part : plan.transfers) {
        cut const geometry = cut_of(plan, part);
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
                index_vector position = detail::joined_offset(geometry.order.undo(at),
                                                              geometry.order.undo(geometry.extent),
                                                              geometry.joins.source);
                for (std::size_t axis = 0; axis < position.size(); ++axis)
                    position[axis] += geometry.source_offset[axis];
                from = {source, ravel_index(position, shapes.at(source)), {part.source_holder}};
            }
            index_t const number = ravel_index(to, shapes.at(target + " of target"));
            auto const [position, is_new] = found_origins.emplace(
                element_name{index_t{part.target_holder}, target, number}, from);
            // A rank may hold two shards with it.
            BOOST_TEST((is_new || (position->second.key == from.key &&
                                   position->second.number == from.number)));
        }
    }
    return found_origins;
}

bool agree(origins const& planned, origins const& expected) {
    return std::equal(planned.begin(), planned.end(), expected.begin(), expected.end(),
                      [](auto const& element, auto const& other) {
                          auto const& [name, from] = element;
                          std::vector<std::int64_t> const& may = other.second.senders;
                          return name == other.first && from.key == other.second.key &&
                                 from.number == other.second.number &&
                                 (from.senders.empty() ? may.empty()
                                                       : std::find(may.begin(), may.end(),
                                                                   from.senders[0]) != may.end());
                      });
}

/// Bytes that any rank of a set may send, by the set as bits.
using demands = std::map<std::uint32_t, std::int64_t>;

/// The elements of all transfers between ranks, by their holders.
demands demands_of(plan const& plan, plan_problem const& problem, layout const& source) {
    demands found_demands;
    for (transfer const& part : plan.transfers) {
        if (part.source_holder == part.target_holder || part.source_key == zero_source)
            continue;
        tensor_shards const shards = problem.sources[part.source_key].shards;
        box const wanted = cut_of(plan, part).source_box();
        std::uint32_t holders = 0;
        for (std::size_t i = 0; i < shards.size(); ++i)
            for (box const& box : shards.boxes(i))
                if (auto const common = intersect(box, wanted); common && *common == wanted)
                    holders |= 1u << shards.holder(i);
        found_demands[holders] += wire_bytes(plan, part);
    }
    BOOST_TEST_REQUIRE(source.holders <= 16u);
    return found_demands;
}

/// The least that the busiest rank can send, if bytes can be divided at will.
///
/// \par Source Hall's condition for fractional matchings: for each set of ranks, what only they can
///             send, divided by how many they are
double least_busiest(demands const& all_demands, holder_t ranks) {
    double most = 0;
    for (std::uint32_t set = 1; set < 1u << ranks; ++set) {
        std::int64_t bytes = 0;
        for (auto const& [holders, wanted] : all_demands)
            if ((holders & ~set) == 0)
                bytes += wanted;
        most = std::max(most, static_cast<double>(bytes) / std::popcount(set));
    }
    return most;
}

std::int64_t busiest(plan const& plan) {
    std::map<holder_t, std::int64_t> sent;
    for (transfer const& part : plan.transfers)
        if (part.source_key != zero_source && part.source_holder != part.target_holder)
            sent[part.source_holder] += wire_bytes(plan, part);
    std::int64_t most = 0;
    for (auto const& [rank, bytes] : sent)
        most = std::max(most, bytes);
    return most;
}

/// The bytes that one step of dividing moves at least: of what cannot be divided, all.
std::int64_t coarsest(plan const& plan) {
    std::int64_t most = 0;
    for (transfer const& part : plan.transfers) {
        cut const geometry = cut_of(plan, part);
        std::int64_t const elements = element_count(geometry.extent);
        std::int64_t const bytes = wire_bytes(plan, part);
        bool const can_be_cut = !geometry.joins.any() && elements > 0 && bytes % elements == 0;
        most = std::max(most, can_be_cut ? bytes / elements : bytes);
    }
    return most;
}

} // namespace

BOOST_AUTO_TEST_CASE(plans_say_what_comparing_all_elements_says) {
    std::size_t elements = 0, programs = 0;
    for (std::uint64_t seed = 0; seed < test::trials(5000); ++seed) {
        oracle::scenario const scenario = oracle::generator(seed).make();
        layout const source = test::source_layout(scenario), target = test::target_layout(scenario);
        mapping const program = test::mapping_of(scenario);
        plan_problem const problem = problem_of(program, source, target);
        std::map<std::string, index_vector> shapes;
        for (tensor_layout const& layout : source.tensors)
            shapes[layout.key] = source.shape_of(layout);
        for (tensor_layout const& layout : target.tensors)
            shapes[layout.key + " of target"] = target.shape_of(layout);
        origins const expected = expected_of(scenario);
        BOOST_TEST(agree(planned_of(make_plan(problem), problem, shapes), expected),
                   "seed " << seed << ":\n"
                           << scenario.text);
        elements += expected.size();
        ++programs;
    }
    BOOST_TEST_MESSAGE(programs << " programs, " << elements << " elements");
}

BOOST_AUTO_TEST_CASE(no_rank_sends_much_more_than_the_busiest_must) {
    std::size_t with_choice = 0;
    for (std::uint64_t seed = 0; seed < test::trials(3000); ++seed) {
        oracle::scenario const scenario = oracle::generator(seed).make();
        layout const source = test::source_layout(scenario), target = test::target_layout(scenario);
        mapping const program = test::mapping_of(scenario);
        plan_problem const problem = problem_of(program, source, target);
        plan const plan = make_plan(problem, {}, {.between_nodes = balanced_senders()});
        demands const wanted = demands_of(plan, problem, source);
        double const least = least_busiest(wanted, source.holders);
        BOOST_TEST(static_cast<double>(busiest(plan)) <=
                       1.05 * least + static_cast<double>(coarsest(plan)),
                   "seed " << seed << ": " << busiest(plan) << " bytes of " << least << "\n"
                           << scenario.text);
        with_choice += std::any_of(wanted.begin(), wanted.end(), [](auto const& element) {
            return std::popcount(element.first) > 1;
        });
    }
    BOOST_TEST(with_choice > test::trials(3000) / 10);
}

BOOST_AUTO_TEST_SUITE_END()
