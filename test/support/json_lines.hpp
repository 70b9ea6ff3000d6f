// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_JSON_LINES_HPP
#define RESHARD_TEST_SUPPORT_JSON_LINES_HPP

#include <reshard/core/index_vector.hpp>

#include <boost/json.hpp>

#include <fstream>
#include <string>
#include <vector>

/// \file
/// Test data that comes as one JSON object a line.

namespace reshard::test {

using namespace reshard::detail;

/// The objects of a file of test/data.
inline std::vector<boost::json::value> json_lines(std::string const& file) {
    std::ifstream lines(std::string(RESHARD_TEST_DATA) + '/' + file);
    std::vector<boost::json::value> result;
    for (std::string line; std::getline(lines, line);)
        result.push_back(boost::json::parse(line));
    return result;
}

inline std::string json_string(boost::json::value const& text) {
    return std::string(text.as_string());
}

/// Those of a file that are of a kind, as their member `kind` says.
inline std::vector<boost::json::value> json_lines(std::string const& file,
                                                  std::string const& kind) {
    auto lines = json_lines(file);
    std::erase_if(lines, [&](boost::json::value const& line) {
        auto const* const as_object = line.as_object().if_contains("kind");
        return !as_object || json_string(*as_object) != kind;
    });
    return lines;
}

inline index_vector json_numbers(boost::json::value const& list) {
    index_vector result;
    for (boost::json::value const& number : list.as_array())
        result.push_back(number.to_number<index_t>());
    return result;
}

} // namespace reshard::test

#endif
