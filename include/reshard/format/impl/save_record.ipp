// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAVE_RECORD_IPP
#define RESHARD_FORMAT_IMPL_SAVE_RECORD_IPP

#include <reshard/format/save_record.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/json_document.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <span>

namespace reshard::detail {

inline std::string json_of(recorded_file const& file, std::uint64_t chunk_size) {
    return words("{\"name\": ", json_quoted(file.name), ", \"bytes\": ", file.bytes,
                 ", \"header\": \"", hex_text(file.header_digest),
                 "\", \"chunk_bytes\": ", chunk_size, "}");
}

inline std::string json_of(checkpoint_shard const& shard) {
    std::uint64_t const bytes[] = {shard.begin, shard.end};
    std::string text =
        words("{\"file\": ", shard.file, ", \"offset\": ", json_list(shard.region.offset),
              ", \"shape\": ", json_list(shard.region.shape), ", \"bytes\": ", json_list(bytes));
    if (shard.flat)
        text += ", \"flat_range\": " + json_list(index_vector{shard.flat->begin, shard.flat->end});
    text += ", \"digests\": \"";
    for (std::uint64_t const digest : shard.digests)
        text += hex_text(digest);
    return text + "\"}";
}

inline std::string json_of(checkpoint_tensor const& tensor) {
    std::string text =
        words(json_quoted(tensor.key), ": {\"dtype\": ", json_quoted(code(tensor.dtype)),
              ", \"shape\": ", json_list(tensor.shape), ", \"shards\": [");
    for (std::size_t i = 0; i < tensor.shards.size(); ++i)
        text += (i ? ", " : "") + json_of(tensor.shards[i]);
    return text + "]}";
}

/// What stands between the last digest of a record and what it is of.
inline constexpr std::string_view record_digest_name = ",\n  \"digest\": \"";

/// What begins the part of a record that is for people and other programs, the longest by far.
inline constexpr std::string_view record_tensors_name = ",\n  \"tensors\": {";

/// The member `aliases`, where there are any.
inline std::string aliases_text(std::map<std::string, std::string> const& aliases) {
    std::string text;
    for (auto const& [alias, key] : aliases)
        text += words(text.empty() ? ",\n  \"aliases\": {\n    " : ",\n    ", json_quoted(alias),
                      ": ", json_quoted(key));
    return text.empty() ? text : text + "\n  }";
}

RESHARD_DECL std::string to_json(save_record const& record, checkpoint_metadata const& written) {
    std::string text = words("{\n  \"reshard\": ", save_record_version,
                             ",\n  \"save\": ", json_quoted(record.save),
                             ",\n  \"format\": ", json_quoted(written.format), ",\n  \"files\": [");
    std::string_view separator = "\n    ";
    for (std::size_t i = 0; i < record.files.size(); ++i) {
        text += std::string(separator) + json_of(record.files[i], written.files[i].chunk_bytes);
        separator = ",\n    ";
    }
    text += std::string("\n  ]") + aliases_text(record.aliases) + std::string(record_tensors_name);
    separator = "\n    ";
    for (checkpoint_tensor const& tensor : written.tensors) {
        text += std::string(separator) + json_of(tensor);
        separator = ",\n    ";
    }
    text += "\n  }";
    std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(text)));
    return text + std::string(record_digest_name) + hex_text(digest) + "\"\n}\n";
}

/// Refuses a text whose last line is not the digest of what stands before it.
inline void check_record_digest(std::string_view text, std::string_view file) {
    std::size_t const end = text.rfind(record_digest_name);
    if (end == text.npos)
        fail(errc::corrupt_file, file, ": the record does not end with a digest of itself");
    std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(text.substr(0, end))));
    std::string const wanted = std::string(record_digest_name) + hex_text(digest) + "\"\n}\n";
    if (text.substr(end) != wanted)
        fail(errc::corrupt_file, file, ": the record was changed: its bytes have the digest ",
             hex_text(digest), ", and its last line gives another one");
}

inline std::uint64_t hex_number(json_cursor const& place) {
    std::string const text = place.text();
    std::uint64_t value = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 16 || end.ec != std::errc{} || end.ptr != text.data() + text.size())
        place.refuse("'" + text + "' is not a number of 16 hexadecimal digits");
    return value;
}

/// A record without its tensors, which files tell as well: its digest covers them.
inline std::string without_tensors(std::string_view text) {
    std::size_t const end = text.find(record_tensors_name);
    return std::string(text.substr(0, end)) + (end == text.npos ? "" : "\n}");
}

RESHARD_DECL save_record parse_save_record(std::string_view text, std::string_view file) {
    std::string const head = without_tensors(text);
    auto const document = parse_json(head, file, errc::corrupt_file);
    json_cursor const root(document, file, errc::corrupt_file);
    json_cursor const version = root.at("reshard");
    if (version.count() != save_record_version)
        version.refuse(errc::unsupported, words("the record has version ", version.count(),
                                                ", and this program reads ", save_record_version,
                                                "; use a newer one"));
    check_record_digest(text, file);
    save_record record{root.at("save").text(), {}};
    if (auto const aliases = root.find("aliases"))
        for (auto const& [alias, key] : aliases->members())
            record.aliases.emplace(alias, key.text());
    for (json_cursor const& one : root.at("files").elements()) {
        check_file_name(one.at("name"), one.at("name").text());
        record.files.push_back({one.at("name").text(),
                                static_cast<std::uint64_t>(one.at("bytes").count()),
                                hex_number(one.at("header"))});
    }
    return record;
}

RESHARD_DECL void check_save(save_record const& record, std::vector<recorded_file> const& found,
                             std::vector<std::string> const& ids, std::string const& path) {
    std::map<std::string_view, recorded_file const*> recorded;
    for (recorded_file const& file : record.files)
        recorded.emplace(file.name, &file);
    for (std::size_t i = 0; i < found.size(); ++i) {
        recorded_file const& file = found[i];
        auto const known = recorded.find(file.name);
        if (known == recorded.end())
            fail(errc::corrupt_file, path, ": ", file.name, " is not of the save ", record.save,
                 " that ", save_record_name, " is of; move it away");
        if (ids[i] != record.save)
            fail(errc::corrupt_file, path, ": ", file.name, " belongs to ",
                 ids[i].empty() ? "no save" : "the save " + ids[i], ", and ", save_record_name,
                 " to the save ", record.save);
        if (file.bytes != known->second->bytes)
            fail(errc::corrupt_file, path, ": ", file.name, " has ", file.bytes, " bytes, and had ",
                 known->second->bytes, " when it was saved");
        if (file.header_digest != known->second->header_digest)
            fail(errc::corrupt_file, path, ": the header of ", file.name,
                 " was changed: its digest is ", hex_text(file.header_digest), ", and was ",
                 hex_text(known->second->header_digest), " when it was saved");
        recorded.erase(known);
    }
    if (!recorded.empty())
        fail(errc::missing_file, path, ": ", recorded.begin()->first, " is missing, which ",
             save_record_name, " lists");
}

} // namespace reshard::detail

#endif
