// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_JSON_DOCUMENT_HPP
#define RESHARD_FORMAT_JSON_DOCUMENT_HPP

#include <reshard/core/box.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A whole JSON document without duplicate keys.

namespace reshard::detail {

/// A value of a document, and the path to it.
///
/// Refers to the document and to the name of the file. Both must outlive it.
class json_cursor {
public:
    json_cursor(boost::json::value const& document, std::string_view file, errc code)
        : value_(&document), file_(file), code_(code) {}

    /// Throws an error `file: location: text`.
    [[noreturn]] void refuse(std::string const& text) const { refuse(code_, text); }

    /// The same, but with another error code.
    [[noreturn]] void refuse(errc code, std::string const& text) const;

    bool is_object() const { return value_->is_object(); }
    bool is_array() const { return value_->is_array(); }
    bool is_null() const { return value_->is_null(); }
    bool is_string() const { return value_->is_string(); }
    bool is_true() const { return value_->is_bool() && value_->get_bool(); }

    /// The member with that name, or std::nullopt.
    std::optional<json_cursor> find(std::string_view key) const;

    json_cursor at(std::string_view key) const;

    /// All members, in their order, with their names.
    vector<std::pair<std::string, json_cursor>> members() const;

    /// Calls `visit(name, member)` for all members, in their order.
    void for_each_member(auto&& visit) const {
        for (auto const& [name, value] : object())
            visit(std::string_view(name), json_cursor(*this, value, {name, step::in_brackets}));
    }

    vector<json_cursor> elements() const;

    /// Refuses members with other names, which are usually typing errors.
    void check_names(std::initializer_list<std::string_view> known_names) const;

    std::string text() const;

    /// True for a whole number from 0 to 2^63 - 1.
    bool is_count() const { return value_->is_int64() && value_->get_int64() >= 0; }

    index_t count() const;

    /// Any number; null is NaN.
    double number() const;

    /// A list of counts, one per axis.
    index_vector extents() const;

    /// The kind of this value, for messages.
    std::string kind() const;

private:
    /// A step on the path to a value. It becomes text only if a message shows it.
    struct step {
        enum form { behind_dot, in_brackets, counted };

        std::string_view name; ///< refers to the document
        form notation = behind_dot;
        std::size_t index = 0;
    };

    json_cursor(json_cursor const& parent, boost::json::value const& value, step const& last)
        : value_(&value), file_(parent.file_), code_(parent.code_), steps_(parent.steps_) {
        steps_.push_back(last);
    }

    /// The path to the value, such as `tensors['w'].shape[1]`.
    std::string location() const;

    static std::string listed(std::initializer_list<std::string_view> names);

    boost::json::object const& object() const;

    boost::json::array const& array() const;

    boost::json::value const* value_;
    std::string_view file_;
    errc code_;
    short_vector<step, 6> steps_; ///< as many as a layout has: most paths take no memory
};

/// `text` in quotes, escaped.
inline std::string json_quoted(std::string_view text) {
    return boost::json::serialize(boost::json::string(text.data(), text.size()));
}

/// A JSON list, such as `[2,3]`.
std::string json_list(auto const& numbers) {
    std::string text = "[";
    for (auto const number : numbers)
        text += (text.size() > 1 ? "," : "") + std::to_string(number);
    return text + "]";
}

/// The text of a shard's member `blocks`, empty if the shard has no blocks: `, "blocks":
/// [[axis,block,period], ...]`.
RESHARD_DECL std::string blocks_text(axis_cycles const& cycles);

/// The axes along which a shard consists of blocks, from the member `blocks` of `shard`.
RESHARD_DECL axis_cycles cycles_from(json_cursor const& shard);

/// `line:column` of a byte, both counted from 1.
RESHARD_DECL std::string line_and_column(std::string_view text, std::size_t position);

/// A value, and the memory of all its parts. The parts do not count references to the memory, which
/// takes a third of the time.
class json_document {
public:
    json_document(std::string_view text, boost::json::parse_options const& options)
        : memory_(std::make_unique<boost::json::monotonic_resource>()),
          root_(boost::json::parse({text.data(), text.size()}, memory_.get(), options)) {}

    json_document(json_document&&) = default;
    json_document& operator=(json_document&&) = delete; // would free the value's memory first

    operator boost::json::value const&() const& { return root_; }
    operator boost::json::value const&() const&& = delete;

private:
    std::unique_ptr<boost::json::monotonic_resource> memory_; ///< outlives the value
    boost::json::value root_;
};

/// Parses `text`.
///
/// \throws error with `code` for a text that is not JSON or has a key twice: `file:line:column:
///         ...`
RESHARD_DECL json_document parse_json(std::string_view text, std::string_view file, errc code);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/json_document.ipp>
#endif

#endif
