// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LIST_TEXT_IPP
#define RESHARD_AOA_IMPL_LIST_TEXT_IPP

#include <reshard/aoa/list_text.hpp>

#include <reshard/aoa/finding.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

namespace reshard::aoa::detail {

/// Reads a list in brackets, entry by entry; blanks do not count.
class list_reader {
public:
    /// Messages say that the text should have been a list of `entries`, as in `example`.
    list_reader(attribute const& of, std::string_view entries, std::string_view example)
        : of_(of), entries_(entries), example_(example), text_(std::get<std::string>(of.value)) {}

    /// The entries, each as `read_entry()` gives it; a comma after the last one is allowed.
    ///
    /// \throws statement_error with errc::syntax if the text is not such a list
    template <class Entry, class ReadEntry>
    std::vector<Entry> read(ReadEntry const& read_entry) {
        std::vector<Entry> entries;
        if (!take('['))
            refuse();
        while (!take(']')) {
            entries.push_back(read_entry());
            if (!take(',') && !text_.starts_with(']'))
                refuse();
        }
        skip();
        if (!text_.empty())
            refuse();
        return entries;
    }

    /// Whether `wanted` comes next, which is passed over then.
    bool take(char wanted) {
        skip();
        bool const is_match = text_.starts_with(wanted);
        text_.remove_prefix(is_match);
        return is_match;
    }

    /// The integer that comes next, or std::nullopt.
    std::optional<index_t> number() {
        skip();
        index_t index = 0;
        auto const [last, problem] =
            std::from_chars(text_.data(), text_.data() + text_.size(), index);
        if (problem != std::errc{})
            return std::nullopt;
        text_.remove_prefix(static_cast<std::size_t>(last - text_.data()));
        return index;
    }

    [[noreturn]] void refuse() const {
        throw statement_error{errc::syntax,
                              words(of_.word, "=\"", std::get<std::string>(of_.value),
                                    "\" is not a list of ", entries_, " in brackets, as in ",
                                    of_.word, "=\"", example_, '"'),
                              of_.where};
    }

private:
    void skip() { text_.remove_prefix(std::min(text_.size(), text_.find_first_not_of(" \t\r\n"))); }

    attribute const& of_;
    std::string_view entries_;
    std::string_view example_;
    std::string_view text_; ///< the rest of it
};

RESHARD_DECL std::vector<index_t> parse_list(attribute const& of) {
    list_reader reader(of, "integers", "[1, 0]");
    return reader.read<index_t>([&] {
        auto const number = reader.number();
        if (!number)
            reader.refuse();
        return *number;
    });
}

RESHARD_DECL std::vector<std::optional<index_t>> parse_extents(attribute const& of) {
    list_reader reader(of, "extents", "[128, *]");
    return reader.read<std::optional<index_t>>([&]() -> std::optional<index_t> {
        if (reader.take('*'))
            return std::nullopt;
        auto const number = reader.number();
        if (!number)
            reader.refuse();
        return number;
    });
}

RESHARD_DECL std::vector<axis_range> parse_ranges(attribute const& of) {
    list_reader reader(of, "ranges", "[0:128, :]");
    return reader.read<axis_range>([&] {
        axis_range axis_range{reader.number().value_or(0), {}};
        if (!reader.take(':'))
            reader.refuse();
        axis_range.last = reader.number();
        return axis_range;
    });
}

} // namespace reshard::aoa::detail

#endif
