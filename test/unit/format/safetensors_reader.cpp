// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/safetensors.hpp>

#include "safetensors_cases.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

BOOST_AUTO_TEST_SUITE(format_safetensors_reader)

namespace {

using namespace reshard;
using namespace reshard::detail;

std::string const plain = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

safetensors_header read(std::string const& file, safetensors_mode mode) {
    safetensors_options options;
    options.mode = mode;
    return parse_safetensors_header(std::as_bytes(std::span(file)), file.size(), "a.safetensors",
                                    options);
}

/// A file with that JSON and eight bytes of data.
std::string with_header(std::string const& json, std::size_t data_bytes = 8) {
    return test::eight_bytes(json.size()) + json + std::string(data_bytes, '\0');
}

/// The corpus's `ok`: the tensors in the order of their names.
std::string summary(safetensors_header header) {
    std::sort(header.tensors.begin(), header.tensors.end(),
              [](auto const& a, auto const& b) { return a.name < b.name; });
    std::string text;
    for (safetensors_entry const& tensor : header.tensors)
        text += (text.empty() ? "" : " ") + tensor.name + ":" + std::string(code(tensor.dtype)) +
                ":" + to_string(tensor.shape) + ":" + std::to_string(tensor.end - tensor.begin);
    return text;
}

/// The verdict, as the corpus has it, without the tensor's name.
std::string verdict(std::string const& file, safetensors_mode mode) {
    try {
        return "ok " + summary(read(file, mode));
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == errc::corrupt_file));
        BOOST_TEST(std::string(thrown.what()).starts_with("a.safetensors: "));
        auto const fault = safetensors_fault_of(thrown);
        BOOST_TEST_REQUIRE(fault.has_value(), thrown.what());
        return std::string(name(*fault));
    }
}

std::string message(std::string const& file, safetensors_mode mode = safetensors_mode::strict) {
    try {
        read(file, mode);
    } catch (error const& thrown) {
        return thrown.what();
    }
    return "accepted";
}

/// Files that the reference reader accepts and the text of the format does not.
std::set<std::string> const lax = {"dup_same", "dup_diff_first_bad", "meta_dup_inner", "meta_null",
                                   "tensor_as_array"};

} // namespace

BOOST_AUTO_TEST_CASE(compatible_mode_gives_the_verdicts_of_the_reference_reader) {
    auto const cases = test::safetensors_cases();
    BOOST_TEST(cases.size() >= 59u);
    for (auto const& element : cases)
        BOOST_TEST_CONTEXT(element.name) {
            std::string const expected =
                element.is_ok ? "ok " + element.expected
                              : element.expected.substr(0, element.expected.find('('));
            BOOST_TEST(verdict(element.file, safetensors_mode::compatible) == expected);
        }
}

BOOST_AUTO_TEST_CASE(strict_mode_refuses_that_and_what_the_text_of_the_format_does_not_allow) {
    for (auto const& safetensors_case : test::safetensors_cases())
        BOOST_TEST_CONTEXT(safetensors_case.name) {
            std::string const expected =
                !safetensors_case.is_ok
                    ? safetensors_case.expected.substr(0, safetensors_case.expected.find('('))
                : lax.contains(safetensors_case.name) ? "NotStrict"
                                                      : "ok " + safetensors_case.expected;
            BOOST_TEST(verdict(safetensors_case.file, safetensors_mode::strict) == expected);
        }
}

BOOST_AUTO_TEST_CASE(what_only_the_text_forbids_is_a_warning_in_compatible_mode) {
    for (auto const& safetensors_case : test::safetensors_cases())
        BOOST_TEST_CONTEXT(safetensors_case.name) {
            if (safetensors_case.is_ok)
                BOOST_TEST(
                    read(safetensors_case.file, safetensors_mode::compatible).warnings.empty() !=
                    lax.contains(safetensors_case.name));
        }
}

BOOST_AUTO_TEST_CASE(what_the_text_forbids_beyond_the_corpus_is_refused_in_strict_mode_only) {
    std::string const escaped =
        R"({"\u0074":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)" + plain.substr(1);
    std::string const unknown_field =
        R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":[{}]}})";
    for (std::string const& json :
         {" " + plain, "\n" + plain, plain + "\n", plain + " \t", escaped, unknown_field})
        BOOST_TEST_CONTEXT(json) {
            std::string const file = with_header(json);
            BOOST_TEST(verdict(file, safetensors_mode::strict) == "NotStrict");
            BOOST_TEST(verdict(file, safetensors_mode::compatible) == "ok t:F32:[2]:8");
            BOOST_TEST(read(file, safetensors_mode::compatible).warnings.size() == 1u);
        }
    BOOST_TEST(verdict(with_header(plain + "   "), safetensors_mode::strict) == "ok t:F32:[2]:8");
}

BOOST_AUTO_TEST_CASE(an_offset_error_names_the_tensor_that_the_reference_reader_names) {
    for (auto const& safetensors_case : test::safetensors_cases()) {
        if (!safetensors_case.expected.starts_with("InvalidOffset(\""))
            continue;
        std::string const tensor =
            safetensors_case.expected.substr(15, safetensors_case.expected.size() - 17);
        BOOST_TEST(message(safetensors_case.file).find("tensor '" + tensor + "'") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(tensors_come_in_the_order_of_their_data) {
    auto const header =
        read(with_header(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                         R"("a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})"),
             safetensors_mode::strict);
    BOOST_TEST_REQUIRE(header.tensors.size() == 2u);
    BOOST_TEST((header.tensors[0] == safetensors_entry{"a", data_type::i16, {2}, 0, 4}));
    BOOST_TEST((header.tensors[1] == safetensors_entry{"b", data_type::f32, {1}, 4, 8}));
    BOOST_TEST(header.data_offset == 8u + 107u);
}

BOOST_AUTO_TEST_CASE(metadata_is_read) {
    auto const header = read(with_header(R"({"__metadata__":{"format":"pt","x":"\u00e9\n"}})", 0),
                             safetensors_mode::strict);
    BOOST_TEST(header.metadata.size() == 2u);
    BOOST_TEST(header.metadata.at("format") == "pt");
    BOOST_TEST(header.metadata.at("x") == "\xC3\xA9\n");
}

BOOST_AUTO_TEST_CASE(messages_name_the_file_the_tensor_and_both_numbers) {
    BOOST_TEST(message("1234567") ==
               "a.safetensors: the file has 7 bytes; a safetensors file has at "
               "least 8 [HeaderTooSmall]");
    BOOST_TEST(message(test::eight_bytes(300000000)) ==
               "a.safetensors: the header claims 300000000 bytes; the limit is 100000000 "
               "[HeaderTooLarge]");
    BOOST_TEST(
        message(test::eight_bytes(9) + "{}") ==
        "a.safetensors: the header claims 9 bytes, but the file has only 2 after the first 8 "
        "[InvalidHeaderLength]");
    BOOST_TEST(message(with_header(plain, 7)) ==
               "a.safetensors: the tensors end at byte 8 of the data, but the file has 7 bytes of "
               "data; was it cut short? [MetadataIncompleteBuffer]");
    BOOST_TEST(message(with_header(plain, 9)) ==
               "a.safetensors: the tensors end at byte 8 of the data, but the file has 9 bytes of "
               "data [MetadataIncompleteBuffer]");
    BOOST_TEST(
        message(with_header(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})")) ==
        "a.safetensors: tensor 't': shape [3] of F32 needs 12 bytes, but its data offsets hold "
        "8 [TensorInvalidInfo]");
    BOOST_TEST(
        message(with_header(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})")) ==
        "a.safetensors: tensor 't': its data begins at byte 4, but the data before it ends at "
        "byte 0 [InvalidOffset]");
    BOOST_TEST(message(with_header(R"({"t":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})")) ==
               "a.safetensors: byte 18 of the header: tensor 't' has the unknown data type 'F33' "
               "[InvalidHeaderDeserialization]");
    BOOST_TEST(
        message(with_header(R"({"t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})")) ==
        "a.safetensors: byte 31 of the header: tensor 't': -2 is not a whole number from 0 to "
        "2^64 - 1 [InvalidHeaderDeserialization]");
    BOOST_TEST(
        message(with_header(R"({"a\u0000b":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})")) ==
        "a.safetensors: tensor 'a\\0b': shape [3] of F32 needs 12 bytes, but its data offsets hold "
        "8 [TensorInvalidInfo]");
    BOOST_TEST(message(with_header(" {}", 0)) ==
               "a.safetensors: the header does not begin with '{', which only the compatible mode "
               "(--compatible) accepts [NotStrict]");
    BOOST_TEST(message(with_header("{\"a\xFF\":1}", 0)) ==
               "a.safetensors: byte 3 of the header is not UTF-8 [InvalidHeader]");
}

/// Verdicts of the package safetensors 0.8.0, beyond the corpus.
BOOST_AUTO_TEST_CASE(oddities_are_judged_as_the_reference_reader_does) {
    auto const judged = [](std::string const& json) {
        return verdict(with_header(json), safetensors_mode::compatible);
    };
    auto const with_field = [](std::string const& value) {
        return R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":)" + value + "}}";
    };
    std::string const ok = "ok t:F32:[2]:8";
    std::string const bad = "InvalidHeaderDeserialization";
    BOOST_TEST(judged(R"({"t":{"dtype":{"F32":null},"shape":[2],"data_offsets":[0,8]}})") == ok);
    BOOST_TEST(judged(R"({"t":{"dtype":{"F32":{}},"shape":[2],"data_offsets":[0,8]}})") == bad);
    BOOST_TEST(judged(R"({"t":{"dtype":{},"shape":[2],"data_offsets":[0,8]}})") == bad);
    BOOST_TEST(judged(R"({"t":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})") == bad);
    BOOST_TEST(judged(R"({"t":["F32",[2],[0,8],1]})") == bad);
    BOOST_TEST(judged(R"({"t":["F32",[2]]})") == bad);
    BOOST_TEST(judged(with_field("1e999")) == bad);
    BOOST_TEST(judged(with_field("0e999")) == ok);
    BOOST_TEST(judged(with_field("99999999999999999999999")) == ok);
    BOOST_TEST(judged(with_field("1,\"x\":[{\"a\":1,\"a\":null}]")) == ok);
    BOOST_TEST(judged(with_field(std::string(125, '[') + std::string(125, ']'))) == ok);
    BOOST_TEST(judged(with_field(std::string(126, '[') + std::string(126, ']'))) == bad);
    BOOST_TEST(judged(with_field(R"("\ud800\u0041")")) == bad);
    BOOST_TEST(judged(R"({"t":null})") == bad);
    BOOST_TEST(judged(R"({"t":{"dtype":"F32","shape":null,"data_offsets":[0,8]}})") == bad);
    BOOST_TEST(judged("[]") == bad);
    BOOST_TEST(judged("") == bad);
    BOOST_TEST(judged("{}") == "MetadataIncompleteBuffer");
    BOOST_TEST(judged("{}{}") == bad);
}

BOOST_AUTO_TEST_CASE(limits_are_parameters) {
    safetensors_options options;
    options.max_header_bytes = plain.size() - 1;
    std::string const file = with_header(plain);
    auto const is_too_large = [](error const& thrown) {
        return safetensors_fault_of(thrown) == safetensors_fault::header_too_large;
    };
    BOOST_CHECK_EXCEPTION(
        parse_safetensors_header(std::as_bytes(std::span(file)), file.size(), "a", options), error,
        is_too_large);
    options = {};
    options.max_depth = 2;
    BOOST_CHECK_THROW(
        parse_safetensors_header(std::as_bytes(std::span(file)), file.size(), "a", options), error);
    options.max_depth = 3;
    BOOST_TEST(parse_safetensors_header(std::as_bytes(std::span(file)), file.size(), "a", options)
                   .tensors.size() == 1u);
}

BOOST_AUTO_TEST_CASE(warnings_of_a_hostile_file_do_not_grow_without_bound) {
    std::string json = "{";
    for (int i = 0; i < 500; ++i)
        json += R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)";
    json.back() = '}';
    BOOST_TEST(read(with_header(json), safetensors_mode::compatible).warnings.size() == 100u);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_a_missing_file) {
    BOOST_CHECK_EXCEPTION(
        read_safetensors_header("no/such.safetensors"), error, [](error const& thrown) {
            return thrown.code() == errc::missing_file &&
                   std::string(thrown.what()) == "no/such.safetensors: no such file";
        });
}

BOOST_AUTO_TEST_SUITE_END()
