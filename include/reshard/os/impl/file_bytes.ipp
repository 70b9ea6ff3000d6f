// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_FILE_BYTES_IPP
#define RESHARD_OS_IMPL_FILE_BYTES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/os/file_bytes.hpp>

#include <reshard/core/config.hpp>
#include <reshard/os/file.hpp>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void check_parent(std::filesystem::path const& path) {
    std::filesystem::path const parent = path.parent_path();
    std::error_code ignored;
    if (parent.empty() || std::filesystem::is_directory(parent, ignored))
        return;
    fail(errc::io, path.string(), ": ", parent.string(), ", its parent directory, ",
         std::filesystem::exists(parent, ignored) ? "is not a directory" : "does not exist");
}

RESHARD_DECL void check_meeting_path(std::filesystem::path const& path, std::string_view noun) {
    if (path.empty())
        fail(errc::usage, "the path of ", noun, " is empty; give both programs the same file path");
    check_parent(path);
}

RESHARD_DECL input_file::input_file(std::filesystem::path path)
    : path_(std::move(path)), file_(file_descriptor::open(path_, O_RDONLY)) {}

RESHARD_DECL file_identity input_file::facts() const {
    struct stat facts {};
    if (::fstat(file_.number(), &facts) != 0)
        fail_io(path_, "cannot be examined");
    return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

RESHARD_DECL void input_file::read(std::uint64_t position, std::span<std::byte> target) const {
    while (!target.empty()) {
        auto const count = uninterrupted([&] {
            return ::pread(file_.number(), target.data(), target.size(),
                           static_cast<off_t>(position));
        });
        if (count < 0)
            fail_io(path_, "cannot be read from byte " + std::to_string(position) + " onwards");
        if (count == 0) {
            // Another process may have read the rest: this read may begin after the end of the
            // file.
            std::uint64_t const end = std::min(facts().bytes, position);
            fail(errc::corrupt_file, path_.string(), ": ends at byte ", end, ", ",
                 position + target.size() - end,
                 " bytes too early: it became shorter after it was opened");
        }
        position += static_cast<std::uint64_t>(count);
        target = target.subspan(static_cast<std::size_t>(count));
    }
}

RESHARD_DECL std::optional<input_file> open_if_there(std::filesystem::path const& path) {
    std::error_code unknown; // opening the file gives a better error
    auto const status = std::filesystem::status(path, unknown).type();
    if (status == std::filesystem::file_type::not_found) // also if the parent is a file
        return std::nullopt;
    if (status != std::filesystem::file_type::regular && status != std::filesystem::file_type::none)
        fail(errc::corrupt_file, path.string(), ": this is not a file");
    try {
        return input_file(path);
    } catch (error const& problem) {
        if (problem.code() == errc::missing_file)
            return std::nullopt;
        throw;
    }
}

RESHARD_DECL file_store::kind system_files::find(std::filesystem::path const& path) const {
    std::error_code problem;
    auto const status = std::filesystem::status(path, problem).type();
    if (status == std::filesystem::file_type::directory)
        return kind::directory;
    bool const exists = status != std::filesystem::file_type::none &&
                        status != std::filesystem::file_type::not_found;
    return exists ? kind::file : kind::nothing;
}

RESHARD_DECL vector<std::filesystem::path>
system_files::list(std::filesystem::path const& directory) const {
    std::error_code problem;
    vector<std::filesystem::path> paths;
    for (std::filesystem::directory_iterator iterator(directory, problem), end;
         !problem && iterator != end; iterator.increment(problem))
        paths.push_back(iterator->path());
    if (problem)
        fail(errc::io, directory.string(), ": the directory cannot be read: ", problem.message());
    std::sort(paths.begin(), paths.end());
    return paths;
}

inline input_file open_existing(std::filesystem::path const& path) {
    std::optional<input_file> opened = open_if_there(path);
    if (!opened)
        fail(errc::missing_file, path.string(), ": no such file");
    return std::move(*opened);
}

RESHARD_DECL std::unique_ptr<file_store::file>
system_files::open(std::filesystem::path const& path) const {
    return std::make_unique<input_file>(open_existing(path));
}

RESHARD_DECL std::shared_ptr<file_store const> files_of_system() {
    static system_files const files;
    return {std::shared_ptr<void>(), &files};
}

RESHARD_DECL mapped_input::mapped_input(std::filesystem::path const& path) {
    input_file const file = open_existing(path);
    memory_ = mapping_handle(file.descriptor(), file.facts().bytes, PROT_READ, path);
}

/// The number of bytes in one mapping. Smaller mappings need more system calls. Larger mappings add
/// more pages to the memory that the system counts for this process.
inline constexpr std::uint64_t mapped_at_once = std::uint64_t{8} << 20;

inline std::uint64_t system_page_bytes() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// True if the file system has leases that prevent all changes of a file. They can do so only if
/// all changes go through this machine's kernel. Other file systems (FUSE, network) grant leases
/// that only this machine knows. tmpfs has small pages, and mapping them takes longer than copying
/// their bytes.
inline bool has_true_leases(file_descriptor const& file) {
    constexpr std::int64_t kinds[] = {0xEF53, 0x58465342, 0x9123683E}; // ext4, XFS, Btrfs
    struct statfs facts {};
    return ::fstatfs(file.number(), &facts) == 0 && std::ranges::count(kinds, facts.f_type) == 1;
}

RESHARD_DECL leased_pages::leased_pages(input_file const& file) : bytes_(file.facts().bytes) {
    if (!has_true_leases(file.descriptor()))
        return;
    // A lease belongs to an open file, which duplicated descriptors share. So this opens it again.
    std::string const same = "/proc/self/fd/" + std::to_string(file.descriptor().number());
    file_descriptor opened(::open(same.c_str(), O_RDONLY | O_CLOEXEC));
    // By default, the system ends a process whose lease blocks another process.
    bool const is_quiet = opened.is_open() && ::fcntl(opened.number(), F_SETSIG, SIGURG) == 0;
    if (is_quiet && ::fcntl(opened.number(), F_SETLEASE, F_RDLCK) == 0)
        file_ = std::move(opened);
}

RESHARD_DECL leased_pages::~leased_pages() { give_back(); }

RESHARD_DECL bool leased_pages::is_leased() const {
    return file_.is_open() && ::fcntl(file_.number(), F_GETLEASE) == F_RDLCK;
}

/// True if all pages of these bytes are in the page cache, according to `cachestat` of Linux 6.5;
/// std::nullopt if the system lacks that call.
inline std::optional<bool> are_cached(file_descriptor const& file, byte_run bytes) {
    constexpr long number = 451;
    std::uint64_t const range[2] = {bytes.begin, bytes.size()};
    std::uint64_t counts[5] = {}; // the first: pages in the cache
    if (::syscall(number, file.number(), range, counts, 0) != 0)
        return std::nullopt;
    std::uint64_t const page = system_page_bytes();
    return counts[0] == (bytes.end - 1) / page - bytes.begin / page + 1;
}

/// The same for mapped bytes, on any system. `states` has one element for each page.
inline bool are_resident(void* memory, std::uint64_t bytes, std::span<unsigned char> states) {
    return ::mincore(memory, bytes, states.data()) == 0 &&
           std::ranges::all_of(states, [](unsigned char state) { return (state & 1) != 0; });
}

RESHARD_DECL bool leased_pages::is_in_memory(std::uint64_t position) {
    if (position >= bytes_ || !is_leased())
        return false;
    if (position < looked_at_.begin || position >= looked_at_.end) {
        map({position, position + 1});
        were_in_memory_ = memory_ != nullptr;
        looked_at_ = {mapped_.begin, position + mapped_at_once / 4};
        unmap();
    }
    return were_in_memory_;
}

RESHARD_DECL std::byte const* leased_pages::find(byte_run bytes) {
    if (bytes.end > bytes_ || bytes.size() == 0 || !file_.is_open())
        return nullptr;
    if (bytes.begin < mapped_.begin || bytes.end > mapped_.end)
        map({bytes.begin, std::min(bytes_, std::max(bytes.end, bytes.begin + mapped_at_once))});
    if (!is_leased())
        give_back();
    return memory_ ? memory_ + (bytes.begin - mapped_.begin) : nullptr;
}

RESHARD_DECL void leased_pages::give_back() {
    unmap();
    if (file_.is_open())
        ::fcntl(file_.number(), F_SETLEASE, F_UNLCK);
    file_ = {};
}

RESHARD_DECL void leased_pages::unmap() {
    if (memory_)
        ::munmap(memory_, mapped_.size());
    memory_ = nullptr;
    mapped_ = {0, 0};
}

RESHARD_DECL void leased_pages::map(byte_run bytes) {
    unmap();
    bytes.begin -= bytes.begin % system_page_bytes();
    mapped_ = bytes;
    std::optional<bool> const cached = are_cached(file_, bytes);
    if (cached == false)
        return;
    vector<unsigned char> states((bytes.size() - 1) / system_page_bytes() + 1);
    void* const memory = ::mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, file_.number(),
                                static_cast<off_t>(bytes.begin));
    if (memory == MAP_FAILED)
        return;
    if (cached || are_resident(memory, bytes.size(), states))
        memory_ = static_cast<std::byte*>(memory);
    else
        ::munmap(memory, bytes.size());
}

RESHARD_DECL output_file::output_file(std::filesystem::path path, file_descriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

RESHARD_DECL output_file output_file::create(std::filesystem::path path, std::uint64_t bytes) {
    file_descriptor file = file_descriptor::open(path, O_RDWR | O_CREAT | O_EXCL);
    output_file new_file(std::move(path), std::move(file));
    new_file.reserve(bytes);
    return new_file;
}

RESHARD_DECL output_file output_file::open(std::filesystem::path path, std::uint64_t bytes) {
    file_descriptor file = file_descriptor::open(path, O_RDWR | O_CREAT);
    output_file new_file(std::move(path), std::move(file));
    struct stat facts {};
    if (::fstat(new_file.file_.number(), &facts) != 0)
        fail_io(new_file.path_, "cannot be examined");
    if (static_cast<std::uint64_t>(facts.st_size) != bytes)
        new_file.reserve(bytes);
    return new_file;
}

RESHARD_DECL void output_file::write(std::uint64_t position, std::span<std::byte const> bytes) {
    file_size_signal_held const signal;
    while (!bytes.empty()) {
        auto const count = uninterrupted([&] {
            return ::pwrite(file_.number(), bytes.data(), bytes.size(),
                            static_cast<off_t>(position));
        });
        if (count <= 0)
            fail_io(path_,
                    "cannot be written from byte " + std::to_string(position) + " onwards, " +
                        std::to_string(bytes.size()) + " bytes",
                    count == 0 ? ENOSPC : errno);
        position += static_cast<std::uint64_t>(count);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

RESHARD_DECL void output_file::sync() {
    if (uninterrupted([&] { return ::fsync(file_.number()); }) != 0 && errno != EINVAL)
        fail_io(path_, "cannot be written");
}

RESHARD_DECL void output_file::reserve(std::uint64_t bytes) {
    if (bytes == 0)
        return;
    file_size_signal_held const signal;
    auto const size = static_cast<off_t>(bytes);
    if (uninterrupted([&] { return ::fallocate(file_.number(), 0, 0, size); }) == 0)
        return;
    // A file system that cannot reserve space reports a full disk when the bytes are written.
    bool const is_unable = errno == EOPNOTSUPP || errno == ENOSYS;
    if (!is_unable || uninterrupted([&] { return ::ftruncate(file_.number(), size); }) != 0)
        fail_io(path_, "cannot reserve " + std::to_string(bytes) + " bytes");
}

RESHARD_DECL int try_rename(std::filesystem::path const& source,
                            std::filesystem::path const& target) {
    auto const rename = [&] { return ::rename(source.c_str(), target.c_str()); };
    return uninterrupted(rename) == 0 ? 0 : errno;
}

RESHARD_DECL output_file put_file(std::filesystem::path const& path, std::string_view text) {
    std::filesystem::path fresh = path;
    fresh += ".new";
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored); // a program that was killed may have left it
    output_file file = output_file::create(fresh, text.size());
    file.write(0, std::as_bytes(std::span(text)));
    if (int const problem = try_rename(fresh, path))
        fail_io(path, "cannot be put in place", problem);
    return file;
}

} // namespace reshard::detail

#endif
