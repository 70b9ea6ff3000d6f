// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_JSON_CURSOR_HPP
#define RESHARD_FORMAT_JSON_CURSOR_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/format/json_document.hpp>

#include <initializer_list>
#include <optional>
#include <utility>

/// \file
/// Reading a JSON document by what should stand where: each error names the file and the place.

namespace reshard {

/// A value of a document, and how one gets there.
///
/// Refers to the document, and to the file's name; both must outlive it.
class json_cursor {
public:
    json_cursor(boost::json::value const& document, std::string_view file, errc code)
        : value_(&document), file_(file), code_(code) {}

    /// Throws `file: place: text`.
    [[noreturn]] void refuse(std::string const& text) const { refuse(code_, text); }

    /// The same with another code than the document's.
    [[noreturn]] void refuse(errc code, std::string const& text) const {
        reshard::fail(code,
                      std::string(file_) + ": " + (place_.empty() ? "" : place_ + ": ") + text);
    }

    bool is_object() const { return value_->is_object(); }
    bool is_array() const { return value_->is_array(); }
    bool is_string() const { return value_->is_string(); }

    /// The member of that name, or nothing.
    std::optional<json_cursor> find(std::string_view key) const {
        auto const* const member = object().if_contains({key.data(), key.size()});
        if (!member)
            return std::nullopt;
        return json_cursor(*this, *member, (place_.empty() ? "" : ".") + std::string(key));
    }

    json_cursor at(std::string_view key) const {
        auto const member = find(key);
        if (!member)
            refuse("'" + std::string(key) + "' is missing");
        return *member;
    }

    /// All members, in their order, with their names.
    std::vector<std::pair<std::string, json_cursor>> members() const {
        std::vector<std::pair<std::string, json_cursor>> result;
        for (auto const& [key, value] : object())
            result.emplace_back(std::string(key),
                                json_cursor(*this, value, "['" + std::string(key) + "']"));
        return result;
    }

    std::vector<json_cursor> elements() const {
        std::vector<json_cursor> result;
        for (auto const& value : array())
            result.push_back(json_cursor(*this, value, "[" + std::to_string(result.size()) + "]"));
        return result;
    }

    /// Refuses members of other names, which are mistyped more often than they are meant.
    void check_names(std::initializer_list<std::string_view> known) const {
        for (auto const& member : object())
            if (std::find(known.begin(), known.end(), std::string_view(member.key())) ==
                known.end())
                refuse("'" + std::string(member.key()) + "' is not known here" + listed(known));
    }

    std::string text() const {
        if (!value_->is_string())
            refuse("a text is needed, this is " + kind());
        return std::string(value_->get_string());
    }

    /// True for a whole number from 0 to 2^63 - 1.
    bool is_count() const { return value_->is_int64() && value_->get_int64() >= 0; }

    index_t count() const {
        if (!is_count())
            refuse("a whole number from 0 to 2^63 - 1 is needed, this is " + kind());
        return value_->get_int64();
    }

    /// A list of such numbers, one an axis.
    index_vector extents() const {
        if (array().size() > max_ndim)
            refuse("a tensor has at most " + std::to_string(max_ndim) + " axes, these are " +
                   std::to_string(array().size()));
        index_vector result;
        for (json_cursor const& element : elements())
            result.push_back(element.count());
        return result;
    }

private:
    json_cursor(json_cursor const& parent, boost::json::value const& value, std::string const& step)
        : value_(&value), file_(parent.file_), code_(parent.code_), place_(parent.place_ + step) {}

    static std::string listed(std::initializer_list<std::string_view> names) {
        std::string text;
        for (std::string_view const name : names)
            text += (text.empty() ? "; known are '" : "', '") + std::string(name);
        return text.empty() ? text : text + "'";
    }

    /// What stands here, for messages.
    std::string kind() const {
        switch (value_->kind()) {
        case boost::json::kind::object: return "an object";
        case boost::json::kind::array: return "a list";
        case boost::json::kind::string:
            return "the text '" + std::string(value_->get_string()).substr(0, 40) + "'";
        case boost::json::kind::null: return "null";
        case boost::json::kind::bool_: return value_->get_bool() ? "true" : "false";
        case boost::json::kind::int64: return std::to_string(value_->get_int64());
        case boost::json::kind::uint64: return std::to_string(value_->get_uint64());
        default: return std::to_string(value_->get_double());
        }
    }

    boost::json::object const& object() const {
        if (!value_->is_object())
            refuse("an object is needed, this is " + kind());
        return value_->get_object();
    }

    boost::json::array const& array() const {
        if (!value_->is_array())
            refuse("a list is needed, this is " + kind());
        return value_->get_array();
    }

    boost::json::value const* value_;
    std::string_view file_;
    errc code_;
    std::string place_;
};

} // namespace reshard

#endif
