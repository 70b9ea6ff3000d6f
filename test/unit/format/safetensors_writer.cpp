// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/safetensors.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_safetensors_writer)

namespace {

using namespace reshard;
using namespace reshard::detail;
using metadata_map = std::map<std::string, std::string>;

safetensors_layout planned(std::vector<safetensors_tensor> const& tensors,
                           metadata_map const& metadata = {}) {
    return plan_safetensors(tensors, metadata, "a.safetensors");
}

std::string refusal(std::vector<safetensors_tensor> const& tensors, errc code,
                    metadata_map const& metadata = {}) {
    try {
        planned(tensors, metadata);
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code));
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_header_is_compact_padded_json_behind_its_length) {
    auto const file = planned({{"t", data_type::f32, {2, 3}}});
    std::string const json = R"({"t":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
    BOOST_TEST(file.header ==
               std::string("\x40\0\0\0\0\0\0\0", 8) + json + std::string(64 - json.size(), ' '));
    BOOST_TEST(file.data_bytes == 24u);
    BOOST_TEST(file.file_bytes() == 8u + 64u + 24u);
}

BOOST_AUTO_TEST_CASE(tensors_are_sorted_by_falling_data_type_and_rising_name) {
    auto const file = planned({{"z", data_type::u8, {3}},
                               {"b", data_type::f32, {}},
                               {"a", data_type::f32, {0, 5}},
                               {"i", data_type::i64, {1}},
                               {"c", data_type::bf16, {2}}});
    std::vector<std::string> names;
    std::vector<std::uint64_t> begins;
    for (safetensors_entry const& tensor : file.tensors) {
        names.push_back(tensor.name);
        begins.push_back(tensor.begin);
    }
    BOOST_TEST(names == (std::vector<std::string>{"i", "a", "b", "c", "z"}),
               boost::test_tools::per_element());
    BOOST_TEST(begins == (std::vector<std::uint64_t>{0, 8, 8, 12, 16}),
               boost::test_tools::per_element());
    BOOST_TEST(file.order == (std::vector<std::size_t>{3, 2, 1, 4, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(file.data_bytes == 19u);
}

BOOST_AUTO_TEST_CASE(metadata_comes_first_and_is_escaped) {
    auto const file = planned({}, {{"format", "pt"}, {"x\n", "a\"b\\"}});
    BOOST_TEST(file.header.substr(8) == R"({"__metadata__":{"format":"pt","x\n":"a\"b\\"}} )");
}

BOOST_AUTO_TEST_CASE(the_strict_reader_reads_what_was_planned) {
    std::string const name("q\"\\\n\0\xC3\xA9/", 8);
    auto const file = planned({{name, data_type::f6_e2m3, {4}},
                               {"", data_type::c64, {1, 1, 1, 1, 1, 1, 1, 2}},
                               {"e", data_type::boolean, {7, 0}}},
                              {{"k", "v"}});
    std::string const bytes = file.header + std::string(file.data_bytes, '\0');
    auto const header =
        parse_safetensors_header(std::as_bytes(std::span(bytes)), bytes.size(), "a.safetensors");
    BOOST_TEST((header.tensors == file.tensors));
    BOOST_TEST(header.tensors[1].name == name);
    BOOST_TEST(header.tensors[1].begin == 16u);
    BOOST_TEST(header.tensors[1].end == 19u);
    BOOST_TEST(header.metadata.at("k") == "v");
    BOOST_TEST(header.data_offset % 8 == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_format_cannot_say_is_refused) {
    BOOST_TEST(refusal({{"__metadata__", data_type::u8, {1}}}, errc::unsupported) ==
               "a.safetensors: no tensor may be named '__metadata__'");
    BOOST_TEST(
        refusal({{"t", data_type::u8, {1}}, {"s", data_type::f32, {}}, {"t", data_type::i8, {2}}},
                errc::bad_layout) == "a.safetensors: tensor 't' would occur twice in one file");
    BOOST_TEST(
        refusal({{"t", data_type::f4, {3}}}, errc::unsupported) ==
        "a.safetensors: tensor 't': shape [3] of F4 has 12 bits, which do not fill whole bytes");
    BOOST_TEST(refusal({{"t", data_type::u64, {index_t{1} << 58}}}, errc::overflow) ==
               "a.safetensors: tensor 't': shape [288230376151711744] of U64 has a number of bits "
               "that does not fit in 64 bits");
    BOOST_TEST(refusal({{"t\xFF", data_type::u8, {}}}, errc::unsupported) ==
               "a.safetensors: byte 1 of 't\xFF' is not UTF-8");
    BOOST_TEST(refusal({}, errc::unsupported, {{"k", "\x80"}}) ==
               "a.safetensors: byte 1 of 'k\x80' is not UTF-8");
}

BOOST_AUTO_TEST_SUITE_END()
