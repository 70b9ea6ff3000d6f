// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_MERGED_DIRECTORIES_HPP
#define RESHARD_STORAGE_MERGED_DIRECTORIES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The files of a checkpoint, if each machine has only some of them.

namespace reshard {

struct checkpoint_metadata;

}

namespace reshard::detail {

/// A file of a checkpoint's directory that a rank sees.
struct seen_file {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0; ///< of `beginning`
    std::string beginning{};  ///< the header, or the whole text; not sent with the rest

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.name, self.bytes, self.digest);
    }

    bool operator==(seen_file const& file) const {
        return name == file.name && bytes == file.bytes && digest == file.digest;
    }
};

/// The files of a checkpoint in a directory; empty if the directory does not exist.
///
/// \throws error with errc::io
RESHARD_DECL vector<seen_file> seen_files(file_store const& files,
                                          std::filesystem::path const& directory);

/// A file and the ranks that see it, ascending.
struct merged_file {
    std::uint64_t bytes = 0;
    vector<int> ranks;
    std::string beginning{}; ///< if not all ranks see the file
};

/// Merges the files of all ranks, by name.
///
/// \throws error with errc::ranks_disagree, naming two ranks, if they see different files under one
///         name
RESHARD_DECL std::map<std::string, merged_file> unite(std::filesystem::path const& directory,
                                                      vector<vector<seen_file>> const& by_rank);

/// The end of a sentence about a file of a sharded save: the rank that wrote the file.
RESHARD_DECL std::string writer_of(std::string_view sentence);

/// The files of a directory that any rank sees: this rank's files, and the beginnings of other
/// ranks' files.
class merged_directories : public file_store {
public:
    merged_directories(std::shared_ptr<file_store const> own, std::filesystem::path directory,
                       std::map<std::string, merged_file> files, int rank)
        : own_(std::move(own)),
          directory_(std::move(directory)),
          files_(std::move(files)),
          rank_(rank) {}

    RESHARD_DECL kind find(std::filesystem::path const& path) const override;
    RESHARD_DECL vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override;
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

    /// \pre the file is in the directory
    vector<int> const& ranks_of(std::filesystem::path const& path) const {
        return files_.at(path.filename().string()).ranks;
    }

    std::filesystem::path const& directory() const { return directory_; }

    bool is_here(std::filesystem::path const& path) const { return sees(ranks_of(path)); }

private:
    bool sees(vector<int> const& ranks) const;
    merged_file const* find_file(std::filesystem::path const& path) const;

    std::shared_ptr<file_store const> own_;
    std::filesystem::path directory_;
    std::map<std::string, merged_file> files_;
    int rank_;
};

/// Runs `work`; if a file is missing, the error names the rank that should have it.
void name_missing(int ranks, auto&& work) {
    try {
        work();
    } catch (error const& problem) {
        if (problem.code() != errc::missing_file)
            throw;
        fail(problem.code(), problem.what(), "; none of the ", ranks, " ranks sees it",
             writer_of(problem.what()));
    }
}

/// Merges the files that the ranks see in a directory. Null if all ranks see the same files.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `seen_files` and `unite`, on every rank
std::shared_ptr<merged_directories const>
merge_directories(group auto const& world, std::shared_ptr<file_store const> const& own,
                  std::filesystem::path const& directory) {
    vector<seen_file> own_files;
    agree_on(world, [&] { own_files = seen_files(*own, directory); });
    auto const values = gather_values(world, own_files);
    if (std::count(values.begin(), values.end(), values.front()) == world.size())
        return nullptr;
    auto files = unite(directory, values);
    std::map<std::string, std::string> stated; // the beginnings that this rank sends
    for (seen_file& file : own_files)
        if (merged_file const& merged_file = files.at(file.name);
            merged_file.ranks.front() == world.rank() && merged_file.ranks.size() < values.size())
            stated.emplace(file.name, std::move(file.beginning));
    for (auto const& of_rank : gather_values(world, stated))
        for (auto const& [name, beginning] : of_rank)
            files.at(name).beginning = beginning;
    return std::make_shared<merged_directories const>(own, directory, std::move(files),
                                                      world.rank());
}

/// Refuses the merged directory if it lacks a file that a rank opens by itself, since that rank
/// then opens another checkpoint.
///
/// \throws error with errc::ranks_disagree
RESHARD_DECL void check_united(checkpoint_metadata const& own, checkpoint_metadata const& united);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/merged_directories.ipp>
#endif

#endif
