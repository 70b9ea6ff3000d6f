// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_EVENTS_HPP
#define RESHARD_FORMAT_SAFETENSORS_EVENTS_HPP

#include <reshard/format/json_events.hpp>
#include <reshard/format/safetensors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// \file
/// The JSON of a safetensors header, event by event: a header of 100 MB is never held twice.

namespace reshard::detail {

/// Builds tensors and metadata from the events of a header.
///
/// \par Source the serde schema of the reference reader, with all that it lets pass: fields that it
///             does not know, a tensor as an array of three, a data type as `{"F32": null}`,
///             repeated names (the last one counts), `__metadata__` as null
class safetensors_events {
public:
    bool object_begin();

    bool object_end();

    bool array_begin();

    bool array_end();

    bool key(std::string_view text);

    bool string(std::string_view text);

    bool number(std::string_view text, json_number kind);

    bool literal(std::string_view text);

    std::string refusal() const { return refusal_; }

    std::vector<safetensors_entry> tensors;
    std::map<std::string, std::string> metadata;
    std::vector<std::string> warnings; ///< what the text of the format does not allow

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

    bool enter(place next);

    bool refuse(std::string const& why);

    /// What the text of the format does not allow.
    bool bend(std::string const& what);

    std::string quoted_key() const { return "'" + key_ + "'"; }

    bool is_in_tensor() const { return place_ == place::tensor || place_ == place::row; }

    bool takes(field wanted) const { return is_in_tensor() && field_ == wanted; }

    bool unexpected(std::string const& what);

    bool scalar(std::string const& what);

    bool begin_entry(std::string_view name);

    bool begin_metadata() { return enter(place::metadata); }

    bool begin_value(std::string_view name);

    bool begin_tensor(place next);

    bool begin_field(std::string_view name);

    bool end_field();

    bool set_dtype(std::string_view text);

    bool push_extent(std::uint64_t extent);

    bool push_offset(std::uint64_t offset);

    bool begin_ignored(std::string const& what);

    bool end_ignored() { return --ignored_depth_ == 0 ? enter(place::tensor) : true; }

    bool end_tensor();

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
    std::unordered_map<std::string, std::size_t> numbers_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_events.ipp>
#endif

#endif
