// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/target_kinds.hpp>

#include "support/layouts.hpp"

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <utility>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::whole_problem;

BOOST_AUTO_TEST_SUITE(plan_target_kinds)

namespace {

using ranks = std::vector<std::vector<shard_descriptor>>;

/// The kinds of a problem, and how well digests alone distinguish them.
class kinds_of {
public:
    explicit kinds_of(whole_problem problem, plan_scope const& scope = {})
        : all_(std::move(problem)),
          problem_(all_()),
          sources_(problem_),
          targets_(problem_.targets),
          parts_(scope, {}, sources_, targets_),
          kinds_(problem_, sources_, targets_, parts_) {}

    std::vector<std::uint32_t> class_of() const { return kinds_.classes().class_of; }

    std::size_t size() const { return kinds_.classes().representative.size(); }

    std::size_t digests() const {
        std::set<std::uint64_t> different;
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            different.insert(kinds_.is_idle(t) ? 0 : kinds_.digest_of(t));
        return different.size();
    }

    /// True if comparisons alone, without digests, tell the same kinds apart.
    bool compare_alike() const {
        auto const kind_of = class_of();
        bool result = true;
        for (std::uint32_t a = 0; a < kind_of.size(); ++a)
            for (std::uint32_t b = 0; b < kind_of.size(); ++b)
                if (!kinds_.is_idle(a) && !kinds_.is_idle(b))
                    result &= kinds_.same_kind(a, b) == (kind_of[a] == kind_of[b]);
        return result;
    }

private:
    whole_problem all_;
    plan_problem problem_;
    detail::source_indices sources_;
    detail::shard_kinds targets_;
    detail::scope_parts parts_;
    detail::target_kinds kinds_;
};

/// Square matrices of 2 x 2, each whole.
shard_descriptor square(std::string const& key) { return part(key, {2, 2}, {{0, 0}, {2, 2}}); }

/// Two sources with the same cuts, one with others, and targets `x` and `y` on rank 0.
whole_problem two_targets(expression const& x, expression const& y, mapping program) {
    program.define("x", x);
    program.define("y", y);
    box const box = whole(x.shape);
    return whole_problem({{square("a"), square("b"), part("c", {2, 2}, {{0, 0}, {1, 2}}),
                           part("c", {2, 2}, {{1, 0}, {1, 2}})}},
                         {{part("x", x.shape, box), part("y", y.shape, box)}}, program);
}

struct sources_fixture {
    mapping program;
    expression a = program.source("a", {2, 2}, data_type::f32);
    expression b = program.source("b", {2, 2}, data_type::f32);
    expression c = program.source("c", {2, 2}, data_type::f32);
    expression none = zeros({2, 2}, data_type::f32);

    /// Two kinds, seen without comparing pieces, and by comparing them alone.
    bool differ(expression const& x, expression const& y) const {
        kinds_of const kinds_of(two_targets(x, y, program));
        BOOST_TEST(kinds_of.digests() == kinds_of.size());
        BOOST_TEST(kinds_of.compare_alike());
        return kinds_of.size() == 2;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(the_parts_of_one_tensor_need_no_comparison) {
    constexpr index_t count = 100;
    mapping program;
    auto const parts = split(program.source("w", {2 * count, 3}, data_type::f32), 0, count);
    ranks target(1);
    for (index_t i = 0; i < count; ++i) {
        std::string const key = "e." + std::to_string(i);
        program.define(key, parts[static_cast<std::size_t>(i)]);
        target[0].push_back(part(key, {2, 3}, {{0, 0}, {2, 3}}));
    }
    whole_problem const problem({{}, {part("w", {2 * count, 3}, {{0, 0}, {2 * count, 3}})}}, target,
                                program);
    for (holder_set const& who : {holder_set(), holder_set({0}), holder_set({1})}) {
        kinds_of const kinds_of(problem, {who, who});
        BOOST_TEST(kinds_of.size() == 100u);
        BOOST_TEST(kinds_of.digests() == 100u);
    }
}

BOOST_FIXTURE_TEST_CASE(equal_tensors_of_equal_sources_are_one_kind, sources_fixture) {
    BOOST_TEST(!differ(a, b));
    BOOST_TEST(!differ(transpose(a), transpose(b)));
    BOOST_TEST(!differ(concat({a, none, b}, 1), concat({b, none, a}, 1)));
    BOOST_TEST(!differ(cast(a, data_type::f32), b));
}

BOOST_FIXTURE_TEST_CASE(digests_know_all_that_tells_kinds_apart, sources_fixture) {
    BOOST_TEST(differ(a, c));
    BOOST_TEST(differ(a, transpose(b)));
    BOOST_TEST(differ(a, none));
    BOOST_TEST(differ(concat({a, none}, 0), concat({none, a}, 0)));
    BOOST_TEST(differ(concat({a, a}, 0), concat({a, b}, 0)));
    BOOST_TEST(differ(concat({a, b, a}, 0), concat({a, b, b}, 0)));
    BOOST_TEST(differ(split(a, 0, 2)[0], split(a, 0, 2)[1]));
}

BOOST_AUTO_TEST_CASE(what_a_scope_gives_and_wants_tells_kinds_apart) {
    // Rank 0 gives a and wants x of a; rank 1 gives b and wants y of b, and z of a.
    mapping program;
    program.define("x", program.source("a", {2, 2}, data_type::f32));
    program.define("y", program.source("b", {2, 2}, data_type::f32));
    program.define("z", program.source("a", {2, 2}, data_type::f32));
    whole_problem const problem({{square("a")}, {square("b")}},
                                {{square("x")}, {square("y"), square("z")}}, program);
    using classes = std::vector<std::uint32_t>;
    BOOST_TEST((kinds_of(problem).class_of() == classes{0, 0, 0}));
    holder_set const set({1}), nobody = holder_set::nobody();
    kinds_of const receiving(problem, {nobody, set});
    BOOST_TEST(receiving.size() == 2u);
    BOOST_TEST(receiving.digests() == 2u);
    BOOST_TEST(receiving.compare_alike());
    BOOST_TEST(receiving.class_of()[1] == receiving.class_of()[2]);
    kinds_of const giving(problem, {set, nobody});
    BOOST_TEST(giving.size() == 2u);
    BOOST_TEST(giving.digests() == 2u);
    BOOST_TEST(giving.compare_alike());
    BOOST_TEST(giving.class_of()[0] == giving.class_of()[2]);
    BOOST_TEST(kinds_of(problem, {set, set}).size() == 3u);
}

BOOST_AUTO_TEST_CASE(tensors_that_are_only_added_are_a_kind_of_their_own) {
    mapping program;
    program.add("x", {2, 2}, data_type::f32);
    program.define("y", zeros({2, 2}, data_type::f32));
    program.add("z", {2, 2}, data_type::f32);
    kinds_of const kinds_of(
        whole_problem({{}}, {{square("x"), square("y"), square("z")}}, program));
    BOOST_TEST(kinds_of.size() == 2u);
    BOOST_TEST(kinds_of.digests() == 2u);
    BOOST_TEST(kinds_of.class_of()[0] == kinds_of.class_of()[2]);
}

BOOST_AUTO_TEST_SUITE_END()
