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

/// The files of a parameter: its weight, and its states by their names.
struct deepspeed_parameter {
    std::filesystem::path directory;
    std::optional<index_vector> weight; ///< its shape; nothing for one that cannot be read
    bool has_weight = false;
    bool is_vocabulary = false; ///< of which rows may have been taken away
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

/// True for the file of a parameter that is a vocabulary.
inline bool is_vocabulary(pickle const& values) {
    if (values.root().what != pickle_value::kind::dict)
        return false;
    auto const said = values.find(values.root(), "vocab_tensor", "the parameter");
    return said && *said == pickle_value{pickle_value::kind::boolean, 0, 1};
}

/// The content of a value's file.
struct deepspeed_content {
    bool is_tensor = true;
    std::optional<index_vector> shape{}; ///< of a tensor that can be read
    bool is_vocabulary = false;
};

/// Takes note of a value of a parameter.
inline void note(deepspeed_parameters& all, std::filesystem::path const& path,
                 deepspeed_content const& found) {
    deepspeed_parameter& one = all.at(path.parent_path().filename().string());
    if (path.filename() != deepspeed_weight) {
        one.states.emplace(path.stem().string(), found.shape);
        return;
    }
    one.weight = found.shape;
    one.has_weight = found.is_tensor;
    one.is_vocabulary = found.is_vocabulary;
}

/// Refuses a parameter that lacks its weight, or a state that it would have: optimizers give all
/// parameters of a kind the same states, so that none has a part of another's.
inline void check_has_all(deepspeed_parameters const& all) {
    std::map<std::set<std::string>, std::string> kinds; // a parameter of each
    for (auto const& [key, one] : all) {
        if (!one.has_weight)
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

/// Refuses a state with another number of elements than its weight. States without axes, as a step,
/// are so for all parameters.
inline void check_states(deepspeed_parameters const& all) {
    std::set<std::string> with_axes;
    for (auto const& [key, one] : all)
        for (auto const& [state, shape] : one.states)
            if (shape && shape->size() > 0)
                with_axes.insert(state);
    for (auto const& [key, one] : all)
        for (auto const& [state, shape] : one.states)
            if (shape && one.weight && with_axes.contains(state) &&
                element_count(*shape) != element_count(*one.weight))
                fail(errc::corrupt_file, (one.directory / (state + ".pt")).string(),
                     ": the state has the shape ", *shape, ", and its weight in ", deepspeed_weight,
                     " ", *one.weight, "; was ds_to_universal interrupted? Run it again");
}

/// The parameters that the files of the model's states list, which are beside these: the trained
/// ones.
struct listed_parameters {
    /// The shapes by key, and by the tensor-parallel rank that has the parameter or a part of it.
    std::map<std::string, std::map<std::string, index_vector>> shapes;
    std::filesystem::path file; ///< the last one that lists some
};

/// The tensor-parallel rank of a file: `00` of `mp_rank_00_model_states.pt`.
inline std::string model_rank(std::string const& name) {
    constexpr std::string_view before = "mp_rank_";
    std::size_t const place = name.find(before);
    std::size_t const begin = place == name.npos ? 0 : place + before.size();
    return name.substr(begin, name.find('_', begin) - begin);
}

/// Adds the parameters of a file.
inline void add_listed(file_store const& files, std::filesystem::path const& path,
                       listed_parameters& all) {
    torch_file_archive const archive(files, path);
    pickle const& values = archive->values();
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
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            std::string const key(values.text(shapes[i].key, what));
            index_vector const shape = torch_extents(values, shapes[i].value, what);
            element_count_of(shape, [&] { return path.string() + ": '" + key + "': "; });
            all.shapes[key].insert_or_assign(model_rank(path.filename().string()), shape);
        }
        all.file = path;
    }
}

/// The files with the states of the model: its names end so.
inline std::vector<std::filesystem::path>
model_state_files(file_store const& files, std::filesystem::path const& directory) {
    std::vector<std::filesystem::path> found;
    for (std::filesystem::path const& path : files.list(directory))
        if (path.filename().string().ends_with("_model_states.pt") &&
            files.find(path) == file_store::kind::file)
            found.push_back(path);
    return found;
}

/// The entries of all of them; unreadable files are skipped.
inline listed_parameters list_parameters(file_store const& files,
                                         std::filesystem::path const& directory) {
    listed_parameters all;
    for (std::filesystem::path const& path : model_state_files(files, directory))
        try {
            add_listed(files, path, all);
        } catch (error const& problem) {
            if (problem.code() != errc::unsupported && problem.code() != errc::limit_exceeded)
                throw;
        }
    return all;
}

/// True for a parameter that may have the shape, of which the ranks list theirs. One axis is cut
/// for ranks, and rows that only fill up a vocabulary are taken away.
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

/// Refuses a parameter that only its directory or only the list has, or that has another shape
/// there.
inline void check_listed(listed_parameters const& listed, deepspeed_parameters const& all) {
    constexpr std::string_view again = "; was ds_to_universal interrupted? Run it again";
    for (auto const& [key, of_ranks] : listed.shapes) {
        auto const found = all.find(key);
        if (found == all.end())
            fail(errc::corrupt_file, listed.file.string(), ": lists the parameter '", key,
                 "', and ", deepspeed_directory, "/ has no directory of that name", again);
        if (found->second.weight &&
            !may_have(*found->second.weight, found->second.is_vocabulary, of_ranks))
            fail(errc::corrupt_file, (found->second.directory / deepspeed_weight).string(),
                 ": the parameter has the shape ", *found->second.weight, ", and ",
                 of_ranks.begin()->second, of_ranks.size() > 1 ? " on each rank" : "", " in ",
                 listed.file.filename().string(), again);
    }
    for (auto const& [key, one] : all)
        if (!listed.shapes.empty() && !listed.shapes.contains(key))
            fail(errc::corrupt_file, one.directory.string(), ": has a parameter that ",
                 listed.file.filename().string(),
                 " does not list; is it of another save? Move it away, or run ds_to_universal "
                 "again");
}

/// Warns of the files that are not read.
inline void warn_of_rest(checkpoint_metadata& opened, file_store const& files,
                         std::filesystem::path const& directory) {
    std::vector<std::string> rest;
    for (std::filesystem::path const& path : model_state_files(files, directory))
        rest.push_back(path.filename().string());
    opened.indexes = rest;
    for (std::filesystem::path const& path : files.list(directory / deepspeed_directory))
        if (path.extension() == ".pt" && files.find(path) == file_store::kind::file)
            rest.push_back(path.filename().string());
    std::ranges::sort(rest);
    if (!rest.empty())
        opened.warnings.push_back(
            directory.string() + ": not read: " + rest.front() +
            (rest.size() > 1 ? " and " + counted(rest.size() - 1, "more file") : "") +
            ", which hold the model in its own data type, and what is no parameter's");
}

/// The tensor of a file: the file itself, or `param` of its dict; empty if it is another
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

inline std::vector<saved_object> objects_in(file_store const& files,
                                            std::vector<deepspeed_value> const& values,
                                            key_set const& keys) {
    std::vector<saved_object> all;
    for (deepspeed_value const& value : values) {
        if (!keys.contains(value.key))
            continue;
        torch_file_archive const archive(files, value.path);
        all.push_back(object_of(*archive, archive->values().root(), archive.file(), value.key));
    }
    return all;
}

/// Adds the entry of a file: a tensor, or a value, which is added to `objects` too.
inline deepspeed_content add_value(whole_tensors& all, deepspeed_value const& value,
                                   std::vector<deepspeed_value>& objects) {
    deepspeed_content content;
    std::string reason;
    all.begin_file(value.path);
    auto const tensor = all.readable(value.key, "tensor '" + value.key + "'", [&] {
        torch_file_archive const archive(all.files(), value.path);
        if (archive->is_inflated())
            all.show_inflated();
        pickle const& values = archive->values();
        content.is_vocabulary = is_vocabulary(values);
        auto found = tensor_of(*archive, archive.file(), value);
        content.is_tensor = found.has_value();
        if (!found)
            reason = opaque_search(values).reason(values.root());
        return found;
    });
    if (tensor) {
        all.add(value.key, *tensor);
        content.shape = tensor->shape;
    } else if (!content.is_tensor && !reason.empty()) {
        all.add_opaque(value.key, std::move(reason));
    } else if (!content.is_tensor) {
        all.add_object(value.key);
        objects.push_back(value);
    }
    return content;
}

RESHARD_DECL opened_checkpoint open_deepspeed_universal(std::shared_ptr<file_store const> files,
                                                        std::filesystem::path const& directory) {
    whole_tensors all(files, deepspeed_format, directory);
    std::vector<deepspeed_value> objects;
    deepspeed_parameters parameters = find_parameters(*files, directory);
    for (deepspeed_value const& value : deepspeed_values(*files, directory))
        note(parameters, value.path, add_value(all, value, objects));
    check_has_all(parameters);
    check_states(parameters);
    check_listed(list_parameters(*files, directory), parameters);
    opened_checkpoint opened = all.take();
    warn_of_rest(opened.metadata, *files, directory);
    opened.read_objects = [files = std::move(files), objects = std::move(objects)](
                              key_set const& keys) { return objects_in(*files, objects, keys); };
    return opened;
}

} // namespace reshard::detail

#endif
