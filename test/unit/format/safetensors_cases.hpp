// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_FORMAT_SAFETENSORS_CASES_HPP
#define RESHARD_TEST_UNIT_FORMAT_SAFETENSORS_CASES_HPP

#include <boost/json.hpp>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

/// \file
/// Files byte by byte with the verdict of the reference reader: data/safetensors-cases.jsonl.

namespace reshard::test {

using namespace reshard::detail;

struct safetensors_case {
    std::string name;
    std::string file;
    bool is_ok = false;
    std::string expected; ///< name:dtype:shape:bytes of each tensor, or the name of the fault
};

inline std::string from_hex(std::string const& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}

inline std::string text_of(boost::json::object const& line, char const* key) {
    auto const* const value = line.if_contains(key);
    return value ? std::string(value->as_string()) : std::string();
}

inline std::string eight_bytes(std::uint64_t number) {
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
    return bytes;
}

inline std::string file_of(boost::json::object const& line) {
    if (line.contains("file_hex"))
        return from_hex(text_of(line, "file_hex"));
    std::string const header =
        line.contains("hdr_hex") ? from_hex(text_of(line, "hdr_hex")) : text_of(line, "hdr");
    std::uint64_t const length =
        line.contains("n") ? line.at("n").to_number<std::uint64_t>() : header.size();
    std::size_t const zeros =
        line.contains("zeros") ? line.at("zeros").to_number<std::size_t>() : 0;
    return eight_bytes(length) + header + std::string(zeros, '\0') +
           from_hex(text_of(line, "data_hex"));
}

inline std::vector<safetensors_case> safetensors_cases() {
    std::string const path = RESHARD_TEST_DATA "/safetensors-cases.jsonl";
    std::ifstream stream(path);
    if (!stream)
        throw std::runtime_error("cannot read " + path);
    std::vector<safetensors_case> cases;
    for (std::string text; std::getline(stream, text);) {
        auto const line = boost::json::parse(text).as_object();
        bool const is_ok = line.contains("ok");
        cases.push_back(
            {text_of(line, "name"), file_of(line), is_ok, text_of(line, is_ok ? "ok" : "err")});
    }
    return cases;
}

} // namespace reshard::test

#endif
