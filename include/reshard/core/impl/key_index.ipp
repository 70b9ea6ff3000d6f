// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_KEY_INDEX_IPP
#define RESHARD_CORE_IMPL_KEY_INDEX_IPP

#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
    if (a.size() > b.size())
        std::swap(a, b);
    if (b.size() - a.size() > most)
        return most + 1;
    vector<std::size_t> before(a.size() + 1, most + 1), last(before), now(before);
    for (std::size_t j = 0; j <= std::min(a.size(), most); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= b.size(); ++i) {
        std::fill(now.begin(), now.end(), most + 1);
        if (i <= most)
            now[0] = i;
        for (std::size_t j = i > most ? i - most : 1; j <= std::min(a.size(), i + most); ++j) {
            bool const same = a[j - 1] == b[i - 1];
            now[j] = std::min({now[j - 1] + 1, last[j] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && a[j - 1] == b[i - 2] && a[j - 2] == b[i - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return std::min(last[a.size()], most + 1);
}

RESHARD_DECL nearest_text::nearest_text(std::string_view wanted, bool same_numbers)
    : wanted_(wanted),
      same_numbers_(same_numbers),
      limit_(wanted.size() < 3 || wanted.size() > longest
                 ? 0
                 : std::min<std::size_t>((wanted.size() + 3) / 4, 8)) {
    for (char const c : wanted)
        ++letters_[static_cast<unsigned char>(c)];
}

RESHARD_DECL void nearest_text::look_at(std::string_view text, std::string_view shown) {
    if (limit_ == 0 || compared_ == most_compared || is_far(text))
        return;
    ++compared_;
    std::size_t const distance = edit_distance(wanted_, text, limit_);
    if (distance > limit_)
        return;
    limit_ = distance > 0 ? distance - 1 : 0;
    found_ = shown;
}

RESHARD_DECL bool nearest_text::is_far(std::string_view text) const {
    std::size_t const longer = std::max(text.size(), wanted_.size());
    if (longer - std::min(text.size(), wanted_.size()) > limit_)
        return true;
    return (same_numbers_ && !has_same_numbers(text)) || other_letters(text) > limit_;
}

RESHARD_DECL bool nearest_text::has_same_numbers(std::string_view text) const {
    auto own = wanted_.begin();
    for (char const c : text) {
        if (!is_digit(c))
            continue;
        own = std::find_if(own, wanted_.end(), is_digit);
        if (own == wanted_.end() || *own++ != c)
            return false;
    }
    return std::none_of(own, wanted_.end(), is_digit);
}

RESHARD_DECL std::size_t nearest_text::other_letters(std::string_view text) const {
    std::array<int, 256> counts = letters_;
    for (char const c : text)
        --counts[static_cast<unsigned char>(c)];
    std::size_t more = 0, fewer = 0;
    for (int const count : counts)
        (count > 0 ? more : fewer) += static_cast<std::size_t>(std::abs(count));
    return std::max(more, fewer);
}

RESHARD_DECL void text_list::reserve_more(std::size_t texts, std::size_t characters) {
    characters_.reserve(characters_.size() + characters);
    ends_.reserve(ends_.size() + texts);
}

RESHARD_DECL std::uint32_t text_list::push_back(std::string_view text, std::string_view behind) {
    characters_.insert(characters_.end(), text.begin(), text.end());
    characters_.insert(characters_.end(), behind.begin(), behind.end());
    ends_.push_back(characters_.size());
    return static_cast<std::uint32_t>(ends_.size() - 1);
}

RESHARD_DECL std::string_view text_list::operator[](std::uint32_t id) const {
    BOOST_ASSERT(id < ends_.size());
    std::size_t const first = id == 0 ? 0 : ends_[id - 1];
    return {characters_.data() + first, ends_[id] - first};
}

RESHARD_DECL void key_index::append(std::string_view key, std::uint32_t index) {
    make_room();
    put({hash_of(key), index});
    ++count_;
}

RESHARD_DECL void key_index::put(slot current_slot) {
    std::size_t at = current_slot.hash & mask();
    while (slots_[at].position != none)
        at = (at + 1) & mask();
    slots_[at] = current_slot;
}

RESHARD_DECL void key_index::make_room() {
    if (2 * (std::size_t{count_} + 1) <= slots_.size())
        return;
    vector<slot> const before =
        std::exchange(slots_, vector<slot>(slots_.empty() ? 64 : 2 * slots_.size()));
    for (slot const& element : before)
        if (element.position != none)
            put(element);
}

} // namespace reshard::detail

#endif
