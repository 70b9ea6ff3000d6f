// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_PLAN_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_PLAN_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/gguf/impl/gguf.ipp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Reads the stored form of a value, as `saved_object::archive` has it: its type, and its content.
class gguf_content {
public:
    gguf_content(std::string_view bytes, std::string_view key) : left_(bytes), key_(key) {}

    std::uint64_t number(std::size_t bytes) {
        std::string_view const text = take(bytes);
        std::uint64_t result = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            result |= std::uint64_t{byte_at(text, i)} << 8 * i;
        return result;
    }

    std::string_view text() { return take(number(8)); }

    std::uint64_t type() {
        std::uint64_t const type = number(4);
        if (type >= gguf_value_types)
            refuse();
        return type;
    }

    [[noreturn]] void refuse() const {
        fail(errc::corrupt_file, "object '", key_,
             "': is not a value of a GGUF header; was the file changed while it was read?");
    }

private:
    std::string_view take(std::uint64_t bytes) {
        if (bytes > left_.size())
            refuse();
        std::string_view const text = left_.substr(0, static_cast<std::size_t>(bytes));
        left_.remove_prefix(text.size());
        return text;
    }

    std::string_view left_;
    std::string_view key_;
};

/// Writes values as text, similar to Python's, with the types of numbers.
class gguf_value_text {
public:
    gguf_value_text(saved_object const& object, std::size_t most_bytes)
        : content_(object.archive, object.key), key_(object.key), most_bytes_(most_bytes) {}

    std::string text() {
        put(content_.type(), true, 0);
        return std::move(text_);
    }

private:
    static constexpr std::string_view names[gguf_value_types] = {
        "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "", "", "u64", "i64", "f64"};

    void add(std::string_view text) {
        if (text.size() > most_bytes_ - text_.size())
            fail(errc::limit_exceeded, "object '", key_, "': exceeds ", most_bytes_,
                 " bytes as text");
        text_ += text;
    }

    void put(std::uint64_t type, bool names_type, int depth) {
        if (type == gguf_string)
            return put_text(content_.text());
        if (type == gguf_array)
            return put_list(depth);
        add(number_text(type));
        if (names_type && type != gguf_boolean)
            add(words(" (", names[type], ")"));
    }

    void put_text(std::string_view text) {
        std::string quoted = "'";
        constexpr std::string_view digits = "0123456789abcdef";
        for (char const character : text) {
            auto const code = static_cast<unsigned char>(character);
            if (character == '\n')
                quoted += "\\n";
            else if (code < 0x20 || code == 0x7f)
                ((quoted += "\\x") += digits[code >> 4]) += digits[code & 15];
            else
                ((quoted += character == '\'' || character == '\\' ? "\\" : "")) += character;
        }
        add(quoted + "'");
    }

    void put_list(int depth) {
        if (depth > 8)
            content_.refuse();
        std::uint64_t const type = content_.type(), count = content_.number(8);
        add("[");
        for (std::uint64_t i = 0; i < count; ++i) {
            add(i == 0 ? "" : ", ");
            put(type, false, depth + 1);
        }
        add(type == gguf_string || type == gguf_array ? "]" : words("] (", names[type], ")"));
    }

    static std::string shortest(auto value) {
        char text[32];
        return {text, std::to_chars(text, text + sizeof text, value).ptr};
    }

    std::string number_text(std::uint64_t type) {
        std::size_t const bytes = bytes_of_gguf_value(type);
        std::uint64_t const bits = content_.number(bytes);
        switch (type) {
        case gguf_boolean: return bits != 0 ? "True" : "False";
        case gguf_f32: return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case gguf_f64: return shortest(std::bit_cast<double>(bits));
        case gguf_i8:
        case gguf_i16:
        case gguf_i32:
        case gguf_i64: {
            std::size_t const unused = 64 - 8 * bytes;
            return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
        }
        default: return std::to_string(bits);
        }
    }

    gguf_content content_;
    std::string_view key_;
    std::size_t most_bytes_;
    std::string text_;
};

RESHARD_DECL bool is_gguf_value(saved_object const& object) {
    return object.archive.size() >= 5 && byte_at(object.archive, 0) < gguf_value_types &&
           object.archive.compare(1, 3, std::string(3, '\0')) == 0;
}

RESHARD_DECL std::string gguf_text_of(saved_object const& object, std::size_t most_bytes) {
    return gguf_value_text(object, most_bytes).text();
}

inline void put_number(std::string& out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> 8 * i & 0xff);
}

inline void put_text(std::string& out, std::string_view text) {
    put_number(out, text.size(), 8);
    out += text;
}

/// A number in its stored form.
inline std::string gguf_number(gguf_value type, std::uint64_t value) {
    std::string out;
    put_number(out, type, 4);
    put_number(out, value, bytes_of_gguf_value(type));
    return out;
}

/// A number of a value in its stored form; std::nullopt for strings and lists.
inline std::optional<std::uint64_t> number_in(saved_object const& object) {
    gguf_content content(object.archive, object.key);
    std::uint64_t const type = content.type();
    return type == gguf_string || type == gguf_array
               ? std::nullopt
               : std::optional(content.number(bytes_of_gguf_value(type)));
}

/// The type of GGUF that holds all values of `dtype`; the largest one if none does.
inline data_type nearest_gguf_type(data_type dtype) {
    for (data_type const to : {data_type::i8, data_type::i16, data_type::i32, data_type::f32})
        if (is_lossless(dtype, to))
            return to;
    return is_floating(dtype) ? data_type::f32 : data_type::i64;
}

/// The quantised type of a tensor whose bytes are blocks; std::nullopt for other tensors.
inline std::optional<gguf_type> block_type_of(file_shard const& shard,
                                              file_choices const& choices) {
    auto const scheme = choices.blocks.find(shard.key);
    if (scheme == choices.blocks.end())
        return std::nullopt;
    std::string name = scheme->second.substr(scheme->second.starts_with("gguf_") ? 5 : 0);
    for (char& letter : name)
        letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    auto const match = std::ranges::find(gguf_types, std::string_view(name), &gguf_type::name);
    return match == std::end(gguf_types) ? std::nullopt : std::optional(*match);
}

/// The extents of a tensor, of which a file with blocks has the bytes.
inline index_vector gguf_shape_of(file_shard const& shard, file_choices const& choices) {
    index_vector shape = shard.region.shape;
    if (auto const type = block_type_of(shard, choices))
        shape[shape.size() - 1] = shape[shape.size() - 1] /
                                  static_cast<index_t>(type->block.bytes) *
                                  static_cast<index_t>(type->block.elements);
    return shape;
}

/// The number of a data type in a file.
///
/// \throws error with errc::unsupported for a data type that GGUF does not have
inline std::uint32_t gguf_number_of(file_shard const& shard, file_choices const& choices) {
    if (auto const type = block_type_of(shard, choices))
        return type->number;
    for (gguf_type const& type : gguf_types)
        if (type.dtype == shard.dtype)
            return type.number;
    std::string const cast = words(" it in the program, as in `", shard.key, " -> ", shard.key,
                                   ", dtype=\"", nearest_gguf_type(shard.dtype), "\"`");
    bool const may_have_scales = bits(shard.dtype) <= 8 && shard.dtype != data_type::boolean;
    fail(errc::unsupported, "'", shard.key, "': GGUF has no data type for elements of ",
         shard.dtype,
         is_complex(shard.dtype) ? "; write torch_save or npz"
         : may_have_scales       ? "; write safetensors, or, if it has no scales, cast" + cast
                                 : "; cast" + cast);
}

/// The number by which `general.file_type` says that most elements have this type.
///
/// \par Source the enumeration `llama_ftype` of llama.cpp
inline std::optional<std::uint32_t> file_type_of(file_shard const& shard,
                                                 file_choices const& choices) {
    constexpr std::pair<std::string_view, std::uint32_t> types[] = {
        {"Q4_0", 2}, {"Q4_1", 3}, {"Q8_0", 7}, {"Q5_0", 8}, {"Q5_1", 9}, {"MXFP4", 38}};
    if (auto const type = block_type_of(shard, choices))
        for (auto const& [name, number] : types)
            if (name == type->name)
                return number;
    switch (shard.dtype) {
    case data_type::f32: return 0;
    case data_type::f16: return 1;
    case data_type::bf16: return 32;
    default: return std::nullopt;
    }
}

/// The file types that describe the tensors: 0 only if no matrix has another type. Most elements
/// have the first one.
inline vector<std::uint32_t> file_types_of(vector<file_shard> const& shards,
                                           file_choices const& choices) {
    std::map<std::uint32_t, index_t> elements;
    for (file_shard const& shard : shards)
        if (auto const type = file_type_of(shard, choices); type && shard.region.shape.size() > 1)
            elements[*type] += element_count(gguf_shape_of(shard, choices));
    if (elements.empty())
        return {0};
    vector<std::uint32_t> types;
    if (elements.size() > 1)
        elements.erase(0);
    auto const most =
        std::ranges::max_element(elements, {}, [](auto const& e) { return e.second; });
    types.push_back(most->first);
    for (auto const& [type, count] : elements)
        if (type != types.front())
            types.push_back(type);
    return types;
}

/// The values of the header. `general.file_type` is corrected if it does not describe the tensors.
inline vector<saved_object> header_values(vector<file_shard> const& shards,
                                          file_choices const& choices,
                                          vector<saved_object> objects) {
    auto const types = file_types_of(shards, choices);
    for (saved_object& object : objects) {
        if (!is_gguf_value(object))
            fail(errc::unsupported, "'", object.key,
                 "' is not a tensor but a value of Python, which GGUF cannot store; omit it");
        if (object.key == "general.file_type" &&
            !std::ranges::count(types, number_in(object).value_or(~0u)))
            object.archive = gguf_number(gguf_u32, types.front());
    }
    return objects;
}

/// The alignment of tensors in bytes.
inline std::uint64_t alignment_in(vector<saved_object> const& objects) {
    auto const match = std::ranges::find(objects, "general.alignment", &saved_object::key);
    std::uint64_t const alignment = match == objects.end() ? 32 : number_in(*match).value_or(0);
    if (!std::has_single_bit(alignment) || alignment > (1u << 20))
        fail(errc::unsupported, "general.alignment is ", alignment,
             ", but must be a power of two, at most 2^20");
    return alignment;
}

/// The values and the list of tensors at the beginning of a file.
///
/// \param offsets the positions of the tensors in the data
inline std::string gguf_header(vector<file_shard> const& shards, file_choices const& choices,
                               vector<saved_object> const& objects,
                               vector<std::uint64_t> const& offsets) {
    std::string out = "GGUF";
    put_number(out, 3, 4);
    put_number(out, shards.size(), 8);
    put_number(out, objects.size(), 8);
    for (saved_object const& object : objects) {
        put_text(out, object.key);
        out += object.archive;
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
        index_vector const shape = gguf_shape_of(shards[i], choices);
        put_text(out, shards[i].key);
        put_number(out, shape.size(), 4);
        for (std::size_t axis = shape.size(); axis-- > 0;)
            put_number(out, static_cast<std::uint64_t>(shape[axis]), 8);
        put_number(out, gguf_number_of(shards[i], choices), 4);
        put_number(out, offsets[i], 8);
    }
    return out;
}

RESHARD_DECL checkpoint_plan plan_gguf(layout const& target, file_choices const& choices) {
    auto const shards = shards_of_one(target, choices);
    auto const objects = header_values(shards, choices, objects_beside(target, choices));
    std::uint64_t const alignment = alignment_in(objects);
    auto const aligned = [&](std::uint64_t index) {
        return (index + alignment - 1) / alignment * alignment;
    };
    vector<std::uint64_t> offsets{0};
    for (file_shard const& shard : shards)
        offsets.push_back(aligned(offsets.back() + bytes_of(shard)));
    std::string header = gguf_header(shards, choices, objects, offsets);
    std::uint64_t const data = aligned(header.size());
    header.resize(static_cast<std::size_t>(data));
    vector<placed_text> texts{{0, std::move(header)}};
    planned_files files("gguf", target);
    files.begin_file("tensors.gguf", 0);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        std::uint64_t const begin = data + offsets[i], end = begin + bytes_of(shards[i]);
        files.add(shards[i], {begin, end});
        if (std::uint64_t const next = data + offsets[i + 1]; next > end)
            texts.push_back({end, std::string(static_cast<std::size_t>(next - end), '\0')});
    }
    files.end_file(data + offsets.back());
    checkpoint_plan plan =
        files.take(std::make_shared<known_texts>(vector<vector<placed_text>>{std::move(texts)}));
    plan.is_file = true;
    return plan;
}

} // namespace reshard::detail

#endif
