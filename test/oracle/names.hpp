// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_NAMES_HPP
#define RESHARD_TEST_ORACLE_NAMES_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/parse.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// From the names of a statement to the keys that they mean.

namespace reshard::oracle {

using namespace reshard::detail;

/// The number of each placeholder.
using ids = std::map<std::string, std::int64_t>;

using segments = std::vector<aoa::segment>;

/// The segments of a name: one text, or what its pattern is.
inline segments segments_of(aoa::program const& program, aoa::name const& name) {
    if (name.kind == aoa::name::kind_type::pattern)
        return program.pattern(name);
    return {{aoa::segment::kind_type::text, std::string(program.text(name)), 0, 0}};
}

inline bool has(segments const& name, aoa::segment::kind_type kind) {
    for (aoa::segment const& segment : name)
        if (segment.kind == kind)
            return true;
    return false;
}

/// Calls `visit(bound)` for each way in which `key`, from `place` on, is `name` from `segment` on.
///
/// The number of a star is bound under the name `*`.
template <class Visit>
void for_each_match(segments const& name, std::size_t segment, std::string_view key,
                    ids const& bound, Visit&& visit) {
    if (segment == name.size()) {
        if (key.empty())
            visit(bound);
        return;
    }
    aoa::segment const& current_segment = name[segment];
    if (current_segment.kind == aoa::segment::kind_type::text) {
        if (key.starts_with(current_segment.text))
            for_each_match(name, segment + 1, key.substr(current_segment.text.size()), bound,
                           visit);
        return;
    }
    std::string const word =
        current_segment.kind == aoa::segment::kind_type::star ? "*" : current_segment.text;
    for (std::size_t length = 1; length <= key.size(); ++length) {
        if (std::isdigit(static_cast<unsigned char>(key[length - 1])) == 0)
            return;
        std::int64_t const number =
            std::stoll(std::string(key.substr(0, length))) - current_segment.first;
        if (bound.contains(word) && bound.at(word) != number)
            continue;
        ids more = bound;
        more[word] = number;
        for_each_match(name, segment + 1, key.substr(length), more, visit);
    }
}

/// The numbers for which `name` is a key.
inline std::set<ids> matches(segments const& name, std::set<std::string> const& keys) {
    std::set<ids> found_ids;
    for (std::string const& key : keys)
        for_each_match(name, 0, key, {}, [&](ids const& bound) { found_ids.insert(bound); });
    return found_ids;
}

/// The name with numbers in place of its placeholders.
inline segments filled_in(segments name, ids const& bound) {
    for (aoa::segment& segment : name)
        if (segment.kind == aoa::segment::kind_type::placeholder)
            segment = {aoa::segment::kind_type::text,
                       std::to_string(bound.at(segment.text) + segment.first), 0, 0};
    return name;
}

/// The keys that a name without placeholders means; `keys` are those that a star may find.
inline std::vector<std::string> keys_of(segments name, std::set<std::string> const& keys) {
    std::vector<std::string> result;
    if (has(name, aoa::segment::kind_type::star)) {
        std::map<std::int64_t, std::string> in_order;
        for (std::string const& key : keys)
            for_each_match(name, 0, key, {},
                           [&](ids const& bound) { in_order[bound.at("*")] = key; });
        for (auto const& [number, key] : in_order)
            result.push_back(key);
        return result;
    }
    std::string text;
    for (aoa::segment const& segment : name)
        if (segment.kind == aoa::segment::kind_type::text)
            text += segment.text;
    if (!has(name, aoa::segment::kind_type::array))
        return {text};
    for (std::int64_t i = name.back().first; i < name.back().last; ++i)
        result.push_back(text + "_" + std::to_string(i));
    return result;
}

} // namespace reshard::oracle

#endif
