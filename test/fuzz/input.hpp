// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_FUZZ_INPUT_HPP
#define RESHARD_TEST_FUZZ_INPUT_HPP

#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A text as a program with the tensors that it is for: as at the beginning of the goldens of the
/// language.

namespace reshard::test {

using namespace reshard::detail;

/// Tensors and options that the comments at the beginning of a program give:
/// `#! source KEY DTYPE SHAPE [PARTS]`, `#! target KEY DTYPE SHAPE [PARTS]`, `#! reverse`.
///
/// Senseless parts are omitted, so that any text gives something.
class fuzz_input {
public:
    explicit fuzz_input(std::string_view text) : text_(text) {
        std::vector<catalog_entry> source, target;
        for (std::string_view remainder = text; remainder.starts_with("#!");) {
            std::string_view const line = remainder.substr(2, remainder.find('\n') - 2);
            remainder.remove_prefix(std::min(remainder.size(), line.size() + 3));
            read_line(line, source, target);
        }
        source_ = distinct(std::move(source));
        target_ = distinct(std::move(target));
    }

    std::string_view text() const { return text_; }
    catalog const& source() const { return source_; }
    catalog const* target() const { return has_target_ ? &target_ : nullptr; }
    bool is_reverse() const { return is_reverse_; }

private:
    static constexpr std::size_t most_tensors = 64;

    static std::vector<std::string_view> split(std::string_view line, char at) {
        std::vector<std::string_view> words;
        while (!line.empty()) {
            std::size_t const end = std::min(line.size(), line.find(at));
            if (end > 0)
                words.push_back(line.substr(0, end));
            line.remove_prefix(std::min(line.size(), end + 1));
        }
        return words;
    }

    /// Numbers of at least `least`; none if one is not a number, or if there are too many.
    static std::optional<index_vector> numbers(std::string_view text, index_t least) {
        index_vector result;
        if (text == "-")
            return result;
        for (std::string_view const word : split(text, ',')) {
            index_t number = 0;
            auto const [last, problem] =
                std::from_chars(word.data(), word.data() + word.size(), number);
            bool const is_number = problem == std::errc{} && last == word.data() + word.size();
            if (!is_number || number < least || result.size() == max_ndim)
                return std::nullopt;
            result.push_back(number);
        }
        return result;
    }

    void read_line(std::string_view line, std::vector<catalog_entry>& source,
                   std::vector<catalog_entry>& target) {
        auto const words = split(line, ' ');
        std::string_view const noun = words.empty() ? std::string_view() : words[0];
        is_reverse_ = is_reverse_ || noun == "reverse";
        has_target_ = has_target_ || noun == "target";
        auto& side = noun == "target" ? target : source;
        if ((noun == "source" || noun == "target") && words.size() >= 4 &&
            side.size() < most_tensors)
            if (auto entry = tensor(words))
                side.push_back(std::move(*entry));
    }

    /// A tensor of a catalog, if its elements can be counted.
    static std::optional<catalog_entry> tensor(std::vector<std::string_view> const& words) {
        auto const dtype = data_type_from_name(words[2]);
        auto const shape = numbers(words[3], 0);
        if (!dtype || !shape)
            return std::nullopt;
        auto const parts =
            words.size() > 4 ? numbers(words[4], 1) : index_vector::filled(shape->size(), 1);
        if (!parts || parts->size() != shape->size())
            return std::nullopt;
        try {
            element_count(*shape);
        } catch (error const&) {
            return std::nullopt;
        }
        return catalog_entry{std::string(words[1]), *dtype, *shape, *parts};
    }

    /// A catalog of the tensors; of several with one key, the first.
    static catalog distinct(std::vector<catalog_entry> entries) {
        std::ranges::stable_sort(entries, {}, &catalog_entry::key);
        auto const same = std::ranges::unique(entries, {}, &catalog_entry::key);
        entries.erase(same.begin(), same.end());
        return catalog(std::move(entries));
    }

    std::string_view text_;
    catalog source_, target_;
    bool has_target_ = false;
    bool is_reverse_ = false;
};

} // namespace reshard::test

#endif
