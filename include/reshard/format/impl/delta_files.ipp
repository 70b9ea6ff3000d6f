// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_DELTA_FILES_IPP
#define RESHARD_FORMAT_IMPL_DELTA_FILES_IPP

#include <reshard/format/delta_files.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/file.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::string delta_file_name(std::size_t process) {
    return "delta-" + five_digits(process + 1) + ".safetensors";
}

RESHARD_DECL std::string delta_header(std::string_view save, std::uint64_t data_bytes) {
    safetensors_tensor const chunks{"chunks", data_type::u8, {static_cast<index_t>(data_bytes)}};
    std::map<std::string, std::string> const metadata{
        {std::string(save_id_name), std::string(save)},
        {std::string(delta_name), "1"},
        {std::string(header_digest_name), hex_text(0)}};
    std::string header =
        plan_safetensors(std::span(&chunks, 1), metadata, "delta", delta_data_offset).header;
    set_own_digest(header);
    return header;
}

/// A file that is assembled from runs of other files. Refers to the runs.
class pieced_file : public file_store::file {
public:
    pieced_file(delta_files const& files, vector<delta_run> const& runs,
                std::set<std::uint32_t> sources)
        : all_(files), runs_(runs), sources_(std::move(sources)) {}

    /// The number in the identity is a digest of the identities of the sources, and of their last
    /// write times.
    file_store::identity facts() const override {
        hasher digest;
        for (std::uint32_t const number : sources_) {
            file_store::identity const current_identity = all_.source(number)->facts();
            for (std::uint64_t const fact :
                 {std::uint64_t{number}, current_identity.device, current_identity.number,
                  current_identity.bytes, static_cast<std::uint64_t>(current_identity.written_s),
                  static_cast<std::uint64_t>(current_identity.written_ns)})
                digest.add(fact);
        }
        return {.number = digest.value(), .bytes = runs_.empty() ? 0 : runs_.back().end};
    }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        auto run = std::upper_bound(
            runs_.begin(), runs_.end(), position,
            [](std::uint64_t index, delta_run const& delta_run) { return index < delta_run.end; });
        while (!target.empty()) {
            if (run == runs_.end())
                fail(errc::corrupt_file, "a file of a delta ends before byte ",
                     position + target.size());
            std::uint64_t const begin = run == runs_.begin() ? 0 : std::prev(run)->end;
            auto const count = static_cast<std::size_t>(
                std::min<std::uint64_t>(target.size(), run->end - position));
            all_.source(run->source)->read(run->position + (position - begin), target.first(count));
            target = target.subspan(count);
            position += count;
            ++run;
        }
    }

private:
    delta_files const& all_;
    vector<delta_run> const& runs_;
    std::set<std::uint32_t> sources_;
};

RESHARD_DECL delta_files::delta_files(std::shared_ptr<file_store const> below,
                                      std::filesystem::path directory, save_record record)
    : below_(std::move(below)), directory_(std::move(directory) / ""), record_(std::move(record)) {
    for (recorded_file const& recorded_file : record_.files)
        numbers_.emplace(directory_ / recorded_file.name, numbers_.size());
}

RESHARD_DECL std::optional<std::size_t>
delta_files::number_of(std::filesystem::path const& path) const {
    auto const match = numbers_.find(path);
    return match == numbers_.end() ? std::nullopt : std::optional(match->second);
}

RESHARD_DECL bool delta_files::has_changes(std::filesystem::path const& path) const {
    auto const& files = record_.delta->files;
    return std::any_of(files.begin(), files.end(),
                       [&](recorded_file const& own) { return path == directory_ / own.name; });
}

RESHARD_DECL file_store::kind delta_files::find(std::filesystem::path const& path) const {
    if (number_of(path))
        return kind::file;
    return has_changes(path) ? kind::nothing : below_->find(path);
}

RESHARD_DECL vector<std::filesystem::path>
delta_files::list(std::filesystem::path const& directory) const {
    auto paths = below_->list(directory);
    if (directory / "" != directory_)
        return paths;
    erase_if(paths, [&](std::filesystem::path const& path) { return has_changes(path); });
    for (auto const& [path, number] : numbers_)
        paths.push_back(path);
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// Refuses a file if it is not the file that the record lists.
///
/// \param noun the beginning of a sentence: the file, or why it is needed
inline void check_source(file_store::file const& opened, recorded_file const& expected,
                         std::string const& noun) {
    std::uint64_t const bytes = opened.facts().bytes;
    if (bytes != expected.bytes)
        fail(errc::corrupt_file, noun, " has ", bytes, " bytes, but had ", expected.bytes,
             " when the delta was saved");
    std::string start(8, ' ');
    opened.read(0, std::as_writable_bytes(std::span(start)));
    std::string json(safetensors_json_bytes(std::as_bytes(std::span(start)), bytes, noun), ' ');
    opened.read(8, std::as_writable_bytes(std::span(json)));
    std::uint64_t const digest = digest_of_bytes(std::as_bytes(std::span(json)));
    if (digest != expected.header_digest)
        fail(errc::corrupt_file, noun, " was replaced: its header has the digest ",
             hex_text(digest), ", but had ", hex_text(expected.header_digest),
             " when the delta was saved");
}

/// A readable path of a file whose name is relative to a directory. The directory may be a link.
inline std::filesystem::path path_from(std::filesystem::path const& directory,
                                       std::filesystem::path const& path) {
    std::filesystem::path real = directory.has_filename() ? directory : directory.parent_path();
    std::error_code is_no_link;
    std::filesystem::path const target = std::filesystem::read_symlink(real, is_no_link);
    if (!is_no_link)
        real = real.parent_path() / target;
    return (real / path).lexically_normal();
}

RESHARD_DECL std::filesystem::path path_in(file_store const& files,
                                           std::filesystem::path const& directory,
                                           std::filesystem::path const& path) {
    std::filesystem::path const direct = directory / path;
    return files.find(direct) == file_store::kind::file ? direct : path_from(directory, path);
}

RESHARD_DECL std::string delta_files::name_of_source(std::uint32_t number) const {
    record_delta const& delta = *record_.delta;
    if (number < delta.files.size())
        return (directory_ / delta.files[number].name).string();
    base_file const& base = delta.bases[number - delta.files.size()];
    return path_from(directory_, std::filesystem::path(base.directory) / base.file.name).string();
}

RESHARD_DECL std::shared_ptr<file_store::file const>
delta_files::open_source(std::uint32_t number) const {
    record_delta const& delta = *record_.delta;
    std::string const record = (directory_ / save_record_name).string();
    if (number < delta.files.size()) {
        std::filesystem::path const path = directory_ / delta.files[number].name;
        std::shared_ptr<file const> opened = below_->open(path);
        check_source(*opened, delta.files[number], path.string());
        return opened;
    }
    base_file const& base = delta.bases[number - delta.files.size()];
    std::filesystem::path const name = std::filesystem::path(base.directory) / base.file.name;
    std::filesystem::path const path = path_in(*below_, directory_, name);
    std::string const noun = words(record, ": the delta needs the save ", base.save,
                                   ", whose file ", name_of_source(number));
    if (below_->find(path) != kind::file)
        fail(errc::missing_file, noun, " is missing; put it back, or load another checkpoint");
    std::shared_ptr<file const> opened = below_->open(path);
    check_source(*opened, base.file, noun);
    return opened;
}

RESHARD_DECL std::set<std::string> delta_files::files_with(std::filesystem::path const& path,
                                                           std::uint64_t begin,
                                                           std::uint64_t end) const {
    std::set<std::string> names;
    std::uint64_t position = 0;
    if (auto const number = number_of(path))
        for (delta_run const& run : record_.delta->runs[*number]) {
            if (position < end && run.end > begin)
                names.insert(name_of_source(run.source));
            position = run.end;
        }
    return names;
}

RESHARD_DECL std::shared_ptr<file_store::file const>
delta_files::source(std::uint32_t number) const {
    std::lock_guard const lock(mutex_);
    auto const match = std::find_if(open_.begin(), open_.end(),
                                    [&](auto const& element) { return element.first == number; });
    if (match != open_.end())
        open_.splice(open_.begin(), open_, match);
    else
        open_.emplace_front(number, open_source(number));
    if (open_.size() > std::max<std::size_t>(1, most_kept_files()))
        open_.pop_back();
    return open_.front().second;
}

RESHARD_DECL std::unique_ptr<file_store::file>
delta_files::open(std::filesystem::path const& path) const {
    auto const number = number_of(path);
    if (!number)
        return below_->open(path);
    vector<delta_run> const& runs = record_.delta->runs[*number];
    std::set<std::uint32_t> needed;
    for (delta_run const& run : runs)
        needed.insert(run.source);
    for (std::uint32_t const element : needed)
        source(element); // checks that each source exists and is the right file
    return std::make_unique<pieced_file>(*this, runs, std::move(needed));
}

RESHARD_DECL std::shared_ptr<file_store const>
store_of_checkpoint(std::shared_ptr<file_store const> files, std::filesystem::path const& path) {
    if (files->find(path) != file_store::kind::directory ||
        files->find(path / save_record_name) != file_store::kind::file)
        return files;
    save_record record = read_record_head(*files, path / save_record_name);
    if (!record.delta)
        return files;
    return std::make_shared<delta_files const>(std::move(files), path, std::move(record));
}

} // namespace reshard::detail

#endif
