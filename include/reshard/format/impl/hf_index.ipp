// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_HF_INDEX_IPP
#define RESHARD_FORMAT_IMPL_HF_INDEX_IPP

#include <reshard/format/hf_index.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/json_document.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void file_counter::add(std::map<std::string, std::string> const& metadata,
                                    std::string const& file) {
    auto const match = metadata.find(std::string(file_number_name));
    if (match == metadata.end())
        return;
    auto const [number, count] = parse(match->second, file);
    if (count_ != 0 && count != count_)
        fail(errc::corrupt_file, file, ": its metadata says that it is one of ", count,
             " files, but ", first_file_, " is one of ", count_);
    if (!numbers_.insert(number).second)
        fail(errc::corrupt_file, file, ": its metadata says that it is number ", number, " of ",
             count, " files, but another file has the same number");
    if (count_ == 0)
        first_file_ = file;
    count_ = count;
}

RESHARD_DECL void file_counter::check_complete(std::string const& directory) const {
    for (std::size_t number = 1; number <= count_; ++number)
        if (!numbers_.contains(number))
            fail(errc::missing_file, directory, ": file ", number, " of ", count_,
                 " is missing: found ", numbers_.size(), ", and ", first_file_,
                 " says how many there were");
}

RESHARD_DECL file_counter::position file_counter::parse(std::string const& text,
                                                        std::string const& file) {
    position result;
    char const* const end = text.data() + text.size();
    auto const first = std::from_chars(text.data(), end, result.number);
    std::string_view const between = " of ";
    auto const remainder = static_cast<std::size_t>(first.ptr - text.data());
    bool good = first.ec == std::errc{} && text.compare(remainder, between.size(), between) == 0;
    if (good) {
        auto const second = std::from_chars(first.ptr + between.size(), end, result.count);
        good = second.ec == std::errc{} && second.ptr == end && result.number > 0 &&
               result.number <= result.count;
    }
    if (!good)
        fail(errc::corrupt_file, file, ": ", file_number_name, " is '", text,
             "', but should look like '1 of 2'");
    return result;
}

/// The path of a file relative to the directory of the index, without `./`.
///
/// \throws error with errc::corrupt_file for a path that leads out of the directory
inline std::string file_name_in(json_cursor const& cursor) {
    std::string const text = cursor.text();
    std::filesystem::path const path = text;
    std::string name = path.lexically_normal().generic_string();
    if (!path.has_filename() || path.filename() == "." || path.is_absolute() ||
        std::ranges::find(path, "..") != path.end() || text.find('\\') != text.npos ||
        text.find('\0') != text.npos)
        cursor.refuse(json_quoted(text) +
                      " is not the name of a file in the directory of the index or below it");
    return name;
}

/// Whether this is the index of optimizer state that PaddleNLP 3 writes if each rank has a separate
/// file (`ignore_merge_optimizer`). Such an index counts resumptions and has no map.
inline bool lists_nothing(json_cursor const& index) {
    return index.find("quant_ckpt_resume_times") && !index.find("weight_map");
}

RESHARD_DECL hf_index parse_hf_index(std::string_view text, std::string_view file,
                                     bool may_list_nothing) {
    auto const document = parse_json(text, file, errc::corrupt_file);
    json_cursor const root(document, file, errc::corrupt_file);
    hf_index index;
    if (auto const stage = root.find("ckpt_quant_stage"); stage && stage->text() != "O0")
        fail(errc::unsupported, file, ": the optimizer state is quantised (ckpt_quant_stage ",
             stage->text(), "), which is not supported");
    if (!may_list_nothing || !lists_nothing(root))
        root.at("weight_map").for_each_member([&](std::string_view key, json_cursor const& name) {
            index.weight_map.emplace_hint(index.weight_map.end(), key, file_name_in(name));
        });
    if (auto const metadata = root.find("metadata"); metadata && metadata->is_object())
        if (auto const total = metadata->find("total_size"); total && total->is_count())
            index.total_bytes = total->count();
    if (auto const masters = root.find("master_weights"))
        index.has_masters = masters->is_true();
    return index;
}

RESHARD_DECL std::map<std::string_view, index_keys> keys_by_file(hf_index const& index) {
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

RESHARD_DECL void check_lists_any(hf_index const& listed, std::string const& index) {
    if (listed.weight_map.empty())
        fail(errc::corrupt_file, index,
             ": the index lists no tensor, because its weight_map is empty; fetch the index again, "
             "or give one of the files with tensors");
}

RESHARD_DECL index_difference compare_with_index(hf_index const& index, index_keys const& keys,
                                                 index_keys names) {
    index_difference difference;
    std::sort(names.begin(), names.end());
    if (names == keys)
        return difference;
    for (std::string_view const name : names)
        if (!std::binary_search(keys.begin(), keys.end(), name)) {
            if (index.weight_map.contains(std::string(name)))
                difference.elsewhere.emplace(name);
            else
                difference.unlisted.emplace_back(name);
        }
    for (std::string_view const key : keys)
        if (!std::binary_search(names.begin(), names.end(), key)) {
            difference.lacking = key;
            break;
        }
    return difference;
}

RESHARD_DECL void check_difference(index_difference const& difference, std::string const& index,
                                   std::string_view file, bool is_strict) {
    bool const has_others = !difference.elsewhere.empty() || !difference.unlisted.empty();
    if (is_strict && has_others)
        fail(errc::corrupt_file, index, ": '",
             difference.elsewhere.empty() ? difference.unlisted.front()
                                          : *difference.elsewhere.begin(),
             "' is in ", file, ", but the index ",
             difference.elsewhere.empty() ? "does not list it there; --compatible reads it"
                                          : "lists it in another file; --compatible lets the index "
                                            "decide");
    if (!difference.lacking.empty())
        fail(errc::corrupt_file, index, ": '", difference.lacking, "' should be in ", file,
             ", but is not");
}

RESHARD_DECL std::string elsewhere_text(index_difference const& difference, std::string_view file) {
    return first_and_more("'" + *difference.elsewhere.begin() + "'", difference.elsewhere.size()) +
           (difference.elsewhere.size() == 1 ? " is" : " are") + " in " + std::string(file) +
           " too; the file that the index lists is read";
}

RESHARD_DECL std::string to_json(hf_index const& index) {
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

RESHARD_DECL vector<vector<std::size_t>> split_into_files(std::span<index_t const> tensor_bytes,
                                                          index_t most_bytes) {
    vector<vector<std::size_t>> files(1);
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

#endif
