// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_PARTS_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_PARTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/gguf/gguf.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/gguf/impl/gguf.ipp>
#include <reshard/format/impl/part_names.ipp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace reshard::detail {

/// Refuses files unless they are all the parts of one model, in order.
///
/// \par Source `gguf-split` of llama.cpp
class gguf_part_check {
public:
    explicit gguf_part_check(std::size_t parts) : parts_(parts) {}

    void add(gguf_reader const& part, std::string const& file) {
        if (part.files() > 1 && part.files() != parts_)
            fail(errc::missing_file, file, ": is one of ", part.files(), " files, but ",
                 counted(parts_, "file"), " of the model ", parts_ == 1 ? "is" : "are",
                 " here, judging by their names; give a directory with all files, named like "
                 "m-00001-of-00003.gguf");
        if (parts_ > 1 && part.number() && *part.number() != added_)
            fail(errc::corrupt_file, file, ": its metadata says part ", *part.number() + 1, " of ",
                 parts_, ", but its name says part ", added_ + 1);
        ++added_;
        tensors_ += part.tensors();
        if (part.tensors_of_all())
            wanted_ = part.tensors_of_all();
    }

    void check_complete(std::string const& path) const {
        if (parts_ > 1 && wanted_ && *wanted_ != tensors_)
            fail(errc::corrupt_file, path, ": the files have ", counted(tensors_, "tensor"),
                 ", but their headers (split.tensors.count) say ", *wanted_);
    }

private:
    std::size_t parts_;
    std::uint64_t added_ = 0;
    std::uint64_t tensors_ = 0;
    std::optional<std::uint64_t> wanted_;
};

/// The values in the headers of files, by file.
using gguf_values = std::map<std::filesystem::path, vector<std::pair<std::string, byte_run>>>;

/// Reads values as the files store them: the type, and the content.
inline object_reader reader_of(std::shared_ptr<file_store const> files, gguf_values values) {
    return [files = std::move(files), values = std::move(values)](key_set const& keys) {
        vector<saved_object> objects;
        for (auto const& [path, of_file] : values) {
            auto const file = files->open(path);
            for (auto const& [key, run] : of_file) {
                if (!keys.contains(key))
                    continue;
                std::string bytes(run.size(), ' ');
                file->read(run.begin, std::as_writable_bytes(std::span(bytes)));
                objects.push_back({key, std::move(bytes)});
            }
        }
        return objects;
    };
}

/// Opens a model that is stored in one or several files.
inline opened_checkpoint open_gguf_files(std::shared_ptr<file_store const> files,
                                         std::filesystem::path const& path,
                                         vector<std::filesystem::path> const& parts) {
    whole_tensors tensors(files, "gguf", path);
    std::string version;
    gguf_values values;
    gguf_part_check check(parts.size());
    for (std::filesystem::path const& part : parts) {
        tensors.begin_file(part);
        auto const file = tensors.files().open(part);
        gguf_reader reader(*file, part.string(), tensors);
        reader.read();
        version = std::to_string(reader.version());
        values.emplace(part, reader.values());
        check.add(reader, part.string());
    }
    check.check_complete(path.string());
    opened_checkpoint opened = tensors.take();
    opened.metadata.version = std::move(version);
    opened.read_objects = reader_of(std::move(files), std::move(values));
    return opened;
}

/// The files of the model that has this file. If the name states that the file is one of several,
/// such as `m-00001-of-00003.gguf`, these are all parts, in order.
///
/// \throws error with errc::missing_file that names the missing part; errc::corrupt_file for a name
///         with a number that no part has
/// \par Source the names of llama.cpp, which opens all parts when it is given the path of one part
inline vector<std::filesystem::path> gguf_parts(file_store const& files,
                                                std::filesystem::path const& path) {
    std::string const stem = part_of_index(path.filename().string());
    if (stem.empty())
        return {path};
    std::string const name = path.stem().string();
    std::string const count = name.substr(name.rfind('-') + 1);
    vector<std::filesystem::path> parts;
    std::size_t const total = std::strtoul(count.c_str(), nullptr, 10);
    std::size_t const own = std::strtoul(name.c_str() + stem.size() + 1, nullptr, 10);
    if (own < 1 || own > total)
        fail(errc::corrupt_file, path.string(), ": the name says part ", own, " of ", total,
             ", but parts are numbered from 1 to their count; restore the original name");
    for (std::size_t i = 1; i <= total; ++i) {
        std::string const digits = std::to_string(i);
        std::string const number =
            std::string(count.size() - std::min(count.size(), digits.size()), '0') + digits;
        parts.push_back(path.parent_path() / (stem + "-" + number + "-of-" + count + ".gguf"));
        if (files.find(parts.back()) != file_store::kind::file)
            fail(errc::missing_file, path.string(), ": is one of ", total, " files, but ",
                 parts.back().string(), " is missing");
    }
    return parts;
}

RESHARD_DECL opened_checkpoint open_gguf(std::shared_ptr<file_store const> files,
                                         std::filesystem::path const& path) {
    auto const parts = gguf_parts(*files, path);
    return open_gguf_files(std::move(files), path, parts);
}

RESHARD_DECL vector<std::filesystem::path> find_gguf_files(file_store const& files,
                                                           std::filesystem::path const& directory) {
    vector<std::filesystem::path> paths;
    for (std::filesystem::path const& path : files.list(directory))
        if (path.extension() == ".gguf" && files.find(path) == file_store::kind::file)
            paths.push_back(path);
    return paths;
}

RESHARD_DECL opened_checkpoint open_gguf_directory(std::shared_ptr<file_store const> files,
                                                   std::filesystem::path const& directory) {
    auto const gguf_files = find_gguf_files(*files, directory);
    auto const parts = gguf_parts(*files, gguf_files.front());
    for (std::filesystem::path const& path : gguf_files)
        if (std::ranges::find(parts, path) == parts.end())
            fail(errc::unsupported, directory.string(), ": ",
                 gguf_files.front().filename().string(), " and ", path.filename().string(),
                 " are separate models, judging by their names; give one of them");
    return open_gguf_files(std::move(files), directory, parts);
}

} // namespace reshard::detail

#endif
