// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAVE_RECORD_TEXT_IPP
#define RESHARD_FORMAT_IMPL_SAVE_RECORD_TEXT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/save_record.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Writes the text of a record.

namespace reshard::detail {

inline std::string json_of(recorded_file const& file) {
    return words("{\"name\": ", json_quoted(file.name), ", \"bytes\": ", file.bytes,
                 ", \"header\": \"", hex_text(file.header_digest), "\"");
}

inline std::string json_of(base_file const& base) {
    return words(json_of(base.file), ", \"directory\": ", json_quoted(base.directory),
                 ", \"save\": ", json_quoted(base.save), "}");
}

/// `END SOURCE POSITION` for each run.
inline std::string text_of(vector<delta_run> const& runs) {
    std::string text;
    for (delta_run const& run : runs)
        text += words(text.empty() ? "" : " ", run.end, " ", run.source, " ", run.position);
    return text;
}

/// The text of a list, one line per element; empty for an empty list.
inline std::string lines_of(auto const& elements, auto&& text_of_one) {
    std::string text;
    for (auto const& element : elements)
        text += (text.empty() ? "\n      " : ",\n      ") + text_of_one(element);
    return text;
}

inline std::string json_of(record_delta const& delta) {
    return words(
        ",\n  \"delta\": {\n    \"files\": [",
        lines_of(delta.files, [](recorded_file const& file) { return json_of(file) + "}"; }),
        "],\n    \"bases\": [",
        lines_of(delta.bases, [](base_file const& base) { return json_of(base); }),
        "],\n    \"runs\": [",
        lines_of(delta.runs, [](auto const& runs) { return json_quoted(text_of(runs)); }),
        "]\n  }");
}

/// Appends the entry of a shard to the record. These entries are the longest text of a save.
inline void append_json(std::string& text, checkpoint_shard const& shard,
                        std::span<std::uint64_t const> digests) {
    std::uint64_t const bytes[] = {shard.begin, shard.end};
    text +=
        words("{\"file\": ", shard.file, ", \"offset\": ", json_list(shard.region.offset),
              ", \"shape\": ", json_list(shard.region.shape), ", \"bytes\": ", json_list(bytes));
    if (shard.flat)
        text += ", \"flat_range\": " + json_list(index_vector{shard.flat->begin, shard.flat->end});
    text += blocks_text(shard.cycles);
    text += ", \"digests\": \"";
    for (std::uint64_t const digest : digests)
        text += hex_text(digest);
    text += "\"}";
}

/// \param digests returns the digests of a shard; it is called in the order of all shards
inline void append_json(std::string& text, checkpoint_tensor const& tensor, auto&& digests) {
    text += words(json_quoted(tensor.key), ": {\"dtype\": ", json_quoted(code(tensor.dtype)),
                  ", \"shape\": ", json_list(tensor.shape), ", \"shards\": [");
    for (std::size_t i = 0; i < tensor.shards.size(); ++i) {
        text += i ? ", " : "";
        append_json(text, tensor.shards[i], digests(tensor.shards[i]));
    }
    text += "]}";
}

/// The shortest decimal text of a number; `null` if it is not finite.
inline std::string number_or_null(double value) {
    if (!std::isfinite(value))
        return "null";
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

RESHARD_DECL void check_numbers(std::map<std::string, double> const& numbers) {
    for (auto const& [name, value] : numbers)
        if (name.empty() || find_invalid_utf8(name) != name.size())
            fail(errc::usage, "a number of a save has the name '", name, "', which is ",
                 name.empty() ? "empty" : "not UTF-8", "; give it another name");
}

inline std::string json_of(save_facts const& facts) {
    std::string text;
    if (facts.completed != 0)
        text += words(",\n  \"completed\": ", facts.completed);
    std::string_view separator = ",\n  \"numbers\": {";
    for (auto const& [name, value] : facts.numbers) {
        text += words(separator, json_quoted(name), ": ", number_or_null(value));
        separator = ", ";
    }
    text += facts.numbers.empty() ? "" : "}";
    separator = ",\n  \"needs\": [";
    for (std::string const& save : facts.needs) {
        text += words(separator, json_quoted(save));
        separator = ", ";
    }
    text += facts.needs.empty() ? "" : "]";
    return facts.program.empty() ? text : text + ",\n  \"program\": " + json_quoted(facts.program);
}

/// The text of the member `aliases`; empty without aliases.
inline std::string aliases_text(std::map<std::string, std::string> const& aliases) {
    std::string text;
    for (auto const& [alias, key] : aliases)
        text += words(text.empty() ? ",\n  \"aliases\": {\n    " : ",\n    ", json_quoted(alias),
                      ": ", json_quoted(key));
    return text.empty() ? text : text + "\n  }";
}

/// The approximate length of the text of the tensors. Without it, a text of hundreds of megabytes
/// would be copied while it grows, which takes twice the memory.
inline std::size_t likely_length(checkpoint_metadata const& written) {
    std::size_t length = 0;
    for (checkpoint_tensor const& tensor : written.tensors) {
        length += tensor.key.size() + 60 + tensor.shards.size() * (90 + 20 * tensor.shape.size());
        for (checkpoint_shard const& shard : tensor.shards)
            if (std::uint64_t const size = written.files[shard.file].chunk_bytes)
                length += 16 * chunk_count(shard.end - shard.begin, size);
    }
    return length;
}

/// The version of the record, which a reader must support.
inline index_t version_of(checkpoint_metadata const& written) {
    for (checkpoint_tensor const& tensor : written.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            if (!shard.cycles.empty())
                return save_record_version;
    return 1;
}

/// The text of a record whose digests come from `digests`.
inline std::string record_text(save_record const& record, checkpoint_metadata const& written,
                               auto&& digests) {
    std::string text = words(
        "{\n  \"reshard\": ", version_of(written), ",\n  \"save\": ", json_quoted(record.save),
        ",\n  \"format\": ", json_quoted(written.format), json_of(record.facts));
    if (record.ranks != 0)
        text += words(",\n  \"layout\": {\"ranks\": ", record.ranks,
                      record.facts.this_layout_only ? ", \"only\": true}" : "}");
    text += ",\n  \"files\": [";
    std::string_view separator = "\n    ";
    for (std::size_t i = 0; i < record.files.size(); ++i) {
        text += separator;
        text += json_of(record.files[i]);
        text += record.ranks ? words(", \"rank\": ", record.files[i].rank) : std::string();
        text += words(", \"chunk_bytes\": ", written.files[i].chunk_bytes, "}");
        separator = ",\n    ";
    }
    text += "\n  ]";
    text += aliases_text(record.aliases);
    text += record.delta ? json_of(*record.delta) : "";
    text += record_tensors_name;
    text.reserve(text.size() + likely_length(written));
    separator = "\n    ";
    for (checkpoint_tensor const& tensor : written.tensors) {
        text += separator;
        append_json(text, tensor, digests);
        separator = ",\n    ";
    }
    text += "\n  }";
    std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(text)));
    text += record_digest_name;
    text += hex_text(digest);
    text += record_end;
    return text;
}

RESHARD_DECL std::string to_json(save_record const& record, checkpoint_metadata const& written) {
    return record_text(record, written, [](checkpoint_shard const& shard) {
        return std::span(shard.digests.data(), shard.digests.size());
    });
}

RESHARD_DECL std::string to_json(save_record const& record, checkpoint_metadata const& written,
                                 std::span<std::span<std::uint64_t const> const> digests) {
    return record_text(record, written, [&](checkpoint_shard const&) {
        auto const of_shard = digests.front();
        digests = digests.subspan(1);
        return of_shard;
    });
}

} // namespace reshard::detail

#endif
