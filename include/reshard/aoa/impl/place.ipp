// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PLACE_IPP
#define RESHARD_AOA_IMPL_PLACE_IPP

#include <reshard/aoa/place.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL std::string excerpt(line_place at) {
    constexpr std::size_t before = 60, width = 100;
    std::string shown = "    ";
    if (at.line.size() > width && at.byte > before) {
        shown += "...";
        std::size_t const cut = character_begin(at.line, at.byte - before);
        at.line.remove_prefix(cut);
        at.byte -= cut;
    }
    std::size_t const indent = shown.size() + characters(at.line.substr(0, at.byte));
    for (char const c : beginning(at.line, width))
        shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return shown + (at.line.size() > width ? "...\n" : "\n") + std::string(indent, ' ') + '^';
}

RESHARD_DECL std::string place_text(std::string_view file, place const& at) {
    return std::string(file.empty() ? "program" : file) + ':' + std::to_string(at.line) + ':' +
           std::to_string(at.column);
}

RESHARD_DECL line_index::line_index(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (ends_line(text[i]) && !(text[i] == '\r' && text.substr(i + 1, 1) == "\n"))
            begins_.push_back(static_cast<std::uint32_t>(i + 1));
    for (std::size_t first = 0; first < text.size(); first += stride) {
        std::size_t const before = detail::characters(text.substr(first, stride));
        characters_.push_back(characters_.back() + static_cast<std::uint32_t>(before));
    }
}

RESHARD_DECL place line_index::place_at(std::string_view text, std::size_t offset) const {
    offset = std::min(offset, text.size());
    std::size_t const line = line_of(offset);
    std::size_t const column = characters(text, offset) - characters(text, begins_[line]);
    return {line + 1, column + 1};
}

RESHARD_DECL line_place line_index::line_at(std::string_view text, std::size_t offset) const {
    offset = std::min(offset, text.size());
    std::size_t const line = line_of(offset);
    std::size_t const begin = begins_[line];
    std::size_t end = line + 1 < begins_.size() ? begins_[line + 1] : text.size();
    while (end > begin && ends_line(text[end - 1]))
        --end;
    return {text.substr(begin, end - begin), std::min(offset, end) - begin};
}

RESHARD_DECL std::size_t line_index::line_of(std::size_t offset) const {
    auto const behind = std::upper_bound(begins_.begin(), begins_.end(), offset);
    return static_cast<std::size_t>(behind - begins_.begin()) - 1;
}

RESHARD_DECL std::size_t line_index::characters(std::string_view text, std::size_t offset) const {
    std::size_t const counted = offset / stride;
    return characters_[counted] +
           detail::characters(text.substr(counted * stride, offset - counted * stride));
}

} // namespace reshard::aoa::detail

#endif
