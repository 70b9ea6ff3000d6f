// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_PART_NAMES_IPP
#define RESHARD_FORMAT_IMPL_PART_NAMES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Names of files that belong together: parts of a model, or files of ranks.

namespace reshard::detail {

/// The facts that the name of such a file states.
struct part_name {
    std::string pattern;      ///< the name, with `#` for each number of a part or a rank
    bool is_of_ranks = false; ///< the file of a rank, not only file k of n
    bool is_certain = false;  ///< needs no other file to confirm it
};

/// Finds the numbers of parts and ranks in the name of a file.
///
/// \par Source names that trainers give: `model-00001-of-00002.safetensors` of transformers,
///             `consolidated.00.pth` of Llama, `mp_rank_00_model_states.pt` of DeepSpeed,
///             `model_state.tp00_pp00.pdparams` of PaddleNLP,
///             `model_world_size_2_rank_0.pt` of verl, `model-rank-0-part-0.safetensors` of vLLM,
///             `model_weight_pp-rank-0-of-1_tp-rank-0-of-2.safetensors` of nanotron
class part_name_reader {
public:
    explicit part_name_reader(std::string_view name) : name_(name) {}

    /// Reads the name; std::nullopt for the name of a whole model.
    std::optional<part_name> read() {
        while (at_ < name_.size())
            if (is_digit(name_[at_]))
                take_number();
            else
                result_.pattern += name_[at_++];
        bool const is_whole = says_count_ && !says_several_;
        return numbers_ == 0 || is_whole ? std::nullopt : std::optional(result_);
    }

private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    std::string_view digits_from(std::size_t begin) const {
        std::size_t end = begin;
        while (end < name_.size() && is_digit(name_[end]))
            ++end;
        return name_.substr(begin, end - begin);
    }

    /// The word before a number, in small letters. A separator may be between them.
    std::string word_before(std::size_t end) const {
        if (end > 0 && std::string_view("-_.").find(name_[end - 1]) != std::string_view::npos)
            --end;
        std::string word;
        for (; end > 0; --end) {
            char const c = static_cast<char>(name_[end - 1] | 0x20);
            if (c < 'a' || c > 'z')
                break;
            word.insert(word.begin(), c);
        }
        return word;
    }

    /// The digits `00002` if `-of-00002` is at `end`; empty if it is not.
    std::string_view count_after(std::size_t end) const {
        std::string_view const remainder = name_.substr(end);
        bool const is_count = remainder.starts_with("-of-") || remainder.starts_with("_of_");
        return is_count ? digits_from(end + 4) : std::string_view();
    }

    void note_count(std::string_view digits) {
        says_count_ = true;
        says_several_ |= digits.find_first_not_of('0') != digits.npos &&
                         digits.substr(digits.find_first_not_of('0')) != "1";
    }

    void take_number() {
        std::string_view const digits = digits_from(at_);
        std::string const word = word_before(at_);
        std::string_view const count = count_after(at_ + digits.size());
        at_ += digits.size();
        bool const is_axis = std::ranges::find(axes, word) != std::end(axes);
        bool const is_rank = is_axis || word == "rank" || word == "consolidated";
        if (word == "size")
            note_count(digits);
        if (!is_rank && count.empty()) {
            result_.pattern += digits;
            return;
        }
        ++numbers_;
        result_.pattern += '#';
        result_.is_of_ranks |= is_rank;
        result_.is_certain |= word == "rank" || !count.empty() ||
                              (is_axis && digits.size() > 1 && digits.front() == '0');
        if (!count.empty()) {
            note_count(count);
            result_.pattern += name_.substr(at_, 4 + count.size());
            at_ += 4 + count.size();
        }
    }

    /// Axes of parallelism and other words that precede the number of a part.
    static constexpr std::array<std::string_view, 11> axes{
        "tp", "pp", "mp", "ep", "dp", "cp", "sp", "part", "shard", "sharding", "stage"};

    std::string_view name_;
    std::size_t at_ = 0;
    std::size_t numbers_ = 0;
    bool says_count_ = false, says_several_ = false;
    part_name result_;
};

inline std::optional<part_name> part_of(std::filesystem::path const& path) {
    return part_name_reader(path.filename().string()).read();
}

/// The files or directories whose names say that they are parts of one whole with `path`, including
/// `path`, in the order of `paths`. Empty if `path` is not a part.
///
/// \param paths the names in the directory of `path`
inline vector<std::filesystem::path> parts_with(std::filesystem::path const& path,
                                                vector<std::filesystem::path> const& paths) {
    auto const wanted = part_of(path);
    if (!wanted)
        return {};
    vector<std::filesystem::path> parts;
    for (std::filesystem::path const& other : paths)
        if (auto const part = part_of(other); part && part->pattern == wanted->pattern)
            parts.push_back(other);
    if (parts.size() < 2 && !wanted->is_certain)
        return {};
    return parts;
}

/// The advice for files of ranks that do not describe their layout.
inline constexpr std::string_view source_layout_advice =
    "do not describe their shards; describe the shards in a layout file, and pass it with "
    "--source-layout FILE";

/// `model` for `model-00001-of-00002.safetensors`; empty for any other name.
inline std::string part_of_index(std::string_view name) {
    std::string_view const stem = name.substr(0, std::min(name.rfind('.'), name.size()));
    auto const digits_before = [&](std::size_t end) {
        std::size_t const last = stem.substr(0, end).find_last_not_of("0123456789");
        return end - (last == stem.npos ? 0 : last + 1);
    };
    constexpr std::string_view between = "-of-";
    std::size_t const digits = digits_before(stem.size());
    if (stem.size() < 2 * digits + between.size() + 2)
        return {};
    std::size_t const middle = stem.size() - digits - between.size();
    bool const is_part = digits > 1 && stem.substr(middle, between.size()) == between &&
                         digits_before(middle) == digits && stem[middle - digits - 1] == '-';
    return is_part ? std::string(stem.substr(0, middle - digits - 1)) : std::string();
}

/// A message that an index omits a file, such as `x-00003-of-00003.bin`, although the names of
/// other files count it; empty if the index lists all files.
///
/// \param files the files in the index, a map by name
inline std::string unlisted_part(auto const& files) {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> groups;
    for (auto const& [name, keys] : files)
        if (std::size_t const tail = name.rfind("-of-"); !part_of_index(name).empty())
            ++groups[{name.substr(0, name.rfind('-', tail - 1) + 1), name.substr(tail)}];
    for (auto const& [around, listed] : groups) {
        auto const& [before, behind] = around;
        std::size_t const digits = behind.rfind('.') - 4;
        auto const named = [&](std::size_t number) {
            std::string const text = std::to_string(number);
            return std::string(before) + std::string(digits - std::min(digits, text.size()), '0') +
                   text + std::string(behind);
        };
        std::size_t count = 0, number = files.contains(named(0)) ? 0 : 1;
        std::from_chars(behind.data() + 4, behind.data() + behind.size(), count);
        if (listed >= count)
            continue;
        while (files.contains(named(number)))
            ++number;
        return "the index lists " + std::to_string(listed) + " of " + std::to_string(count) +
               " parts, judging by their names, but nothing in " + named(number) +
               "; unless this part is missing on purpose, fetch the model again";
    }
    return {};
}

} // namespace reshard::detail

#endif
