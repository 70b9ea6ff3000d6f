// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PATTERN_BUCKETS_IPP
#define RESHARD_AOA_MACRO_IMPL_PATTERN_BUCKETS_IPP

#include <reshard/aoa/macro/pattern_buckets.hpp>

#include <reshard/aoa/macro/digits.hpp>
#include <reshard/core/config.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL void outlined_key::assign(std::string_view key) {
    outline.clear();
    runs.clear();
    for (std::size_t at = 0; at < key.size();) {
        std::size_t const digit = next_digit(key, at);
        outline += key.substr(at, digit - at);
        at = digit + digits_at(key, digit);
        if (at > digit) {
            outline += '0';
            runs.push_back(key.substr(digit, at - digit));
        }
    }
}

RESHARD_DECL void outlined_key::append_fixed(std::string& fixed, std::string_view form) const {
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (form[i] == '0')
            (fixed += runs[i]) += ' ';
}

RESHARD_DECL void pattern_buckets::add(key_pattern const& pattern, std::size_t id) {
    std::string const form = take_apart(pattern);
    std::uint32_t const outline = outlines_.intern(key_.outline);
    if (outline == forms_.size())
        forms_.emplace_back();
    forms_of_outline& forms = forms_[outline];
    std::uint32_t const place = forms.names.intern(form);
    if (place == forms.buckets.size())
        forms.buckets.emplace_back();
    forms.buckets[place].add(fixed_in(form), id);
}

RESHARD_DECL void pattern_buckets::bucket::add(std::string_view fixed_runs, std::size_t id) {
    std::uint32_t const place = fixed.intern(fixed_runs);
    if (place == patterns.size())
        patterns.emplace_back();
    patterns[place].push_back(id);
}

RESHARD_DECL std::span<std::size_t const>
pattern_buckets::bucket::find(std::string_view fixed_runs) const {
    auto const place = fixed.find(fixed_runs);
    return place ? std::span<std::size_t const>(patterns[*place]) : std::span<std::size_t const>();
}

RESHARD_DECL std::string pattern_buckets::take_apart(key_pattern const& pattern) {
    sample_.clear();
    std::vector<std::size_t> open;
    for (pattern_piece const& piece : pattern.pieces) {
        sample_ += piece.text;
        if (piece.has_number) {
            open.push_back(sample_.size());
            sample_ += '0';
        }
    }
    key_.assign(sample_);
    std::string form;
    std::size_t next = 0; // no run has two open numbers
    for (std::string_view const run : key_.runs) {
        auto const end = static_cast<std::size_t>(run.data() + run.size() - sample_.data());
        bool const is_open = next < open.size() && open[next] < end;
        form += is_open ? '*' : '0';
        next += is_open;
    }
    return form;
}

RESHARD_DECL std::string const& pattern_buckets::fixed_in(std::string_view form) {
    fixed_.clear();
    key_.append_fixed(fixed_, form);
    return fixed_;
}

} // namespace reshard::aoa::detail

#endif
