// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_HF_INDEX_HPP
#define RESHARD_FORMAT_HF_INDEX_HPP

#include <reshard/format/json_cursor.hpp>
#include <reshard/format/json_text.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A model in several safetensors files: `model.safetensors.index.json`, and which tensor goes where.

namespace reshard {

inline constexpr std::string_view hf_index_name = "model.safetensors.index.json";
inline constexpr std::string_view hf_single_name = "model.safetensors";

/// The index of a Hugging Face directory.
struct hf_index {
    std::map<std::string, std::string> weight_map; ///< file of each tensor
    std::optional<index_t> total_bytes;            ///< of all tensors, where the index says so

    bool operator==(hf_index const&) const = default;
};

namespace detail {

/// Refuses a file name that would lead out of the directory.
inline void check_file_name(json_cursor const& place, std::string const& name) {
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != name.npos ||
        name.find('\0') != name.npos)
        place.refuse(json_quoted(name) + " is not the name of a file beside the index");
}

} // namespace detail

/// \throws error with errc::corrupt_file that names `file` and the place in it
/// \par Source Hugging Face transformers; `metadata` may be absent or hold other things, as there, and
///             a `total_size` that is not a whole number counts as none
inline hf_index parse_hf_index(std::string_view text, std::string_view file) {
    auto const document = parse_json(text, file, errc::corrupt_file);
    json_cursor const root(document, file, errc::corrupt_file);
    hf_index index;
    for (auto const& [key, name] : root.at("weight_map").members()) {
        detail::check_file_name(name, name.text());
        index.weight_map.emplace(key, name.text());
    }
    if (auto const metadata = root.find("metadata"); metadata && metadata->is_object())
        if (auto const total = metadata->find("total_size"); total && total->is_count())
            index.total_bytes = total->count();
    return index;
}

/// The text of the file, a line a tensor.
inline std::string to_json(hf_index const& index) {
    std::string text = "{\n  \"metadata\": {";
    if (index.total_bytes)
        text += "\n    \"total_size\": " + std::to_string(*index.total_bytes) + "\n  ";
    text += "},\n  \"weight_map\": {";
    std::string_view separator = "\n    ";
    for (auto const& [key, file] : index.weight_map) {
        text += std::string(separator) + json_quoted(key) + ": " + json_quoted(file);
        separator = ",\n    ";
    }
    return text + "\n  }\n}\n";
}

/// `7` as `00007`.
inline std::string five_digits(std::size_t number) {
    std::string const digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// `model-00001-of-00003.safetensors` for the first (0) of three; `model.safetensors` where it is alone.
inline std::string hf_file_name(std::size_t number, std::size_t count) {
    if (count == 1)
        return std::string(hf_single_name);
    return "model-" + five_digits(number + 1) + "-of-" + five_digits(count) + ".safetensors";
}

/// Which tensors go into each file, in the given order.
///
/// A tensor of more than `most_bytes` has a file of its own. There is at least one file.
///
/// \par Units  bytes
/// \par Source Hugging Face transformers, `max_shard_size`, 5 GB by default
inline std::vector<std::vector<std::size_t>> split_into_files(std::span<index_t const> tensor_bytes,
                                                              index_t most_bytes = 5'000'000'000) {
    std::vector<std::vector<std::size_t>> files(1);
    index_t bytes = 0;
    for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
        if (!files.back().empty() && (bytes > most_bytes || tensor_bytes[i] > most_bytes - bytes)) {
            files.emplace_back();
            bytes = 0;
        }
        files.back().push_back(i);
        bytes += tensor_bytes[i];
    }
    return files;
}

} // namespace reshard

#endif
