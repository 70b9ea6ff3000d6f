// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/local/overlap.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

using namespace reshard;
using reshard::test::part;
using reshard::test::says;

namespace {

/// Parts of one block of memory as tensors; `at` counts floats.
struct overlap_fixture {
    std::vector<float> memory = std::vector<float>(100);
    state_dict source, target;

    void add(state_dict& side, std::string const& key, index_t at, index_t count,
             index_t stride = 1) {
        side.add(part(key, {count}, {{0}, {count}}),
                 tensor_view{memory.data() + at, data_type::f32, {count}, {stride}});
    }

    void check() const {
        const_state_dict const from = source;
        check_memory(std::span(&from, 1), std::span(&target, 1));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(local_overlap, overlap_fixture)

BOOST_AUTO_TEST_CASE(tensors_side_by_side_are_legal) {
    add(source, "a", 0, 10);
    add(target, "b", 10, 10);
    add(source, "c", 20, 5);
    add(target, "d", 25, 75);
    check();
}

BOOST_AUTO_TEST_CASE(sources_may_share) {
    add(source, "a", 0, 10);
    add(source, "b", 5, 10);
    add(source, "c", 0, 10);
    add(target, "d", 15, 1);
    check();
}

BOOST_AUTO_TEST_CASE(a_target_in_a_source_is_refused) {
    add(source, "a", 0, 10);
    add(target, "b", 9, 1);
    BOOST_CHECK_EXCEPTION(check(), error,
                          says(errc::memory_overlap, "source 'a' and target 'b' share memory; give "
                                                     "the target memory of its own"));
}

BOOST_AUTO_TEST_CASE(a_source_in_a_target_is_refused_behind_smaller_ones) {
    add(target, "large", 0, 50);
    add(target, "small", 60, 1);
    add(source, "a", 40, 2);
    BOOST_CHECK_EXCEPTION(check(), error,
                          says(errc::memory_overlap, "target 'large' and source 'a' share memory; "
                                                     "give the target memory of its own"));
}

BOOST_AUTO_TEST_CASE(one_address_for_two_targets_is_refused) {
    add(target, "a", 3, 4);
    add(target, "b", 3, 4);
    BOOST_CHECK_THROW(check(), error);
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_share_nothing) {
    add(source, "a", 0, 10);
    add(target, "b", 5, 0);
    check();
}

BOOST_AUTO_TEST_CASE(targets_may_be_interleaved_and_sources_may_not) {
    add(target, "even", 0, 10, 2);
    add(target, "odd", 1, 10, 2);
    check();
    add(source, "between", 40, 10, 2);
    add(target, "gaps", 41, 9, 2);
    BOOST_CHECK_THROW(check(), error);
}

BOOST_AUTO_TEST_SUITE_END()
