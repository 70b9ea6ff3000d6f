// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/save_record.hpp>

#include "support/says.hpp"
#include "temporary_directory.hpp"

#include <reshard/format/chunk_digests.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <span>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(format_save_record)

namespace {

using namespace reshard;
using namespace reshard::detail;

save_record const example{"00112233445566778899aabbccddeeff", {{"a", 100, 1}, {"b", 200, 0xff}}};

checkpoint_metadata written() {
    checkpoint_metadata metadata;
    metadata.format = "sharded_safetensors";
    metadata.files = {{"a", 100, 16}, {"b", 200, 16}};
    metadata.tensors = {
        {"w \"1\"", data_type::f32, {2, 3}, {{0, {{0, 0}, {1, 3}}, {}, 64, 76, {7}}}},
        {"z", data_type::u8, {5}, {{1, {{0}, {5}}, flat_range{1, 4}, 64, 67, {8}}}}};
    return metadata;
}

/// The text with its right digest.
std::string const example_text = to_json(example, written());

void is_refused(save_record const& record, std::vector<recorded_file> const& files,
                std::vector<std::string> const& ids, errc code, std::string const& sentence) {
    BOOST_CHECK_EXCEPTION(check_save(record, files, ids, "path"), error,
                          test::mentions(code, sentence));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_record_is_read_as_it_was_written) {
    BOOST_TEST((parse_save_record(example_text, "reshard.json") == example));
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
    BOOST_TEST(example_text.find("aliases") == example_text.npos);
}

BOOST_AUTO_TEST_CASE(the_record_is_for_other_programs_too) {
    for (std::string const line :
         {R"("reshard": 1,)", R"("save": "00112233445566778899aabbccddeeff",)",
          R"({"name": "b", "bytes": 200, "header": "00000000000000ff", "chunk_bytes": 16})",
          R"("w \"1\"": {"dtype": "F32", "shape": [2,3], "shards": [{"file": 0, )"
          R"("offset": [0,0], "shape": [1,3], "bytes": [64,76], "digests": "0000000000000007"}]})",
          R"("flat_range": [1,4])"})
        BOOST_TEST(example_text.find(line) != example_text.npos, line);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_save_is_in_its_record) {
    save_record record = example;
    record.facts = {1700000000,
                    {{"loss", 1.5}, {"step \"a\"", 300}, {"tiny", -0.001953125}},
                    {"ff112233445566778899aabbccddeeff"}};
    std::string const written_text = to_json(record, written());
    for (std::string const line :
         {R"("completed": 1700000000,)", R"("loss": 1.5, "step \"a\"": 300,)",
          R"("needs": ["ff112233445566778899aabbccddeeff"])"})
        BOOST_TEST(written_text.find(line) != written_text.npos, line);
    BOOST_TEST((parse_save_record(written_text, "reshard.json") == record));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_is_written_as_null) {
    save_record record = example;
    record.facts.numbers = {{"a", std::nan("")}, {"b", HUGE_VAL}};
    auto const read = parse_save_record(to_json(record, written()), "reshard.json").facts.numbers;
    BOOST_TEST(std::isnan(read.at("a")));
    BOOST_TEST(std::isnan(read.at("b")));
}

BOOST_AUTO_TEST_CASE(a_record_cannot_have_every_name) {
    check_numbers({{"loss", 1}, {"\u00e9", 2}});
    for (std::string const name : {"", "\xff"})
        BOOST_CHECK_EXCEPTION(check_numbers({{name, 1.0}}), error,
                              test::mentions(errc::usage, "a number of a save"));
}

BOOST_AUTO_TEST_CASE(a_record_says_that_it_is_for_one_layout_only) {
    save_record record = example;
    record.ranks = 3;
    BOOST_TEST(to_json(record, written()).find("only") == std::string::npos);
    record.facts.this_layout_only = true;
    std::string const text = to_json(record, written());
    BOOST_TEST(text.find(R"("layout": {"ranks": 3, "only": true},)") != text.npos);
    BOOST_TEST((parse_save_record(text, "reshard.json") == record));
}

/// The text with something else in it, and a digest that is right.
std::string with_member(std::string const& member) {
    std::string changed = example_text.substr(0, example_text.rfind(",\n  \"digest\""));
    changed.insert(changed.find(",\n  \"files\""), ",\n  " + member);
    return changed + ",\n  \"digest\": \"" +
           hex_text(digest_of_bytes(std::as_bytes(std::span(changed)))) + "\"\n}\n";
}

BOOST_AUTO_TEST_CASE(a_record_has_the_program_and_whose_shards_are_where) {
    save_record record = example;
    record.facts.program = "a -> b # \"c\"\n";
    record.ranks = 7;
    record.files[1].rank = 6;
    std::string const reported = to_json(record, written());
    BOOST_TEST((parse_save_record(reported, "reshard.json") == record));
    BOOST_TEST(reported.find(R"("program": "a -> b # \"c\"\n",
  "layout": {"ranks": 7},
  "files": [
    {"name": "a", "bytes": 100, "header": "0000000000000001", "rank": 0, "chunk_bytes": 16},
    {"name": "b", "bytes": 200, "header": "00000000000000ff", "rank": 6, "chunk_bytes": 16}
  ])") != reported.npos);
    BOOST_TEST(example_text.find("layout") == example_text.npos);
    BOOST_TEST(example_text.find("program") == example_text.npos);
}

BOOST_AUTO_TEST_CASE(a_delta_says_where_each_byte_is) {
    save_record record = example;
    // Of `a` the middle is the delta's own; of `b` all is in the base.
    record.delta = record_delta{{{"delta-00001.safetensors", 4200, 3}},
                                {{"../one \"1\"", "ffee", {"b", 300, 4}}},
                                {{{40, 1, 0}, {60, 0, 4096}, {100, 1, 60}}, {{200, 1, 100}}}};
    std::string const with_delta = to_json(record, written());
    BOOST_TEST((parse_save_record(with_delta, "reshard.json") == record));
    BOOST_TEST(with_delta.find(R"("40 1 0 60 0 4096 100 1 60",
      "200 1 100")") != with_delta.npos);
    BOOST_TEST(reused_bytes(*record.delta) == 40 + 40 + 200);
    BOOST_TEST((files_on_disk(record) == record.delta->files));
    BOOST_TEST((files_on_disk(example) == example.files));
    test::temporary_directory const directory;
    std::string const path = directory.write("reshard.json", with_delta);
    BOOST_TEST((read_record_head(*files_of_system(), path) == record));
}

BOOST_AUTO_TEST_CASE(runs_that_do_not_make_up_their_file_are_refused) {
    auto const refused = [](std::vector<std::vector<delta_run>> const& runs,
                            std::string const& sentence) {
        save_record record = example;
        record.delta = record_delta{{{"own", 50, 3}}, {{"../one", "ffee", {"b", 300, 4}}}, runs};
        BOOST_CHECK_EXCEPTION(parse_save_record(to_json(record, written()), "reshard.json"), error,
                              test::mentions(errc::corrupt_file, sentence));
    };
    std::vector<delta_run> const b{{200, 1, 0}};
    refused({{{100, 1, 0}}}, "it has runs of 1 file, but the record has 2 files");
    refused({{{99, 1, 0}}, b}, "the runs end at byte 99, but the file has 100 bytes");
    refused({{}, b}, "the runs end at byte 0, but the file has 100 bytes");
    refused({{{101, 1, 0}}, b}, "a run from 0 to 101 does not fit in a file of 100 bytes");
    refused({{{50, 1, 0}, {50, 1, 50}, {100, 1, 50}}, b}, "a run from 50 to 50");
    refused({{{100, 2, 0}}, b}, "a run names source 2, but the number of sources is 2");
    refused({{{100, 1, 201}}, b},
            "a run of 100 bytes from byte 201 onwards exceeds the 300 bytes of source 1");
    refused({{{100, 1, ~std::uint64_t{0}}}, b}, "exceeds the 300 bytes of source 1");
    std::string text_of_runs = example_text;
    std::string const tensors = ",\n  \"tensors\": {";
    text_of_runs.insert(text_of_runs.find(tensors),
                        R"(, "delta": {"files": [], "bases": [], "runs": ["1 x", ""]})");
    text_of_runs.resize(text_of_runs.find(",\n  \"digest\""));
    text_of_runs += ",\n  \"digest\": \"" +
                    hex_text(digest_of_bytes(std::as_bytes(std::span(text_of_runs)))) + "\"\n}\n";
    BOOST_CHECK_EXCEPTION(parse_save_record(text_of_runs, "reshard.json"), error,
                          test::mentions(errc::corrupt_file, "expected a number, found 'x'"));
}

BOOST_AUTO_TEST_CASE(a_record_lists_each_file_once) {
    auto const refused = [](save_record const& record, std::string const& location) {
        checkpoint_metadata metadata = written();
        metadata.files.resize(record.files.size());
        BOOST_CHECK_EXCEPTION(parse_save_record(to_json(record, metadata), "reshard.json"), error,
                              test::mentions(errc::corrupt_file, location));
    };
    save_record twice = example;
    twice.files.push_back(twice.files[0]);
    refused(twice, "files[2]: the file \"a\" is listed twice");
    save_record delta = example;
    delta.delta = record_delta{{{"own", 50, 3}, {"own", 60, 3}},
                               {{"../one", "ffee", {"b", 300, 4}}},
                               {{{100, 2, 0}}, {{200, 2, 0}}}};
    refused(delta, "delta.files[1]: the file \"own\" is listed twice");
}

BOOST_AUTO_TEST_CASE(members_that_are_not_known_are_passed_over) {
    BOOST_TEST((parse_save_record(with_member("\"colour\": {\"red\": [1]}"), "r") == example));
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_save_has_its_type) {
    for (auto const& [member, index] :
         {std::pair("\"completed\": -1", "completed"),
          std::pair("\"completed\": \"now\"", "completed"),
          std::pair("\"numbers\": {\"loss\": \"low\"}", "numbers['loss']"),
          std::pair("\"numbers\": [1]", "numbers"), std::pair("\"needs\": [1]", "needs[0]")})
        BOOST_CHECK_EXCEPTION(parse_save_record(with_member(member), "r"), error,
                              test::mentions(errc::corrupt_file, index));
}

BOOST_AUTO_TEST_CASE(each_changed_byte_and_each_length_of_a_record_is_refused) {
    for (std::size_t i = 0; i < example_text.size(); ++i) {
        std::string changed = example_text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        BOOST_CHECK_THROW(parse_save_record(changed, "reshard.json"), error);
        BOOST_CHECK_THROW(parse_save_record(example_text.substr(0, i), "reshard.json"), error);
    }
}

BOOST_AUTO_TEST_CASE(a_newer_version_is_refused_by_number) {
    std::string newer = example_text;
    newer.replace(newer.find("\"reshard\": 1"), 12, "\"reshard\": 3");
    BOOST_CHECK_EXCEPTION(
        parse_save_record(newer, "reshard.json"), error,
        test::mentions(errc::unsupported, "version 3, but this program reads versions 1 to 2"));
}

BOOST_AUTO_TEST_CASE(blocks_alone_raise_the_version) {
    checkpoint_metadata metadata = written();
    metadata.tensors[0].shards[0].cycles = {{1, 1, 2}};
    std::string const text = to_json(example, metadata);
    BOOST_TEST(example_text.starts_with("{\n  \"reshard\": 1,"));
    BOOST_TEST(text.starts_with("{\n  \"reshard\": 2,"));
    BOOST_TEST(text.find(R"("bytes": [64,76], "blocks": [[1,1,2]], "digests")") != text.npos);
    BOOST_TEST((parse_save_record(text, "reshard.json") == example));
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

BOOST_AUTO_TEST_CASE(a_record_file_is_read_piece_by_piece_wherever_the_pieces_end) {
    test::temporary_directory const directory;
    constexpr std::size_t piece = 1 << 20;
    for (std::size_t const head : {piece - 40, piece - 20, piece - 9, piece, 2 * piece}) {
        checkpoint_metadata metadata = written();
        save_record record = example;
        std::size_t const before = to_json(record, metadata).find("\n  \"tensors\"");
        record.files[0].name = std::string(head - before + 2, 'n');
        for (int i = 0; i < 9'000; ++i)
            metadata.tensors[0].shards.push_back(metadata.tensors[0].shards[0]);
        std::string const text = to_json(record, metadata);
        BOOST_TEST(text.find("\n  \"tensors\"") == head + 1);
        auto const path = directory.write("reshard.json", text);
        BOOST_TEST((read_save_record(*files_of_system(), path) == record));
        BOOST_TEST((parse_save_record(text, "r") == record));
        for (std::size_t const index : {std::size_t{0}, head, piece - 1, piece, text.size() - 30}) {
            std::string changed = text;
            changed[index] = static_cast<char>(changed[index] ^ 1);
            BOOST_CHECK_THROW(
                read_save_record(*files_of_system(), directory.write("reshard.json", changed)),
                error);
        }
        BOOST_CHECK_THROW(
            read_save_record(*files_of_system(), directory.write("reshard.json", text + " ")),
            error);
    }
}

BOOST_AUTO_TEST_SUITE_END()
