// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_JSON_LIST_HPP
#define RESHARD_BENCH_JSON_LIST_HPP

#include <concepts>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Measurements as a JSON file: a list of flat objects.

namespace bench {

/// Writes one object, member by member. Texts are plain words, so none is escaped.
class json_object {
public:
    json_object& add(std::string_view name, std::string_view word) {
        return add_raw(name, '"' + std::string(word) + '"');
    }
    json_object& add(std::string_view name, char const* word) {
        return add(name, std::string_view(word));
    }
    json_object& add(std::string_view name, bool value) {
        return add_raw(name, value ? "true" : "false");
    }
    template <std::integral T>
    json_object& add(std::string_view name, T number) {
        return add_raw(name, std::to_string(number));
    }
    json_object& add(std::string_view name, double number) {
        char text[32];
        std::snprintf(text, sizeof text, "%.6g", number);
        return add_raw(name, text);
    }

    std::string text() const { return "{" + members_ + "}"; }

private:
    json_object& add_raw(std::string_view name, std::string const& value) {
        members_ += (members_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
        return *this;
    }

    std::string members_;
};

/// Writes a list of objects, one per line.
///
/// \throws std::runtime_error if the file cannot be written
inline void write_json_list(std::string const& path, std::vector<std::string> const& objects) {
    std::ofstream file(path);
    file << "[";
    for (std::size_t i = 0; i < objects.size(); ++i)
        file << (i ? ",\n " : "\n ") << objects[i];
    file << "\n]\n";
    file.close();
    if (!file)
        throw std::runtime_error("cannot write '" + path + "'");
}

} // namespace bench

#endif
