// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PATTERN_INDEX_IPP
#define RESHARD_AOA_MACRO_IMPL_PATTERN_INDEX_IPP

#include <reshard/aoa/macro/pattern_index.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/core/config.hpp>

#include <utility>

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
    std::uint32_t const index = forms.names.intern(form);
    if (index == forms.buckets.size())
        forms.buckets.emplace_back();
    forms.buckets[index].add(fixed_in(form), id);
}

RESHARD_DECL void pattern_buckets::bucket::add(std::string_view fixed_runs, std::size_t id) {
    std::uint32_t const index = fixed.intern(fixed_runs);
    if (index == patterns.size())
        patterns.emplace_back();
    patterns[index].push_back(id);
}

RESHARD_DECL std::span<std::size_t const>
pattern_buckets::bucket::find(std::string_view fixed_runs) const {
    auto const position = fixed.find(fixed_runs);
    return position ? std::span<std::size_t const>(patterns[*position])
                    : std::span<std::size_t const>();
}

RESHARD_DECL std::string pattern_buckets::take_apart(key_pattern const& pattern) {
    sample_.clear();
    vector<std::size_t> open;
    for (pattern_piece const& piece : pattern.pieces) {
        sample_ += piece.text;
        if (piece.has_number) {
            open.push_back(sample_.size());
            sample_ += '0';
        }
    }
    key_.assign(sample_);
    std::string form;
    std::size_t next = 0; // a run of digits has at most one open number
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

RESHARD_DECL void match_list::add(std::span<index_t const> numbers, std::string_view key) {
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
    keys_.push_back(key);
}

RESHARD_DECL vector<key_match> const& match_list::sorted() {
    if (sorted_from_ != keys_.size())
        sort();
    return sorted_;
}

RESHARD_DECL bool match_list::precedes(key_match const& a, key_match const& b) {
    auto const order = std::lexicographical_compare_three_way(a.numbers.begin(), a.numbers.end(),
                                                              b.numbers.begin(), b.numbers.end());
    return order != 0 ? order < 0 : a.key < b.key;
}

RESHARD_DECL auto match_list::ranked() const -> vector<ranked_match> {
    vector<ranked_match> matches;
    matches.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        matches.push_back({{0, 0}, i});
        std::copy_n(numbers_.data() + i * captures_, std::min<std::size_t>(captures_, 2),
                    matches.back().first.begin());
    }
    std::ranges::sort(matches, [this](ranked_match const& a, ranked_match const& b) {
        if (a.first[0] != b.first[0])
            return a.first[0] < b.first[0];
        if (a.first[1] != b.first[1])
            return a.first[1] < b.first[1];
        return precedes(at(a.match), at(b.match));
    });
    return matches;
}

RESHARD_DECL void match_list::sort() {
    sorted_.clear();
    sorted_.reserve(keys_.size());
    for (ranked_match const& match : ranked())
        sorted_.push_back(at(match.match));
    auto const is_same = [](key_match const& a, key_match const& b) {
        return a.key == b.key && same_numbers(a, b);
    };
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), is_same), sorted_.end());
    sorted_from_ = keys_.size();
}

RESHARD_DECL std::size_t pattern_index::add(key_pattern pattern) {
    buckets_.add(pattern, patterns_.size());
    patterns_.push_back(std::move(pattern));
    return patterns_.size() - 1;
}

RESHARD_DECL void pattern_index::search(catalog const& keys, vector<state_suffix> const& suffixes,
                                        budget& steps) {
    steps_ = &steps;
    matches_.clear();
    for (key_pattern const& pattern : patterns_)
        matches_.emplace_back(pattern.captures);
    auto const add = [&](std::string_view key) {
        for_each_match(key, [&](std::size_t pattern, std::span<index_t const> numbers) {
            matches_[pattern].add(numbers, key);
            return true;
        });
    };
    for (catalog_entry const& entry : keys)
        for_each_parameter_name(keys, entry, suffixes, add);
    open_.clear();
    for (match_list const& list : matches_)
        open_.push_back(list.empty());
    has_open_ = std::ranges::find(open_, true) != open_.end();
}

RESHARD_DECL void pattern_index::add_made(std::string_view name) {
    take_steps(1);
    for_each_match(name, [&](std::size_t pattern, std::span<index_t const> numbers) {
        if (open_[pattern])
            matches_[pattern].add(numbers, made_.emplace_back(name));
        return true;
    });
}

RESHARD_DECL void pattern_index::take_steps(std::size_t amount) const {
    if (steps_ && !steps_->take(amount))
        fail(errc::limit_exceeded, steps_->refusal());
}

} // namespace reshard::aoa::detail

#endif
