// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_world.hpp>

#include <reshard/mpi/mpi_group.hpp>

#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(mpi_check_rules)

namespace {

/// Rank `r` is pipeline stage `r` and has its own tensor, `w<r>`.
struct stages {
    mpi_group world{boost::mpi::communicator()};
    std::vector<shard_rules::tensor> tensors{
        {"w" + std::to_string(world.rank()), data_type::f32, {2}}};

    void check(shard_rules const& layer) const {
        reshard::check(world, layer, tensors, apply(layer, tensors, {0, 0, 1}));
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_rule_need_only_have_a_tensor_on_some_rank) {
    stages const stages;
    shard_rules layer{"stage" + std::to_string(stages.world.rank()) + ".", {}};
    for (int rank = 0; rank < stages.world.size(); ++rank)
        layer.rules.push_back({key_pattern("w" + std::to_string(rank)), 0});
    stages.check(layer);
}

BOOST_AUTO_TEST_CASE(a_rule_without_a_tensor_is_the_same_error_on_every_rank) {
    stages const stages;
    BOOST_CHECK_EXCEPTION(
        stages.check({"layers.", {{key_pattern("w*")}, {key_pattern("norm"), 0}}}), error,
        says(errc::unknown_key, "rule 2 of 2, 'norm', applies to no tensor on "
                                "any rank; rank 0 has 1 tensor below 'layers.'"));
}

BOOST_AUTO_TEST_CASE(a_key_without_a_rule_is_the_error_of_the_lowest_rank_that_has_one) {
    stages const stages;
    int const last = stages.world.size() - 1;
    shard_rules layer{"", {{key_pattern("**")}}, shard_rules::unmatched::refuse};
    if (last > 0)
        layer.rules[0].match = key_pattern("w0");
    if (last == 0) {
        stages.check(layer);
        return;
    }
    BOOST_CHECK_EXCEPTION(stages.check(layer), error,
                          says(errc::unknown_key, "'w1' matches no rule; add a rule for each "
                                                  "tensor (a rule without an axis replicates it)"));
}

BOOST_AUTO_TEST_CASE(ranks_with_different_rules_are_told_so) {
    stages const stages;
    if (stages.world.size() == 1)
        return;
    bool const is_last = stages.world.rank() == stages.world.size() - 1;
    shard_rules layer{"", {{key_pattern("w*"), 0}}};
    if (is_last)
        layer.rules[0].axis.reset();
    BOOST_CHECK_EXCEPTION(
        stages.check(layer), error,
        says(errc::ranks_disagree, "rank 0 runs check of shard rules and rank " +
                                       std::to_string(stages.world.size() - 1) +
                                       " runs it with a different program or different options; "
                                       "every rank must make the same call"));
}

BOOST_AUTO_TEST_SUITE_END()
