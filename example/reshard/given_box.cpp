// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "given_box.hpp"

#include <reshard/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tool {

using namespace reshard;

namespace {

[[noreturn]] void fail_box(std::string const& text) {
    fail(
        errc::usage,
        "reshard explain: '" + text +
            "' is not a box; give one interval per axis, as in --box 0:2,3:4; ':' is a whole axis");
}

index_t number_in(std::string const& text, std::string_view digits) {
    index_t number = 0;
    auto const [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || end != digits.data() + digits.size() || number < 0)
        fail_box(text);
    return number;
}

} // namespace

reshard::vector<detail::axis_range> parse_box(std::string const& text) {
    std::string plain = text;
    std::erase(plain, ' ');
    if (plain.size() > 1 && plain.front() == '[' && plain.back() == ']')
        plain = plain.substr(1, plain.size() - 2);
    reshard::vector<detail::axis_range> ranges;
    for (std::size_t begin = 0; begin < plain.size();) {
        std::size_t const end = std::min(plain.find(',', begin), plain.size());
        std::string_view const interval = std::string_view(plain).substr(begin, end - begin);
        std::size_t const colon = interval.find(':');
        if (colon == interval.npos)
            fail_box(text);
        detail::axis_range range;
        if (colon > 0)
            range.first = number_in(text, interval.substr(0, colon));
        if (colon + 1 < interval.size())
            range.last = number_in(text, interval.substr(colon + 1));
        if (range.last && *range.last < range.first)
            fail_box(text);
        ranges.push_back(range);
        begin = end + 1;
    }
    return ranges;
}

box box_in(reshard::vector<detail::axis_range> const& ranges,
           std::optional<index_vector> const& shape) {
    box region;
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        index_t const first = ranges[axis].first;
        bool const is_known = shape && axis < shape->size() && (*shape)[axis] >= first;
        region.offset.push_back(first);
        region.shape.push_back(ranges[axis].last.value_or(is_known ? (*shape)[axis] : first) -
                               first);
    }
    return region;
}

} // namespace tool
