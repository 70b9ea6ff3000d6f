// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_HF_INDEX_HPP
#define RESHARD_FORMAT_HF_INDEX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/format/json_document.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// A model in several safetensors files: `model.safetensors.index.json`, and which tensor goes
/// where.

namespace reshard::detail {

/// The key in `__metadata__` under which each file says which of how many it is.
///
/// \par Source ours; torch DCP writes nothing of the kind, and a lost file whose tensors stand in
///             no other file goes unnoticed there
inline constexpr std::string_view file_number_name = "RESHARD_FILES";

/// `3 of 6` for the third file (2).
inline std::string file_number_text(std::size_t number, std::size_t count) {
    return std::to_string(number + 1) + " of " + std::to_string(count);
}

inline constexpr std::string_view hf_index_name = "model.safetensors.index.json";
inline constexpr std::string_view hf_single_name = "model.safetensors";
inline constexpr std::string_view hf_config_name = "config.json";

/// A `tie_word_embeddings` in a `config.json`, and at which byte.
struct tie_flag {
    std::size_t position = 0; ///< of `true` or `false`
    bool is_tied = false;

    bool operator==(tie_flag const&) const = default;
};

/// Those of the model and of its text part in a `config.json`, in order; none if the text is not
/// JSON.
///
/// \par Source `PreTrainedConfig` of Hugging Face transformers; the text part is what
///             `get_text_config` looks for, and what models with their own code call it
RESHARD_DECL std::vector<tie_flag> tie_flags_in(std::string_view config);

/// The only file of PEFT's adapters, such as LoRA, and of a model of diffusers.
inline constexpr std::string_view adapter_name = "adapter_model.safetensors";
inline constexpr std::string_view diffusers_name = "diffusion_pytorch_model.safetensors";

/// The only file of a model of Mistral, and of MLX.
inline constexpr std::string_view mistral_name = "consolidated.safetensors";
inline constexpr std::string_view mlx_name = "weights.safetensors";

/// The ending of the files that an index lists, by the index's name: `.safetensors` for
/// `model.safetensors.index.json`, for another stem, and for a variant, which stands before or
/// after `index`; `.bin` likewise. Empty for any other name.
///
/// \par Source the variants of Hugging Face transformers and diffusers, such as
///             `model.safetensors.index.fp16.json`
inline std::string_view ending_in_index(std::string_view name) {
    for (std::string_view const ending : {".safetensors", ".bin"}) {
        std::size_t const at = name.find(std::string(ending) + '.');
        if (name.starts_with('.') || at == name.npos)
            continue;
        std::string_view const rest = name.substr(at + ending.size());
        if (rest.ends_with(".json") && rest.find(".index.") != rest.npos)
            return ending;
    }
    return {};
}

/// The index of a Hugging Face directory.
struct hf_index {
    std::map<std::string, std::string> weight_map; ///< file of each tensor
    std::optional<index_t> total_bytes;            ///< of all tensors, where the index says so
    /// Whether the tensors, optimizer state, are of a training with master weights.
    std::optional<bool> has_masters = {};

    bool operator==(hf_index const&) const = default;
};

/// Counts the files of a checkpoint as they are opened.
class file_counter {
public:
    /// Takes note of one file; one without the key, which others wrote, does not count.
    ///
    /// \throws error with errc::corrupt_file for a text that is no such number, or where two files
    ///         contradict one another; it names `file`
    void add(std::map<std::string, std::string> const& metadata, std::string const& file) {
        auto const found = metadata.find(std::string(file_number_name));
        if (found == metadata.end())
            return;
        auto const [number, count] = parse(found->second, file);
        if (count_ != 0 && count != count_)
            fail(errc::corrupt_file, file, ": the file is one of ", count, ", and ", first_file_,
                 " is one of ", count_);
        if (!numbers_.insert(number).second)
            fail(errc::corrupt_file, file, ": another file is number ", number, " of ", count,
                 " too");
        if (count_ == 0)
            first_file_ = file;
        count_ = count;
    }

    /// \throws error with errc::missing_file where a file is not there; it names `directory`
    void check_complete(std::string const& directory) const {
        for (std::size_t number = 1; number <= count_; ++number)
            if (!numbers_.contains(number))
                fail(errc::missing_file, directory, ": file ", number, " of ", count_,
                     " is missing: ", numbers_.size(), " are there, and ", first_file_,
                     " says how many there were");
    }

private:
    struct position {
        std::size_t number = 0;
        std::size_t count = 0;
    };

    static position parse(std::string const& text, std::string const& file) {
        position result;
        char const* const end = text.data() + text.size();
        auto const first = std::from_chars(text.data(), end, result.number);
        std::string_view const between = " of ";
        auto const rest = static_cast<std::size_t>(first.ptr - text.data());
        bool good = first.ec == std::errc{} && text.compare(rest, between.size(), between) == 0;
        if (good) {
            auto const second = std::from_chars(first.ptr + between.size(), end, result.count);
            good = second.ec == std::errc{} && second.ptr == end && result.number > 0 &&
                   result.number <= result.count;
        }
        if (!good)
            fail(errc::corrupt_file, file, ": ", file_number_name, " is '", text,
                 "', and should be like '1 of 2'");
        return result;
    }

    std::set<std::size_t> numbers_;
    std::size_t count_ = 0;
    std::string first_file_;
};

/// Refuses a file name that would lead out of the directory.
inline void check_file_name(json_cursor const& place, std::string const& name) {
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != name.npos ||
        name.find('\0') != name.npos)
        place.refuse(json_quoted(name) + " is not the name of a file beside the index");
}

/// Whether it is the index of optimizer state that PaddleNLP 3 writes where each rank has a file of
/// its own (`ignore_merge_optimizer`): it counts resumptions, and has no map.
inline bool lists_nothing(json_cursor const& index) {
    return index.find("quant_ckpt_resume_times") && !index.find("weight_map");
}

/// \param  may_list_nothing it is of the optimizer state of a Unified Checkpoint; see
///         `lists_nothing`
/// \throws error with errc::corrupt_file that names `file` and the place in it; errc::unsupported
///         for quantised optimizer state
/// \par Source Hugging Face transformers; `metadata` may be absent or hold other things, as there,
///             and a `total_size` that is not a whole number counts as none. The Unified Checkpoint
///             of PaddleNLP: `master_weights` beside `weight_map`
inline hf_index parse_hf_index(std::string_view text, std::string_view file,
                               bool may_list_nothing = false) {
    auto const document = parse_json(text, file, errc::corrupt_file);
    json_cursor const root(document, file, errc::corrupt_file);
    hf_index index;
    if (auto const stage = root.find("ckpt_quant_stage"); stage && stage->text() != "O0")
        fail(errc::unsupported, file, ": the optimizer state is quantised (ckpt_quant_stage ",
             stage->text(), "), which is not read");
    if (!may_list_nothing || !lists_nothing(root))
        root.at("weight_map").for_each_member([&](std::string_view key, json_cursor const& name) {
            std::string file_name = name.text();
            check_file_name(name, file_name);
            index.weight_map.emplace_hint(index.weight_map.end(), key, std::move(file_name));
        });
    if (auto const metadata = root.find("metadata"); metadata && metadata->is_object())
        if (auto const total = metadata->find("total_size"); total && total->is_count())
            index.total_bytes = total->count();
    if (auto const masters = root.find("master_weights"))
        index.has_masters = masters->is_true();
    return index;
}

/// Keys of an index, which outlives them, sorted.
using index_keys = std::vector<std::string_view>;

/// The tensors that the index puts into each file.
inline std::map<std::string_view, index_keys> keys_by_file(hf_index const& index) {
    std::map<std::string_view, index_keys> files;
    index_keys* last = nullptr;
    std::string_view last_file;
    for (auto const& [key, file] : index.weight_map) {
        if (!last || last_file != file)
            last = &files[last_file = file];
        last->push_back(key);
    }
    return files;
}

/// How the tensors that a file has differ from those that an index lists there.
struct index_difference {
    std::set<std::string, std::less<>> elsewhere; ///< the index lists them in other files
    std::vector<std::string> unlisted;            ///< the index does not list them
    std::string lacking;                          ///< one that the file should have; or empty
};

/// \param keys of the index for that file
/// \param names of what the file has
inline index_difference compare_with_index(hf_index const& index, index_keys const& keys,
                                           index_keys names) {
    index_difference found;
    std::sort(names.begin(), names.end());
    if (names == keys)
        return found;
    for (std::string_view const name : names)
        if (!std::binary_search(keys.begin(), keys.end(), name)) {
            if (index.weight_map.contains(std::string(name)))
                found.elsewhere.emplace(name);
            else
                found.unlisted.emplace_back(name);
        }
    for (std::string_view const key : keys)
        if (!std::binary_search(names.begin(), names.end(), key)) {
            found.lacking = key;
            break;
        }
    return found;
}

/// Refuses a file that lacks a tensor of the index; in strict mode, one that has others too.
///
/// \throws error with errc::corrupt_file, which names `index`
inline void check_difference(index_difference const& found, std::string const& index,
                             std::string_view file, bool is_strict) {
    bool const has_others = !found.elsewhere.empty() || !found.unlisted.empty();
    if (is_strict && has_others)
        fail(errc::corrupt_file, index, ": '",
             found.elsewhere.empty() ? found.unlisted.front() : *found.elsewhere.begin(),
             "' is in ", file, ", but the index ",
             found.elsewhere.empty() ? "does not list it there; --compatible reads it"
                                     : "lists it in another file; --compatible lets the index "
                                       "decide");
    if (!found.lacking.empty())
        fail(errc::corrupt_file, index, ": '", found.lacking, "' should be in ", file,
             ", but is not");
}

/// That of tensors which are in a file too, those of other files count.
inline std::string elsewhere_text(index_difference const& found, std::string_view file) {
    return first_and_more("'" + *found.elsewhere.begin() + "'", found.elsewhere.size()) +
           (found.elsewhere.size() == 1 ? " is" : " are") + " in " + std::string(file) +
           " too; the index lists another file, which counts";
}

/// The text of the file, a line a tensor.
inline std::string to_json(hf_index const& index) {
    std::string text = "{\n  \"metadata\": {";
    if (index.total_bytes)
        text += "\n    \"total_size\": " + std::to_string(*index.total_bytes) + "\n  ";
    text += "},\n  \"weight_map\": {";
    std::string_view separator = "\n    ";
    for (auto const& [key, file] : index.weight_map) {
        text += separator;
        text += json_quoted(key) + ": " + json_quoted(file);
        separator = ",\n    ";
    }
    text += "\n  }";
    if (index.has_masters)
        text += words(",\n  \"master_weights\": ", *index.has_masters ? "true" : "false");
    return text + "\n}\n";
}

/// `7` as `00007`.
inline std::string five_digits(std::size_t number) {
    std::string const digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// `model-00001-of-00003.safetensors` for the first (0) of three; `model.safetensors` where it is
/// alone.
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

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/tie_flags.ipp>
#endif

#endif
