// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include "support/resolved.hpp"
#include "support/shardings.hpp"
#include "support/trials.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::resolved;

BOOST_AUTO_TEST_SUITE(laws_compact)

namespace {

/// Both sides by arithmetic, and the same listed.
struct two_forms {
    layout source;
    layout target;
    mapping program;
    layout listed_source = listed(source);
    layout listed_target = listed(target);
};

/// Three source tensors of one shape; targets are these, turned, joined and cut.
class drawn {
public:
    explicit drawn(std::uint64_t seed) : random_(seed) {}

    two_forms all() {
        index_vector const shape{random_.between(1, 9), random_.between(2, 9)};
        mesh const from = test::any_mesh(random_), to = test::any_mesh(random_);
        std::vector<tensor_sharding> sources, targets;
        mapping program;
        std::vector<expression> values;
        for (std::string const key : {"a", "b", "c"}) {
            sources.push_back(place(key, from, shape));
            values.push_back(program.source(key, shape, data_type::f32));
        }
        auto const define = [&](std::string const& key, expression const& value) {
            targets.push_back(place(key, to, value.shape));
            program.define(key, value);
        };
        define("all", concat(values, random_.chance(50) ? 1 : 0));
        define("b", values[1]);
        define("c", values[2]);
        define("turned", transpose(values[0]));
        std::size_t part = 0;
        for (expression const& expression :
             split(transpose(values[1]), 0, std::vector<index_t>{1, shape[1] - 1}))
            define("part." + std::to_string(part++), expression);
        return {layout_of(std::move(sources)), layout_of(std::move(targets)), std::move(program)};
    }

private:
    tensor_sharding place(std::string key, mesh const& ranks, index_vector const& shape) {
        return test::any_sharding_of(random_, std::move(key), ranks, shape);
    }

    oracle::random_numbers random_;
};

/// What a transfer moves, whoever gives it.
using moved_box = std::tuple<key_id, std::uint32_t, box, key_id, index_vector>;

/// All that moves to ranks in `targets`, blocks one by one.
std::vector<moved_box> boxes_of(plan const& plan, holder_set const& targets) {
    std::vector<moved_box> boxes;
    for (transfer const& t : plan.transfers) {
        cut const geometry = cut_of(plan, t);
        if (targets.contains(t.target_holder))
            geometry.for_each_target_box([&](box const& each) {
                index_vector source = geometry.source_offset;
                for (std::size_t axis = 0; geometry.repeats.any() && axis < each.ndim(); ++axis)
                    source[geometry.order[axis]] +=
                        each.offset[axis] - geometry.target_offset[axis];
                boxes.emplace_back(t.target_key, t.target_shard, each, t.source_key, source);
            });
    }
    std::sort(boxes.begin(), boxes.end());
    return boxes;
}

bool repeats(plan const& plan) {
    return std::any_of(plan.transfers.begin(), plan.transfers.end(),
                       [&](transfer const& t) { return cut_of(plan, t).repeats.any(); });
}

} // namespace

BOOST_AUTO_TEST_CASE(computed_and_listed_layouts_have_one_plan) {
    for (std::uint64_t seed = 0; seed < test::trials(2000); ++seed) {
        two_forms const forms = drawn(seed).all();
        plan_problem const computed = problem_of(forms.program, forms.source, forms.target);
        plan_problem const listed =
            problem_of(forms.program, forms.listed_source, forms.listed_target);
        plan_problem const mixed = problem_of(forms.program, forms.listed_source, forms.target);
        plan_options options{.processes = static_cast<holder_t>(seed % 3),
                             .shared_sources = seed % 11 == 0,
                             .processes_per_node = static_cast<holder_t>(seed / 2 % 4),
                             .between_nodes = balanced_senders()};
        // Then other replicas may give them, and shards that are balanced are not cut again.
        bool const blocks_repeat = repeats(make_plan(computed)) || repeats(make_plan(mixed));
        if (blocks_repeat)
            options.between_nodes = {};
        auto const same = [&](plan_scope const& scope) {
            plan const expected = make_plan(listed, scope, options);
            auto const is_expected = [&](plan const& made) {
                return blocks_repeat
                           ? boxes_of(made, scope.targets) == boxes_of(expected, scope.targets)
                           : resolved(made) == resolved(expected);
            };
            return is_expected(make_plan(computed, scope, options)) &&
                   is_expected(make_plan(mixed, scope, options));
        };
        BOOST_TEST(same({}), "seed " << seed);
        holder_t const ranks = std::max(forms.source.holders, forms.target.holders);
        for (holder_t rank = 0; rank < ranks; ++rank) {
            holder_set const me({rank});
            BOOST_TEST(same({me, me}), "seed " << seed << ", rank " << rank);
            BOOST_TEST(same({holder_set::nobody(), me}), "seed " << seed << ", rank " << rank);
        }
        BOOST_TEST(same({holder_set({0, 2, 5}), holder_set({1, 2})}), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(patterns_cost_what_the_transfers_that_they_stand_for_cost) {
    for (std::uint64_t seed = 0; seed < test::trials(1000); ++seed) {
        two_forms const forms = drawn(seed).all();
        plan_options const options{.processes = static_cast<holder_t>(seed % 4),
                                   .shared_sources = seed % 7 == 0,
                                   .processes_per_node = static_cast<holder_t>(seed / 2 % 3),
                                   .between_nodes = balanced_senders()};
        holder_t const holders = std::max(forms.source.holders, forms.target.holders);
        holder_t const processes = options.processes == 0 ? holders : options.processes;
        plan_problem const computed = problem_of(forms.program, forms.source, forms.target);
        plan_problem const listed =
            problem_of(forms.program, forms.listed_source, forms.listed_target);
        for (plan_problem const* const form : {&computed, &listed})
            BOOST_TEST((cost_of(plan_flows(*form, options), processes) ==
                        cost_of(make_plan(*form, {}, options), processes, options)),
                       "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
