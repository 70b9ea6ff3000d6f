// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_MAKE_KEY_PATTERN_HPP
#define RESHARD_AOA_MACRO_MAKE_KEY_PATTERN_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/macro/digits.hpp>
#include <reshard/aoa/macro/key_pattern.hpp>

#include <vector>

/// \file
/// The keys that a name of a program may mean.

namespace reshard::aoa::detail {

/// The pattern of a name in which the segments of one kind are captured, in the order that
/// `capture_of` says; the other open numbers match, and are forgotten.
///
/// \throws statement_error with errc::bad_macro when only digits stand between two open numbers
template <class CaptureOf>
key_pattern make_key_pattern(std::vector<segment> const& segments, CaptureOf const& capture_of) {
    key_pattern result;
    result.pieces.emplace_back();
    for (segment const& one : segments) {
        pattern_piece& last = result.pieces.back();
        if (one.kind == segment::kind_type::text) {
            last.text += one.text;
            continue;
        }
        if (one.kind == segment::kind_type::array)
            last.text += '_';
        if (result.pieces.size() > 1 && digits_at(last.text, 0) == last.text.size())
            throw statement_error{
                errc::bad_macro, "two open numbers with nothing but digits between them", {}};
        last.has_number = true;
        last.capture = capture_of(one);
        result.captures += last.capture.has_value();
        result.pieces.emplace_back();
    }
    return result;
}

} // namespace reshard::aoa::detail

#endif
