// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"
#include "support/all_ranks.hpp"
#include "support/json_lines.hpp"
#include "support/numbered_shards.hpp"
#include "support/sha256.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/bind/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Programs with the values that PaddlePaddle 3.3.1 put into each shard of their targets, and programs
// that it refused: test/data/aoa-cases.jsonl, whose first line explains the fields. The programs run
// here on the executor of one process. Each agrees, or differs deliberately: doc/aoa-differences.md
// has the reasons.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using reshard::test::json_numbers;
using reshard::test::json_string;
using reshard::test::numbered_shards;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(aoa_cases)

namespace {

/// Programs that are refused there and valid here, and their meaning.
std::map<std::string, std::string> const extensions = {
    {"e0023", "a concat with a cast: several attributes"},
    {"e0027", "a permutation and a cast: several attributes"},
    {"e0033", "a cast to int32"},
    {"e0036", "a cast from float32 to int32"},
    {"e0086", "fused_qkv_old behind its numbers: arguments by name"},
    {"e0090", "an uneven concat that runs backwards: its operands say the sizes"},
    {"e0119", "a permutation and a cast: several attributes"},
    {"e0127", "a cast from uint8"},
    {"e0144", "scale=2: arithmetic"},
    {"e0197", "a concat with a cast: several attributes"},
    {"e0201", "a permutation and a cast: several attributes"},
    {"e0207", "a cast to float8_e4m3fn"},
    {"e0209", "a cast from float8_e4m3fn"},
};

/// The shards of one side, a list a rank, and the facts of each tensor.
struct case_side {
    std::vector<std::vector<shard_descriptor>> ranks;
    std::map<std::string, index_t> bases; ///< of a source: the value of its first element

    catalog tensors() const { return catalog_of(layout_of(ranks)); }

    /// Whether every element of a source is a number that its data type has.
    bool is_exact() const {
        for (auto const& rank : ranks)
            for (shard_descriptor const& shard : rank) {
                std::string const dtype(reshard::name(shard.dtype));
                index_t const count = bases.at(shard.key) + element_count(shard.global_shape);
                int const digits = dtype == "uint8" ? 8 : oracle::digits_of(dtype);
                if (digits != 0 && count > index_t{1} << digits)
                    return false;
            }
        return true;
    }
};

/// One side of a case; `dtype` stands in for the data type of every tensor if there is one.
case_side side_of(json::value const& tensors, bool is_source, std::optional<data_type> dtype) {
    case_side result;
    for (auto const& [key, facts] : tensors.as_object()) {
        json::array const& list = facts.as_array();
        data_type const own = data_type_from_name(json_string(list[1])).value();
        if (is_source)
            result.bases[key] = list[2].to_number<index_t>();
        json::array const& shards = list[is_source ? 3 : 2].as_array();
        result.ranks.resize(std::max(result.ranks.size(), shards.size()));
        for (std::size_t rank = 0; rank < shards.size(); ++rank)
            result.ranks[rank].push_back({std::string(key),
                                          dtype.value_or(own),
                                          json_numbers(list[0]),
                                          {json_numbers(shards[rank].as_array()[0]),
                                           json_numbers(shards[rank].as_array()[1])},
                                          {}});
    }
    return result;
}

std::string text_of(json::value const& value) {
    std::string text;
    for (json::value const& statement : value.at("statements").as_array())
        text += json_string(statement) + '\n';
    return text;
}

bool is_reverse(json::value const& value) { return value.as_object().contains("reverse"); }

/// The mapping of a case's program; a program that runs backwards reads its results.
mapping mapping_of(json::value const& value, case_side const& source, case_side const& target) {
    catalog const have = source.tensors(), want = target.tensors();
    if (is_reverse(value)) {
        program const code = expand(test::parsed(text_of(value)), want, &have).code;
        reverse_options options;
        options.allow_rounding = options.allow_removed = true;
        return lower(reverse(code, want, &have, options), have, &want);
    }
    return lower(expand(test::parsed(text_of(value)), have, &want).code, have, &want);
}

/// The first digits of the hash of a shard's values; empty if it has its old content.
std::optional<std::string> hash_of(numbered_shards const& rank, std::size_t shard) {
    if (rank.is_untouched(shard) && !rank.values(shard).empty())
        return std::nullopt;
    std::string bytes;
    for (std::int64_t const value : rank.values(shard))
        for (int shift = 0; shift < 64; shift += 8)
            bytes += static_cast<char>((static_cast<std::uint64_t>(value) >> shift) & 255);
    return test::sha256(bytes).substr(0, 16);
}

/// The expectation of the case for a shard.
std::optional<std::string> expected_hash(json::value const& value, shard_descriptor const& shard) {
    for (json::value const& row : value.at("expect").at(shard.key).as_array())
        if (json_numbers(row.as_array()[0]) == shard.region.offset &&
            json_numbers(row.as_array()[1]) == shard.region.shape)
            return row.as_array()[2].is_null() ? std::nullopt
                                               : std::optional(json_string(row.as_array()[2]));
    return "a shard that the case does not have";
}

/// Runs a case; the result is what differs, if any.
std::optional<std::string> difference(json::value const& value, case_side const& source,
                                      case_side const& target) {
    std::vector<numbered_shards> sources, targets;
    std::vector<const_state_dict> from;
    std::vector<state_dict> to;
    for (auto const& rank : source.ranks)
        sources.emplace_back(rank).fill(source.bases);
    for (auto const& rank : target.ranks)
        targets.emplace_back(rank);
    for (numbered_shards& rank : sources)
        from.emplace_back(rank.views());
    for (numbered_shards& rank : targets)
        to.push_back(rank.views());
    reshard::test::redistribute_ranks(from, to, mapping_of(value, source, target));
    for (numbered_shards const& rank : targets)
        for (std::size_t i = 0; i < rank.shards().size(); ++i)
            if (hash_of(rank, i) != expected_hash(value, rank.shards()[i]))
                return to_string(rank.shards()[i]);
    return std::nullopt;
}

bool is_refused(json::value const& value) { return value.as_object().contains("error"); }

std::vector<json::value> cases() {
    std::vector<json::value> values = test::json_lines("aoa-cases.jsonl");
    values.erase(values.begin()); // what the fields are
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_hash_is_the_one_of_the_standard) {
    BOOST_TEST(test::sha256("") ==
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(test::sha256("abc") ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(test::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

BOOST_AUTO_TEST_CASE(programs_give_the_values_of_the_original) {
    std::size_t run = 0, with_own_types = 0;
    for (json::value const& value : cases()) {
        if (is_refused(value))
            continue;
        std::string const id = json_string(value.at("id"));
        try {
            case_side const source = side_of(value.at("src"), true, {});
            case_side const target = side_of(value.at("dst"), false, {});
            // Values that the types cannot hold represent values of a wider type.
            bool const exact = source.is_exact();
            auto const wide = std::optional(data_type::i64);
            auto const match = exact ? difference(value, source, target)
                                     : difference(value, side_of(value.at("src"), true, wide),
                                                  side_of(value.at("dst"), false, wide));
            mapping_of(value, source, target);
            BOOST_TEST(!match.has_value(), id << " differs in " << *match << ":\n"
                                              << text_of(value));
            with_own_types += exact;
        } catch (error const& problem) {
            BOOST_ERROR(id << " is refused: " << problem.what());
        }
        ++run;
    }
    BOOST_TEST(run == 300u);
    BOOST_TEST(with_own_types > 250u);
}

BOOST_AUTO_TEST_CASE(programs_that_the_original_refuses_are_refused_or_extensions) {
    std::size_t refused = 0;
    std::set<std::string> accepted;
    for (json::value const& value : cases()) {
        if (!is_refused(value))
            continue;
        std::string const id = json_string(value.at("id"));
        try {
            mapping_of(value, side_of(value.at("src"), true, {}),
                       side_of(value.at("dst"), false, {}));
            BOOST_TEST(extensions.contains(id), id << " is accepted:\n" << text_of(value));
            accepted.insert(id);
        } catch (error const& problem) {
            BOOST_TEST(!extensions.contains(id), id << " is refused: " << problem.what());
            ++refused;
        }
    }
    BOOST_TEST(refused + accepted.size() == 60u);
    for (auto const& [id, meaning] : extensions)
        BOOST_TEST(accepted.contains(id), id << " is listed and refused: " << meaning);
}

BOOST_AUTO_TEST_CASE(every_extension_stands_in_the_guide) {
    std::ifstream file(std::string(RESHARD_TEST_DATA) + "/../../doc/aoa-differences.md");
    std::string const guide{std::istreambuf_iterator<char>(file), {}};
    for (auto const& [id, meaning] : extensions)
        BOOST_TEST(guide.find('`' + id + '`') != std::string::npos, id);
}

BOOST_AUTO_TEST_SUITE_END()
