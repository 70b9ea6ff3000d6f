// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/inner_optimizer.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

namespace {

/// Holds the state.
struct plain_optimizer {
    double moment = 0;

    constexpr void step(double gradient) { moment = 0.5 * moment + gradient; }
};

/// The wrapper of stage 3: its own moment, which nobody updates.
struct sharded_optimizer {
    plain_optimizer wrapped;
    double moment = -1;

    constexpr void step(double gradient) { wrapped.step(gradient); }
};

/// What scales gradients, around that.
struct scaling_optimizer {
    sharded_optimizer& wrapped;
};

/// One type that may wrap another of its own.
struct chained_optimizer {
    chained_optimizer* next = nullptr;
};

} // namespace

template <>
struct reshard::model::optimizer_traits<sharded_optimizer> {
    static constexpr auto& inner(auto& outer) { return outer.wrapped; }
};

template <>
struct reshard::model::optimizer_traits<scaling_optimizer> {
    static constexpr sharded_optimizer& inner(scaling_optimizer const& outer) {
        return outer.wrapped;
    }
};

template <>
struct reshard::model::optimizer_traits<chained_optimizer> {
    static constexpr auto* inner(auto& outer) { return outer.next; }
};

using namespace reshard;
using namespace reshard::model;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(model_inner_optimizer)

BOOST_AUTO_TEST_CASE(the_state_reported_is_the_state_that_a_step_updates) {
    sharded_optimizer sharded;
    scaling_optimizer scaling{sharded};
    sharded.step(3);
    sharded.step(1);
    BOOST_TEST(unwrap_optimizer(scaling).moment == 2.5);
    unwrap_optimizer(scaling).moment = 8; // as a load does
    sharded.step(0);
    BOOST_TEST(sharded.wrapped.moment == 4);
    BOOST_TEST(&unwrap_optimizer(scaling) == &sharded.wrapped);
    BOOST_TEST(&unwrap_optimizer(sharded) == &sharded.wrapped);
}

BOOST_AUTO_TEST_CASE(one_that_wraps_nothing_holds_its_state_itself) {
    plain_optimizer plain;
    BOOST_TEST(&unwrap_optimizer(plain) == &plain);
    sharded_optimizer const constant{};
    BOOST_TEST(unwrap_optimizer(constant).moment == 0);
    static_assert(wraps_optimizer<sharded_optimizer> && wraps_optimizer<scaling_optimizer const>);
}

BOOST_AUTO_TEST_CASE(a_chain_of_one_type_ends_where_there_is_no_other) {
    chained_optimizer last, middle{&last}, first{&middle};
    BOOST_TEST(&unwrap_optimizer(first) == &last);
    BOOST_TEST(&unwrap_optimizer(last) == &last);
}

BOOST_AUTO_TEST_CASE(an_optimizer_that_wraps_itself_is_refused) {
    chained_optimizer first, second{&first};
    first.next = &second;
    BOOST_CHECK_EXCEPTION(
        unwrap_optimizer(first), error,
        test::says(errc::usage, "more than 64 optimizers wrap each other; does one wrap itself?"));
}

BOOST_AUTO_TEST_SUITE_END()
