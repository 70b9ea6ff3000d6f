// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAVE_RECORD_HPP
#define RESHARD_FORMAT_SAVE_RECORD_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/os/file_store.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The record of a save, `reshard.json`: it is written last, so a save with a record is complete.

namespace reshard::detail {

inline constexpr std::string_view save_record_name = "reshard.json";

/// The newest version of a record: since version 2, shards may be blocks that are stored side by
/// side. A record without such shards has version 1.
inline constexpr index_t save_record_version = 2;

/// The text between a record's content and its digest.
inline constexpr std::string_view record_digest_name = ",\n  \"digest\": \"";
inline constexpr std::string_view record_end = "\"\n}\n";

/// The text before the part of a record that is for people and other programs. That part is by far
/// the longest.
inline constexpr std::string_view record_tensors_name = ",\n  \"tensors\": {";

/// A file of a save.
struct recorded_file {
    std::string name; ///< in the directory of the record
    std::uint64_t bytes = 0;
    std::uint64_t header_digest = 0; ///< the digest of all bytes before the data
    holder_t rank = 0;               ///< the rank whose shards it has, if a layout was saved

    bool operator==(recorded_file const&) const = default;
};

/// A file of another save that a delta refers to.
struct base_file {
    std::string directory; ///< the other save's directory: absolute, or relative to the delta's
    std::string save;      ///< the id of the other save
    recorded_file file;

    bool operator==(base_file const&) const = default;
};

/// Bytes of a file that are stored in another file: from the end of the previous run to `end`.
struct delta_run {
    std::uint64_t end = 0;
    std::uint32_t source = 0;   ///< index in the delta's files, followed by the files of its bases
    std::uint64_t position = 0; ///< in the source

    bool operator==(delta_run const&) const = default;
};

/// The locations of a save's bytes, some of which are in earlier saves.
struct record_delta {
    vector<recorded_file> files;    ///< files that the save wrote, with the changed chunks
    vector<base_file> bases;        ///< files that have the other chunks
    vector<vector<delta_run>> runs; ///< for each file of the record, in order, without gaps

    bool operator==(record_delta const&) const = default;
};

/// Facts about a save, apart from its tensors. Retention decides by these facts.
struct save_facts {
    std::int64_t completed = 0;            ///< seconds since 1970; 0: not known
    std::map<std::string, double> numbers; ///< numbers of the job, such as its step and its loss
    vector<std::string> needs{};           ///< ids of the saves that are needed to read it
    std::string program{};         ///< the text of the program that made the tensors, if known
    bool this_layout_only = false; ///< loads into another layout are refused

    bool operator==(save_facts const&) const = default;
};

/// The files that one save wrote.
struct save_record {
    std::string save; ///< its id, 32 hexadecimal digits; each file's metadata has it too
    vector<recorded_file> files;
    save_facts facts{};
    std::map<std::string, std::string> aliases = {}; ///< other names of tensors, with their keys
    std::optional<record_delta> delta = {}; ///< if set, `files` are assembled from its runs
    holder_t ranks = 0; ///< the number of ranks of the saved layout; 0: whole tensors

    bool operator==(save_record const&) const = default;
};

/// The files that a save has in its directory, beside its record and its index.
inline vector<recorded_file> const& files_on_disk(save_record const& record) {
    return record.delta ? record.delta->files : record.files;
}
vector<recorded_file> const& files_on_disk(save_record&& record) = delete;

/// The number of bytes of a delta that are in its bases.
RESHARD_DECL std::uint64_t reused_bytes(record_delta const& delta);

/// Refuses names of numbers that a record does not support.
///
/// \throws error with errc::usage, naming the number
RESHARD_DECL void check_numbers(std::map<std::string, double> const& numbers);

/// The text of `reshard.json`: the record, then all tensors with their shards and digests, for
/// people and other programs. Its last line is a digest of the text before it.
///
/// NaN and infinite numbers are written as null.
///
/// \pre `written` has the files of `record`, in their order
RESHARD_DECL std::string to_json(save_record const& record, checkpoint_metadata const& written);

/// The same with `digests`, one list for each shard of each tensor, instead of the digests in
/// `written`.
RESHARD_DECL std::string to_json(save_record const& record, checkpoint_metadata const& written,
                                 std::span<std::span<std::uint64_t const> const> digests);

/// Parses a record. Unknown members are ignored; null is NaN.
///
/// \throws error with errc::corrupt_file for a text that was changed, with errc::unsupported for an
///         unknown version; it names `file`
RESHARD_DECL save_record parse_save_record(std::string_view text, std::string_view file);

/// Reads the record in a file piece by piece. Most of it describes tensors, and is not kept.
///
/// \throws error as `parse_save_record` and `open_text`
RESHARD_DECL save_record read_save_record(file_store const& files,
                                          std::filesystem::path const& path);

/// The part of a record before its tensors: everything that `read_save_record` returns. The digest
/// of the record is not checked.
///
/// \throws error as `parse_save_record` and `open_text`
RESHARD_DECL save_record read_record_head(file_store const& files,
                                          std::filesystem::path const& path);

/// Refuses opened files that are not exactly the files of a record.
///
/// \param files the files that were opened, with the digests of their headers
/// \param ids   the id of the save that each file belongs to; empty: none
/// \throws error with errc::corrupt_file or errc::missing_file that names `path` and the file
RESHARD_DECL void check_save(save_record const& record, vector<recorded_file> const& files,
                             vector<std::string> const& ids, std::string const& path);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/save_record.ipp>
#include <reshard/format/impl/save_record_text.ipp>
#endif

#endif
