// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAFETENSORS_EVENTS_IPP
#define RESHARD_FORMAT_IMPL_SAFETENSORS_EVENTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/safetensors.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/format/json_events.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// The JSON of a safetensors header, event by event, so that a header of 100 MB is in memory only
/// once.

namespace reshard::detail {

/// A decimal number without sign, or std::nullopt.
inline std::optional<std::uint64_t> unsigned_number(std::string_view text) {
    std::uint64_t value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// Builds tensors and metadata from the events of a header.
class safetensors_events {
public:
    bool object_begin() {
        switch (place_) {
        case place::document: return enter(place::header);
        case place::header: return is_metadata_ ? begin_metadata() : begin_tensor(place::tensor);
        case place::ignored: return ++ignored_depth_, true;
        default: break;
        }
        if (takes(field::dtype))
            return bend("the data type of tensor '" + current_.name + "' is an object") &&
                   enter(place::dtype_name);
        return begin_ignored("an object");
    }

    bool object_end() {
        switch (place_) {
        case place::header: return enter(place::end);
        case place::metadata: return enter(place::header);
        case place::tensor: return end_tensor();
        case place::dtype_name:
            return has_dtype_ ? end_field() : refuse("an empty object is not a data type");
        default: return end_ignored();
        }
    }

    bool array_begin() {
        if (place_ == place::header && !is_metadata_)
            return bend("tensor " + quoted_key() + " is an array") && begin_tensor(place::row);
        if (place_ == place::ignored)
            return ++ignored_depth_, true;
        if (takes(field::shape))
            return enter(place::shape);
        if (takes(field::offsets))
            return enter(place::offsets);
        return begin_ignored("an array");
    }

    bool array_end() {
        switch (place_) {
        case place::row: return end_tensor();
        case place::shape: return end_field();
        case place::offsets:
            return offset_count_ == 2 || refuse("tensor '", current_.name, "' has ", offset_count_,
                                                " data offsets instead of 2")
                       ? end_field()
                       : false;
        default: return end_ignored();
        }
    }

    bool key(std::string_view text) {
        switch (place_) {
        case place::header: return begin_entry(text);
        case place::metadata: return begin_value(text);
        case place::tensor: return begin_field(text);
        case place::dtype_name:
            return !has_dtype_ ? set_dtype(text) : refuse("a tensor has two data types");
        default: return true;
        }
    }

    bool string(std::string_view text) {
        if (place_ == place::metadata) {
            metadata[key_] = text;
            return true;
        }
        if (takes(field::dtype))
            return set_dtype(text) && end_field();
        return scalar("the string \"" + std::string(text.substr(0, 40)) + "\"");
    }

    bool number(std::string_view text, json_number kind) {
        if (kind == json_number::infinite)
            return refuse("the number ", text.substr(0, 40), " is too large");
        bool const is_count = place_ == place::shape || place_ == place::offsets;
        if (!is_count)
            return scalar("the number " + std::string(text.substr(0, 40)));
        auto const value = kind == json_number::integer ? unsigned_number(text) : std::nullopt;
        if (!value)
            return refuse("tensor '", current_.name, "': ", text.substr(0, 40),
                          " is not a whole number from 0 to 2^64 - 1");
        return place_ == place::shape ? push_extent(*value) : push_offset(*value);
    }

    bool literal(std::string_view text) {
        if (place_ == place::header && is_metadata_ && text == "null")
            return bend("'__metadata__' is null");
        if (place_ == place::dtype_name && text == "null")
            return true;
        return scalar(std::string(text));
    }

    std::string refusal() const { return refusal_; }

    vector<safetensors_entry> tensors;
    std::map<std::string, std::string> metadata;
    vector<std::string> warnings; ///< warnings about content that the format forbids

private:
    enum class place {
        document,
        header,
        metadata,
        tensor,
        row,
        shape,
        offsets,
        dtype_name,
        ignored,
        end
    };
    enum class field { dtype, shape, offsets, unknown };
    static constexpr std::size_t most_warnings = 100;

    bool enter(place next) {
        place_ = next;
        return true;
    }

    template <class... Words>
    bool refuse(Words const&... why) {
        refusal_ = words(why...);
        return false;
    }

    /// Records content that the format forbids.
    bool bend(std::string const& noun) {
        if (warnings.size() < most_warnings)
            warnings.push_back(noun);
        return true;
    }

    std::string quoted_key() const { return "'" + key_ + "'"; }

    bool is_in_tensor() const { return place_ == place::tensor || place_ == place::row; }

    bool takes(field wanted) const { return is_in_tensor() && field_ == wanted; }

    bool unexpected(std::string const& noun) {
        if (place_ == place::document || place_ == place::end)
            return refuse("the header is " + noun + " instead of an object");
        if (place_ == place::header || place_ == place::metadata)
            return refuse(noun, " is given under ", quoted_key(), " instead of ",
                          place_ == place::metadata ? "a string" : "an object");
        return refuse("tensor '" + current_.name + "': " + noun + " is out of place");
    }

    bool scalar(std::string const& noun) {
        if (place_ == place::ignored || (place_ == place::tensor && field_ == field::unknown))
            return true;
        return unexpected(noun);
    }

    bool begin_entry(std::string_view name) {
        key_ = name;
        is_metadata_ = name == "__metadata__";
        if (is_metadata_ && std::exchange(has_metadata_, true))
            return refuse("'__metadata__' occurs twice");
        return true;
    }

    bool begin_metadata() { return enter(place::metadata); }

    bool begin_value(std::string_view name) {
        key_ = name;
        return !metadata.contains(key_) ||
               bend("'__metadata__' has the key " + quoted_key() + " twice");
    }

    bool begin_tensor(place next) {
        current_ = {};
        current_.name = key_;
        has_field_ = {};
        field_ = field::dtype;
        return enter(parent_ = next);
    }

    bool begin_field(std::string_view name) {
        field_ = name == "dtype"          ? field::dtype
                 : name == "shape"        ? field::shape
                 : name == "data_offsets" ? field::offsets
                                          : field::unknown;
        if (field_ == field::unknown)
            return bend("tensor '" + current_.name + "' has the unknown field '" +
                        std::string(name) + "'");
        if (has_field_[static_cast<std::size_t>(field_)])
            return refuse("tensor '", current_.name, "' has the field '", name, "' twice");
        return true;
    }

    bool end_field() {
        has_field_[static_cast<std::size_t>(field_)] = true;
        has_dtype_ = false;
        offset_count_ = 0;
        if (parent_ == place::row)
            field_ = static_cast<field>(static_cast<int>(field_) + 1);
        return enter(parent_);
    }

    bool set_dtype(std::string_view text) {
        auto const dtype = data_type_from_code(text);
        if (!dtype || *dtype == data_type::c128)
            return refuse("tensor '", current_.name, "' has the unknown data type '",
                          text.substr(0, 40), "'");
        current_.dtype = *dtype;
        return has_dtype_ = true;
    }

    bool push_extent(std::uint64_t extent) {
        current_.shape.push_back(extent);
        return true;
    }

    bool push_offset(std::uint64_t offset) {
        (offset_count_ == 0 ? current_.begin : current_.end) = offset;
        ++offset_count_;
        return offset_count_ <= 2 ||
               refuse("tensor '" + current_.name + "' has more than 2 data offsets");
    }

    bool begin_ignored(std::string const& noun) {
        if (place_ != place::tensor || field_ != field::unknown)
            return unexpected(noun);
        ignored_depth_ = 1;
        return enter(place::ignored);
    }

    bool end_ignored() { return --ignored_depth_ == 0 ? enter(place::tensor) : true; }

    bool end_tensor() {
        constexpr std::string_view names[] = {"dtype", "shape", "data_offsets"};
        for (std::size_t i = 0; i < has_field_.size(); ++i)
            if (!has_field_[i])
                return refuse("tensor '", current_.name, "' has no '", names[i], "'");
        std::uint32_t const number = number_of(current_.name);
        if (number == tensors.size())
            tensors.push_back(std::move(current_));
        else {
            bend("the name '" + current_.name + "' occurs twice");
            tensors[number] = std::move(current_);
        }
        return enter(place::header);
    }

    /// The index of the tensor with that name, or the number of tensors.
    ///
    /// Most writers sort names. While names ascend, no name can occur twice, and no table is
    /// needed.
    std::uint32_t number_of(std::string_view name) {
        auto const count = static_cast<std::uint32_t>(tensors.size());
        if (is_ascending_ && (tensors.empty() || tensors.back().name < name))
            return count;
        if (std::exchange(is_ascending_, false))
            for (std::uint32_t i = 0; i < count; ++i)
                numbers_.append(tensors[i].name, i);
        return numbers_.find_or_append(
            name, [&](std::uint32_t i) -> std::string_view { return tensors[i].name; },
            [&] { return count; });
    }

    bool is_metadata_ = false;
    bool has_metadata_ = false;
    bool has_dtype_ = false;
    place place_ = place::document;
    place parent_ = place::tensor;
    field field_ = field::dtype;
    std::size_t offset_count_ = 0;
    std::size_t ignored_depth_ = 0;
    std::array<bool, 3> has_field_{};
    std::string key_;
    std::string refusal_;
    safetensors_entry current_;
    bool is_ascending_ = true;
    key_index numbers_; ///< indices of tensors; filled once names do not ascend
};

/// An upper limit for the number of tensors in a header. Each tensor needs a brace and a few names.
inline std::size_t most_tensors_in(std::string_view json) {
    constexpr std::size_t least_bytes = 40;
    auto const braces = static_cast<std::size_t>(std::count(json.begin(), json.end(), '{'));
    return std::min(braces, json.size() / least_bytes);
}

/// Reads the tensors, metadata and warnings of a header from its JSON. Returns the fault of the
/// text, or std::nullopt.
///
/// \par Source the serde schema of the reference reader, including all that it accepts: unknown
///             fields, a tensor as an array of three, a data type as `{"F32": null}`, repeated
///             names (the last one counts), `__metadata__` as null
RESHARD_DECL std::optional<json_fault>
read_header_json(std::string_view json, std::size_t max_depth, safetensors_header& header) {
    safetensors_events events;
    events.tensors.reserve(most_tensors_in(json));
    auto fault = send_json_events(json, events, max_depth);
    header.tensors = std::move(events.tensors);
    header.metadata = std::move(events.metadata);
    header.warnings = std::move(events.warnings);
    return fault;
}

} // namespace reshard::detail

#endif
