// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/save_record.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_save_record)

namespace {

using namespace reshard;
using namespace reshard::detail;

save_record const example{"00112233445566778899aabbccddeeff", {{"a", 100, 1}, {"b", 200, 0xff}}};

checkpoint_metadata written() {
    checkpoint_metadata all;
    all.format = "sharded_safetensors";
    all.files = {{"a", 100, 16}, {"b", 200, 16}};
    all.tensors = {{"w \"1\"", data_type::f32, {2, 3}, {{0, {{0, 0}, {1, 3}}, {}, 64, 76, {7}}}},
                   {"z", data_type::u8, {5}, {{1, {{0}, {5}}, flat_range{1, 4}, 64, 67, {8}}}}};
    return all;
}

/// The text with a digest of its own that is right.
std::string const text = to_json(example, written());

void is_refused(save_record const& record, std::vector<recorded_file> const& found,
                std::vector<std::string> const& ids, errc code, std::string const& sentence) {
    BOOST_CHECK_EXCEPTION(check_save(record, found, ids, "path"), error,
                          test::mentions(code, sentence));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_record_is_read_as_it_was_written) {
    BOOST_TEST((parse_save_record(text, "reshard.json") == example));
}

BOOST_AUTO_TEST_CASE(a_record_keeps_other_names_of_tensors) {
    save_record record = example;
    record.aliases = {{"a \"1\"", "w \"1\""}, {"b", "z"}};
    std::string const named = to_json(record, written());
    BOOST_TEST((parse_save_record(named, "reshard.json") == record));
    BOOST_TEST(named.find(R"("aliases": {
    "a \"1\"": "w \"1\"",
    "b": "z"
  },
  "tensors")") != named.npos);
    BOOST_TEST(text.find("aliases") == text.npos);
}

BOOST_AUTO_TEST_CASE(the_record_is_for_other_programs_too) {
    for (std::string const line :
         {R"("reshard": 1,)", R"("save": "00112233445566778899aabbccddeeff",)",
          R"({"name": "b", "bytes": 200, "header": "00000000000000ff", "chunk_bytes": 16})",
          R"("w \"1\"": {"dtype": "F32", "shape": [2,3], "shards": [{"file": 0, )"
          R"("offset": [0,0], "shape": [1,3], "bytes": [64,76], "digests": "0000000000000007"}]})",
          R"("flat_range": [1,4])"})
        BOOST_TEST(text.find(line) != text.npos, line);
}

BOOST_AUTO_TEST_CASE(each_changed_byte_and_each_length_of_a_record_is_refused) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        BOOST_CHECK_THROW(parse_save_record(changed, "reshard.json"), error);
        BOOST_CHECK_THROW(parse_save_record(text.substr(0, i), "reshard.json"), error);
    }
}

BOOST_AUTO_TEST_CASE(a_newer_version_is_refused_by_number) {
    std::string newer = text;
    newer.replace(newer.find("\"reshard\": 1"), 12, "\"reshard\": 2");
    BOOST_CHECK_EXCEPTION(parse_save_record(newer, "reshard.json"), error,
                          test::mentions(errc::unsupported, "version 2"));
}

BOOST_AUTO_TEST_CASE(the_files_of_a_save_are_exactly_those_of_its_record) {
    std::string const& id = example.save;
    auto const& files = example.files;
    check_save(example, files, {id, id}, "path");
    check_save(example, {files[1], files[0]}, {id, id}, "path");
    is_refused(example, {files[0]}, {id}, errc::missing_file, "b is missing");
    is_refused(example, {files[0], files[1], {"c", 1, 1}}, {id, id, id}, errc::corrupt_file, "c");
    is_refused(example, files, {id, "f" + id.substr(1)}, errc::corrupt_file, "b belongs to");
    is_refused(example, files, {id, ""}, errc::corrupt_file, "no save");
    is_refused(example, {files[0], {"b", 201, 0xff}}, {id, id}, errc::corrupt_file, "201");
    is_refused(example, {files[0], {"b", 200, 0xfe}}, {id, id}, errc::corrupt_file, "header of b");
}

BOOST_AUTO_TEST_SUITE_END()
