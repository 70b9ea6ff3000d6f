// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/expr/explain.hpp>

#include <boost/json/src.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <map>
#include <set>
#include <string>

// The test vectors of the language: what PaddlePaddle's engine does, statement by statement. Each
// passes, or differs deliberately: doc/aoa-differences.md says the same with the reasons.

using namespace reshard;
using namespace reshard::aoa;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(aoa_vectors)

namespace {

/// Vectors that give something else here, and why.
std::map<std::string, std::string> const differences = {
    {"lex05", "# begins a comment"},
    {"lex07", "an axis may be negative"},
    {"id02", "ids expand to the combinations that exist"},
    {"off04", "placeholders of all kinds go together"},
    {"map06", "using a removed tensor is an error"},
    {"map16", "several attributes on one statement, applied left to right"},
    {"map17", "several attributes on one statement, applied left to right"},
    {"map24", "a concat compares the other extents"},
    {"map25", "definitions are compared with the target's shapes"},
    {"opt08", "a state whose parameter nobody has is a tensor like any other"},
    {"opt09", "the state of an added tensor is added"},
    {"out03", "axis on a plain rename has no effect, and is reported"},
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
    mapping lowered() const { return lower(expanded(), source, target ? &*target : nullptr); }

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
    json::array found;
    auto const texts = [&](auto const& names) {
        json::array list;
        for (aoa::name const& one : names)
            list.push_back(json::string(code.text(one)));
        return list;
    };
    for (statement const& one : code.statements()) {
        json::array attributes;
        for (attribute const& each : code.attributes(one))
            attributes.push_back(
                {json::string(each.word), each.value.index() == 1
                                              ? json::value(std::get<index_t>(each.value))
                                              : json::value(std::get<std::string>(each.value))});
        found.push_back({texts(code.left(one)), texts(code.right(one)), attributes});
    }
    return json::value(found) == at(vector, "ast");
}

bool check_expand(json::value const& vector) {
    std::vector<std::string> found = print_lines(experiment(vector).expanded()), expected;
    if (!has(vector, "out"))
        return false;
    for (json::value const& line : at(vector, "out").as_array())
        expected.push_back(squeezed(string(line)));
    for (std::string& line : found)
        line = squeezed(line);
    if (found.size() == expected.size() && has(vector, "unordered_prefix")) {
        auto const count = at(vector, "unordered_prefix").to_number<std::ptrdiff_t>();
        std::sort(found.begin(), found.begin() + count);
        std::sort(expected.begin(), expected.begin() + count);
    }
    return found == expected;
}

/// An entry of a vector as a piece: the permutations and casts of its list one after the other.
piece piece_of(mapping const& map, json::value const& entry) {
    auto const& list = entry.as_array();
    piece made;
    made.target_offset = numbers(list[0]);
    made.extent = numbers(list[1]);
    std::size_t const ndim = made.extent.size();
    std::string const key = string(list[2]);
    for (key_id id = 0; id < map.sources().size(); ++id)
        if (map.sources()[id].key == key) {
            made.source = id;
            made.stored = map.sources()[id].dtype;
        }
    made.source_offset = numbers(list[3]);
    made.order = permutation::identity(ndim);
    if (list[5].is_array())
        for (json::value const& step : list[5].as_array()) {
            std::string const text = string(step);
            if (text.starts_with('['))
                made.order =
                    made.order.then(permutation::of(numbers(json::parse(text)), ndim), ndim);
            else
                made.casts = then(made.casts, made.stored, data_type_from_name(text).value());
        }
    BOOST_TEST((made.source_box().shape == numbers(list[4])));
    return made;
}

bool check_query(mapping const& map, json::value const& query) {
    box const region{numbers(at(query, "off")), numbers(at(query, "shape"))};
    std::string const key = string(at(query, "key"));
    if (map.find(key) && map.find(key)->added)
        return has(query, "map") && at(query, "map").as_array().empty();
    std::vector<piece> const found = explain(map, key, region);
    if (!has(query, "map"))
        return false;
    for (json::value const& entry : at(query, "map").as_array())
        if (std::ranges::count(found, piece_of(map, entry)) != 1)
            return false;
    return found.size() == at(query, "map").as_array().size();
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

/// Whether a vector, or one of its queries, wants an error.
bool wants_error(json::value const& vector) {
    if (has(vector, "error"))
        return true;
    if (has(vector, "q"))
        for (json::value const& query : at(vector, "q").as_array())
            if (has(query, "error"))
                return true;
    return false;
}

bool passes(json::value const& vector) {
    std::string const kind = string(at(vector, "kind"));
    try {
        return kind == "expand"    ? check_expand(vector)
               : kind == "map"     ? check_map(vector)
               : kind == "outputs" ? check_outputs(vector)
                                   : check_parse(vector);
    } catch (error const& problem) {
        BOOST_TEST_MESSAGE(problem.what());
        return wants_error(vector);
    }
}

/// Groups that need what this library does not have yet.
bool is_later(json::value const& vector) {
    static std::set<std::string> const later = {"reshape", "reverse"};
    return later.contains(string(at(vector, "group")));
}

std::vector<json::value> vectors() {
    std::ifstream file(std::string(RESHARD_TEST_DATA) + "/aoa-vectors.jsonl");
    std::vector<json::value> result;
    for (std::string line; std::getline(file, line);)
        if (json::value vector = json::parse(line); has(vector, "kind") && !is_later(vector))
            result.push_back(std::move(vector));
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_vector_passes_or_differs_on_purpose) {
    std::size_t seen = 0;
    for (json::value const& vector : vectors()) {
        std::string const id = string(at(vector, "id"));
        bool const expected = !differences.contains(id);
        BOOST_TEST(passes(vector) == expected,
                   id << (expected ? " fails: " : " passes and is listed as a difference: ")
                      << vector);
        ++seen;
    }
    BOOST_TEST(seen > 90u);
}

BOOST_AUTO_TEST_CASE(every_difference_stands_in_the_guide) {
    std::ifstream file(std::string(RESHARD_TEST_DATA) + "/../../doc/aoa-differences.md");
    std::string const guide{std::istreambuf_iterator<char>(file), {}};
    for (auto const& [id, reason] : differences)
        BOOST_TEST(guide.find('`' + id + '`') != std::string::npos, id);
}

BOOST_AUTO_TEST_SUITE_END()
