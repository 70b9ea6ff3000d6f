// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_DESCRIBED_CHECKPOINT_HPP
#define RESHARD_TEST_SUPPORT_DESCRIBED_CHECKPOINT_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/format/json_document.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

/// \file
/// Checkpoints that other libraries wrote, with their own descriptions: test/data/formats.

namespace reshard::test {

using namespace reshard::detail;

/// A tensor as a description has it, and as a checkpoint turns out to.
struct described_tensor {
    std::string dtype;
    index_vector shape;
    std::string bytes; ///< row-major, in hexadecimal digits

    bool operator==(described_tensor const&) const = default;
};

using described_tensors = std::map<std::string, described_tensor>;

inline std::ostream& operator<<(std::ostream& out, described_tensor const& tensor) {
    return out << tensor.dtype << ' ' << to_string(tensor.shape) << ' ' << tensor.bytes;
}

inline std::vector<std::filesystem::path> descriptions() {
    std::vector<std::filesystem::path> paths;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(RESHARD_TEST_DATA) / "formats"))
        if (entry.path().filename().string().ends_with(".expected.json"))
            paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// The checkpoint that a description is of.
inline std::filesystem::path described_by(std::filesystem::path const& description) {
    std::string const text = description.string();
    return text.substr(0, text.size() - std::string(".expected.json").size());
}

/// A tensor that is the whole file has no name there, and the file's name here.
inline std::string key_in(std::string const& key, std::filesystem::path const& path) {
    return key.empty() ? path.stem().string() : key;
}

inline described_tensors expected_tensors(json_cursor const& expected,
                                          std::filesystem::path const& path) {
    described_tensors tensors;
    auto const add = [&](json_cursor const& cursor) {
        tensors.emplace(key_in(cursor.at("key").text(), path),
                        described_tensor{cursor.at("dtype").text(), cursor.at("shape").extents(),
                                         cursor.at("bytes").text()});
    };
    for (json_cursor const& cursor : expected.at("tensors").elements())
        add(cursor);
    if (auto const common = expected.find("common"))
        for (json_cursor const& cursor : common->elements())
            if (cursor.find("dtype"))
                add(cursor);
    return tensors;
}

inline std::string hexadecimal(std::string const& bytes) {
    std::string text;
    for (char const byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

} // namespace reshard::test

#endif
