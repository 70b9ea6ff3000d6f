// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_HF_INDEX_HPP
#define RESHARD_FORMAT_HF_INDEX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

/// \file
/// A model in several safetensors files: `model.safetensors.index.json`, and the file of each
/// tensor.

namespace reshard::detail {

/// The key in `__metadata__` for the number of the file and the count of all files.
///
/// \par Source ours; torch DCP writes no such number, and does not notice a lost file whose tensors
///             are in no other file
inline constexpr std::string_view file_number_name = "RESHARD_FILES";

/// `3 of 6` for file 2 of 6, counted from 0.
inline std::string file_number_text(std::size_t number, std::size_t count) {
    return std::to_string(number + 1) + " of " + std::to_string(count);
}

inline constexpr std::string_view hf_index_name = "model.safetensors.index.json";
inline constexpr std::string_view hf_single_name = "model.safetensors";
inline constexpr std::string_view hf_config_name = "config.json";

/// A `tie_word_embeddings` flag in a `config.json`, and its position in bytes.
struct tie_flag {
    std::size_t position = 0; ///< the first byte of `true` or `false`
    bool is_tied = false;

    bool operator==(tie_flag const&) const = default;
};

/// The flags of the model and of its text part in a `config.json`, in order; empty if the text is
/// not JSON.
///
/// \par Source `PreTrainedConfig` of Hugging Face transformers; the text part has the names that
///             `get_text_config` looks for, and the names in models with custom code
RESHARD_DECL vector<tie_flag> tie_flags_in(std::string_view config);

/// The file of a PEFT adapter, such as LoRA, and the file of a diffusers model.
inline constexpr std::string_view adapter_name = "adapter_model.safetensors";
inline constexpr std::string_view diffusers_name = "diffusion_pytorch_model.safetensors";

/// The file of a Mistral model, and of an MLX model.
inline constexpr std::string_view mistral_name = "consolidated.safetensors";
inline constexpr std::string_view mlx_name = "weights.safetensors";

/// The ending of the files that an index lists, as the name of the index implies: `.safetensors`
/// for `model.safetensors.index.json`. The stem may differ, and a variant may precede or
/// follow `index`. The same holds for `.bin`. Empty for any other name.
///
/// \par Source the variants of Hugging Face transformers and diffusers, such as
///             `model.safetensors.index.fp16.json`
inline std::string_view ending_in_index(std::string_view name) {
    for (std::string_view const ending : {".safetensors", ".bin"}) {
        std::size_t const at = name.find(std::string(ending) + '.');
        if (name.starts_with('.') || at == name.npos)
            continue;
        std::string_view const remainder = name.substr(at + ending.size());
        if (remainder.ends_with(".json") && remainder.find(".index.") != remainder.npos)
            return ending;
    }
    return {};
}

/// The index of a Hugging Face directory.
struct hf_index {
    std::map<std::string, std::string> weight_map; ///< the file of each tensor
    std::optional<index_t> total_bytes; ///< the bytes of all tensors, if the index states them
    /// Whether the training has master weights, if the index is for optimizer state.
    std::optional<bool> has_masters = {};

    bool operator==(hf_index const&) const = default;
};

/// Counts the files of a checkpoint as they are opened.
class file_counter {
public:
    /// Counts one file. Ignores a file without the key, which another program wrote.
    ///
    /// \throws error with errc::corrupt_file for a text of another form, or if two files contradict
    ///         each other; it names `file`
    RESHARD_DECL void add(std::map<std::string, std::string> const& metadata,
                          std::string const& file);

    /// \throws error with errc::missing_file if a file is missing; it names `directory`
    RESHARD_DECL void check_complete(std::string const& directory) const;

private:
    struct position {
        std::size_t number = 0;
        std::size_t count = 0;
    };

    static position parse(std::string const& text, std::string const& file);

    std::set<std::size_t> numbers_;
    std::size_t count_ = 0;
    std::string first_file_;
};

/// \param  may_list_nothing true for the index of the optimizer state in a Unified Checkpoint,
///                          which may be empty because each rank has its own file
/// \throws error with errc::corrupt_file that names `file` and the position in it;
///         errc::unsupported for quantised optimizer state
/// \par Source Hugging Face transformers; as there, `metadata` may be absent or have other members,
///             and a `total_size` that is not a whole number is ignored. The Unified Checkpoint of
///             PaddleNLP: `master_weights` beside `weight_map`
RESHARD_DECL hf_index parse_hf_index(std::string_view text, std::string_view file,
                                     bool may_list_nothing = false);

/// Sorted keys that refer to the text of an index.
using index_keys = vector<std::string_view>;

/// The tensors that the index puts into each file.
RESHARD_DECL std::map<std::string_view, index_keys> keys_by_file(hf_index const& index);

/// Refuses an index that lists no tensors.
///
/// \throws error with errc::corrupt_file that names `index`
RESHARD_DECL void check_lists_any(hf_index const& listed, std::string const& index);

/// The differences between the tensors in a file and the tensors that the index lists for it.
struct index_difference {
    std::set<std::string, std::less<>> elsewhere; ///< the index lists them in other files
    vector<std::string> unlisted;                 ///< the index does not list them
    std::string lacking; ///< a tensor that the file should have; empty if it has all
};

/// \param keys the keys that the index lists for that file
/// \param names the names of the file's tensors
RESHARD_DECL index_difference compare_with_index(hf_index const& index, index_keys const& keys,
                                                 index_keys names);

/// Refuses a file that lacks a tensor of the index. In strict mode, also refuses a file with other
/// tensors.
///
/// \throws error with errc::corrupt_file, which names `index`
RESHARD_DECL void check_difference(index_difference const& difference, std::string const& index,
                                   std::string_view file, bool is_strict);

/// Says that a file has tensors that the index lists in another file, and that the index decides.
RESHARD_DECL std::string elsewhere_text(index_difference const& difference, std::string_view file);

/// The text of an index file, one line per tensor.
RESHARD_DECL std::string to_json(hf_index const& index);

/// `7` as `00007`.
inline std::string five_digits(std::size_t number) {
    std::string const digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// `model-00001-of-00003.safetensors` for file 0 of 3; `model.safetensors` for a single file.
inline std::string hf_file_name(std::size_t number, std::size_t count) {
    if (count == 1)
        return std::string(hf_single_name);
    return "model-" + five_digits(number + 1) + "-of-" + five_digits(count) + ".safetensors";
}

/// The indices of the tensors in each file, in the given order.
///
/// A tensor of more than `most_bytes` has a separate file. There is at least one file.
///
/// \par Units  bytes
/// \par Source Hugging Face transformers, `max_shard_size`, 5 GB by default
RESHARD_DECL vector<vector<std::size_t>> split_into_files(std::span<index_t const> tensor_bytes,
                                                          index_t most_bytes = 5'000'000'000);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/hf_index.ipp>
#include <reshard/format/impl/tie_flags.ipp>
#endif

#endif
