// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/bridge_target.hpp>

#include "support/says.hpp"
#include "unit/bridge/weights.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/bridge/bridge_source.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <fstream>

using namespace reshard;
using namespace reshard::test;

namespace {

/// 'a' and below it 'b', transposed, as bfloat16.
mapping fused(catalog const& source, catalog const*) {
    mapping program;
    std::vector<expression> both;
    for (catalog_entry const& entry : source)
        both.push_back(program.source(entry.key, entry.shape, entry.dtype));
    program.define("ab", cast(transpose(concat(both, 0)), data_type::bf16));
    return program;
}

/// What makes a source of 'a' and 'b', and a target of one tensor 'ab' of 4 rows.
struct fused_pair {
    weights<> have{{"a", "b"}, 6, 4, cut_along::rows};
    std::vector<bfloat16> ab = std::vector<bfloat16>(48);

    state_dict want() {
        state_dict tensors;
        tensors.add({"ab", data_type::bf16, {4, 12}, whole({4, 12})},
                    adapt::raw_tensor(ab.data(), {4, 12}));
        return tensors;
    }

    /// Whether the element at `row`, `column` of a tensor of `version` has come; bfloat16 has
    /// the numbers up to 256.
    bool has(index_t row, index_t column, bool is_b) const {
        std::uint32_t const bits =
            ab[static_cast<std::size_t>(column * 12 + row + (is_b ? 6 : 0))].bits;
        return std::bit_cast<float>(bits << 16) == static_cast<float>(row * 4 + column);
    }
};

std::string error_of(auto const& work) {
    try {
        work();
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
    return "no error";
}

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_target_suite)

// Several processes: two_programs.cpp.

BOOST_AUTO_TEST_CASE(sets_are_filled_in_turn_with_what_was_published) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    weights first({"a", "b"}, 6, 4, cut_along::columns);
    weights second({"a", "b"}, 6, 4, cut_along::columns);
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), first.views(), second.views(), port);
    BOOST_TEST(target.update() == 0u);
    for (int version = 1; version <= 5; ++version) {
        have.set(version);
        BOOST_TEST(source.publish() == static_cast<std::uint64_t>(version));
        BOOST_TEST(target.latest_complete_version() == static_cast<std::uint64_t>(version));
        BOOST_TEST(target.update() == static_cast<std::uint64_t>(version));
        weights<>& front = target.front() == 0 ? first : second;
        weights<>& back = target.front() == 0 ? second : first;
        BOOST_TEST(front.version().value() == version);
        BOOST_TEST(back.version().value_or(0) == version - 1);
        BOOST_TEST(target.update() == static_cast<std::uint64_t>(version));
        BOOST_TEST(target.version() == static_cast<std::uint64_t>(version));
    }
}

BOOST_AUTO_TEST_CASE(a_typed_layout_is_taken_as_a_layout) {
    using right = typed::layout<mesh{}, typed::tensor<"w", float, index_vector{3}>>;
    using wrong = typed::layout<mesh{}, typed::tensor<"w", float, index_vector{4}>>;
    port_path const port;
    std::vector<float> elements{1, 2, 3}, first(3), second(3);
    auto const views = [](std::vector<float>& memory) {
        state_dict tensors;
        tensors.add({"w", data_type::f32, {3}, whole({3})}, adapt::raw_tensor(memory.data(), {3}));
        return tensors;
    };
    BOOST_CHECK_EXCEPTION(bridge_source(solo(), {views(elements), wrong()}, port), error,
                          mentions(errc::bad_layout, "which the layout does not assign to it"));
    bridge_source source(solo(), {views(elements), right()}, port);
    bridge_target target(solo(), {views(first), right()}, {views(second), right()}, port);
    source.publish();
    BOOST_TEST(target.update(1) == 1u);
    BOOST_TEST((target.front() == 0 ? first : second) == elements);
}

BOOST_AUTO_TEST_CASE(a_program_stands_on_either_side_and_not_on_both) {
    for (bool const at_source : {false, true}) {
        port_path const port;
        fused_pair pair;
        bridge_options const with{.program = fused}, without;
        bridge_source source(solo(), pair.have.views(), port, at_source ? with : without);
        bridge_target target(solo(), pair.want(), port, at_source ? without : with);
        pair.have.set(0);
        source.publish();
        target.update();
        BOOST_TEST(pair.has(5, 3, false));
        BOOST_TEST(pair.has(1, 2, true));
        pair.have.elements(3)[11] = 256; // the last one of 'b'
        source.publish();
        target.update();
        BOOST_TEST(target.stats().bytes == 24); // the half of 'b', as bfloat16
        BOOST_TEST(std::bit_cast<float>(std::uint32_t{pair.ab[47].bits} << 16) == 256.0f);
        if (at_source)
            BOOST_TEST(
                error_of([&] { bridge_target(solo(), pair.want(), port, with); }) ==
                "usage: both sides of the bridge have a program; give a program on one side only");
    }
}

namespace {

/// 'w' as an 8-bit float, and its scales as they are.
mapping quantized(catalog const&, catalog const*) {
    mapping program;
    program.define("w", cast(program.source("w", {2, 2}, data_type::bf16), data_type::f8_e4m3));
    program.define("w_scale_inv", program.source("w_scale_inv", {2, 1}, data_type::f32));
    return program;
}

/// A tensor of any type, and its bytes.
template <class T>
void add(state_dict& tensors, std::string key, data_type dtype, index_vector const& shape,
         std::vector<T>& elements) {
    tensors.add({std::move(key), dtype, shape, whole(shape)},
                tensor_view{elements.data(), dtype, shape, {shape[1], 1}});
}

} // namespace

BOOST_AUTO_TEST_CASE(weights_become_8_bits_wide_on_the_way_beside_the_scales_of_their_version) {
    port_path const port;
    // The elements divided by their block's scale: 1, 2 / 448, -0.5. Codes of E4M3: 0x38, 0x40 /
    // 0x7e, 0xb0.
    std::vector<std::uint16_t> w{0x3f80, 0x4000, 0x43e0, 0xbf00};
    std::vector<float> scales{0.25f, 8.0f}, got_scales(2);
    std::vector<std::uint8_t> got(4);
    state_dict have, want;
    add(have, "w", data_type::bf16, {2, 2}, w);
    add(have, "w_scale_inv", data_type::f32, {2, 1}, scales);
    add(want, "w", data_type::f8_e4m3, {2, 2}, got);
    add(want, "w_scale_inv", data_type::f32, {2, 1}, got_scales);
    bridge_source source(solo(), have, port);
    bridge_target target(solo(), want, port, {.program = quantized});
    source.publish();
    target.update();
    BOOST_TEST(got == (std::vector<std::uint8_t>{0x38, 0x40, 0x7e, 0xb0}));
    BOOST_TEST(got_scales == (std::vector<float>{0.25f, 8.0f}));
    // A step later the first row is twice as large: its elements stay, and its scale does not.
    scales[0] = 0.5f;
    source.publish();
    BOOST_TEST(got_scales == (std::vector<float>{0.25f, 8.0f}));
    target.update();
    BOOST_TEST(got == (std::vector<std::uint8_t>{0x38, 0x40, 0x7e, 0xb0}));
    BOOST_TEST(got_scales == (std::vector<float>{0.5f, 8.0f}));
    BOOST_TEST(target.stats().bytes == 8); // the scales alone
}

namespace {

/// 'gate' above 'up' as an 8-bit float; their scales, one for each block of 2 x 2, likewise.
mapping fused_and_quantized(catalog const&, catalog const*) {
    mapping program;
    std::vector<expression> weights, scales;
    for (std::string const key : {"gate", "up"}) {
        weights.push_back(program.source(key, {2, 4}, data_type::bf16));
        scales.push_back(program.source(key + "_scale_inv", {1, 2}, data_type::f32));
    }
    program.define("gate_up", cast(concat(weights, 0), data_type::f8_e4m3));
    program.define("gate_up_scale_inv", concat(scales, 0));
    return program;
}

/// The left or the right half of a tensor.
template <class T>
void add_half(state_dict& tensors, std::string key, data_type dtype, index_vector const& shape,
              bool is_right, std::vector<T>& elements) {
    index_t const columns = shape[1] / 2;
    box const region{{0, is_right ? columns : 0}, {shape[0], columns}};
    tensors.add({std::move(key), dtype, shape, region},
                tensor_view{elements.data(), dtype, region.shape, {columns, 1}});
}

} // namespace

BOOST_AUTO_TEST_CASE(fused_weights_of_another_layout_have_the_scale_of_each_block) {
    port_path const port;
    // 1, 2, -0.5, 448 / 0.25, 1.5, -2, 3, and 4, 0, -1, 0.5 / 6, -448, 1.125, 1.0625.
    std::vector<std::uint16_t> gate{0x3f80, 0x4000, 0xbf00, 0x43e0, 0x3e80, 0x3fc0, 0xc000, 0x4040};
    std::vector<std::uint16_t> up{0x4080, 0x0000, 0xbf80, 0x3f00, 0x40c0, 0xc3e0, 0x3f90, 0x3f88};
    std::vector<float> gate_scales{0.5f, 2.0f}, up_scales{4.0f, 8.0f};
    state_dict have, want;
    add(have, "gate", data_type::bf16, {2, 4}, gate);
    add(have, "up", data_type::bf16, {2, 4}, up);
    add(have, "gate_scale_inv", data_type::f32, {1, 2}, gate_scales);
    add(have, "up_scale_inv", data_type::f32, {1, 2}, up_scales);
    std::vector<std::uint8_t> left(8), right(8);
    std::vector<float> left_scales(2), right_scales(2);
    for (bool const is_right : {false, true}) {
        add_half(want, "gate_up", data_type::f8_e4m3, {4, 4}, is_right, is_right ? right : left);
        add_half(want, "gate_up_scale_inv", data_type::f32, {2, 2}, is_right,
                 is_right ? right_scales : left_scales);
    }
    bridge_source source(solo(), have, port);
    bridge_target target(solo(), want, port, {.program = fused_and_quantized});
    source.publish();
    target.update();
    // The last one lies between 1 and 1.125, and becomes the even one.
    BOOST_TEST(left == (std::vector<std::uint8_t>{0x38, 0x40, 0x28, 0x3c, 0x48, 0, 0x4c, 0xfe}));
    BOOST_TEST(right ==
               (std::vector<std::uint8_t>{0xb0, 0x7e, 0xc0, 0x44, 0xb8, 0x30, 0x39, 0x38}));
    BOOST_TEST(left_scales == (std::vector<float>{0.5f, 4.0f}));
    BOOST_TEST(right_scales == (std::vector<float>{2.0f, 8.0f}));
}

BOOST_AUTO_TEST_CASE(a_hook_says_of_each_tensor_when_it_has_a_version) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows), want({"a", "b"}, 6, 4, cut_along::columns);
    std::vector<std::string> said;
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), want.views(), port,
                         {.ready = [&](std::string const& key, std::uint64_t version) {
                             BOOST_TEST(want.version_of(key).value() == static_cast<int>(version));
                             said.push_back(key + std::to_string(version));
                         }});
    have.set(1);
    source.publish();
    target.update();
    have.set("b", 2);
    source.publish();
    target.update();
    std::vector<std::string> const expected{"a1", "b1", "b2"};
    BOOST_TEST(said == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hook_that_throws_leaves_the_set_in_front) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows), first({"a", "b"}, 6, 4, cut_along::columns),
        second({"a", "b"}, 6, 4, cut_along::columns);
    bool throws = false;
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), first.views(), second.views(), port,
                         {.ready = [&](std::string const&, std::uint64_t) {
                             if (throws)
                                 fail(errc::usage, "not now");
                         }});
    have.set(1);
    source.publish();
    target.update();
    std::size_t const front = target.front();
    throws = true;
    have.set(2);
    source.publish();
    BOOST_TEST(error_of([&] { target.update(); }) == "usage: not now");
    BOOST_TEST(target.front() == front);
    BOOST_TEST(target.version() == 1u);
    BOOST_TEST((front == 0 ? first : second).version().value() == 1);
    throws = false;
    BOOST_TEST(target.update() == 2u);
    BOOST_TEST((front == 0 ? second : first).version().value() == 2);
    have.set(3);
    source.publish(); // which waits for nobody
    BOOST_TEST(source.stats().overwritten == 0u);
}

BOOST_AUTO_TEST_CASE(where_nobody_comes_it_says_what_it_waited_for) {
    port_path const port;
    weights want({"a"}, 6, 4, cut_along::rows);
    auto const meet = [&] { bridge_target(solo(), want.views(), port, {.deadline = 0.0}); };
    BOOST_TEST(error_of(meet) == "deadline: " + port->string() +
                                     ": waited 0 s for a source's port file; the file does not "
                                     "exist; start the source with this path");
    std::filesystem::path const kept = port->string() + ".kept";
    {
        bridge_source const source(solo(), want.views(), port);
        std::filesystem::copy_file(*port.operator->(), kept);
    }
    std::filesystem::rename(kept, port);
    BOOST_TEST(error_of(meet) ==
               "deadline: " + port->string() +
                   ": waited 0 s for a source's port file; the existing file belongs to process " +
                   std::to_string(::getpid()) +
                   ", which has ended; start the source with this path");
    std::ofstream(*port.operator->()) << "another file";
    BOOST_TEST(error_of(meet).starts_with("corrupt_file: " + port->string() +
                                          ": this is not a bridge's port"));
}

BOOST_AUTO_TEST_CASE(a_path_where_no_source_can_come_is_refused_without_waiting) {
    weights want({"a"}, 6, 4, cut_along::rows);
    bridge_options const at_once{.deadline = 0.0};
    BOOST_CHECK_EXCEPTION(bridge_target(solo(), want.views(), "/nowhere/port", at_once), error,
                          says(errc::io, "/nowhere/port: /nowhere, its parent directory, does not "
                                         "exist"));
    BOOST_CHECK_EXCEPTION(
        bridge_target(solo(), want.views(), "", at_once), error,
        says(errc::usage,
             "the path of a bridge's port file is empty; give both programs the same file path"));
}

BOOST_AUTO_TEST_CASE(a_version_that_does_not_come_is_named) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port);
    bridge_target target(solo(), want.views(), port, {.deadline = 0.0});
    source.publish();
    BOOST_TEST(
        error_of([&] { target.update(2); }) ==
        "deadline: " + port->string() +
            ": waited 0 s for version 2; the newest version is 1, and its source is process " +
            std::to_string(::getpid()) + ", which is running");
    BOOST_TEST(target.version() == 0u);
    BOOST_TEST(target.update(1) == 1u);
    BOOST_TEST(target.update(1) == 1u);
}

BOOST_AUTO_TEST_CASE(layouts_that_do_not_fit_are_refused_as_a_redistribution_does) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    bridge_source const source(solo(), have.views(), port);
    auto const said = [&](auto& want) {
        std::string const here = error_of([&] { bridge_target(solo(), want.views(), port); });
        BOOST_TEST(error_of([&] { redistribute(solo(), have.views(), want.views()); }) == here);
        return here;
    };
    weights wider({"a"}, 6, 5, cut_along::rows);
    BOOST_TEST(said(wider).starts_with("shape_mismatch: 'a'"));
    weights<double> doubled({"a"}, 6, 4, cut_along::rows);
    BOOST_TEST(said(doubled).starts_with("dtype_mismatch: 'a'"));
    weights weights({"c"}, 6, 4, cut_along::rows);
    BOOST_TEST(said(weights).starts_with("unknown_key: "));
}

BOOST_AUTO_TEST_CASE(sets_are_of_the_same_shards_in_memory_of_their_own) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::rows);
    weights weights({"a"}, 6, 4, cut_along::columns);
    bridge_source const source(solo(), have.views(), port);
    BOOST_TEST(error_of([&] { bridge_target(solo(), want.views(), weights.views(), port); }) ==
               "bad_layout: tensor set 2 (2 shards) has different shards from tensor set 1 (2 "
               "shards); give the same shards in the same order");
    BOOST_TEST(error_of([&] {
                   bridge_target(solo(), want.views(), want.views(), port);
               }).starts_with("memory_overlap: target 'a' and target 'a' share memory"));
}

BOOST_AUTO_TEST_CASE(a_second_source_takes_the_place_of_the_first_one) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), others({"a"}, 6, 4, cut_along::columns);
    weights want({"a"}, 6, 4, cut_along::rows);
    bridge_source first(solo(), have.views(), port);
    have.set(1);
    first.publish();
    bridge_target target(solo(), want.views(), port);
    target.update();
    bridge_source second(solo(), others.views(), port);
    have.set(2);
    first.publish(); // nobody reads it any more
    BOOST_TEST(target.update() == 1u);
    BOOST_TEST(first.stats().others == 0u);
    BOOST_TEST(second.stats().others == 1u);
    others.set(3);
    BOOST_TEST(second.publish() == 2u);
    BOOST_TEST(target.update() == 2u);
    BOOST_TEST(want.version().value() == 3);
}

BOOST_AUTO_TEST_CASE(another_source_that_does_not_fit_is_said_and_the_set_stays) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::rows);
    bridge_target* target = nullptr;
    std::optional<bridge_target> met;
    {
        bridge_source source(solo(), have.views(), port);
        have.set(1);
        source.publish();
        target = &met.emplace(solo(), want.views(), port);
        target->update();
    }
    BOOST_TEST(!target->stats().other_lives);
    BOOST_TEST(target->update() == 1u);
    {
        weights weights({"a"}, 6, 5, cut_along::rows);
        bridge_source const source(solo(), weights.views(), port);
        std::string const said = error_of([&] { target->update(); });
        std::string const begin =
            "shape_mismatch: " + port->string() + ": the new source does not fit: ";
        BOOST_TEST(said.starts_with(begin + "'a' "), said);
        BOOST_TEST(want.version().value() == 1);
    }
    BOOST_TEST(target->update() == 1u);
    bridge_source source(solo(), have.views(), port, {.versions_before = 1});
    have.set(2);
    source.publish();
    BOOST_TEST(target->update() == 2u);
    BOOST_TEST(want.version().value() == 2);
}

BOOST_AUTO_TEST_CASE(it_sees_numbers_grow_where_sources_that_end_leave_theirs) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::columns);
    std::optional<bridge_target> target;
    {
        bridge_source source(solo(), have.views(), port, {.continue_numbering = true});
        have.set(1);
        source.publish();
        target.emplace(solo(), want.views(), port);
        BOOST_TEST(target->update() == 1u);
        source.publish(); // which it does not take over
    }
    {
        bridge_source const idle(solo(), have.views(), port); // ends before it publishes anything
    }
    for (int version : {3, 4}) {
        bridge_source source(solo(), have.views(), port);
        have.set(version);
        BOOST_TEST(source.publish() == static_cast<std::uint64_t>(version));
        BOOST_TEST(target->update(target->version() + 1) == static_cast<std::uint64_t>(version));
        BOOST_TEST(want.version().value() == version);
        BOOST_TEST(target->stats().lag == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_version_that_does_not_come_since_numbers_began_anew_is_explained) {
    port_path const port;
    weights have({"a"}, 6, 4, cut_along::rows), want({"a"}, 6, 4, cut_along::columns);
    std::optional<bridge_target> target;
    {
        bridge_source source(solo(), have.views(), port, {.versions_before = 4});
        source.publish();
        target.emplace(solo(), want.views(), port, bridge_options{.deadline = 0.0});
        target->update();
    }
    bridge_source source(solo(), have.views(), port);
    BOOST_TEST(!error_of([&] { target->update(6); }).ends_with("versions_before")); // none yet
    source.publish();
    std::string const said = error_of([&] { target->update(6); });
    BOOST_TEST(said.starts_with("deadline: "));
    std::string const reason =
        ", which is running; the new source restarted its version numbers, but the previous source "
        "had reached 5; set continue_numbering or versions_before";
    BOOST_TEST(said.ends_with(reason));
    BOOST_TEST(target->version() == 5u);
    for (int version = 2; version <= 5; ++version)
        source.publish();
    BOOST_TEST(error_of([&] { target->update(6); }).ends_with(reason)); // at the same number
    have.set(1);
    source.publish();
    BOOST_TEST(target->update() == 6u);
    BOOST_TEST(want.version().value() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
