// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/expr/explain.hpp>

#include <boost/json/src.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

// The test vectors of the language: what PaddlePaddle's engine does, statement by statement. Each
// passes, or differs deliberately: doc/aoa-differences.md says the same with the reasons.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(aoa_vectors)

namespace {

/// Vectors that give something else here, and why.
std::map<std::string, std::string> const differences = {
    {"lex05", "# begins a comment"},
    {"lex07", "an axis may be negative"},
    {"id02", "ids expand to the combinations that exist"},
    {"id05", "a placeholder and _ remove from each layer"},
    {"off04", "placeholders of all kinds go together"},
    {"map06", "using a removed tensor is an error"},
    {"map16", "several attributes on one statement, applied left to right"},
    {"map17", "several attributes on one statement, applied left to right"},
    {"map24", "a concat compares the other extents"},
    {"map25", "definitions are compared with the target's shapes"},
    {"opt08", "a state whose parameter does not exist is a tensor like any other"},
    {"opt09", "the state of an added tensor is added"},
    {"rsh03", "a reshape need not end where blocks do"},
    {"rsh08", "a reshape need not end where blocks do"},
    {"out03", "axis on a plain rename has no effect, and is reported"},
    {"rev10", "a concat is reversed to a split by the extents of its operands"},
    {"rev13", "the parts of a fused tensor are counted on the side that has it"},
};

/// Vectors whose program is refused here, and with which code. Programs that are not refused there
/// are among the differences.
std::map<std::string, errc> const refusals = {
    {"lex06", errc::syntax},         {"lex12", errc::syntax},
    {"par07", errc::syntax},         {"par08", errc::syntax},
    {"par09", errc::syntax},         {"par14", errc::syntax},
    {"id04", errc::bad_macro},       {"id12", errc::bad_macro},
    {"off02", errc::bad_macro},      {"off03", errc::bad_macro},
    {"arr03", errc::syntax},         {"star03", errc::unknown_key},
    {"star04", errc::bad_macro},     {"star05", errc::bad_macro},
    {"star06", errc::bad_macro},     {"tr03", errc::bad_macro},
    {"ffn06", errc::syntax},         {"ffn09", errc::bad_macro},
    {"ffn10", errc::bad_macro},      {"qo05", errc::bad_macro},
    {"qo06", errc::bad_macro},       {"qkv05", errc::bad_macro},
    {"qkv06", errc::bad_macro},      {"map03", errc::unknown_key},
    {"map06", errc::unknown_key},    {"map08", errc::shape_mismatch},
    {"map11", errc::dtype_mismatch}, {"map12", errc::shape_mismatch},
    {"map13", errc::unknown_key},    {"map14", errc::syntax},
    {"map21", errc::unknown_key},    {"map24", errc::shape_mismatch},
    {"map25", errc::shape_mismatch}, {"cast02", errc::dtype_mismatch},
    {"cast05", errc::syntax},        {"opt07", errc::unknown_key},
};

json::value const& at(json::value const& object, char const* member) {
    return object.as_object().at(member);
}

bool has(json::value const& object, char const* member) {
    return object.as_object().contains(member) && !at(object, member).is_null();
}

std::string string(json::value const& text) { return std::string(text.as_string()); }

index_vector numbers(json::value const& list) {
    index_vector result;
    for (json::value const& number : list.as_array())
        result.push_back(number.to_number<index_t>());
    return result;
}

/// The number of different offsets along each axis.
index_vector parts(json::value const& tensor, std::size_t ndim) {
    if (!has(tensor, "s"))
        return index_vector::filled(ndim, 1);
    index_vector result;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        std::set<index_t> offsets;
        for (json::value const& shard : at(tensor, "s").as_array())
            offsets.insert(numbers(shard.as_array()[0])[axis]);
        result.push_back(static_cast<index_t>(offsets.size()));
    }
    return result;
}

catalog tensors(json::value const& side) {
    std::vector<catalog_entry> entries;
    for (auto const& [key, tensor] : side.as_object()) {
        index_vector const shape = numbers(at(tensor, "g"));
        entries.push_back({std::string(key), data_type_from_name(string(at(tensor, "dt"))).value(),
                           shape, parts(tensor, shape.size())});
    }
    return catalog(entries);
}

/// A vector's program and its two sides.
struct experiment {
    explicit experiment(json::value const& vector) {
        for (json::value const& statement : at(vector, "stmts").as_array())
            text += string(statement) + '\n';
        source = tensors(at(vector, "src"));
        if (has(vector, "dst"))
            target = tensors(at(vector, "dst"));
        options.reverse = vector.as_object().contains("reverse");
    }

    program expanded() const {
        return expand(test::parsed(text), source, target ? &*target : nullptr, options).code;
    }
    mapping lowered() const {
        if (options.reverse) { // what the program reads is what is to be made
            program const code = expand(test::parsed(text), target.value(), &source).code;
            return lower(reverse(code, *target, &source), source, &*target);
        }
        return lower(expanded(), source, target ? &*target : nullptr);
    }

    std::string text;
    catalog source;
    std::optional<catalog> target;
    expand_options options;
};

/// Without blanks, and with one kind of quote.
std::string squeezed(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    std::ranges::replace(text, '\'', '"');
    return text;
}

bool check_parse(json::value const& vector) {
    program const code = test::parsed(string(at(vector, "in")));
    if (!has(vector, "ast"))
        return !has(vector, "error");
    json::array array;
    auto const texts = [&](auto const& names) {
        json::array list;
        for (aoa::name const& name : names)
            list.push_back(json::string(code.text(name)));
        return list;
    };
    for (statement const& statement : code.statements()) {
        json::array attributes;
        for (attribute const& each : code.attributes(statement))
            attributes.push_back(
                {json::string(each.word), each.value.index() == 1
                                              ? json::value(std::get<index_t>(each.value))
                                              : json::value(std::get<std::string>(each.value))});
        array.push_back({texts(code.left(statement)), texts(code.right(statement)), attributes});
    }
    return json::value(array) == at(vector, "ast");
}

bool check_expand(json::value const& vector) {
    std::vector<std::string> matches = print_lines(experiment(vector).expanded()), expected;
    if (!has(vector, "out"))
        return false;
    for (json::value const& line : at(vector, "out").as_array())
        expected.push_back(squeezed(string(line)));
    for (std::string& line : matches)
        line = squeezed(line);
    if (matches.size() == expected.size() && has(vector, "unordered_prefix")) {
        auto const count = at(vector, "unordered_prefix").to_number<std::ptrdiff_t>();
        std::sort(matches.begin(), matches.begin() + count);
        std::sort(expected.begin(), expected.begin() + count);
    }
    return matches == expected;
}

/// The order of axes after one more permutation: its axis `j` is axis `step[j]` of what was.
index_vector permuted(index_vector const& order, index_vector const& step) {
    index_vector result;
    for (std::size_t axis = 0; axis < step.size(); ++axis)
        result.push_back(order[static_cast<std::size_t>(step[axis])]);
    return result;
}

/// An entry of a vector as a piece: the permutations and casts of its list one after the other,
/// each written out here. No vector has a cast that loses nothing on the way, so each is a step.
piece piece_of(mapping const& map, json::value const& entry) {
    auto const& list = entry.as_array();
    piece piece;
    piece.target_offset = numbers(list[0]);
    piece.extent = numbers(list[1]);
    std::string const key = string(list[2]);
    for (key_id id = 0; id < map.sources().size(); ++id)
        if (map.sources()[id].key == key) {
            piece.source = id;
            piece.stored = map.sources()[id].dtype;
        }
    piece.source_offset = numbers(list[3]);
    index_vector order;
    for (std::size_t axis = 0; axis < piece.extent.size(); ++axis)
        order.push_back(static_cast<index_t>(axis));
    if (list[5].is_array())
        for (json::value const& step : list[5].as_array()) {
            std::string const text = string(step);
            if (text.starts_with('['))
                order = permuted(order, numbers(json::parse(text)));
            else
                piece.steps = reshard::detail::appended(piece.steps, piece.stored,
                                                        {data_type_from_name(text).value()});
        }
    piece.order = permutation::of(order, order.size());
    index_vector const source_shape = numbers(list[4]);
    for (std::size_t axis = 0; axis < order.size(); ++axis)
        BOOST_TEST(piece.extent[axis] == source_shape[static_cast<std::size_t>(order[axis])]);
    return piece;
}

bool is_reshaped(json::value const& entry) {
    json::value const& steps = entry.as_array()[5];
    return steps.is_array() && !steps.as_array().empty() &&
           (string(steps.as_array()[0]).starts_with("reshape:") ||
            string(steps.as_array()[0]).starts_with("flatten:"));
}

/// Whether a piece is an entry of a vector: for the result of a reshape, the two boxes say all.
bool is_entry(mapping const& map, json::value const& entry, piece const& part) {
    if (!is_reshaped(entry))
        return part == piece_of(map, entry);
    auto const& list = entry.as_array();
    return part.joins.any() && map.sources()[part.source].key == string(list[2]) &&
           part.target_box() == box{numbers(list[0]), numbers(list[1])} &&
           part.source_box() == box{numbers(list[3]), numbers(list[4])};
}

/// A query that finds something, compared with its expected result.
bool check_found(mapping const& map, json::value const& query) {
    box const region{numbers(at(query, "off")), numbers(at(query, "shape"))};
    std::string const key = string(at(query, "key"));
    if (map.find(key) && map.find(key)->added)
        return has(query, "map") && at(query, "map").as_array().empty();
    std::vector<piece> const pieces = explain(map, key, region);
    if (!has(query, "map"))
        return false;
    for (json::value const& entry : at(query, "map").as_array())
        if (std::ranges::count_if(
                pieces, [&](piece const& part) { return is_entry(map, entry, part); }) != 1)
            return false;
    return pieces.size() == at(query, "map").as_array().size();
}

/// A query. What fails there when it is asked for is refused here before that, so none throws.
bool check_query(mapping const& map, json::value const& query) {
    try {
        return check_found(map, query);
    } catch (error const& problem) {
        BOOST_TEST_MESSAGE(problem.what());
        return false;
    }
}

bool check_map(json::value const& vector) {
    mapping const map = experiment(vector).lowered();
    if (!has(vector, "q"))
        return false;
    bool good = true;
    for (json::value const& query : at(vector, "q").as_array())
        good = good && check_query(map, query);
    return good;
}

bool check_outputs(json::value const& vector) {
    mapping const map = experiment(vector).lowered();
    auto const& expected = at(vector, "outputs").as_object();
    bool good = map.outputs().size() == expected.size();
    for (auto const& [key, shape] : expected) {
        auto const* const output = map.find(std::string(key));
        good = good && output && output->value.shape == numbers(shape);
    }
    return good;
}

/// Whether all that a vector asks for is an error: the program as a whole, or each query.
bool wants_error(json::value const& vector) {
    if (has(vector, "error"))
        return true;
    return has(vector, "q") && !at(vector, "q").as_array().empty() &&
           std::ranges::all_of(at(vector, "q").as_array(),
                               [](json::value const& query) { return has(query, "error"); });
}

/// How a vector ended.
struct verdict {
    bool passes;
    std::optional<errc> refused; ///< why its program was refused
};

verdict run(json::value const& vector) {
    std::string const kind = string(at(vector, "kind"));
    try {
        return {kind == "expand"    ? check_expand(vector)
                : kind == "map"     ? check_map(vector)
                : kind == "outputs" ? check_outputs(vector)
                                    : check_parse(vector),
                std::nullopt};
    } catch (error const& problem) {
        BOOST_TEST_MESSAGE(problem.what());
        return {wants_error(vector), problem.code()};
    }
}

std::string name_of(std::optional<errc> code) {
    return code ? std::string(reshard::name(*code)) : "no error";
}

std::vector<json::value> vectors() {
    std::ifstream file(std::string(RESHARD_TEST_DATA) + "/aoa-vectors.jsonl");
    std::vector<json::value> result;
    for (std::string line; std::getline(file, line);)
        if (json::value vector = json::parse(line); has(vector, "kind"))
            result.push_back(std::move(vector));
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_vector_passes_or_differs_on_purpose) {
    std::size_t visited = 0, refused = 0;
    for (json::value const& vector : vectors()) {
        std::string const id = string(at(vector, "id"));
        bool const expected = !differences.contains(id);
        auto const refusal = refusals.find(id);
        std::optional<errc> const wanted =
            refusal == refusals.end() ? std::nullopt : std::optional(refusal->second);
        verdict const verdict = run(vector);
        BOOST_TEST(verdict.passes == expected,
                   id << (expected ? " fails: " : " passes and is listed as a difference: ")
                      << vector);
        BOOST_TEST((verdict.refused == wanted), id << " should end with " << name_of(wanted)
                                                   << " and ends with "
                                                   << name_of(verdict.refused));
        refused += verdict.refused.has_value();
        ++visited;
    }
    BOOST_TEST(visited > 90u);
    BOOST_TEST(refused == refusals.size());
}

BOOST_AUTO_TEST_CASE(every_difference_stands_in_the_guide) {
    std::ifstream file(std::string(RESHARD_TEST_DATA) + "/../../doc/aoa-differences.md");
    std::string const guide{std::istreambuf_iterator<char>(file), {}};
    for (auto const& [id, reason] : differences)
        BOOST_TEST(guide.find('`' + id + '`') != std::string::npos, id);
}

BOOST_AUTO_TEST_SUITE_END()
