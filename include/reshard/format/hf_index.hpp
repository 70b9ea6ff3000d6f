// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_HF_INDEX_HPP
#define RESHARD_FORMAT_HF_INDEX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

/// Counts the files of a checkpoint as they are opened.
class file_counter {
public:
    /// Takes note of one file; one without the key, which others wrote, does not count.
    ///
    /// \throws error with errc::corrupt_file for a text that is no such number, or where two files
    ///         contradict one another; it names `file`
    void add(std::map<std::string, std::string> const& metadata, std::string const& file);

    /// \throws error with errc::missing_file where a file is not there; it names `directory`
    void check_complete(std::string const& directory) const;

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

inline constexpr std::string_view hf_index_name = "model.safetensors.index.json";
inline constexpr std::string_view hf_single_name = "model.safetensors";

/// The index of a Hugging Face directory.
struct hf_index {
    std::map<std::string, std::string> weight_map; ///< file of each tensor
    std::optional<index_t> total_bytes;            ///< of all tensors, where the index says so

    bool operator==(hf_index const&) const = default;
};

/// \throws error with errc::corrupt_file that names `file` and the place in it
/// \par Source Hugging Face transformers; `metadata` may be absent or hold other things, as there,
///             and a `total_size` that is not a whole number counts as none
RESHARD_DECL hf_index parse_hf_index(std::string_view text, std::string_view file);

/// The text of the file, a line a tensor.
RESHARD_DECL std::string to_json(hf_index const& index);

/// `7` as `00007`.
RESHARD_DECL std::string five_digits(std::size_t number);

/// `model-00001-of-00003.safetensors` for the first (0) of three; `model.safetensors` where it is
/// alone.
RESHARD_DECL std::string hf_file_name(std::size_t number, std::size_t count);

/// Which tensors go into each file, in the given order.
///
/// A tensor of more than `most_bytes` has a file of its own. There is at least one file.
///
/// \par Units  bytes
/// \par Source Hugging Face transformers, `max_shard_size`, 5 GB by default
RESHARD_DECL std::vector<std::vector<std::size_t>>
split_into_files(std::span<index_t const> tensor_bytes, index_t most_bytes = 5'000'000'000);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/hf_index.ipp>
#endif

#endif
