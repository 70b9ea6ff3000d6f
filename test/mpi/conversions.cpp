// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <reshard/layout/layout_of.hpp>

#include "support/guarded_shards.hpp"
#include "support/held_once.hpp"
#include "support/small_moe.hpp"
#include "support/trials.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace reshard;
using namespace reshard::model;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_conversions)

namespace {

using test::sharing, test::small_moe;

/// From a strategy to a strategy: data, tensor, pipeline, expert parallel.
struct strategy_pair {
    std::string_view source, target;
};

constexpr strategy_pair pairs[] = {
    {"d2", "d4"},     {"t2", "t4"},   {"p2", "p4"},   {"e2", "e4"},   {"p2", "t4"},
    {"t2", "p2"},     {"d4", "t2d2"}, {"d2", "p2"},   {"d2", "e2"},   {"e2", "t2"},
    {"t2", "e2"},     {"d2t2", "t4"}, {"d2t2", "p4"}, {"d2p2", "t4"}, {"t2p2", "d4"},
    {"t2p2", "d2t2"}, {"d2e2", "d4"}, {"t2e2", "t4"}, {"d2t2", "p2"}, {"d2e2", "t2e2"},
};

/// The data for a pair.
struct state_case {
    sharing source, target;
    bool is_tied;
    reshard::vector<state_kind> (*kinds)();
};

constexpr state_case state_cases[] = {
    {sharing::nothing, sharing::nothing, false, paddle_states},
    {sharing::nothing, sharing::zero_1, true, megatron_states},
    {sharing::zero_1, sharing::nothing, false, paddle_states},
    {sharing::zero_1, sharing::zero_1, true, megatron_states},
    {sharing::zero_3, sharing::sharding_v2, false, torch_states},
    {sharing::sharding_v2, sharing::zero_3, true, paddle_states},
    {sharing::sharding_v1, sharing::fsdp_2, true, torch_states},
    {sharing::fsdp_2, sharing::sharding_v1, false, paddle_states},
};

/// How ranks learn the holders.
enum class knowledge {
    gathered,   ///< every rank sends to all others
    known,      ///< each has computed the layouts
    from_table, ///< in a directory of which each rank has a part
};

/// One side of a conversion: the layout, and the shards of a rank that may be beyond the job's
/// ranks.
class side {
public:
    side(std::string_view strategy, state_case const& state_case, sharing sharing)
        : model_(test::degrees_of(strategy), state_case.is_tied),
          tensors_(test::with_state(model_.parameters(), sharing, state_case.kinds())) {}

    test::guarded_shards shards_on(int rank) const {
        auto const number = static_cast<holder_t>(rank);
        if (number >= model_.job().rank_count())
            return test::guarded_shards({});
        return test::guarded_shards(shards_of(tensors_, number));
    }

    reshard::layout layout() const { return layout_of(tensors_); }

private:
    small_moe model_;
    std::vector<tensor_sharding> tensors_;
};

int ranks_of(std::string_view strategy) {
    return static_cast<int>(dense_mesh(test::degrees_of(strategy)).rank_count());
}

/// Converts one case and returns how many elements this rank has got.
index_t convert(boost::mpi::communicator const& world, strategy_pair const& pair,
                state_case const& state_case, knowledge knowledge) {
    side const from(pair.source, state_case, state_case.source),
        to(pair.target, state_case, state_case.target);
    auto source = from.shards_on(world.rank());
    auto target = to.shards_on(world.rank());
    target.spoil(); // what nobody writes is wrong in every bit
    if (knowledge == knowledge::known)
        redistribute(world, source_tensors{source.views(), from.layout()},
                     target_tensors{target.views(), to.layout()});
    else
        redistribute(world, source.views(), target.views(),
                     knowledge == knowledge::gathered ? options{}
                                                      : options{.lookup = directory(0)});
    BOOST_TEST(source.fault() == "");
    BOOST_TEST(target.fault() == "");
    return target.elements();
}

/// The number of state cases that are tried with each pair, of which the next pair takes the next
/// ones: all on four ranks, some if other ranks have nothing.
std::size_t cases_a_pair(int ranks) {
    return test::is_sanitized ? 1 : ranks > 4 ? 2 : std::size(state_cases);
}

/// The parameters that each rank of a strategy has, counted by hand.
struct rank_elements {
    std::string_view strategy;
    std::vector<index_t> by_rank;
};

/// All of a layer but its feed-forward part are 480 elements, of which two norms are 24. The dense layer
/// has 288 more, the others a router of 52 and experts of 144. Embedding and head are 156, the last norm 12.
std::vector<rank_elements> elements_by_hand() {
    return {
        {"d2", {5524, 5524}},
        {"d4", {5524, 5524, 5524, 5524}},
        {"t2", {2968, 2896}},             // 8 and 5 words
        {"t4", {1849, 1849, 1849, 1777}}, // 4, 4, 4 and 1; two ranks have a key and value head each
        {"p2", {3140, 2384}},             // 3 and 2 layers
        {"p4", {2032, 1108, 1108, 1276}}, // 2, 1, 1 and 1
        {"e2", {4372, 4372}},
        {"e4", {3796, 3796, 3796, 3796}},
        {"t2d2", {2968, 2896, 2968, 2896}},
        {"d2t2", {2968, 2896, 2968, 2896}},
        {"d2p2", {3140, 3140, 2384, 2384}},
        {"t2p2", {1676, 1640, 1292, 1256}},
        {"d2e2", {4372, 4372, 4372, 4372}},
        {"t2e2", {2392, 2320, 2392, 2320}},
    };
}

index_t elements_of(std::vector<shard_descriptor> const& shards) {
    index_t count = 0;
    for (shard_descriptor const& shard : shards)
        count += element_count(shard.region);
    return count;
}

/// Whether main copies hold each element of a tensor once, and ranks are found that say they hold it.
void obeys_the_laws(tensor_sharding const& tensor) {
    BOOST_TEST(test::is_held_once(tensor), tensor.key << " is not held once");
    BOOST_TEST(test::is_inverse(tensor), tensor.key << " has other holders");
}

} // namespace

BOOST_AUTO_TEST_CASE(strategies_mean_what_their_letters_say) {
    for (auto const& [strategy, by_rank] : elements_by_hand()) {
        small_moe const model(test::degrees_of(strategy), false);
        std::vector<index_t> counted;
        for (holder_t rank = 0; rank < model.job().rank_count(); ++rank)
            counted.push_back(elements_of(shards_of(model.parameters(), rank)));
        BOOST_TEST(counted == by_rank, strategy << " has other elements");
    }
}

BOOST_AUTO_TEST_CASE(each_element_of_parameters_and_state_is_held_under_every_strategy) {
    boost::mpi::communicator const world;
    auto const me = static_cast<std::size_t>(world.rank());
    std::vector<state_kind> const kinds{{.suffix = ".moment"},
                                        {.suffix = ".step", .scalar_shape = index_vector{1}}};
    for (auto const& [strategy, by_rank] : elements_by_hand())
        for (sharing const sharing : {sharing::nothing, sharing::zero_1, sharing::zero_3,
                                      sharing::sharding_v1, sharing::sharding_v2, sharing::fsdp_2})
            BOOST_TEST_CONTEXT(strategy << ", sharing " << static_cast<int>(sharing)) {
                small_moe const model(test::degrees_of(strategy), sharing == sharing::zero_1);
                auto const with_state = test::with_state(model.parameters(), sharing, kinds);
                for (std::size_t i = me; i < with_state.size();
                     i += static_cast<std::size_t>(world.size()))
                    obeys_the_laws(with_state[i]);
            }
}

BOOST_AUTO_TEST_CASE(a_small_moe_and_its_state_go_from_each_strategy_to_each) {
    boost::mpi::communicator const world;
    index_t elements = 0;
    std::size_t conversions = 0, turn = 0;
    for (strategy_pair const& pair : pairs) {
        if (std::max(ranks_of(pair.source), ranks_of(pair.target)) > world.size())
            continue;
        for (std::size_t i = 0; i < cases_a_pair(world.size()); ++i, ++turn)
            BOOST_TEST_CONTEXT(pair.source << " -> " << pair.target << ", state case "
                                           << turn % std::size(state_cases) << ", knowledge "
                                           << turn % 3 << ", rank " << world.rank()) {
                elements += convert(world, pair, state_cases[turn % std::size(state_cases)],
                                    static_cast<knowledge>(turn % 3));
                ++conversions;
            }
    }
    index_t const total = boost::mpi::all_reduce(world, elements, std::plus<>());
    if (world.rank() == 0)
        std::cout << world.size() << " ranks: " << conversions << " conversions, " << total
                  << " elements" << std::endl;
    // Five pairs are of two ranks.
    BOOST_TEST(conversions == (world.size() == 1  ? 0U
                               : world.size() < 4 ? 5U
                                                  : 20U) *
                                  cases_a_pair(world.size()));
}

BOOST_AUTO_TEST_SUITE_END()
