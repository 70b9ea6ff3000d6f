// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_MERGED_DIRECTORIES_IPP
#define RESHARD_STORAGE_IMPL_MERGED_DIRECTORIES_IPP

#include <reshard/storage/merged_directories.hpp>

#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/text_file.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

namespace reshard::detail {

/// The header of a safetensors file, as far as it can be read.
inline std::string header_bytes(open_file& file, std::string const& name) {
    std::string bytes = read_bytes(file, std::min<std::uint64_t>(file.bytes, 8));
    auto const json = attempt([&] {
        bytes += read_bytes(
            file, safetensors_json_bytes(std::as_bytes(std::span(bytes)), file.bytes, name));
    });
    return bytes; // opening it reports its errors
}

inline bool is_text_of_checkpoint(std::string const& name) {
    return name == save_record_name || !ending_in_index(name).empty();
}

RESHARD_DECL vector<seen_file> seen_files(file_store const& files,
                                          std::filesystem::path const& directory) {
    vector<seen_file> seen_files;
    if (files.find(directory) != file_store::kind::directory)
        return seen_files;
    for (std::filesystem::path const& path : files.list(directory)) {
        std::string const name = path.filename().string();
        bool const is_wanted = is_text_of_checkpoint(name) || name.ends_with(".safetensors");
        if (!is_wanted || files.find(path) != file_store::kind::file)
            continue;
        open_file file = open_to_read(files, path);
        std::string beginning = is_text_of_checkpoint(name) ? read_bytes(file, file.bytes)
                                                            : header_bytes(file, path.string());
        std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(beginning)));
        seen_files.push_back({name, file.bytes, digest, std::move(beginning)});
    }
    return seen_files;
}

RESHARD_DECL std::map<std::string, merged_file> unite(std::filesystem::path const& directory,
                                                      vector<vector<seen_file>> const& by_rank) {
    std::map<std::string, merged_file> files;
    std::map<std::string_view, seen_file const*> first;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
        for (seen_file const& file : by_rank[rank]) {
            merged_file& merged_file = files[file.name];
            if (merged_file.ranks.empty())
                first[file.name] = &file;
            else if (!(file == *first[file.name]))
                fail(errc::ranks_disagree, directory.string(), ": ", file.name,
                     " differs between rank ", merged_file.ranks.front(), " (",
                     first[file.name]->bytes, " bytes) and rank ", rank, " (", file.bytes,
                     " bytes); one of the two files belongs to another save; move that file away");
            merged_file.bytes = file.bytes;
            merged_file.ranks.push_back(static_cast<int>(rank));
        }
    return files;
}

RESHARD_DECL std::string writer_of(std::string_view sentence) {
    for (auto const& [start, first] :
         {std::pair(std::string_view("shard-"), 1), std::pair(std::string_view("rank-"), 0)}) {
        std::size_t const index = sentence.rfind(start);
        if (index == sentence.npos)
            continue;
        std::string_view const digits = sentence.substr(index + start.size());
        int number = -1;
        auto const end = std::from_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        if (end - digits.data() >= 5 && number >= first)
            return words(", and rank ", number - first, " of the save wrote it");
    }
    return {};
}

RESHARD_DECL void check_united(checkpoint_metadata const& own, checkpoint_metadata const& united) {
    auto const name = [](checkpoint_file const& file) { return file.path.filename(); };
    for (checkpoint_file const& file : own.files) {
        bool const is_alone = name(file) == own.path.filename(); // not a file of a directory
        if (is_alone || std::ranges::find(united.files, name(file), name) == united.files.end())
            fail(errc::ranks_disagree, own.path.string(), ": one rank opens ", name(file).string(),
                 " there, but other ranks do not; every rank must open the same checkpoint");
    }
}

/// A file that only other ranks see. This rank has only the beginning of the file.
class file_elsewhere : public file_store::file {
public:
    file_elsewhere(std::string name, merged_file const& there)
        : name_(std::move(name)), present_(there) {}

    file_identity facts() const override { return {.bytes = present_.bytes}; }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position + target.size() > present_.beginning.size())
            fail(errc::missing_file, name_, ": is on the machine of rank ", present_.ranks.front(),
                 ", not on this one; only load() fetches it from there");
        std::memcpy(target.data(), present_.beginning.data() + position, target.size());
    }

private:
    std::string name_;
    merged_file const& present_;
};

RESHARD_DECL bool merged_directories::sees(vector<int> const& ranks) const {
    return std::binary_search(ranks.begin(), ranks.end(), rank_);
}

RESHARD_DECL merged_file const*
merged_directories::find_file(std::filesystem::path const& path) const {
    auto const match = files_.find(path.filename().string());
    return path.parent_path() == directory_ && match != files_.end() ? &match->second : nullptr;
}

RESHARD_DECL file_store::kind merged_directories::find(std::filesystem::path const& path) const {
    if (path == directory_)
        return kind::directory;
    return find_file(path) ? kind::file : own_->find(path);
}

RESHARD_DECL vector<std::filesystem::path>
merged_directories::list(std::filesystem::path const& directory) const {
    if (directory != directory_)
        return own_->list(directory);
    vector<std::filesystem::path> paths;
    for (auto const& [name, entry] : files_)
        paths.push_back(directory_ / name);
    return paths;
}

RESHARD_DECL std::unique_ptr<file_store::file>
merged_directories::open(std::filesystem::path const& path) const {
    merged_file const* const merged_file = find_file(path);
    if (!merged_file || sees(merged_file->ranks))
        return own_->open(path);
    return std::make_unique<file_elsewhere>(path.string(), *merged_file);
}

} // namespace reshard::detail

#endif
