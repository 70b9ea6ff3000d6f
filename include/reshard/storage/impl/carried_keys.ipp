// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CARRIED_KEYS_IPP
#define RESHARD_STORAGE_IMPL_CARRIED_KEYS_IPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Reads the keys and contents of values that name parameters.

namespace reshard::detail {

/// The key of a value that lists parameters (`optim.param_groups.0.params`), or that belongs to one
/// parameter `P` (`optim.param_groups.P.lr`, `optim.state.P.step`, `param_shapes.0.P`).
struct parameter_key {
    std::string_view owner;     ///< `optim.`, or `optim.state.`
    std::string_view group;     ///< `param_groups.`, `param_shapes.0.`; empty for a state
    std::string_view parameter; ///< empty for a list
    std::string_view ending;    ///< `.lr`, or `.step`
};

inline constexpr std::string_view shapes_word = "param_shapes.", shared_word = "shared_params.";

/// Reads a key of a value that DeepSpeed stores beside a module.
///
/// \par Source DeepSpeed 0.18: `param_shapes` has the shapes of each group's parameters,
///             `shared_params` maps aliases of parameters to their names, and `buffer_names` is a
///             list
inline std::optional<parameter_key> read_module_key(std::string_view key) {
    constexpr std::string_view numbers = "0123456789", list = "buffer_names";
    if (key == list || key.ends_with(words(".", list)))
        return parameter_key{key.substr(0, key.size() - list.size()), list, {}, {}};
    for (std::string_view const word :
         {shapes_word, std::string_view("frozen_param_shapes."), shared_word}) {
        std::size_t const index = key.find(word);
        if (index == key.npos || (index > 0 && key[index - 1] != '.'))
            continue;
        std::size_t begin = index + word.size();
        if (std::size_t const end = key.find_first_not_of(numbers, begin);
            word == shapes_word && end != key.npos && end > begin && key[end] == '.')
            begin = end + 1;
        return parameter_key{
            key.substr(0, index), key.substr(index, begin - index), key.substr(begin), {}};
    }
    return std::nullopt;
}

inline std::optional<parameter_key> read_group_key(std::string_view key) {
    constexpr std::string_view word = "param_groups.";
    std::size_t const index = key.find(word);
    std::size_t const last = key.rfind('.');
    if (index == key.npos || (index > 0 && key[index - 1] != '.') || last < index + word.size())
        return std::nullopt;
    std::string_view const inside = key.substr(index + word.size(), last - index - word.size());
    bool const is_number = inside.find_first_not_of("0123456789") == inside.npos;
    if (is_number && key.substr(last) != ".params" && key.substr(last) != ".param_names")
        return std::nullopt;
    return parameter_key{key.substr(0, index), word, is_number ? std::string_view() : inside,
                         key.substr(last)};
}

/// The texts of a value: a text, or a list of texts. std::nullopt for any other value.
inline std::optional<vector<std::string>> texts_in(saved_object const& object) {
    archive_file const bytes(object.archive, object.key);
    torch_archive const archive(bytes, object.key, {0, object.archive.size()});
    pickle const& values = archive.values();
    pickle_value const root = values.root();
    vector<pickle_value> pickle_values{root};
    if (root.type == pickle_value::kind::list || root.type == pickle_value::kind::tuple) {
        auto const elements = values.elements(root, object.key);
        pickle_values.assign(elements.begin(), elements.end());
    }
    vector<std::string> texts;
    for (pickle_value const value : pickle_values) {
        if (value.type != pickle_value::kind::text)
            return std::nullopt;
        texts.emplace_back(values.text(value, object.key));
    }
    return texts;
}

inline std::string archive_of(vector<std::string> const& texts) {
    pickle_writer out;
    out.empty_list();
    out.begin();
    for (std::string const& text : texts)
        out.text(text);
    out.append_all();
    return torch_file_of(out.take());
}

inline std::string archive_of_text(std::string_view text) {
    pickle_writer out;
    out.text(text);
    return torch_file_of(out.take());
}

/// An archive with the `torch.Size` of a shape.
inline std::string archive_of_shape(index_vector const& shape) {
    pickle_writer out;
    out.call("torch", "Size", [&] { out.integers(shape); });
    return torch_file_of(out.take());
}

} // namespace reshard::detail

#endif
