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
#include <functional>
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

/// Looks for tensors within values that are no tensors themselves: in a deque, in a set, or in the
/// state of an object. Each value is looked through once, wherever it stands.
class tensor_search {
public:
    explicit tensor_search(torch_archive const& archive)
        : archive_(archive), values_(archive.values()) {}

    bool finds_in(pickle_value value) { return finds_in(value, 0); }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 1000; ///< more than values that are carried may have

    bool finds_in(pickle_value value, std::size_t depth) {
        switch (value.what) {
        case kind::tuple: // an empty one may be where another one is
            if (value.count == 0)
                return false;
            break;
        case kind::list:
        case kind::set:
        case kind::dict:
        case kind::object: break;
        default: return false;
        }
        auto const [known, is_new] = known_.try_emplace({value.what, value.place}, false);
        if (!is_new || depth > most_depth)
            return known->second;
        return known->second = archive_.is_tensor(value) || has_one(value, depth + 1);
    }

    bool has_one(pickle_value value, std::size_t depth) {
        auto const finds = [&](pickle_value one) { return finds_in(one, depth); };
        if (value.what == kind::dict)
            return std::ranges::any_of(values_.pairs(value, {}).values, finds);
        if (value.what != kind::object)
            return std::ranges::any_of(values_.elements(value, {}), finds);
        pickle_object const& object = values_.object(value, {});
        return finds(object.arguments) || finds(object.state);
    }

    torch_archive const& archive_;
    pickle const& values_;
    std::map<std::pair<kind, std::uint64_t>, bool> known_; ///< by their kinds and places
};

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
        return tensor_search(archive).finds_in(archive.values().root());
    } catch (error const&) {
        return false; // of a class that is not read
    }
}

/// An index whose files are added.
struct followed_index {
    std::filesystem::path path;
    hf_index listed;
    bool is_strict = true;
};

/// The tensors of a file of an index that are read from other files.
///
/// \throws error as `check_difference`
inline key_set keys_elsewhere(whole_tensors& all, followed_index const& index,
                              std::string_view file, index_keys const& keys, index_keys names) {
    index_difference found = compare_with_index(index.listed, keys, std::move(names));
    found.unlisted.clear(); // names of tensors that are listed under others
    check_difference(found, index.path.string(), file, index.is_strict);
    if (!found.elsewhere.empty())
        all.warn(index.path.string() + ": " + elsewhere_text(found, file));
    return std::move(found.elsewhere);
}

/// Adds what a file has, but for the tensors that `elsewhere`, of the names of all, returns.
inline void add_torch_file(whole_tensors& all, std::filesystem::path const& path,
                           std::function<key_set(index_keys)> const& elsewhere = {}) {
    auto const file = all.files().open(path);
    std::uint64_t const bytes = file->facts().bytes;
    check_is_archive(*file, bytes, path.string());
    torch_archive const archive(*file, path.string(), {0, bytes});
    all.begin_file(path);
    std::vector<named_value> values = values_in(archive, *file);
    index_keys names;
    for (named_value& one : values) {
        if (one.key.empty()) // the file is one value
            one.key = path.stem().string();
        if (archive.is_tensor(one.value))
            names.push_back(one.key);
    }
    key_set const left_out = elsewhere ? elsewhere(std::move(names)) : key_set();
    // Of tensors that are one view of one storage, the first.
    std::map<std::tuple<std::uint64_t, data_type, std::string, std::string>, std::string> views;
    tensor_search search(archive);
    for (named_value const& one : values) {
        if (left_out.contains(one.key))
            continue;
        if (!archive.is_tensor(one.value)) {
            all.add_object(one.key, one.value.what == pickle_value::kind::none,
                           search.finds_in(one.value));
            continue;
        }
        file_tensor const tensor = archive.tensor(one.value, "tensor '" + one.key + "'");
        auto const [known, is_new] = views.try_emplace(
            std::tuple(tensor.elements.begin, tensor.dtype, to_string(tensor.shape),
                       to_string(tensor.elements.strides)),
            one.key);
        if (is_new || element_count(tensor.shape) == 0)
            all.add(one.key, tensor);
        else
            all.add_alias(one.key, known->second);
    }
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
    auto const is_tensor = [&](pickle_value value) { return archive.is_tensor(value); };
    return torch_file_of(copy_of(archive.values().root(), archive.values(), *file,
                                 "what ranks have in common", is_tensor));
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
                                                std::filesystem::path const& index,
                                                bool is_strict) {
    whole_tensors all(files, "torch_save", index.parent_path());
    std::vector<std::filesystem::path> paths;
    followed_index const followed{
        index, parse_hf_index(read_text_file(all.files(), index), index.string()), is_strict};
    for (auto const& [file, keys] : keys_by_file(followed.listed)) {
        std::filesystem::path const path = index.parent_path() / file;
        if (all.files().find(path) != file_store::kind::file)
            fail(errc::missing_file, index.string(), ": '", keys.front(), "' is listed in ", file,
                 ", but there is no such file");
        add_torch_file(all, path, [&](index_keys names) {
            return keys_elsewhere(all, followed, file, keys, std::move(names));
        });
        paths.push_back(path);
    }
    opened_checkpoint opened =
        take_with_objects(std::move(all), std::move(files), std::move(paths));
    opened.metadata.indexes = {index.filename().string()};
    return opened;
}

} // namespace reshard::detail

#endif
