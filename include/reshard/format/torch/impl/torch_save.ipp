// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_TORCH_SAVE_IPP
#define RESHARD_FORMAT_TORCH_IMPL_TORCH_SAVE_IPP

#include <reshard/format/torch/torch_save.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/pickle/named_values.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace reshard::detail {

/// Refuses what is no archive.
inline void check_is_archive(file_store::file const& file, std::uint64_t bytes,
                             std::string const& path) {
    char first[2] = {};
    if (bytes < sizeof first)
        fail(errc::corrupt_file, path, ": the file has ", counted(bytes, "byte"),
             ", and one of torch.save has more; was it cut short?");
    file.read(0, std::as_writable_bytes(std::span(first)));
    if (first[0] == 'P' && first[1] == 'K')
        return;
    if (static_cast<unsigned char>(first[0]) == 0x80)
        fail(
            errc::unsupported, path,
            ": is a pickle without an archive, as torch.save wrote it before torch 1.6; load it in "
            "torch and save it again");
    fail(errc::corrupt_file, path, ": begins as no file of torch.save does");
}

inline std::vector<named_value> values_in(torch_archive const& archive,
                                          file_store::file const& file) {
    return named_values(archive.values(), file,
                        [&](pickle_value value) { return archive.is_tensor(value); });
}

/// Looks for tensors within values that are no tensors themselves.
inline value_search tensor_search(torch_archive const& archive) {
    return {archive.values(), [&archive](pickle_value one) { return archive.is_tensor(one); }};
}

RESHARD_DECL std::vector<std::string> tuples_with_tensors(file_store const& files,
                                                          std::filesystem::path const& path) {
    auto const file = files.open(path);
    torch_archive const archive(*file, path.string(), {0, file->facts().bytes});
    value_walk::predicate const is_tensor = [&](pickle_value one) {
        return archive.is_tensor(one);
    };
    value_walk walk(archive.values(), *file, is_tensor);
    walk.all();
    return walk.tuples();
}

RESHARD_DECL bool has_tensors(saved_object const& object) {
    try {
        archive_file const bytes(object.archive, object.key);
        torch_archive const archive(bytes, object.key, {0, object.archive.size()});
        return tensor_search(archive).find_in(archive.values().root()).has_value();
    } catch (error const&) {
        return false; // of a class that is not read
    }
}

/// Tensors of a file: those that are one view of one storage are one.
class torch_views {
public:
    void add(whole_tensors& all, std::string const& key, file_tensor const& tensor) {
        auto const [known, is_new] = first_.try_emplace(
            std::tuple(tensor.elements.begin, tensor.dtype, to_string(tensor.shape),
                       to_string(tensor.elements.strides)),
            key);
        if (is_new || element_count(tensor.shape) == 0)
            all.add(key, tensor);
        else
            all.add_alias(key, known->second);
    }

private:
    std::map<std::tuple<std::uint64_t, data_type, std::string, std::string>, std::string> first_;
};

/// Adds what a file has, and returns the names of its tensors, sorted.
inline std::vector<std::string> add_torch_file(whole_tensors& all,
                                               std::filesystem::path const& path) {
    auto const file = all.files().open(path);
    std::uint64_t const bytes = file->facts().bytes;
    check_is_archive(*file, bytes, path.string());
    torch_archive const archive(*file, path.string(), {0, bytes});
    all.begin_file(path);
    std::vector<std::string> keys;
    torch_views views;
    value_search tensors = tensor_search(archive);
    unknown_search unknown(archive.values());
    for (named_value& one : values_in(archive, *file)) {
        if (one.key.empty()) // the file is one value
            one.key = path.stem().string();
        if (archive.is_tensor(one.value)) {
            keys.push_back(one.key);
            std::string const what = "tensor '" + one.key + "'";
            if (auto const tensor =
                    all.readable(one.key, what, [&] { return archive.tensor(one.value, what); }))
                views.add(all, one.key, *tensor);
            continue;
        }
        bool const holds_tensors = tensors.find_in(one.value).has_value();
        if (std::string reason = unknown.reason(one.value); !reason.empty())
            all.add_opaque(one.key, std::move(reason), holds_tensors);
        else
            all.add_object(one.key, one.value.what == pickle_value::kind::none, holds_tensors);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

RESHARD_DECL saved_object object_of(torch_archive const& archive, pickle_value value,
                                    file_store::file const& file, std::string const& key) {
    return {key, torch_file_of(copy_of(value, archive.values(), file, "object '" + key + "'"))};
}

/// The values of files that are no tensors.
inline std::vector<saved_object> objects_in(file_store const& files,
                                            std::vector<std::filesystem::path> const& paths,
                                            key_set const& keys) {
    std::vector<saved_object> all;
    for (std::filesystem::path const& path : paths) {
        auto const file = files.open(path);
        torch_archive const archive(*file, path.string(), {0, file->facts().bytes});
        for (named_value const& one : values_in(archive, *file)) {
            std::string const key = one.key.empty() ? path.stem().string() : one.key;
            if (keys.contains(key) && !archive.is_tensor(one.value))
                all.push_back(object_of(archive, one.value, *file, key));
        }
    }
    return all;
}

RESHARD_DECL std::string torch_file_without_tensors(file_store const& files,
                                                    std::filesystem::path const& path) {
    auto const file = files.open(path);
    torch_archive const archive(*file, path.string(), {0, file->facts().bytes});
    auto const is_left_out = [&](pickle_value value) {
        return archive.is_tensor(value) || archive.values().unknown_class(value);
    };
    return torch_file_of(copy_of(archive.values().root(), archive.values(), *file,
                                 "what ranks have in common", is_left_out));
}

/// What was put together, with the values of its files that are no tensors.
inline opened_checkpoint take_with_objects(whole_tensors all,
                                           std::shared_ptr<file_store const> files,
                                           std::vector<std::filesystem::path> paths) {
    opened_checkpoint opened = all.take();
    opened.read_objects = [files = std::move(files), paths = std::move(paths)](
                              key_set const& keys) { return objects_in(*files, paths, keys); };
    return opened;
}

RESHARD_DECL opened_checkpoint open_torch_file(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path) {
    whole_tensors all(files, "torch_save", path);
    add_torch_file(all, path);
    return take_with_objects(std::move(all), std::move(files), {path});
}

RESHARD_DECL opened_checkpoint open_torch_index(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& index) {
    whole_tensors all(files, "torch_save", index.parent_path());
    std::vector<std::filesystem::path> paths;
    hf_index const listed = parse_hf_index(read_text_file(all.files(), index), index.string());
    std::map<std::string, std::vector<std::string>> by_file;
    for (auto const& [key, file] : listed.weight_map)
        by_file[file].push_back(key);
    for (auto const& [file, keys] : by_file) {
        std::filesystem::path const path = index.parent_path() / file;
        if (all.files().find(path) != file_store::kind::file)
            fail(errc::missing_file, index.string(), ": '", keys.front(), "' is listed in ", file,
                 ", but there is no such file");
        auto const there = add_torch_file(all, path);
        paths.push_back(path);
        for (std::string const& key : keys)
            if (!std::binary_search(there.begin(), there.end(), key))
                fail(errc::corrupt_file, index.string(), ": '", key, "' should be in ", file,
                     ", but is not");
    }
    opened_checkpoint opened =
        take_with_objects(std::move(all), std::move(files), std::move(paths));
    opened.metadata.indexes = {index.filename().string()};
    return opened;
}

} // namespace reshard::detail

#endif
