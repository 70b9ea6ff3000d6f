// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "json.hpp"

#include <reshard/format/text_file.hpp>

#include <boost/json/serialize.hpp>

namespace tool {

namespace {

std::string valid_utf8(std::string text) {
    std::string valid;
    for (std::size_t i; (i = reshard::detail::find_invalid_utf8(text)) < text.size();) {
        valid += text.substr(0, i) + "\xEF\xBF\xBD";
        text.erase(0, i + 1);
    }
    return valid + text;
}

} // namespace

outcome json_outcome(boost::json::value const& document, int status) {
    return {valid_utf8(boost::json::serialize(document)) + "\n", status};
}

} // namespace tool
