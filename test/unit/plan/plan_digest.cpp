// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/planned_job.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;

BOOST_AUTO_TEST_SUITE(plan_digest_)

namespace {

/// Everything that a plan is made from, to be changed one by one.
struct plan_inputs {
    std::vector<std::vector<shard_descriptor>> source{{part("w", {4, 6}, {{0, 0}, {4, 6}})}, {}};
    std::vector<std::vector<shard_descriptor>> target{{part("w", {4, 6}, {{0, 0}, {2, 6}})},
                                                      {part("w", {4, 6}, {{2, 0}, {2, 6}})}};
    bool casts = false;
    plan_options options{};
    plan_scope scope{};

    std::uint64_t digest() const {
        mapping program;
        expression const w = program.source("w", {4, 6}, data_type::f32);
        program.define("w", casts ? cast(cast(w, data_type::bf16), data_type::f32) : w);
        return plan_digest(structure_digest(program, layout_of(source), layout_of(target), options),
                           scope);
    }
};

layout rows_of(index_t dp, index_t only_at, index_t tp) {
    return layout_of({sharding_of("w", data_type::f32,
                                  distribution(mesh({{"pp", 2}, {"dp", dp}, {"tp", tp}}),
                                               {only{only_at}, shard{0}, shard{1}}, {8, 8}))});
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_inputs_have_one_digest) {
    BOOST_TEST(plan_inputs().digest() == plan_inputs().digest());
}

BOOST_AUTO_TEST_CASE(whatever_changes_the_digest_does) {
    std::vector<plan_inputs> inputs(14);
    inputs[1].source[0][0].key = "v";
    inputs[1].target = {{part("v", {4, 6}, {{0, 0}, {4, 6}})}};
    inputs[2].source[0].swap(inputs[2].source[1]); // another rank
    inputs[3].source.emplace_back();               // one more rank, that has nothing
    inputs[4].source[0][0].dtype = data_type::i32;
    inputs[5].source[0][0].flat = flat_range{0, 24};
    inputs[6].target[1].swap(inputs[6].target[0]);
    inputs[7].target[0][0].region.shape = {2, 5};
    inputs[8].casts = true;
    inputs[9].options.processes = 2;
    inputs[10].options.shared_sources = true;
    inputs[11].options.processes_per_node = 2;
    inputs[12].scope.sources = holder_set({0});
    inputs[13].scope.targets = holder_set({0});
    std::vector<std::uint64_t> digests;
    for (plan_inputs const& plan_inputs : inputs)
        digests.push_back(plan_inputs.digest());
    std::sort(digests.begin(), digests.end());
    BOOST_TEST((std::adjacent_find(digests.begin(), digests.end()) == digests.end()));
    BOOST_TEST(plan_digest(1, {holder_set::nobody(), {}}) != plan_digest(1, {}));
}

BOOST_AUTO_TEST_CASE(layouts_differ_by_who_holds_what) {
    std::vector<std::uint64_t> digests;
    for (layout const& element :
         {rows_of(2, 0, 2), rows_of(2, 1, 2), rows_of(4, 0, 1), rows_of(1, 0, 4), layout()})
        digests.push_back(digest_of(element));
    BOOST_TEST(digest_of(rows_of(2, 0, 2)) == digests[0]);
    std::sort(digests.begin(), digests.end());
    BOOST_TEST((std::adjacent_find(digests.begin(), digests.end()) == digests.end()));
}

BOOST_AUTO_TEST_SUITE_END()
