// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_TORCH_SAVE_IPP
#define RESHARD_FORMAT_TORCH_IMPL_TORCH_SAVE_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/impl/part_names.ipp>
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
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

inline vector<named_value> values_in(torch_archive const& archive, file_store::file const& file) {
    return named_values(archive.values(), file, [&](pickle_value value) {
        return archive.is_tensor(value) || archive.is_part(value);
    });
}

/// Finds tensors inside values.
inline value_search tensor_search(torch_archive const& archive) {
    return {archive.values(), [&archive](pickle_value value) {
                return archive.is_tensor(value) || archive.is_part(value);
            }};
}

RESHARD_DECL vector<std::string> tuples_with_tensors(file_store const& files,
                                                     std::filesystem::path const& path) {
    torch_file_archive const archive(files, path);
    vector<std::string> tuples;
    named_values(
        archive->values(), archive.file(),
        [&](pickle_value value) { return archive->is_tensor(value); }, &tuples);
    return tuples;
}

RESHARD_DECL bool has_tensors(saved_object const& object) {
    try {
        archive_file const bytes(object.archive, object.key);
        torch_archive const archive(bytes, object.key, {0, object.archive.size()});
        return tensor_search(archive).find_in(archive.values().root()).has_value();
    } catch (error const&) {
        return false; // the archive cannot be read
    }
}

/// An index whose files are being added.
struct followed_index {
    std::filesystem::path path;
    hf_index listed;
    bool is_strict = true;
};

/// The tensors that are in a file of the index, but are read from other files.
///
/// \throws error as `check_difference`
key_set keys_elsewhere(auto& values, followed_index const& index, std::string_view file,
                       index_keys const& keys, index_keys names) {
    index_difference difference = compare_with_index(index.listed, keys, std::move(names));
    difference.unlisted.clear(); // these are aliases of listed tensors
    check_difference(difference, index.path.string(), file, index.is_strict);
    if (!difference.elsewhere.empty())
        values.warn(index.path.string() + ": " + elsewhere_text(difference, file));
    return std::move(difference.elsewhere);
}

RESHARD_DECL saved_object object_of(torch_archive const& archive, pickle_value value,
                                    file_store::file const& file, std::string const& key) {
    return {key, torch_file_of(copy_of(value, archive.values(), file, "object '" + key + "'"))};
}

/// The values in the files that are not tensors.
inline vector<saved_object> objects_in(file_store const& files,
                                       vector<std::filesystem::path> const& paths,
                                       key_set const& keys) {
    vector<saved_object> objects;
    key_set set; // the values of the first rank are taken
    for (std::filesystem::path const& path : paths) {
        torch_file_archive const archive(files, path);
        for (named_value const& value : values_in(*archive, archive.file())) {
            std::string const key = value.key.empty() ? path.stem().string() : value.key;
            if (keys.contains(key) && !set.contains(key) && !archive->is_tensor(value.value) &&
                !archive->is_part(value.value))
                objects.push_back(
                    object_of(*archive, value.value, archive.file(), *set.insert(key).first));
        }
    }
    return objects;
}

/// Adds files of torch.save: one file, the files of an index, or the files of ranks. Files of ranks
/// have shards of DTensors, and each has a copy of everything else.
class torch_files {
public:
    torch_files(std::shared_ptr<file_store const> files, std::filesystem::path const& path,
                bool are_of_ranks = false)
        : files_(files), all_(std::move(files), "torch_save", path), are_of_ranks_(are_of_ranks) {
        if (are_of_ranks)
            all_.expect_parts();
    }

    file_store const& files() const { return *files_; }

    void warn(std::string text) { all_.warn(std::move(text)); }

    /// Adds the entries of a file, except the tensors that `elsewhere` returns. `elsewhere` is
    /// called with all names.
    void add(std::filesystem::path const& path,
             std::function<key_set(index_keys)> const& elsewhere = {}) {
        torch_file_archive const opened(*files_, path);
        torch_archive const& archive = *opened;
        if (archive.is_inflated())
            all_.show_inflated();
        all_.begin_file(path);
        path_ = path;
        views_.clear();
        auto const values = values_with_names(archive, opened.file());
        key_set const left_out = elsewhere ? elsewhere(tensors_of(archive, values)) : key_set();
        value_search search = tensor_search(archive);
        opaque_search opaque(archive.values());
        for (named_value const& value : values)
            if (archive.is_part(value.value))
                add_readable_part(archive, value);
            else if (!archive.is_tensor(value.value))
                add_object(value, search, opaque);
            else if (!left_out.contains(value.key))
                add_readable(archive, value);
        paths_.push_back(path);
    }

    /// Takes everything that was added, including the values that are not tensors.
    opened_checkpoint take() {
        if (are_of_ranks_ && !objects_.empty())
            warn(values_taken_of(paths_.front()));
        for (auto const& [key, tensor] : spread_)
            if (tensor.parts.empty())
                all_.add_unread(key, tensor.spread.shape(),
                                "it is a DTensor, but no file here has a shard of it; give a "
                                "directory with the files of all ranks");
        opened_checkpoint opened = all_.take();
        opened.metadata.has_global_order = !spread_.empty(); // only DTensors are sharded
        for (checkpoint_tensor const& tensor : opened.metadata.tensors)
            if (auto const match = spread_.find(tensor.key);
                match != spread_.end() && tensor.is_read())
                if (std::string text = lacking_part(match->second); !text.empty())
                    opened.incomplete.emplace(tensor.key, std::move(text));
        opened.read_objects = [files = std::move(files_), paths = std::move(paths_)](
                                  key_set const& keys) { return objects_in(*files, paths, keys); };
        return opened;
    }

private:
    void add_readable(torch_archive const& archive, named_value const& value) {
        std::string const noun = "tensor '" + value.key + "'";
        if (auto const tensor =
                all_.readable(value.key, noun, [&] { return archive.tensor(value.value, noun); }))
            add_tensor(value.key, *tensor);
    }

    /// Values with their names. A value that is the whole file is named after the file.
    vector<named_value> values_with_names(torch_archive const& archive,
                                          file_store::file const& file) const {
        vector<named_value> values = values_in(archive, file);
        for (named_value& value : values)
            if (value.key.empty())
                value.key = path_.stem().string();
        return values;
    }

    static index_keys tensors_of(torch_archive const& archive, vector<named_value> const& values) {
        index_keys names;
        for (named_value const& value : values)
            if (archive.is_tensor(value.value))
                names.push_back(value.key);
        return names;
    }

    void add_readable_part(torch_archive const& archive, named_value const& value) {
        std::string const noun = "tensor '" + value.key + "'";
        std::optional<torch_part> part;
        auto const local = all_.readable(value.key, noun, [&] {
            torch_part read = archive.part(value.value, noun);
            std::optional<file_tensor> tensor;
            if (read.position)
                tensor = archive.tensor(read.local, noun);
            part = std::move(read);
            return tensor;
        });
        if (!part)
            return;
        spread_tensor& tensor =
            spread_.try_emplace(value.key, spread_tensor{part->spread, path_}).first->second;
        if (!local)
            return;
        check_same(tensor, *part, value.key);
        add_part(value.key, tensor, *part, *local);
    }

    void add_part(std::string const& key, spread_tensor& tensor, torch_part const& part,
                  file_tensor const& local) {
        std::string const noun = "tensor '" + key + "'";
        box const region = *part.spread.region(*part.position);
        if (local.shape != region.shape)
            fail(errc::corrupt_file, path_.string(), ": ", noun, ": the shard has the shape ",
                 local.shape, ", but ", part.spread, " gives ",
                 place_text(part.spread.ranks(), *part.position), " the shape ", region.shape);
        all_.add_part(key, part.spread.shape(), region, local);
        if (tensor.parts.insert(place_of_box(part.spread, *part.position)).second)
            tensor.elements += element_count(region.shape);
    }

    void check_same(spread_tensor& tensor, torch_part const& part, std::string const& key) const {
        if (tensor.spread != part.spread)
            fail(errc::corrupt_file, path_.string(), " and ", tensor.first_file.string(),
                 ": tensor '", key, "': it is ", part.spread, " in the former and ", tensor.spread,
                 " in the latter");
        auto const [other, is_new] = tensor.files.emplace(*part.position, path_);
        if (!is_new)
            fail(errc::corrupt_file, path_.string(), " and ", other->second.string(), ": tensor '",
                 key, "': both belong to the rank at ",
                 place_text(part.spread.ranks(), *part.position));
    }

    void add_object(named_value const& value, value_search& search, opaque_search& opaque) {
        if (are_of_ranks_ && !objects_.insert(value.key).second)
            return;
        bool const holds_tensors = search.find_in(value.value).has_value();
        if (std::string reason = opaque.reason(value.value); !reason.empty())
            all_.add_opaque(value.key, std::move(reason), holds_tensors);
        else
            all_.add_object(value.key, value.value.type == pickle_value::kind::none, holds_tensors);
    }

    void add_tensor(std::string const& key, file_tensor const& tensor) {
        if (are_of_ranks_)
            return all_.add_part(key, tensor.shape, whole(tensor.shape), tensor);
        auto const [match, is_new] = views_.try_emplace(
            std::tuple(tensor.elements.begin, tensor.dtype, to_string(tensor.shape),
                       to_string(tensor.elements.strides)),
            key);
        if (is_new || element_count(tensor.shape) == 0)
            all_.add(key, tensor);
        else
            all_.add_alias(key, match->second);
    }

    std::shared_ptr<file_store const> files_;
    whole_tensors all_;
    bool are_of_ranks_;
    std::filesystem::path path_; ///< the path of the last file
    vector<std::filesystem::path> paths_;
    std::map<std::string, spread_tensor> spread_;
    std::set<std::string> objects_; ///< keys of values in files of ranks
    /// The first tensor in the last file for each view of a storage.
    std::map<std::tuple<std::uint64_t, data_type, std::string, std::string>, std::string> views_;
};

RESHARD_DECL std::string torch_file_without_tensors(file_store const& files,
                                                    std::filesystem::path const& path) {
    torch_file_archive const archive(files, path);
    auto const is_left_out = [&](pickle_value value) {
        return archive->is_tensor(value) || archive->values().unknown_class(value);
    };
    return torch_file_of(copy_of(archive->values().root(), archive->values(), archive.file(),
                                 "the common state of all ranks", is_left_out));
}

RESHARD_DECL opened_checkpoint open_torch_file(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& path) {
    torch_files torch_files(std::move(files), path);
    torch_files.add(path);
    return torch_files.take();
}

RESHARD_DECL opened_checkpoint open_torch_ranks(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& directory,
                                                vector<std::filesystem::path> const& paths) {
    torch_files torch_files(std::move(files), directory, true);
    for (std::filesystem::path const& path : paths)
        torch_files.add(path);
    return torch_files.take();
}

RESHARD_DECL bool has_torch_parts(file_store const& files, std::filesystem::path const& path) {
    torch_file_archive const archive(files, path);
    return std::ranges::any_of(values_in(*archive, archive.file()), [&](named_value const& value) {
        return archive->is_part(value.value);
    });
}

/// Refuses an index that lists some files of `x-00001-of-00003.bin`, but omits others that exist.
inline void check_numbered(file_store const& files, std::filesystem::path const& index,
                           auto const& by_file) {
    for (std::filesystem::path const& path : files.list(index.parent_path())) {
        std::string const name = path.filename().string();
        std::size_t const tail = name.rfind("-of-");
        if (tail == name.npos || by_file.contains(name))
            continue;
        std::string_view const stem = std::string_view(name).substr(0, name.rfind('-', tail - 1));
        for (auto const& [file, keys] : by_file)
            if (file.size() == name.size() && file.starts_with(stem) &&
                file.ends_with(std::string_view(name).substr(tail)))
                fail(errc::corrupt_file, index.string(), ": lists ", file, ", but nothing in ",
                     name, ", which exists; is the index damaged?");
    }
}

RESHARD_DECL opened_checkpoint open_torch_index(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& index,
                                                bool is_strict) {
    followed_index const followed{
        index, parse_hf_index(read_text_file(*files, index), index.string()), is_strict};
    check_lists_any(followed.listed, index.string());
    torch_files torch_files(std::move(files), index.parent_path());
    auto const by_file = keys_by_file(followed.listed);
    if (is_strict)
        check_numbered(torch_files.files(), index, by_file);
    for (auto const& [file, keys] : by_file) {
        std::filesystem::path const path = index.parent_path() / file;
        if (torch_files.files().find(path) != file_store::kind::file)
            fail(errc::missing_file, index.string(), ": '", keys.front(), "' is listed in ", file,
                 ", but that file is missing");
        torch_files.add(path, [&](index_keys names) {
            return keys_elsewhere(torch_files, followed, file, keys, std::move(names));
        });
    }
    opened_checkpoint opened = torch_files.take();
    opened.metadata.indexes = {index.filename().string()};
    if (std::string const text = unlisted_part(by_file); !text.empty())
        opened.metadata.warnings.push_back(index.string() + ": " + text);
    return opened;
}

} // namespace reshard::detail

#endif
