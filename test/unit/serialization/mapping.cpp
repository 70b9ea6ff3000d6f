// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping.hpp>

#include "support/archives.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/expr/algebra.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_mapping)

namespace {

/// Sources out of order, a chain of casts, an added and a removed tensor, relations of every kind.
mapping by_hand() {
    mapping program;
    auto const w = program.source("w", {4, 6}, data_type::f32);
    auto const b = program.source("b", {2, 4}, data_type::f32);
    program.define("both", transpose(concat({transpose(w), b}, 0)));
    program.define("rounded", cast(cast(w, data_type::bf16), data_type::f32));
    program.define("zeros", cast(split(zeros({6}, data_type::i8), 0, 2)[1], data_type::f64));
    program.define("empty", zeros({0, 3}, data_type::f16));
    program.add("new", {7}, data_type::u8);
    program.remove("old");
    program.remove("older");
    for (int kind = 0; kind < 4; ++kind)
        program.relate({static_cast<relation::kind>(kind), "w", "w." + std::to_string(kind)});
    return program;
}

mapping lowered(std::string const& text, catalog const& source) {
    auto const expanded = aoa::expand(aoa::parse(text, "program"), source, nullptr);
    return aoa::lower(expanded.code, source, nullptr);
}

/// A program of one source `w` and one output `t` that is made of `pieces`.
mapping made_of(std::vector<piece> const& pieces) {
    mapping program;
    program.source("w", {4, 6}, data_type::f32);
    expression value{{6, 4}, data_type::f32, piece_list(2)};
    for (piece const& piece : pieces)
        value.pieces.push_back(piece);
    program.define("t", value);
    return program;
}

/// `t` is `w` transposed, written as one piece.
piece turned() { return {0, data_type::f32, permutation::reversed(2), {}, {0, 0}, {0, 0}, {6, 4}}; }

std::string fault_of(std::vector<piece> const& pieces) {
    return said([&] { from_bytes<mapping>(to_bytes(made_of(pieces))); });
}

} // namespace

BOOST_AUTO_TEST_CASE(mappings_come_back_as_they_were) {
    BOOST_TEST(comes_back(by_hand()));
    BOOST_TEST(comes_back(mapping()));
    mapping const back = from_bytes<mapping>(to_bytes(by_hand()));
    BOOST_TEST(back.sources()[0].key == "w");
    BOOST_TEST(back.find("new")->added);
    BOOST_TEST(back.removed()[1] == "older");
    BOOST_TEST((back.relations()[2] == relation{relation::kind::scale, "w", "w.2"}));
    BOOST_TEST(back.find("rounded")->value.pieces[0].steps.count == 2);
}

BOOST_AUTO_TEST_CASE(programs_of_text_come_back_lowered) {
    catalog const source({{"layers.0.q", data_type::f32, {4, 8}, {1, 1}},
                          {"layers.0.k", data_type::f32, {2, 8}, {1, 1}},
                          {"layers.1.q", data_type::f32, {4, 8}, {1, 1}},
                          {"layers.1.k", data_type::f32, {2, 8}, {1, 1}},
                          {"norm", data_type::f32, {8}, {1}}});
    mapping const program = lowered("layers.$LAYER_ID.q, layers.$LAYER_ID.k -> "
                                    "layers.$LAYER_ID.qk, axis=0\n"
                                    "norm -> norm, dtype=\"bfloat16\"\n",
                                    source);
    BOOST_TEST(program.find("layers.1.qk") != nullptr);
    BOOST_TEST(comes_back(program));
    BOOST_TEST(cut_archives_that_pass(program) == 0);
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(by_hand()) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_another_mapping) {
    BOOST_TEST(damaged_archives_that_pass(by_hand()) > 0);
}

BOOST_AUTO_TEST_CASE(pieces_that_are_not_those_of_their_tensors_are_refused) {
    BOOST_TEST(fault_of({turned()}) == "nothing was thrown");
    piece wrong = turned();
    wrong.source = 1;
    BOOST_TEST(fault_of({wrong}) == "corrupt_file: the archive of a mapping contradicts itself: it "
                                    "has a piece [0:6, 0:4] of 't' that "
                                    "has a source that does not exist");
    wrong = turned();
    wrong.source_offset = {0, 1};
    BOOST_TEST(fault_of({wrong}) == "corrupt_file: the archive of a mapping contradicts itself: it "
                                    "has a piece [0:6, 0:4] of 't' that exceeds its source");
    wrong = turned();
    wrong.target_offset = {1, 0};
    BOOST_TEST(fault_of({wrong}) == "corrupt_file: the archive of a mapping contradicts itself: it "
                                    "has a piece [1:7, 0:4] of 't' that exceeds the tensor");
    wrong = turned();
    wrong.stored = data_type::f64;
    wrong.steps = then({}, data_type::f64, data_type::f32);
    BOOST_TEST(fault_of({wrong}) == "corrupt_file: the archive of a mapping contradicts itself: it "
                                    "has a piece [0:6, 0:4] of 't' that does not have the data "
                                    "type of its source");
    wrong = turned();
    wrong.steps = then({}, data_type::f32, data_type::f16);
    BOOST_TEST(fault_of({wrong}) == "corrupt_file: the archive of a mapping contradicts itself: it "
                                    "has a piece [0:6, 0:4] of 't' that "
                                    "does not have the data type of the tensor");
}

BOOST_AUTO_TEST_CASE(pieces_that_are_no_boxes_are_refused) {
    piece wrong = turned();
    wrong.extent = {0, 4};
    BOOST_TEST(fault_of({turned(), wrong}) ==
               "corrupt_file: the archive of a mapping contradicts itself: it has a piece of "
               "extents [0, 4] from [0, 0] to [0, 0]");
    wrong = turned();
    wrong.source_offset = {std::numeric_limits<index_t>::max(), 0};
    BOOST_TEST(fault_of({wrong}).starts_with(
        "corrupt_file: the archive of a mapping contradicts itself: it has a piece of extents "
        "[6, 4] from [9223372036854775807,"));
}

BOOST_AUTO_TEST_CASE(pieces_that_leave_a_gap_or_overlap_are_refused) {
    BOOST_TEST(fault_of({}) == "corrupt_file: the archive of a mapping contradicts itself: the "
                               "pieces of 't' do not cover elements [0:6, 0:4] exactly once");
    piece piece = turned();
    piece.target_offset = {2, 0};
    piece.source_offset = {0, 2};
    piece.extent = {4, 4};
    BOOST_TEST(fault_of({piece}) ==
               "corrupt_file: the archive of a mapping contradicts itself: the pieces of 't' do "
               "not cover elements [0:2, 0:4] exactly once");
    BOOST_TEST(fault_of({turned(), piece}) ==
               "corrupt_file: the archive of a mapping contradicts itself: the pieces of 't' do "
               "not cover elements [2:6, 0:4] exactly once");
}

BOOST_AUTO_TEST_CASE(an_order_of_axes_that_is_none_is_refused) {
    // The order is after the number of the source and its data type: four bits an axis, 1 and 0.
    std::string bytes = to_bytes(made_of({turned()}));
    std::size_t const index = bytes.find(detail::content_bytes(turned())) + 4 + 1;
    BOOST_TEST_REQUIRE(bytes.at(index) == 0x01);
    bytes[index] = 0x11;
    BOOST_TEST(said([&] { from_bytes<mapping>(bytes); }) ==
               "corrupt_file: the archive of a mapping contradicts itself: the permutation [1, 1] "
               "does not name each of the 2 axes once");
    bytes[index] = 0x01;
    bytes[index + 1] = 0x01;
    BOOST_TEST(said([&] { from_bytes<mapping>(bytes); }) ==
               "corrupt_file: the archive of a mapping contradicts itself: the order of 2 factors "
               "names a factor that does not exist");
}

BOOST_AUTO_TEST_SUITE_END()
