// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SAVE_RECORD_IPP
#define RESHARD_FORMAT_IMPL_SAVE_RECORD_IPP

#include <reshard/format/save_record.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace reshard::detail {

/// A record that arrives piece by piece: the part before its tensors, its last line, and the digest
/// of everything before that line.
class record_pieces {
public:
    void add(std::string_view piece) {
        tail_ += piece;
        if (tail_.size() <= last_line_bytes)
            return;
        std::string_view const passed(tail_.data(), tail_.size() - last_line_bytes);
        digest_.add(std::as_bytes(std::span(passed)));
        keep_head(passed);
        tail_.erase(0, passed.size());
    }

    /// The record without its tensors. The files list the tensors too, and the digest covers them.
    ///
    /// \pre the whole record was added, here and below
    std::string without_tensors() const { return has_tensors_ ? head_ + "\n}" : head_ + tail_; }

    bool has_tensors() const { return has_tensors_; }

    /// Refuses a text whose last line is not the digest of the text before it.
    void check_digest(std::string_view file) {
        if (!tail_.starts_with(record_digest_name))
            fail(errc::corrupt_file, file, ": the record does not end with a digest of itself");
        std::string const digest = hex_text(digest_.take());
        if (tail_ != std::string(record_digest_name) + digest + std::string(record_end))
            fail(errc::corrupt_file, file, ": the record was changed: its bytes have the digest ",
                 digest, ", but its last line states another digest");
    }

private:
    static constexpr std::size_t last_line_bytes =
        record_digest_name.size() + 16 + record_end.size();

    void keep_head(std::string_view passed) {
        if (has_tensors_)
            return;
        std::size_t const before = head_.size();
        head_ += passed;
        std::size_t const begin = before - std::min(before, record_tensors_name.size());
        std::size_t const end = head_.find(record_tensors_name, begin);
        has_tensors_ = end != head_.npos;
        if (has_tensors_)
            head_.resize(end);
    }

    std::string head_;
    std::string tail_;
    bool has_tensors_ = false;
    running_digest digest_;
};

inline std::uint64_t hex_number(json_cursor const& cursor) {
    std::string const text = cursor.text();
    std::uint64_t value = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != 16 || end.ec != std::errc{} || end.ptr != text.data() + text.size())
        cursor.refuse("'" + text + "' is not a number of 16 hexadecimal digits");
    return value;
}

inline save_facts facts_of(json_cursor const& root) {
    save_facts facts;
    if (auto const completed = root.find("completed"))
        facts.completed = completed->count();
    if (auto const numbers = root.find("numbers"))
        for (auto const& [name, number] : numbers->members())
            facts.numbers.emplace(name, number.number());
    if (auto const needs = root.find("needs"))
        for (json_cursor const& save : needs->elements())
            facts.needs.push_back(save.text());
    if (auto const program = root.find("program"))
        facts.program = program->text();
    return facts;
}

inline holder_t rank_of(json_cursor const& cursor) {
    if (!std::in_range<holder_t>(cursor.count()))
        cursor.refuse(words("a rank or number of ranks cannot be ", cursor.count()));
    return static_cast<holder_t>(cursor.count());
}

/// Refuses a file name that leads out of the directory.
inline void check_file_name(json_cursor const& cursor, std::string const& name) {
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != name.npos ||
        name.find('\0') != name.npos)
        cursor.refuse(json_quoted(name) +
                      " is not the name of a file in the directory of the record");
}

inline recorded_file recorded_file_of(json_cursor const& cursor) {
    check_file_name(cursor.at("name"), cursor.at("name").text());
    auto const rank = cursor.find("rank");
    return {cursor.at("name").text(), static_cast<std::uint64_t>(cursor.at("bytes").count()),
            hex_number(cursor.at("header")), rank ? rank_of(*rank) : 0};
}

inline vector<recorded_file> recorded_files_of(json_cursor const& list) {
    vector<recorded_file> files;
    std::set<std::string> names;
    for (json_cursor const& cursor : list.elements()) {
        files.push_back(recorded_file_of(cursor));
        if (!names.insert(files.back().name).second)
            cursor.refuse(words("the file ", json_quoted(files.back().name), " is listed twice"));
    }
    return files;
}

/// Removes the next number, and the blank after it, from a text.
inline std::uint64_t take_number(json_cursor const& cursor, std::string_view& text) {
    std::uint64_t value = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc{})
        cursor.refuse(words("expected a number, found '", text.substr(0, 20), "'"));
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    if (text.starts_with(' '))
        text.remove_prefix(1);
    return value;
}

/// The runs of a file of `bytes` bytes, which each lie in their source.
///
/// \param sources the number of bytes of each source
inline vector<delta_run> runs_of(json_cursor const& cursor, std::uint64_t bytes,
                                 vector<std::uint64_t> const& sources) {
    std::string const list = cursor.text();
    vector<delta_run> runs;
    std::uint64_t begin = 0;
    for (std::string_view text = list; !text.empty();) {
        std::uint64_t const end = take_number(cursor, text), source = take_number(cursor, text),
                            position = take_number(cursor, text);
        if (end <= begin || end > bytes)
            cursor.refuse(words("a run from ", begin, " to ", end, " does not fit in a file of ",
                                counted(bytes, "byte")));
        if (source >= sources.size())
            cursor.refuse(words("a run names source ", source, ", but the number of sources is ",
                                sources.size()));
        if (position > sources[source] || end - begin > sources[source] - position)
            cursor.refuse(words("a run of ", end - begin, " bytes from byte ", position,
                                " onwards exceeds the ", sources[source], " bytes of source ",
                                source));
        runs.push_back({end, static_cast<std::uint32_t>(source), position});
        begin = end;
    }
    if (begin != bytes)
        cursor.refuse(
            words("the runs end at byte ", begin, ", but the file has ", counted(bytes, "byte")));
    return runs;
}

inline record_delta delta_of(json_cursor const& cursor, vector<recorded_file> const& files) {
    record_delta delta{recorded_files_of(cursor.at("files")), {}, {}};
    for (json_cursor const& base : cursor.at("bases").elements())
        delta.bases.push_back(
            {base.at("directory").text(), base.at("save").text(), recorded_file_of(base)});
    vector<std::uint64_t> sources;
    for (recorded_file const& file : delta.files)
        sources.push_back(file.bytes);
    for (base_file const& base : delta.bases)
        sources.push_back(base.file.bytes);
    auto const runs = cursor.at("runs").elements();
    if (runs.size() != files.size())
        cursor.refuse(words("it has runs of ", counted(runs.size(), "file"),
                            ", but the record has ", counted(files.size(), "file")));
    for (std::size_t i = 0; i < runs.size(); ++i)
        delta.runs.push_back(runs_of(runs[i], files[i].bytes, sources));
    return delta;
}

RESHARD_DECL std::uint64_t reused_bytes(record_delta const& delta) {
    std::uint64_t bytes = 0;
    for (auto const& runs : delta.runs) {
        std::uint64_t begin = 0;
        for (delta_run const& run : runs) {
            bytes += run.source < delta.files.size() ? 0 : run.end - begin;
            begin = run.end;
        }
    }
    return bytes;
}

/// Parses the head of a record.
inline save_record record_of_head(std::string const& head, std::string_view file,
                                  auto&& check_digest) {
    auto const document = parse_json(head, file, errc::corrupt_file);
    json_cursor const root(document, file, errc::corrupt_file);
    json_cursor const version = root.at("reshard");
    if (version.count() < 1 || version.count() > save_record_version)
        version.refuse(errc::unsupported, words("the record has version ", version.count(),
                                                ", but this program reads versions 1 to ",
                                                save_record_version, "; use a newer program"));
    check_digest();
    save_record record{root.at("save").text(), recorded_files_of(root.at("files")), facts_of(root)};
    if (auto const aliases = root.find("aliases"))
        for (auto const& [alias, key] : aliases->members())
            record.aliases.emplace(alias, key.text());
    if (auto const saved = root.find("layout")) {
        record.ranks = rank_of(saved->at("ranks"));
        auto const only = saved->find("only");
        record.facts.this_layout_only = only && only->is_true();
    }
    if (auto const delta = root.find("delta"))
        record.delta = delta_of(*delta, record.files);
    return record;
}

/// Parses the pieces of a record.
inline save_record record_of(record_pieces& pieces, std::string_view file) {
    return record_of_head(pieces.without_tensors(), file, [&] { pieces.check_digest(file); });
}

RESHARD_DECL save_record parse_save_record(std::string_view text, std::string_view file) {
    record_pieces pieces;
    pieces.add(text);
    return record_of(pieces, file);
}

/// Reads a record to its end, or until the part before its tensors is known.
inline void read_pieces(record_pieces& pieces, file_store const& files,
                        std::filesystem::path const& path, bool to_its_end) {
    open_file file = open_text(files, path);
    for (std::uint64_t left = file.bytes; left > 0 && (to_its_end || !pieces.has_tensors());) {
        std::uint64_t const step = std::min(left, std::uint64_t{1} << 20);
        pieces.add(read_bytes(file, step));
        left -= step;
    }
}

RESHARD_DECL save_record read_save_record(file_store const& files,
                                          std::filesystem::path const& path) {
    record_pieces pieces;
    read_pieces(pieces, files, path, true);
    return record_of(pieces, path.string());
}

RESHARD_DECL save_record read_record_head(file_store const& files,
                                          std::filesystem::path const& path) {
    record_pieces pieces;
    read_pieces(pieces, files, path, false);
    return record_of_head(pieces.without_tensors(), path.string(), [] {});
}

RESHARD_DECL void check_save(save_record const& record, vector<recorded_file> const& files,
                             vector<std::string> const& ids, std::string const& path) {
    std::map<std::string_view, recorded_file const*> recorded;
    for (recorded_file const& file : record.files)
        recorded.emplace(file.name, &file);
    for (std::size_t i = 0; i < files.size(); ++i) {
        recorded_file const& file = files[i];
        auto const match = recorded.find(file.name);
        if (match == recorded.end())
            fail(errc::corrupt_file, path, ": ", file.name, " does not belong to the save ",
                 record.save, " of ", save_record_name, "; move it away");
        if (ids[i] != record.save)
            fail(errc::corrupt_file, path, ": ", file.name, " belongs to ",
                 ids[i].empty() ? "no save" : "the save " + ids[i], ", but ", save_record_name,
                 " belongs to the save ", record.save);
        if (file.bytes != match->second->bytes)
            fail(errc::corrupt_file, path, ": ", file.name, " has ", file.bytes, " bytes, but had ",
                 match->second->bytes, " when it was saved");
        if (file.header_digest != match->second->header_digest)
            fail(errc::corrupt_file, path, ": the header of ", file.name,
                 " was changed: its digest is ", hex_text(file.header_digest), ", but was ",
                 hex_text(match->second->header_digest), " when it was saved");
        recorded.erase(match);
    }
    if (!recorded.empty())
        fail(errc::missing_file, path, ": ", recorded.begin()->first, " is missing, but ",
             save_record_name, " lists it");
}

} // namespace reshard::detail

#endif
