// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// A checkpoint of a fused tensor knows for how many parts it was made.

BOOST_AUTO_TEST_SUITE(storage_fused)

namespace {

using namespace reshard;
using namespace reshard::test;

/// `w`, of 60 x 2, in equal parts along its first axis.
layout rows_of(index_t parts) {
    std::vector<std::vector<shard_descriptor>> ranks(static_cast<std::size_t>(parts));
    for (index_t rank = 0; rank < parts; ++rank)
        ranks[static_cast<std::size_t>(rank)].push_back(
            shard_of("w", data_type::f32, {60, 2}, {rank * 60 / parts, 0}, {60 / parts, 2}));
    return layout_of(ranks);
}

/// This rank's rows, of one part for each rank.
held own_rows() {
    index_t const rank = world().rank(), rows = 60 / world().size();
    return held({shard_of("w", data_type::f32, {60, 2}, {rank * rows, 0}, {rows, 2})});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fused_checkpoint_is_cut_as_it_was_made_for_or_not_at_all) {
    shared_directory const directory;
    held parts(
        {whole_of("gate", data_type::f32, {30, 2}), whole_of("up", data_type::f32, {30, 2})});
    save(world(), parts.tensors(), directory / "model");
    convert(world(), open_checkpoint(world(), directory / "model"), directory / "fused",
            {.program = aoa::parse("gate, up -> w, fused_ffn, axis=0"), .wanted = rows_of(5)});
    auto const source = open_checkpoint(world(), directory / "fused");
    BOOST_TEST_REQUIRE(source.metadata().fused.size() == 1u);
    BOOST_TEST(source.metadata().fused.at("w").blocks == 5);

    held want = own_rows();
    std::string const sentence = "'w', shape [60, 2], is interleaved in 5 parts along axis 0";
    if (world().size() > 1) // one rank wants it whole
        BOOST_CHECK_EXCEPTION(load(world(), source, want.cleared().tensors()), error,
                              mentions(errc::bad_layout, sentence));
    load(world(), source, want.cleared().tensors(), {.cut_fused = true});
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "refused", {.wanted = rows_of(2)}),
                          error, mentions(errc::bad_layout, sentence));
    BOOST_TEST(convert(world(), source, directory / "made", {.wanted = rows_of(5)}).notes.empty());
    convert(world(), source, directory / "as_it_is", {.cut_fused = true});
    BOOST_TEST(open_checkpoint(world(), directory / "as_it_is").metadata().fused.at("w").blocks ==
               5);
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "torn",
                                  {.program = aoa::parse("w -> gate, up, axis=0")}),
                          error, mentions(errc::bad_layout, sentence));
    convert(world(), source, directory / "cut", {.wanted = rows_of(2), .cut_fused = true});
    BOOST_TEST(open_checkpoint(world(), directory / "cut").metadata().fused.at("w").blocks == 5);
}

BOOST_AUTO_TEST_CASE(what_a_target_has_whole_has_its_tensors_in_sequence) {
    shared_directory const directory;
    held parts(
        {whole_of("gate", data_type::f32, {30, 2}), whole_of("up", data_type::f32, {30, 2})});
    save(world(), parts.tensors(), directory / "model");
    auto const model = open_checkpoint(world(), directory / "model");
    convert(world(), model, directory / "plain", {.program = aoa::parse("gate, up -> w, axis=0")});
    convert(world(), model, directory / "fused",
            {.program = aoa::parse("gate, up -> w, fused_ffn, axis=0"), .wanted = rows_of(5)});
    held want({whole_of("w", data_type::f32, {60, 2})});
    auto const bytes_of = [&](char const* name) { // a copy
        load(world(), open_checkpoint(world(), directory / name), want.cleared().tensors());
        return want.memory(0);
    };
    auto const plain = bytes_of("plain");
    auto const source = open_checkpoint(world(), directory / "fused");
    BOOST_TEST(bytes_of("fused") == plain); // `load` wants it whole, too
    for (bool const has_layout : {false, true}) {
        convert_report const report =
            convert(world(), source, directory / "whole",
                    {.wanted = has_layout ? std::optional(rows_of(1)) : std::nullopt,
                     .writing = {.replace = true}});
        BOOST_TEST_REQUIRE(report.notes.size() == 1u);
        BOOST_TEST(report.notes[0].find("w -> w, fused_ffn, axis=0") != std::string::npos);
        auto const fused = open_checkpoint(world(), directory / "whole").metadata().fused;
        BOOST_TEST(fused.at("w").blocks == 1);
        BOOST_TEST(bytes_of("whole") == plain);
    }
}

BOOST_AUTO_TEST_CASE(what_is_in_sequence_has_its_scales_in_sequence) {
    shared_directory const directory;
    std::vector<shard_descriptor> tensors;
    for (std::string const key : {"gate", "up"}) {
        tensors.push_back(whole_of(key + ".weight", data_type::f8_e4m3, {8, 4}));
        tensors.push_back(whole_of(key + ".weight_scale", data_type::f32, {8, 1}));
    }
    save(world(), held(tensors).tensors(), directory / "model");
    auto const model = open_checkpoint(world(), directory / "model");
    convert(world(), model, directory / "plain",
            {.program = aoa::parse("gate.weight, up.weight -> w.weight, axis=0\n"
                                   "gate.weight_scale, up.weight_scale -> w.weight_scale, "
                                   "axis=0")});
    std::vector<std::vector<shard_descriptor>> halves(2);
    for (index_t rank : {0, 1})
        for (auto const& [key, dtype, width] :
             {std::tuple("w.weight", data_type::f8_e4m3, index_t{4}),
              std::tuple("w.weight_scale", data_type::f32, index_t{1})})
            halves[static_cast<std::size_t>(rank)].push_back(
                shard_of(key, dtype, {16, width}, {rank * 8, 0}, {8, width}));
    // Of the scales nothing says that they are interleaved.
    convert(world(), model, directory / "fused",
            {.program = aoa::parse("gate.weight, up.weight -> w.weight, fused_ffn, axis=0\n"
                                   "gate.weight_scale -> g0, g1, axis=0\n"
                                   "up.weight_scale -> u0, u1, axis=0\n"
                                   "g0, u0, g1, u1 -> w.weight_scale, axis=0"),
             .wanted = layout_of(halves)});
    auto const source = open_checkpoint(world(), directory / "fused");
    BOOST_TEST_REQUIRE(source.metadata().fused.size() == 1u);
    held want({whole_of("w.weight", data_type::f8_e4m3, {16, 4}),
               whole_of("w.weight_scale", data_type::f32, {16, 1})});
    auto const bytes_of = [&](char const* name) {
        load(world(), open_checkpoint(world(), directory / name), want.cleared().tensors());
        return std::pair(want.memory(0), want.memory(1));
    };
    auto const plain = bytes_of("plain");
    BOOST_CHECK(bytes_of("fused") == plain);
    convert(world(), source, directory / "whole");
    BOOST_CHECK(bytes_of("whole") == plain);
}

BOOST_AUTO_TEST_SUITE_END()
