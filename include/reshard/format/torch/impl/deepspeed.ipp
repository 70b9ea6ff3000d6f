// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP
#define RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP

#include <reshard/format/torch/deepspeed.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/named_values.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

inline constexpr std::string_view deepspeed_directory = "zero", deepspeed_weight = "fp32.pt";

/// A value of a parameter, in a file of its own.
struct deepspeed_value {
    std::string key;
    std::filesystem::path path;
};

RESHARD_DECL bool is_deepspeed_universal(file_store const& files,
                                         std::filesystem::path const& directory) {
    std::filesystem::path const zero = directory / deepspeed_directory;
    if (files.find(zero) != file_store::kind::directory)
        return false;
    auto const all = files.list(zero);
    return std::any_of(all.begin(), all.end(), [&](std::filesystem::path const& parameter) {
        return files.find(parameter / deepspeed_weight) == file_store::kind::file;
    });
}

/// The files of the parameters, sorted.
inline std::vector<deepspeed_value> deepspeed_values(file_store const& files,
                                                     std::filesystem::path const& directory) {
    std::vector<deepspeed_value> all;
    for (std::filesystem::path const& parameter : files.list(directory / deepspeed_directory)) {
        if (files.find(parameter) != file_store::kind::directory)
            continue;
        std::string const key = parameter.filename().string();
        for (std::filesystem::path const& path : files.list(parameter))
            if (path.extension() == ".pt")
                all.push_back(
                    {path.filename() == deepspeed_weight ? key : key + "." + path.stem().string(),
                     path});
    }
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.key < b.key; });
    return all;
}

/// What a parameter has: its weight, and its states by their names.
struct deepspeed_parameter {
    std::filesystem::path directory;
    std::optional<index_vector> weight;                          ///< its shape
    std::map<std::string, std::optional<index_vector>> states{}; ///< of tensors, their shapes
};

/// The parameters, by key.
using deepspeed_parameters = std::map<std::string, deepspeed_parameter>;

/// The directories of the parameters, each with nothing yet.
inline deepspeed_parameters find_parameters(file_store const& files,
                                            std::filesystem::path const& directory) {
    deepspeed_parameters all;
    for (std::filesystem::path const& parameter : files.list(directory / deepspeed_directory))
        if (files.find(parameter) == file_store::kind::directory)
            all.emplace(parameter.filename().string(), deepspeed_parameter{parameter, {}});
    return all;
}

/// Takes note of a value of a parameter.
inline void note(deepspeed_parameters& all, std::filesystem::path const& path,
                 std::optional<file_tensor> const& tensor) {
    deepspeed_parameter& one = all.at(path.parent_path().filename().string());
    std::optional<index_vector> const shape = tensor ? std::optional(tensor->shape) : std::nullopt;
    if (path.filename() == deepspeed_weight)
        one.weight = shape;
    else
        one.states.emplace(path.stem().string(), shape);
}

/// Refuses a parameter that lacks its weight, or a state that it would have: optimizers give all
/// parameters of a kind the same states, so that none has a part of another's.
inline void check_has_all(deepspeed_parameters const& all) {
    std::map<std::set<std::string>, std::string> kinds; // a parameter of each
    for (auto const& [key, one] : all) {
        if (!one.weight)
            fail(errc::corrupt_file, (one.directory / deepspeed_weight).string(),
                 ": there is no such tensor, and the parameter '", key,
                 "' has a directory; was ds_to_universal interrupted? Run it again");
        std::set<std::string> states;
        for (auto const& [state, shape] : one.states)
            states.insert(state);
        kinds.emplace(std::move(states), key);
    }
    for (auto const& [few, lacking] : kinds)
        for (auto const& [more, other] : kinds)
            if (few.size() < more.size() && std::ranges::includes(more, few)) {
                std::string const lost = *std::ranges::find_if(
                    more, [&](std::string const& state) { return !few.contains(state); });
                fail(errc::corrupt_file, (all.at(lacking).directory / (lost + ".pt")).string(),
                     ": there is no such file, and the parameter '", other,
                     "' has one; was ds_to_universal interrupted? Run it again");
            }
}

/// Refuses a state whose elements are not as many as its weight's. Those without axes, as a step,
/// are so for all parameters.
inline void check_states(deepspeed_parameters const& all) {
    std::set<std::string> with_axes;
    for (auto const& [key, one] : all)
        for (auto const& [state, shape] : one.states)
            if (shape && shape->size() > 0)
                with_axes.insert(state);
    for (auto const& [key, one] : all)
        for (auto const& [state, shape] : one.states)
            if (shape && with_axes.contains(state) &&
                element_count(*shape) != element_count(*one.weight))
                fail(errc::corrupt_file, (one.directory / (state + ".pt")).string(),
                     ": the state has the shape ", *shape, ", and its weight in ", deepspeed_weight,
                     " ", *one.weight, "; was ds_to_universal interrupted? Run it again");
}

/// Refuses a parameter of the model that has no directory, as far as the states of the model that
/// are beside it tell: `param_shapes` lists what was trained.
inline void check_model_states(file_store const& files, std::filesystem::path const& path,
                               deepspeed_parameters const& all) {
    auto const file = files.open(path);
    torch_archive const archive(*file, path.string(), {0, file->facts().bytes});
    pickle const& values = archive.values();
    std::string const what = "param_shapes";
    if (values.root().what != pickle_value::kind::dict)
        return;
    auto const groups = values.find(values.root(), what, what);
    if (!groups || groups->what != pickle_value::kind::list)
        return;
    for (pickle_value const group : values.elements(*groups, what)) {
        if (group.what != pickle_value::kind::dict)
            continue;
        pickle_pairs const shapes = values.pairs(group, what);
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (std::string const key(values.text(shapes[i].key, what)); !all.contains(key))
                fail(errc::corrupt_file, path.string(), ": lists the parameter '", key, "', and ",
                     deepspeed_directory,
                     "/ has no directory of that name; was ds_to_universal "
                     "interrupted? Run it again");
    }
}

/// The same for all such files; those that name classes of others are not looked at.
inline void check_model_states(file_store const& files, std::filesystem::path const& directory,
                               std::string_view ending, deepspeed_parameters const& all) {
    for (std::filesystem::path const& path : files.list(directory)) {
        bool const is_one = path.filename().string().ends_with(ending) &&
                            files.find(path) == file_store::kind::file;
        try {
            if (is_one)
                check_model_states(files, path, all);
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported)
                throw;
        }
    }
}

/// Warns of the files that are not read.
inline void warn_of_rest(checkpoint_metadata& opened, file_store const& files,
                         std::filesystem::path const& directory) {
    std::vector<std::string> rest;
    for (auto const& place : {directory, directory / deepspeed_directory})
        for (std::filesystem::path const& path : files.list(place))
            if (path.extension() == ".pt" && files.find(path) == file_store::kind::file)
                rest.push_back(path.filename().string());
    std::sort(rest.begin(), rest.end());
    if (!rest.empty())
        opened.warnings.push_back(
            directory.string() + ": not read: " + rest.front() +
            (rest.size() > 1 ? " and " + counted(rest.size() - 1, "more file") : "") +
            ", which hold the model in its own data type, and what is no parameter's");
}

/// The tensor of a file: the file itself, or `param` of its dict; nothing where it is another
/// value.
inline std::optional<file_tensor> tensor_of(torch_archive const& archive,
                                            file_store::file const& file,
                                            deepspeed_value const& value) {
    auto const all = named_values(archive.values(), file,
                                  [&](pickle_value one) { return archive.is_tensor(one); });
    for (named_value const& one : all)
        if ((one.key.empty() || one.key == "param") && archive.is_tensor(one.value))
            return archive.tensor(one.value, "tensor '" + value.key + "'");
    if (all.size() == 1 && all.front().key.empty())
        return std::nullopt;
    fail(errc::corrupt_file, value.path.string(), ": '", value.key,
         "' is neither a tensor, nor a dict with a tensor as 'param'");
}

inline torch_archive archive_in(file_store::file const& file, deepspeed_value const& value) {
    return {file, value.path.string(), {0, file.facts().bytes}};
}

inline std::vector<saved_object> objects_in(file_store const& files,
                                            std::vector<deepspeed_value> const& values,
                                            key_set const& keys) {
    std::vector<saved_object> all;
    for (deepspeed_value const& value : values) {
        if (!keys.contains(value.key))
            continue;
        auto const file = files.open(value.path);
        torch_archive const archive = archive_in(*file, value);
        all.push_back(object_of(archive, archive.values().root(), *file, value.key));
    }
    return all;
}

RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory) {
    whole_tensors all(files, deepspeed_format, directory);
    std::vector<deepspeed_value> objects;
    deepspeed_parameters parameters = find_parameters(*files, directory);
    for (deepspeed_value const& value : deepspeed_values(*files, directory)) {
        auto const file = files->open(value.path);
        torch_archive const archive = archive_in(*file, value);
        all.begin_file(value.path);
        auto const tensor = tensor_of(archive, *file, value);
        note(parameters, value.path, tensor);
        if (tensor) {
            all.add(value.key, *tensor);
        } else {
            all.add_object(value.key);
            objects.push_back(value);
        }
    }
    check_has_all(parameters);
    check_states(parameters);
    check_model_states(*files, directory, "_model_states.pt", parameters);
    opened_checkpoint opened = all.take();
    warn_of_rest(opened.metadata, *files, directory);
    opened.read_objects = [files = std::move(files), objects = std::move(objects)](
                              key_set const& keys) { return objects_in(*files, objects, keys); };
    return opened;
}

} // namespace reshard::detail

#endif
