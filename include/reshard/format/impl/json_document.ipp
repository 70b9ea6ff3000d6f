// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_JSON_DOCUMENT_IPP
#define RESHARD_FORMAT_IMPL_JSON_DOCUMENT_IPP

#include <reshard/format/json_document.hpp>

#include <reshard/format/json_events.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace reshard::detail {

/// Refuses keys that stand twice in one object.
class unique_keys {
public:
    bool object_begin() { return keys_.emplace_back(), true; }
    bool object_end() { return keys_.pop_back(), true; }
    bool array_begin() { return true; }
    bool array_end() { return true; }
    bool key(std::string_view text) {
        if (keys_.back().emplace(text).second)
            return true;
        refusal_ = "the key '" + std::string(text) + "' occurs twice in one object";
        return false;
    }
    bool string(std::string_view) { return true; }
    bool number(std::string_view, json_number) { return true; }
    bool literal(std::string_view) { return true; }
    std::string refusal() const { return refusal_; }

private:
    std::vector<std::set<std::string, std::less<>>> keys_;
    std::string refusal_;
};

RESHARD_DECL std::string line_and_column(std::string_view text, std::size_t position) {
    std::string_view const before = text.substr(0, position);
    auto const line = 1 + std::count(before.begin(), before.end(), '\n');
    std::size_t const line_begin = before.rfind('\n') + 1; // npos + 1 is 0
    return std::to_string(line) + ":" + std::to_string(position - line_begin + 1);
}

RESHARD_DECL boost::json::value parse_json(std::string_view text, std::string_view file,
                                           errc code) {
    constexpr std::size_t max_depth = 64;
    unique_keys keys;
    if (auto const fault = send_json_events(text, keys, max_depth))
        fail(code,
             std::string(file) + ":" + line_and_column(text, fault->position) + ": " + fault->text);
    boost::json::parse_options options;
    options.max_depth = max_depth;
    return boost::json::parse({text.data(), text.size()}, {}, options);
}

} // namespace reshard::detail

#endif
