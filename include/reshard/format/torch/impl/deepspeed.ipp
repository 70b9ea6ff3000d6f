// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP
#define RESHARD_FORMAT_TORCH_IMPL_DEEPSPEED_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/torch/torch_save.hpp>

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

namespace reshard::detail {

inline constexpr std::string_view deepspeed_directory = "zero", deepspeed_weight = "fp32.pt";

/// A value of a parameter, in a separate file.
struct deepspeed_value {
    std::string key;
    std::filesystem::path path;
};

RESHARD_DECL bool is_deepspeed_universal(file_store const& files,
                                         std::filesystem::path const& directory) {
    std::filesystem::path const zero = directory / deepspeed_directory;
    if (files.find(zero) != file_store::kind::directory)
        return false;
    auto const list = files.list(zero);
    return std::any_of(list.begin(), list.end(), [&](std::filesystem::path const& parameter) {
        return files.find(parameter / deepspeed_weight) == file_store::kind::file;
    });
}

/// The files of the parameters, sorted.
inline vector<deepspeed_value> deepspeed_values(file_store const& files,
                                                std::filesystem::path const& directory) {
    vector<deepspeed_value> values;
    for (std::filesystem::path const& parameter : files.list(directory / deepspeed_directory)) {
        if (files.find(parameter) != file_store::kind::directory)
            continue;
        std::string const key = parameter.filename().string();
        for (std::filesystem::path const& path : files.list(parameter))
            if (path.extension() == ".pt")
                values.push_back(
                    {path.filename() == deepspeed_weight ? key : key + "." + path.stem().string(),
                     path});
    }
    std::sort(values.begin(), values.end(),
              [](auto const& a, auto const& b) { return a.key < b.key; });
    return values;
}

/// The files of a parameter: its weight, and its states by name.
struct deepspeed_parameter {
    std::filesystem::path directory;
    std::optional<index_vector> weight; ///< shape of the weight; std::nullopt if it is unreadable
    bool has_weight = false;
    bool is_vocabulary = false; ///< padding rows may have been removed
    std::map<std::string, std::optional<index_vector>> states{}; ///< shapes of tensors, by name
};

/// The parameters, by key.
using deepspeed_parameters = std::map<std::string, deepspeed_parameter>;

/// The parameters that have directories. Their weights and states are filled in later.
inline deepspeed_parameters find_parameters(file_store const& files,
                                            std::filesystem::path const& directory) {
    deepspeed_parameters parameters;
    for (std::filesystem::path const& parameter : files.list(directory / deepspeed_directory))
        if (files.find(parameter) == file_store::kind::directory)
            parameters.emplace(parameter.filename().string(), deepspeed_parameter{parameter, {}});
    return parameters;
}

/// True if the file says that its parameter is a vocabulary.
inline bool is_vocabulary(pickle const& values) {
    if (values.root().type != pickle_value::kind::dict)
        return false;
    auto const said = values.find(values.root(), "vocab_tensor", "the parameter");
    return said && *said == pickle_value{pickle_value::kind::boolean, 0, 1};
}

/// The content of a value's file.
struct deepspeed_content {
    bool is_tensor = true;
    std::optional<index_vector> shape{}; ///< the shape of a tensor that can be read
    bool is_vocabulary = false;
};

/// Records a value of a parameter.
inline void note(deepspeed_parameters& parameters, std::filesystem::path const& path,
                 deepspeed_content const& content) {
    deepspeed_parameter& parameter = parameters.at(path.parent_path().filename().string());
    if (path.filename() != deepspeed_weight) {
        parameter.states.emplace(path.stem().string(), content.shape);
        return;
    }
    parameter.weight = content.shape;
    parameter.has_weight = content.is_tensor;
    parameter.is_vocabulary = content.is_vocabulary;
}

/// Refuses a parameter that lacks its weight, or some of its states. Optimizers give all parameters
/// of a kind the same states, so no parameter has only some of the states of another.
inline void check_has_all(deepspeed_parameters const& parameters) {
    std::map<std::set<std::string>, std::string> kinds; // a parameter for each set of states
    for (auto const& [key, parameter] : parameters) {
        if (!parameter.has_weight)
            fail(errc::corrupt_file, (parameter.directory / deepspeed_weight).string(),
                 ": no such tensor, but the parameter '", key,
                 "' has a directory; was ds_to_universal interrupted? Run it again");
        std::set<std::string> states;
        for (auto const& [state, shape] : parameter.states)
            states.insert(state);
        kinds.emplace(std::move(states), key);
    }
    for (auto const& [few, lacking] : kinds)
        for (auto const& [more, other] : kinds)
            if (few.size() < more.size() && std::ranges::includes(more, few)) {
                std::string const lost = *std::ranges::find_if(
                    more, [&](std::string const& state) { return !few.contains(state); });
                fail(errc::corrupt_file,
                     (parameters.at(lacking).directory / (lost + ".pt")).string(),
                     ": no such file, but the parameter '", other,
                     "' has one; was ds_to_universal interrupted? Run it again");
            }
}

/// Refuses a state whose number of elements differs from the weight's. A state that has no axes,
/// such as a step, must have no axes for all parameters.
inline void check_states(deepspeed_parameters const& parameters) {
    std::set<std::string> with_axes;
    for (auto const& [key, parameter] : parameters)
        for (auto const& [state, shape] : parameter.states)
            if (shape && shape->size() > 0)
                with_axes.insert(state);
    for (auto const& [key, parameter] : parameters)
        for (auto const& [state, shape] : parameter.states)
            if (shape && parameter.weight && with_axes.contains(state) &&
                element_count(*shape) != element_count(*parameter.weight))
                fail(errc::corrupt_file, (parameter.directory / (state + ".pt")).string(),
                     ": the state has the shape ", *shape, ", but its weight in ", deepspeed_weight,
                     " has ", *parameter.weight, "; was ds_to_universal interrupted? Run it again");
}

/// The trained parameters that the files of model states list.
struct listed_parameters {
    /// The shapes by key, and by the tensor-parallel rank that has the parameter, or a shard of it.
    std::map<std::string, std::map<std::string, index_vector>> shapes;
    std::filesystem::path file; ///< the last file that lists parameters
};

/// The tensor-parallel rank of a file: `00` of `mp_rank_00_model_states.pt`.
inline std::string model_rank(std::string const& name) {
    constexpr std::string_view before = "mp_rank_";
    std::size_t const index = name.find(before);
    std::size_t const begin = index == name.npos ? 0 : index + before.size();
    return name.substr(begin, name.find('_', begin) - begin);
}

/// Adds the parameters of a file.
inline void add_listed(file_store const& files, std::filesystem::path const& path,
                       listed_parameters& parameters) {
    torch_file_archive const archive(files, path);
    pickle const& values = archive->values();
    std::string const noun = "param_shapes";
    if (values.root().type != pickle_value::kind::dict)
        return;
    auto const groups = values.find(values.root(), noun, noun);
    if (!groups || groups->type != pickle_value::kind::list)
        return;
    for (pickle_value const group : values.elements(*groups, noun)) {
        if (group.type != pickle_value::kind::dict)
            continue;
        pickle_pairs const shapes = values.pairs(group, noun);
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            std::string const key(values.text(shapes[i].key, noun));
            index_vector const shape = torch_extents(values, shapes[i].value, noun);
            element_count_of(shape, [&] { return path.string() + ": '" + key + "': "; });
            parameters.shapes[key].insert_or_assign(model_rank(path.filename().string()), shape);
        }
        parameters.file = path;
    }
}

/// The files of model states. Their names end with `_model_states.pt`.
inline vector<std::filesystem::path> model_state_files(file_store const& files,
                                                       std::filesystem::path const& directory) {
    vector<std::filesystem::path> paths;
    for (std::filesystem::path const& path : files.list(directory))
        if (path.filename().string().ends_with("_model_states.pt") &&
            files.find(path) == file_store::kind::file)
            paths.push_back(path);
    return paths;
}

/// The parameters that the files of model states list. Unreadable files are skipped.
inline listed_parameters list_parameters(file_store const& files,
                                         std::filesystem::path const& directory) {
    listed_parameters parameters;
    for (std::filesystem::path const& path : model_state_files(files, directory))
        try {
            add_listed(files, path, parameters);
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported && problem.code() != errc::limit_exceeded)
                throw;
        }
    return parameters;
}

/// True if a parameter may have the shape, given the shapes of its shards on the ranks. One axis is
/// cut across the ranks, and padding rows of a vocabulary are removed.
inline bool may_have(index_vector const& shape, bool is_vocabulary,
                     std::map<std::string, index_vector> const& of_ranks) {
    index_t sum = 0;
    for (auto const& [rank, part] : of_ranks)
        sum = checked_add(sum, element_count(part), "the elements of all ranks");
    index_vector const& first = of_ranks.begin()->second;
    bool const is_of_stage3 = shape.size() == 1 && element_count(shape) == element_count(first);
    if (shape == first || is_of_stage3)
        return true;
    if (shape.size() != first.size() || element_count(shape) > sum)
        return false;
    return is_vocabulary || (of_ranks.size() > 1 && element_count(shape) == sum);
}

/// Refuses a parameter that is only in the directory or only in the list, or whose shapes differ.
inline void check_listed(listed_parameters const& listed, deepspeed_parameters const& parameters) {
    constexpr std::string_view again = "; was ds_to_universal interrupted? Run it again";
    for (auto const& [key, of_ranks] : listed.shapes) {
        auto const match = parameters.find(key);
        if (match == parameters.end())
            fail(errc::corrupt_file, listed.file.string(), ": lists the parameter '", key,
                 "', but ", deepspeed_directory, "/ has no directory of that name", again);
        if (match->second.weight &&
            !may_have(*match->second.weight, match->second.is_vocabulary, of_ranks))
            fail(errc::corrupt_file, (match->second.directory / deepspeed_weight).string(),
                 ": the parameter has the shape ", *match->second.weight, ", but ",
                 of_ranks.begin()->second, of_ranks.size() > 1 ? " on each rank" : "", " in ",
                 listed.file.filename().string(), again);
    }
    for (auto const& [key, parameter] : parameters)
        if (!listed.shapes.empty() && !listed.shapes.contains(key))
            fail(errc::corrupt_file, parameter.directory.string(), ": has a parameter that ",
                 listed.file.filename().string(),
                 " does not list; does it belong to another save? Move it away, or run "
                 "ds_to_universal again");
}

/// Warns about the files that are not read.
inline void warn_of_rest(checkpoint_metadata& opened, file_store const& files,
                         std::filesystem::path const& directory) {
    vector<std::string> remaining;
    for (std::filesystem::path const& path : model_state_files(files, directory))
        remaining.push_back(path.filename().string());
    opened.indexes = remaining;
    for (std::filesystem::path const& path : files.list(directory / deepspeed_directory))
        if (path.extension() == ".pt" && files.find(path) == file_store::kind::file)
            remaining.push_back(path.filename().string());
    std::ranges::sort(remaining);
    if (!remaining.empty())
        opened.warnings.push_back(
            directory.string() + ": not read: " + remaining.front() +
            (remaining.size() > 1 ? " and " + counted(remaining.size() - 1, "more file") : "") +
            ", which hold the model in its own data type and values that belong to no parameter");
}

/// The tensor of a file: the file itself, or `param` of its dict; std::nullopt for another value.
inline std::optional<file_tensor> tensor_of(torch_archive const& archive,
                                            file_store::file const& file,
                                            deepspeed_value const& value) {
    auto const elements = named_values(archive.values(), file, [&](pickle_value pickle_value) {
        return archive.is_tensor(pickle_value);
    });
    for (named_value const& named_value : elements)
        if ((named_value.key.empty() || named_value.key == "param") &&
            archive.is_tensor(named_value.value))
            return archive.tensor(named_value.value, "tensor '" + value.key + "'");
    if (elements.size() == 1 && elements.front().key.empty())
        return std::nullopt;
    fail(errc::corrupt_file, value.path.string(), ": '", value.key,
         "' is neither a tensor nor a dict with a tensor as 'param'");
}

inline vector<saved_object> objects_in(file_store const& files,
                                       vector<deepspeed_value> const& values, key_set const& keys) {
    vector<saved_object> objects;
    for (deepspeed_value const& value : values) {
        if (!keys.contains(value.key))
            continue;
        torch_file_archive const archive(files, value.path);
        objects.push_back(object_of(*archive, archive->values().root(), archive.file(), value.key));
    }
    return objects;
}

/// Adds the entry of a file: a tensor or a value. A value is added to `objects` too.
inline deepspeed_content add_value(whole_tensors& tensors, deepspeed_value const& value,
                                   vector<deepspeed_value>& objects) {
    deepspeed_content content;
    std::string reason;
    tensors.begin_file(value.path);
    auto const tensor = tensors.readable(value.key, "tensor '" + value.key + "'", [&] {
        torch_file_archive const archive(tensors.files(), value.path);
        if (archive->is_inflated())
            tensors.show_inflated();
        pickle const& values = archive->values();
        content.is_vocabulary = is_vocabulary(values);
        auto match = tensor_of(*archive, archive.file(), value);
        content.is_tensor = match.has_value();
        if (!match)
            reason = opaque_search(values).reason(values.root());
        return match;
    });
    if (tensor) {
        tensors.add(value.key, *tensor);
        content.shape = tensor->shape;
    } else if (!content.is_tensor && !reason.empty()) {
        tensors.add_opaque(value.key, std::move(reason));
    } else if (!content.is_tensor) {
        tensors.add_object(value.key);
        objects.push_back(value);
    }
    return content;
}

RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory) {
    whole_tensors tensors(files, deepspeed_format, directory);
    vector<deepspeed_value> objects;
    deepspeed_parameters parameters = find_parameters(*files, directory);
    for (deepspeed_value const& value : deepspeed_values(*files, directory))
        note(parameters, value.path, add_value(tensors, value, objects));
    check_has_all(parameters);
    check_states(parameters);
    check_listed(list_parameters(*files, directory), parameters);
    opened_checkpoint opened = tensors.take();
    warn_of_rest(opened.metadata, *files, directory);
    opened.read_objects = [files = std::move(files), objects = std::move(objects)](
                              key_set const& keys) { return objects_in(*files, objects, keys); };
    return opened;
}

} // namespace reshard::detail

#endif
