// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_JSON_DOCUMENT_IPP
#define RESHARD_FORMAT_IMPL_JSON_DOCUMENT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/json_document.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/json_events.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void json_cursor::refuse(errc code, std::string const& text) const {
    reshard::fail(code, file_, ": ", steps_.empty() ? "" : location() + ": ", text);
}

RESHARD_DECL std::string json_cursor::location() const {
    std::string text;
    for (step const& element : steps_)
        if (element.notation == step::behind_dot)
            text += (text.empty() ? "" : ".") + std::string(element.name);
        else if (element.notation == step::in_brackets)
            text += "['" + std::string(element.name) + "']";
        else
            text += "[" + std::to_string(element.index) + "]";
    return text;
}

RESHARD_DECL std::optional<json_cursor> json_cursor::find(std::string_view key) const {
    boost::json::object const& full_object = object();
    auto const member = full_object.find({key.data(), key.size()});
    if (member == full_object.end())
        return std::nullopt;
    return json_cursor(*this, member->value(), {member->key(), step::behind_dot});
}

RESHARD_DECL json_cursor json_cursor::at(std::string_view key) const {
    auto member = find(key);
    if (!member)
        refuse(words("'", key, "' is missing"));
    return *std::move(member);
}

RESHARD_DECL vector<std::pair<std::string, json_cursor>> json_cursor::members() const {
    vector<std::pair<std::string, json_cursor>> result;
    for_each_member([&](std::string_view name, json_cursor const& member) {
        result.emplace_back(std::string(name), member);
    });
    return result;
}

RESHARD_DECL vector<json_cursor> json_cursor::elements() const {
    vector<json_cursor> result;
    result.reserve(array().size());
    for (auto const& value : array())
        result.push_back(json_cursor(*this, value, {{}, step::counted, result.size()}));
    return result;
}

RESHARD_DECL void
json_cursor::check_names(std::initializer_list<std::string_view> known_names) const {
    for (auto const& member : object())
        if (std::find(known_names.begin(), known_names.end(), std::string_view(member.key())) ==
            known_names.end())
            refuse(words("'", member.key(), "' is unknown", listed(known_names)));
}

RESHARD_DECL std::string json_cursor::text() const {
    if (!value_->is_string())
        refuse("expected a string, found " + kind());
    return std::string(value_->get_string());
}

RESHARD_DECL index_t json_cursor::count() const {
    if (!is_count())
        refuse("expected an integer from 0 to 2^63 - 1, found " + kind());
    return value_->get_int64();
}

RESHARD_DECL double json_cursor::number() const {
    if (value_->is_null())
        return std::numeric_limits<double>::quiet_NaN();
    if (!value_->is_number())
        refuse("expected a number, found " + kind());
    return value_->to_number<double>();
}

RESHARD_DECL index_vector json_cursor::extents() const {
    if (array().size() > max_ndim)
        refuse(words("a tensor has at most ", max_ndim, " axes, found ", array().size()));
    index_vector result;
    for (auto const& value : array())
        if (value.is_int64() && value.get_int64() >= 0) // without the path, which takes longer
            result.push_back(value.get_int64());
        else
            result.push_back(json_cursor(*this, value, {{}, step::counted, result.size()}).count());
    return result;
}

RESHARD_DECL std::string json_cursor::listed(std::initializer_list<std::string_view> names) {
    std::string text;
    for (std::string_view const name : names)
        text += (text.empty() ? "; it must be one of '" : "', '") + std::string(name);
    return text.empty() ? text : text + "'";
}

RESHARD_DECL std::string json_cursor::kind() const {
    switch (value_->kind()) {
    case boost::json::kind::object: return "an object";
    case boost::json::kind::array: return "a list";
    case boost::json::kind::string:
        return "the string '" + std::string(value_->get_string()).substr(0, 40) + "'";
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return value_->get_bool() ? "true" : "false";
    case boost::json::kind::int64: return std::to_string(value_->get_int64());
    case boost::json::kind::uint64: return std::to_string(value_->get_uint64());
    default: return std::to_string(value_->get_double());
    }
}

RESHARD_DECL boost::json::object const& json_cursor::object() const {
    if (!value_->is_object())
        refuse("expected an object, found " + kind());
    return value_->get_object();
}

RESHARD_DECL boost::json::array const& json_cursor::array() const {
    if (!value_->is_array())
        refuse("expected a list, found " + kind());
    return value_->get_array();
}

/// The keys of one object.
class seen_keys {
public:
    /// False for a key that was added before.
    bool add(std::string_view key) {
        auto const key_at = [&](std::uint32_t i) { return keys_[i]; };
        if (keys_.size() < most_compared) {
            for (std::uint32_t i = 0; i < keys_.size(); ++i)
                if (keys_[i] == key)
                    return false;
            keys_.push_back(key);
            return true;
        }
        if (!index_) {
            index_.emplace();
            for (std::uint32_t i = 0; i < keys_.size(); ++i)
                index_->append(keys_[i], i);
        }
        std::size_t const before = keys_.size();
        index_->find_or_append(key, key_at, [&] { return keys_.push_back(key); });
        return keys_.size() > before;
    }

    /// Begins another object, and keeps the memory.
    void clear() {
        keys_.clear();
        index_.reset();
    }

private:
    /// A document has thousands of objects with few keys, and few objects with thousands of keys.
    static constexpr std::size_t most_compared = 8;

    text_list keys_;
    std::optional<key_index> index_;
};

/// Refuses keys that occur twice in one object.
class unique_keys {
public:
    bool object_begin() {
        if (depth_ == objects_.size())
            objects_.emplace_back();
        objects_[depth_++].clear();
        return true;
    }
    bool object_end() { return --depth_, true; }
    bool array_begin() { return true; }
    bool array_end() { return true; }
    bool key(std::string_view text) {
        if (objects_[depth_ - 1].add(text))
            return true;
        refusal_ = "the key '" + std::string(text) + "' occurs twice in one object";
        return false;
    }
    bool string(std::string_view) { return true; }
    bool number(std::string_view, json_number) { return true; }
    bool literal(std::string_view) { return true; }
    std::string refusal() const { return refusal_; }

private:
    vector<seen_keys> objects_; ///< one per depth
    std::size_t depth_ = 0;
    std::string refusal_;
};

RESHARD_DECL std::string blocks_text(axis_cycles const& cycles) {
    std::string text;
    for (axis_cycle const& cycle : cycles)
        text +=
            (text.empty() ? ", \"blocks\": [" : ", ") +
            json_list(index_vector{static_cast<index_t>(cycle.axis), cycle.block, cycle.period});
    return text.empty() ? text : text + "]";
}

RESHARD_DECL axis_cycles cycles_from(json_cursor const& shard) {
    axis_cycles cycles;
    if (auto const member = shard.find("blocks"))
        for (json_cursor const& element : member->elements()) {
            auto const numbers = element.elements();
            if (numbers.size() != 3)
                element.refuse(
                    words("expected axis, block and period, found ", numbers.size(), " numbers"));
            cycles.push_back({static_cast<std::size_t>(numbers[0].count()), numbers[1].count(),
                              numbers[2].count()});
        }
    return cycles;
}

RESHARD_DECL std::string line_and_column(std::string_view text, std::size_t position) {
    std::string_view const before = text.substr(0, position);
    auto const line = 1 + std::count(before.begin(), before.end(), '\n');
    std::size_t const line_begin = before.rfind('\n') + 1; // npos + 1 is 0
    return std::to_string(line) + ":" + std::to_string(position - line_begin + 1);
}

/// Refuses a text with very many values of two or three bytes each, which no checkpoint has. A
/// value takes 24 bytes, and 72 bytes while its list grows.
inline void check_memory(std::string_view text, std::string_view file) {
    constexpr std::uint64_t few = std::uint64_t{96} << 20, a_byte = 22, a_value = 72;
    auto const values = static_cast<std::uint64_t>(std::ranges::count(text, ','));
    if (values * a_value > few + a_byte * text.size())
        fail(errc::limit_exceeded, file, ": ", values, " values in ", text.size(),
             " bytes would need too much memory; is the file damaged?");
}

RESHARD_DECL json_document parse_json(std::string_view text, std::string_view file, errc code) {
    check_memory(text, file);
    constexpr std::size_t max_depth = 64;
    unique_keys keys;
    if (auto const fault = send_json_events(text, keys, max_depth))
        fail(code, file, ":", line_and_column(text, fault->position), ": ", fault->text);
    boost::json::parse_options options;
    options.max_depth = max_depth;
    return json_document(text, options);
}

} // namespace reshard::detail

#endif
