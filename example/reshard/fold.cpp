// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace tool {

using namespace reshard;

namespace {

using name_list = std::vector<std::string>;

/// A statement as it is rewritten. `x^T` stands for a name of its own.
struct folded_line {
    name_list left;
    name_list right;
    std::string attributes; ///< `, axis=0`

    bool operator==(folded_line const&) const = default;
};

std::string text_of(aoa::attribute const& one) {
    std::string text = ", " + one.word;
    if (auto const* const number = std::get_if<index_t>(&one.value))
        text += "=" + std::to_string(*number);
    if (auto const* const value = std::get_if<std::string>(&one.value))
        text += std::string("=") + one.quote + *value + one.quote;
    return text;
}

/// Whether a name stands without quotes; `$LAYER_ID - 1` does.
bool is_plain(std::string_view name) {
    if (name.find_first_of(" +-") != name.npos && name.find('$') == name.npos)
        return false;
    return std::ranges::all_of(name, [](char c) {
        return aoa::is_plain_char(c) ||
               std::string_view("$*^ +-").find(c) != std::string_view::npos;
    });
}

std::string listed_names(name_list const& all) {
    std::string text;
    for (std::string const& name : all)
        text += (text.empty() ? "" : ", ") + (is_plain(name) ? name : '"' + name + '"');
    return text;
}

std::string text_of(folded_line const& one) {
    return listed_names(one.left) + " -> " + listed_names(one.right) + one.attributes;
}

std::vector<folded_line> lines_of(aoa::program const& code) {
    auto const text = [&](aoa::name const& name) {
        return name.kind == aoa::name::kind_type::nothing ? std::string("_")
                                                          : std::string(code.text(name));
    };
    std::vector<folded_line> lines;
    for (aoa::statement const& one : code.statements()) {
        folded_line& made = lines.emplace_back();
        for (aoa::name const& name : code.left(one))
            made.left.push_back(text(name));
        for (aoa::name const& name : code.right(one))
            made.right.push_back(text(name));
        for (aoa::attribute const& each : code.attributes(one))
            made.attributes += text_of(each);
    }
    return lines;
}

/// Makes the names of temporaries different that are made several times: each gets a number behind
/// a character that no name has.
void number_temporaries(std::vector<folded_line>& lines, catalog const& source,
                        catalog const& target) {
    std::map<std::string, std::size_t> counts;
    auto const numbered = [&](std::string const& name) {
        auto const count = counts.find(name);
        return count == counts.end() ? name : name + '\n' + std::to_string(count->second);
    };
    for (folded_line& one : lines) {
        for (std::string& name : one.left)
            name = numbered(name);
        for (std::string& name : one.right) {
            if (name != "_" && !source.find(name) && !target.find(name))
                ++counts[name];
            name = numbered(name);
        }
    }
}

/// Gives temporaries their names again.
void restore_names(std::vector<folded_line>& lines) {
    for (folded_line& one : lines)
        for (name_list* const side : {&one.left, &one.right})
            for (std::string& name : *side)
                if (std::size_t const end = name.find('\n'); end != name.npos)
                    name.erase(end, std::min(name.find('^', end), name.size()) - end);
}

/// Puts statements together that macros have taken apart. A temporary is a name that neither side
/// has, that is made once and read once.
class unexpander {
public:
    unexpander(std::vector<folded_line> lines, catalog const& source, catalog const& target)
        : lines_(std::move(lines)) {
        number_temporaries(lines_, source, target);
        std::map<std::string, int> made;
        for (folded_line const& one : lines_) {
            for (std::string const& name : one.left)
                ++reads_[name];
            for (std::string const& name : one.right)
                ++made[name];
        }
        for (auto const& [name, count] : made)
            if (count == 1 && reads_[name] == 1 && !source.find(name) && !target.find(name))
                temporaries_.insert(name);
        for (std::size_t i = 0; i < lines_.size(); ++i)
            note_names(i);
    }

    std::vector<folded_line> run() {
        for (int round = 0; round < 2; ++round) { // what is renamed may be pieces then
            for_each_line([&](std::size_t i) { parts_to_others(i) || others_to_one(i); });
            for_each_line([&](std::size_t i) { drop_renaming(i); });
        }
        for_each_line([&](std::size_t i) { turn(i); });
        for_each_line([&](std::size_t i) { move_transpose(i); });
        std::vector<folded_line> left;
        for (folded_line const& one : lines_)
            if (!one.left.empty())
                left.push_back(one);
        restore_names(left);
        return left;
    }

private:
    bool is_temporary(std::string const& name) const { return temporaries_.contains(name); }

    bool are_temporaries(name_list const& all) const {
        return std::ranges::all_of(all, [&](std::string const& one) { return is_temporary(one); });
    }

    void for_each_line(auto const& step) {
        for (std::size_t i = 0; i < lines_.size(); ++i)
            if (!lines_[i].left.empty())
                step(i);
    }

    /// Which statement reads a temporary, and which makes it.
    void note_names(std::size_t i) {
        for (std::string const& name : lines_[i].left)
            if (is_temporary(name))
                reader_[name] = i;
        for (std::string const& name : lines_[i].right)
            if (is_temporary(name))
                maker_[name] = i;
    }

    /// Puts one statement in the place of several.
    void replace(std::set<std::size_t> const& gone, folded_line made) {
        for (std::size_t const i : gone)
            lines_[i] = {};
        lines_[*gone.begin()] = std::move(made);
        note_names(*gone.begin());
    }

    /// What reads `t`, which statement `i` makes, reads `name`.
    void read_instead(std::size_t i, std::string const& t, std::string const& name) {
        std::size_t const reader = reader_.at(t);
        std::ranges::replace(lines_[reader].left, t, name);
        lines_[i] = {};
        note_names(reader);
    }

    bool makes_temporary(folded_line const& one) const {
        return one.left.size() == 1 && one.left[0] != "_" && one.right.size() == 1 &&
               one.attributes.empty() && is_temporary(one.right[0]);
    }

    /// `c -> t` before what reads `t`: that reads `c`.
    void drop_renaming(std::size_t i) {
        folded_line const one = lines_[i];
        if (makes_temporary(one))
            read_instead(i, one.right[0], one.left[0]);
    }

    /// `x -> y, permute="[]"` is `x^T -> y`.
    void turn(std::size_t i) {
        folded_line& one = lines_[i];
        if (one.attributes == ", permute=\"[]\"" && one.left.size() == 1 && one.right.size() == 1) {
            one.left[0] += "^T";
            one.attributes.clear();
        }
    }

    /// `x^T -> t` before what reads `t`: that reads `x^T`.
    void move_transpose(std::size_t i) {
        folded_line const one = lines_[i];
        if (makes_temporary(one) && one.left[0].ends_with("^T"))
            read_instead(i, one.right[0], one.left[0]);
    }

    static bool has_only_axis(folded_line const& one) {
        return one.attributes.starts_with(", axis=") &&
               one.attributes.find(',', 1) == std::string::npos;
    }

    /// The names that a statement of several pieces, or a renaming of one, makes of them.
    struct user {
        std::size_t number;
        name_list pieces;
        std::string other;
    };

    /// The macro by which `pieces`, in the order of the fused tensor, are those of the others.
    static std::string macro_for(name_list const& pieces, std::vector<user> const& others) {
        if (others.size() == 2)
            return others[0].pieces.size() == others[1].pieces.size() ? ", fused_ffn" : "";
        if (others.size() != 3 || others[1].pieces.size() != others[2].pieces.size())
            return {};
        std::size_t const heads = others[0].pieces.size(), keys = others[1].pieces.size();
        for (std::size_t groups = keys; groups > 0; --groups)
            if (heads % groups == 0 && keys % groups == 0 && order(others, groups) == pieces)
                return std::string(groups == keys ? ", fused_qkv" : ", fused_qkv_old") +
                       ", num_heads=" + std::to_string(heads) +
                       ", num_key_value_groups=" + std::to_string(keys);
        return {};
    }

    static name_list order(std::vector<user> const& others, std::size_t groups) {
        name_list all;
        for (std::size_t group = 0; group < groups; ++group)
            for (user const& one : others) {
                std::size_t const step = one.pieces.size() / groups;
                for (std::size_t i = group * step; i < (group + 1) * step; ++i)
                    all.push_back(one.pieces[i]);
            }
        return all;
    }

    /// Puts the others into the order of the macro's names: that in which their pieces come first.
    static void sort_users(name_list const& pieces, std::vector<user>& others) {
        std::ranges::sort(others, {}, [&](user const& one) {
            return std::ranges::find(pieces, one.pieces[0]) - pieces.begin();
        });
    }

    static std::string axis_text(std::string const& attributes) {
        return attributes == ", axis=1" ? "" : attributes;
    }

    /// The pieces that each of several names has of all, by their extents.
    static std::vector<user> shares(name_list const& pieces, folded_line const& parts,
                                    std::size_t number) {
        std::vector<std::size_t> counts(parts.right.size(), pieces.size() / parts.right.size());
        std::size_t const sizes = parts.attributes.find(", sizes=\"[");
        if (sizes != std::string::npos) {
            std::vector<std::size_t> extents;
            std::size_t all = 0;
            char const* text = parts.attributes.c_str() + sizes + 10;
            for (char* end = nullptr; extents.size() < counts.size(); text = end + 1) {
                extents.push_back(std::strtoull(text, &end, 10));
                all += extents.back();
            }
            for (std::size_t i = 0; i < counts.size(); ++i)
                counts[i] = all == 0 ? 0 : pieces.size() * extents[i] / all;
        }
        std::vector<user> others;
        std::size_t first = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            std::size_t const last = std::min(pieces.size(), first + counts[i]);
            others.push_back({number,
                              {pieces.begin() + static_cast<std::ptrdiff_t>(first),
                               pieces.begin() + static_cast<std::ptrdiff_t>(last)},
                              parts.right[i]});
            first = last;
        }
        bool const is_shared =
            first == pieces.size() &&
            std::ranges::none_of(others, [](user const& one) { return one.pieces.empty(); });
        return is_shared ? others : std::vector<user>();
    }

    /// Appends users, and the numbers of their lines; how many pieces they have together.
    static std::size_t take(std::map<std::size_t, user> const& by_line, std::vector<user>& users,
                            std::set<std::size_t>& lines) {
        std::size_t pieces = 0;
        for (auto const& [line, one] : by_line) {
            users.push_back(one);
            lines.insert(line);
            pieces += one.pieces.size();
        }
        return pieces;
    }

    /// `one -> pieces` and `pieces -> a`, `pieces -> b`, perhaps by way of all of them as one.
    bool parts_to_others(std::size_t i) {
        folded_line const fused = lines_[i];
        if (fused.left.size() != 1 || fused.right.size() < 2 || !has_only_axis(fused) ||
            !are_temporaries(fused.right))
            return false;
        std::map<std::size_t, user> readers;
        for (std::string const& piece : fused.right) {
            std::size_t const number = reader_.at(piece);
            folded_line const& reader = lines_[number];
            bool const is_plain_reader = reader.right.size() == 1 &&
                                         (reader.attributes == fused.attributes ||
                                          (reader.attributes.empty() && reader.left.size() == 1));
            if (!is_plain_reader)
                return false;
            readers[number] = {number, reader.left, reader.right[0]};
        }
        std::set<std::size_t> gone{i};
        std::vector<user> others;
        std::size_t const used = take(readers, others, gone);
        if (used != fused.right.size())
            return false;
        if (others.size() == 1 && is_temporary(others[0].other)) {
            std::size_t const number = reader_.at(others[0].other);
            if (lines_[number].left.size() != 1 || lines_[number].right.size() < 2 ||
                !lines_[number].attributes.starts_with(fused.attributes))
                return false;
            gone.insert(number);
            others = shares(others[0].pieces, lines_[number], number);
        } else {
            sort_users(fused.right, others);
        }
        std::string const macro = macro_for(fused.right, others);
        if (macro.empty())
            return false;
        folded_line made{fused.left, {}, macro + axis_text(fused.attributes)};
        for (user const& one : others)
            made.right.push_back(one.other);
        replace(gone, std::move(made));
        return true;
    }

    /// `a -> pieces`, `b -> pieces` and `pieces -> one`.
    bool others_to_one(std::size_t i) {
        folded_line const fused = lines_[i];
        if (fused.right.size() != 1 || fused.left.size() < 2 || !has_only_axis(fused) ||
            !are_temporaries(fused.left))
            return false;
        std::map<std::size_t, user> makers;
        for (std::string const& piece : fused.left) {
            std::size_t const number = maker_.at(piece);
            folded_line const& maker = lines_[number];
            bool const is_plain_maker = maker.left.size() == 1 && maker.left[0] != "_" &&
                                        (maker.attributes == fused.attributes ||
                                         (maker.attributes.empty() && maker.right.size() == 1));
            if (!is_plain_maker)
                return false;
            makers[number] = {number, maker.right, maker.left[0]};
        }
        std::set<std::size_t> gone{i};
        std::vector<user> others;
        std::size_t const used = take(makers, others, gone);
        sort_users(fused.left, others);
        std::string const macro =
            used == fused.left.size() ? macro_for(fused.left, others) : std::string();
        if (macro.empty())
            return false;
        folded_line made{{}, fused.right, macro + axis_text(fused.attributes)};
        for (user const& one : others)
            made.left.push_back(one.other);
        replace(gone, std::move(made));
        return true;
    }

    std::vector<folded_line> lines_;
    std::map<std::string, int> reads_;
    std::set<std::string> temporaries_;
    std::map<std::string, std::size_t> reader_, maker_; ///< of temporaries
};

/// A name in pieces: what stands between its numbers, and these.
struct numbered_name {
    name_list texts{""};
    name_list numbers;
};

numbered_name taken_apart(std::string const& name) {
    numbered_name found;
    for (std::size_t at = 0; at < name.size();) {
        std::size_t end = at;
        while (end < name.size() && name[end] >= '0' && name[end] <= '9')
            ++end;
        bool const begins = at == 0 || name[at - 1] == '.';
        bool const ends = end == name.size() || name[end] == '.' || name[end] == '^';
        bool const is_number = end > at && begins && ends && (name[at] != '0' || end == at + 1);
        if (is_number) {
            found.numbers.push_back(name.substr(at, end - at));
            found.texts.emplace_back();
            at = end;
        } else {
            std::size_t const next = std::max(end, at + 1);
            found.texts.back() += name.substr(at, next - at);
            at = next;
        }
    }
    return found;
}

/// Statements that differ in their numbers only.
struct layer_group {
    std::vector<std::size_t> places = {}; ///< among all
    std::vector<name_list> rows = {};     ///< the numbers of each
};

std::vector<layer_group> groups_of(std::vector<folded_line> const& lines) {
    std::vector<layer_group> groups;
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string kind = lines[i].attributes + " ";
        name_list row;
        for (name_list const* const side : {&lines[i].left, &lines[i].right}) {
            kind += " -> ";
            for (std::string const& name : *side) {
                numbered_name const apart = taken_apart(name);
                for (std::string const& text : apart.texts)
                    kind += text + "\n";
                kind += "\t";
                row.insert(row.end(), apart.numbers.begin(), apart.numbers.end());
            }
        }
        auto const [place, is_new] = places.emplace(kind, groups.size());
        if (is_new)
            groups.emplace_back();
        groups[place->second].rows.push_back(std::move(row));
        groups[place->second].places.push_back(i);
    }
    return groups;
}

/// By how much each number of one list is greater than that of another, where that is the same for
/// all.
std::optional<long long> shift_between(name_list const& values, name_list const& others) {
    std::optional<long long> shift;
    for (std::size_t i = 0; i < values.size(); ++i) {
        long long const here = std::strtoll(values[i].c_str(), nullptr, 10) -
                               std::strtoll(others[i].c_str(), nullptr, 10);
        if (shift && *shift != here)
            return std::nullopt;
        shift = here;
    }
    return shift;
}

/// `$LAYER_ID`, or `$LAYER_ID - 1`.
std::string shifted(std::string_view word, long long shift) {
    std::string const text(word);
    return shift == 0 ? text
                      : text + (shift > 0 ? " + " : " - ") + std::to_string(std::llabs(shift));
}

/// What stands for each number of a group: itself, or a placeholder for those that go together.
std::optional<name_list> placeholders_of(layer_group const& group) {
    constexpr std::string_view words[] = {"$LAYER_ID", "$EXPERT_ID"};
    std::vector<name_list> known; // the numbers of each word
    name_list found;
    for (std::size_t column = 0; column < group.rows[0].size(); ++column) {
        name_list values;
        for (name_list const& row : group.rows)
            values.push_back(row[column]);
        if (std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end()) {
            found.push_back(values[0]);
            continue;
        }
        std::size_t word = 0;
        while (word < known.size() && !shift_between(values, known[word]))
            ++word;
        if (word == std::size(words))
            return std::nullopt;
        if (word == known.size())
            known.push_back(values);
        found.push_back(shifted(words[word], *shift_between(values, known[word])));
    }
    return found;
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

/// Statements of all layers as one, of the groups that `folds` is true for.
std::vector<folded_line> by_layers(std::vector<folded_line> const& lines, auto const& folds) {
    std::map<std::size_t, folded_line> by_place;
    std::size_t number = 0;
    for (layer_group const& group : groups_of(lines)) {
        auto const numbers = folds(number++) && group.rows.size() > 1 ? placeholders_of(group)
                                                                      : std::optional<name_list>();
        if (numbers)
            by_place[group.places[0]] = with_numbers(lines[group.places[0]], *numbers);
        else
            for (std::size_t const place : group.places)
                by_place[place] = lines[place];
    }
    std::vector<folded_line> folded;
    for (auto& [place, one] : by_place)
        folded.push_back(std::move(one));
    return folded;
}

/// What a program becomes, or nothing where it is refused.
std::optional<mapping> meaning_of(name_list const& lines, catalog const& source,
                                  catalog const& target, aoa::lower_options const& how) {
    std::string text;
    for (std::string const& one : lines)
        text += one + "\n";
    try {
        aoa::expansion const expanded = aoa::expand(aoa::parse(text), source, &target);
        return aoa::lower(expanded.code, source, &target, how);
    } catch (error const&) {
        return std::nullopt;
    }
}

name_list texts_of(std::vector<folded_line> const& lines) {
    name_list texts;
    for (folded_line const& one : lines)
        texts.push_back(text_of(one));
    return texts;
}

/// A program that is to be made shorter, and what it has to mean.
struct folding {
    catalog const& source;
    catalog const& target;
    aoa::lower_options const& how;
    std::optional<mapping> meant;

    bool holds(std::vector<folded_line> const& lines) const {
        return meaning_of(texts_of(lines), source, target, how) == meant;
    }

    /// Of the groups of statements, all that can be folded: all at once, or one after the other.
    std::optional<std::vector<folded_line>> shorter(std::vector<folded_line> const& lines) const {
        constexpr std::size_t most_groups = 100;
        auto all = by_layers(lines, [](std::size_t) { return true; });
        if (holds(all))
            return all;
        std::set<std::size_t> folded;
        auto const now = [&] {
            return by_layers(lines, [&](std::size_t group) { return folded.contains(group); });
        };
        std::size_t const groups = groups_of(lines).size();
        for (std::size_t group = 0; group < groups && groups <= most_groups; ++group) {
            folded.insert(group);
            if (!holds(now()))
                folded.erase(group);
        }
        return holds(now()) ? std::optional(now()) : std::nullopt;
    }
};

} // namespace

std::vector<std::string> fold(std::vector<std::string> const& lines, catalog const& source,
                              catalog const& target, aoa::lower_options const& how) {
    folding const fold{source, target, how, meaning_of(lines, source, target, how)};
    if (!fold.meant)
        return lines;
    std::string text;
    for (std::string const& one : lines)
        text += one + "\n";
    std::vector<folded_line> const plain = lines_of(aoa::parse(text));
    for (auto const& some : {unexpander(plain, source, target).run(), plain})
        if (auto const found = fold.shorter(some); found && found->size() < lines.size())
            return texts_of(*found);
    return lines;
}

} // namespace tool
