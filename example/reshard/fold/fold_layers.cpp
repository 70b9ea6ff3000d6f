// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/fold_layers.hpp"

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// A name as the texts between its numbers, and the numbers.
struct numbered_name {
    name_list texts{""};
    name_list numbers;
};

/// Whether the digits from `begin` to `end` are a number that a placeholder can replace: it is
/// between dots, and has no leading zeros.
bool is_layer_number(std::string const& name, std::size_t begin, std::size_t end) {
    bool const begins = begin == 0 || name[begin - 1] == '.';
    bool const ends = end == name.size() || name[end] == '.' || name[end] == '^';
    return end > begin && begins && ends && (name[begin] != '0' || end == begin + 1);
}

numbered_name taken_apart(std::string const& name) {
    numbered_name apart;
    for (std::size_t at = 0; at < name.size();) {
        std::size_t const end = std::min(name.find_first_not_of("0123456789", at), name.size());
        if (is_layer_number(name, at, end)) {
            apart.numbers.push_back(name.substr(at, end - at));
            apart.texts.emplace_back();
            at = end;
        } else {
            std::size_t const next = std::max(end, at + 1);
            apart.texts.back() += name.substr(at, next - at);
            at = next;
        }
    }
    return apart;
}

/// Statements that differ only in their numbers.
struct layer_group {
    reshard::vector<std::size_t> places = {}; ///< positions in the list of all statements
    reshard::vector<name_list> rows = {};     ///< numbers of each statement
};

/// A statement without its numbers, and its numbers.
std::pair<std::string, name_list> kind_and_numbers(folded_line const& line) {
    std::string kind = line.attributes + " ";
    name_list numbers;
    for (name_list const* const side : {&line.left, &line.right}) {
        kind += " -> ";
        for (std::string const& name : *side) {
            numbered_name const apart = taken_apart(name);
            for (std::string const& text : apart.texts)
                kind += text + "\n";
            kind += "\t";
            numbers.insert(numbers.end(), apart.numbers.begin(), apart.numbers.end());
        }
    }
    return {std::move(kind), std::move(numbers)};
}

reshard::vector<layer_group> groups_of(reshard::vector<folded_line> const& lines) {
    reshard::vector<layer_group> groups;
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto [kind, numbers] = kind_and_numbers(lines[i]);
        auto const [position, is_new] = places.emplace(std::move(kind), groups.size());
        if (is_new)
            groups.emplace_back();
        groups[position->second].rows.push_back(std::move(numbers));
        groups[position->second].places.push_back(i);
    }
    return groups;
}

/// The value of a number; std::nullopt if it exceeds 64 bits.
std::optional<index_t> number_of(std::string const& digits) {
    index_t number = 0;
    auto const [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return problem == std::errc() ? std::optional(number) : std::nullopt;
}

/// The difference between each number of a list and the number at the same position of another
/// list; std::nullopt if the differences are not equal.
std::optional<index_t> shift_between(name_list const& values, name_list const& others) {
    std::optional<index_t> shift;
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto const value = number_of(values[i]), other = number_of(others[i]);
        if (!value || !other || (shift && *shift != *value - *other))
            return std::nullopt;
        shift = *value - *other;
    }
    return shift;
}

/// For example `$LAYER_ID` or `$LAYER_ID - 1`.
std::string shifted(std::string_view word, index_t shift) {
    std::string const text(word);
    return shift == 0 ? text : text + (shift > 0 ? " + " : " - ") + std::to_string(std::abs(shift));
}

bool are_equal(name_list const& values) {
    return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

name_list column_of(layer_group const& group, std::size_t column) {
    name_list values;
    for (name_list const& row : group.rows)
        values.push_back(row[column]);
    return values;
}

/// The text for each number of a group: the number itself if it is the same in all statements, else
/// a placeholder. Numbers that vary together share a placeholder. std::nullopt if there are not
/// enough placeholders.
std::optional<name_list> placeholders_of(layer_group const& group) {
    constexpr std::string_view words[] = {"$LAYER_ID", "$EXPERT_ID"};
    reshard::vector<name_list> name_lists; // the numbers for each placeholder
    name_list texts;
    for (std::size_t column = 0; column < group.rows[0].size(); ++column) {
        name_list const values = column_of(group, column);
        if (are_equal(values)) {
            texts.push_back(values[0]);
            continue;
        }
        std::size_t word = 0;
        while (word < name_lists.size() && !shift_between(values, name_lists[word]))
            ++word;
        if (word == std::size(words))
            return std::nullopt;
        if (word == name_lists.size())
            name_lists.push_back(values);
        auto const shift = shift_between(values, name_lists[word]);
        if (!shift) // a number exceeds 64 bits
            return std::nullopt;
        texts.push_back(shifted(words[word], *shift));
    }
    return texts;
}

folded_line with_numbers(folded_line shape, name_list const& numbers) {
    std::size_t next = 0;
    for (name_list* const side : {&shape.left, &shape.right})
        for (std::string& name : *side) {
            numbered_name const apart = taken_apart(name);
            name = apart.texts[0];
            for (std::size_t i = 1; i < apart.texts.size(); ++i)
                name += numbers[next++] + apart.texts[i];
        }
    return shape;
}

bool reads_temporary(folded_line const& line, tensor_names const& is_tensor) {
    return std::ranges::any_of(line.left, [&](std::string const& name) {
        return name != "_" && !is_tensor(name.substr(0, name.find('^')));
    });
}

} // namespace

std::size_t count_groups(reshard::vector<folded_line> const& lines) {
    return groups_of(lines).size();
}

reshard::vector<folded_line> by_layers(reshard::vector<folded_line> const& lines,
                                       tensor_names const& is_tensor,
                                       std::function<bool(std::size_t)> const& folds) {
    std::map<std::size_t, folded_line> by_place;
    std::size_t number = 0;
    for (layer_group const& group : groups_of(lines)) {
        bool const is_folded = folds(number++) && group.rows.size() > 1;
        auto const numbers = is_folded ? placeholders_of(group) : std::nullopt;
        for (std::size_t const index : group.places)
            if (!numbers)
                by_place[index] = lines[index];
        if (!numbers)
            continue;
        std::size_t const first = group.places.front();
        bool const is_last = reads_temporary(lines[first], is_tensor);
        by_place[is_last ? group.places.back() : first] = with_numbers(lines[first], *numbers);
    }
    reshard::vector<folded_line> folded;
    for (auto& [index, line] : by_place)
        folded.push_back(std::move(line));
    return folded;
}

} // namespace tool
