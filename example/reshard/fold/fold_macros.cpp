// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/fold_macros.hpp"

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

/// Makes the names of temporaries unique. A name that is made several times gets a number each
/// time, after a character that no name contains.
void number_temporaries(reshard::vector<folded_line>& lines, tensor_names const& is_tensor) {
    std::map<std::string, std::size_t> counts;
    auto const numbered = [&](std::string const& name) {
        auto const count = counts.find(name);
        return count == counts.end() ? name : name + '\n' + std::to_string(count->second);
    };
    for (folded_line& line : lines) {
        for (std::string& name : line.left)
            name = numbered(name);
        for (std::string& name : line.right) {
            if (name != "_" && !is_tensor(name))
                ++counts[name];
            name = numbered(name);
        }
    }
}

/// Restores the names of temporaries.
void restore_names(reshard::vector<folded_line>& lines) {
    for (folded_line& line : lines)
        for (name_list* const side : {&line.left, &line.right})
            for (std::string& name : *side)
                if (std::size_t const end = name.find('\n'); end != name.npos)
                    name.erase(end, std::min(name.find('^', end), name.size()) - end);
}

/// The pieces of a fused tensor that belong to one of its members.
struct share {
    name_list pieces;
    std::string tensor;
};

/// The pieces of a fused tensor by member, and the statements that join or split them.
struct interleaving {
    reshard::vector<share> shares;
    std::set<std::size_t> lines;
};

/// The side of a macro's statement that has the fused tensor, and the side that has its members.
struct direction {
    name_list folded_line::*fused;
    name_list folded_line::*others;
};

constexpr direction splitting{&folded_line::left, &folded_line::right};
constexpr direction joining{&folded_line::right, &folded_line::left};

bool has_only_axis(folded_line const& line) {
    return line.attributes.starts_with(", axis=") &&
           line.attributes.find(',', 1) == std::string::npos;
}

/// The attribute for the axis of a macro; empty if it is the default axis.
std::string axis_text(std::string const& attributes) {
    return attributes == ", axis=1" ? "" : attributes;
}

/// The pieces of all shares in the order of a fused tensor that has each share in `groups` groups.
name_list interleaved(reshard::vector<share> const& shares, std::size_t groups) {
    name_list pieces;
    for (std::size_t group = 0; group < groups; ++group)
        for (share const& share : shares) {
            std::size_t const step = share.pieces.size() / groups;
            for (std::size_t i = group * step; i < (group + 1) * step; ++i)
                pieces.push_back(share.pieces[i]);
        }
    return pieces;
}

/// The macro for a fused tensor with `pieces`, in this order, and these shares; empty if no macro
/// fits.
std::string macro_for(name_list const& pieces, reshard::vector<share> const& shares) {
    if (shares.size() != 2 && shares.size() != 3)
        return {};
    std::size_t const first = shares.front().pieces.size(), last = shares.back().pieces.size();
    if (shares.size() == 2)
        return first == last && interleaved(shares, first) == pieces ? ", fused_ffn" : "";
    if (shares[1].pieces.size() != last)
        return {};
    for (std::size_t groups = last; groups > 0; --groups)
        if (first % groups == 0 && last % groups == 0 && interleaved(shares, groups) == pieces)
            return std::string(groups == last ? ", fused_qkv" : ", fused_qkv_old") +
                   ", num_heads=" + std::to_string(first) +
                   ", num_key_value_groups=" + std::to_string(last);
    return {};
}

/// The extents in an attribute `sizes`; empty without this attribute.
reshard::vector<std::size_t> sizes_in(std::string_view attributes) {
    constexpr std::string_view word = ", sizes=\"[";
    reshard::vector<std::size_t> sizes;
    std::size_t const index = attributes.find(word);
    if (index == attributes.npos)
        return sizes;
    char const* text = attributes.data() + index + word.size();
    char const* const last = attributes.data() + attributes.size();
    for (std::size_t size = 0;; text = std::min(last, text + 2)) { // skips ", "
        auto const [end, problem] = std::from_chars(text, last, size);
        if (problem != std::errc())
            return sizes;
        sizes.push_back(size);
        text = end;
    }
}

/// For each result of a split, its share of the `pieces` equal pieces; empty if it is unknown.
reshard::vector<std::size_t> piece_counts(std::size_t pieces, folded_line const& split) {
    reshard::vector<std::size_t> counts = sizes_in(split.attributes);
    if (counts.empty())
        counts.assign(split.right.size(), 1);
    std::size_t extent = 0;
    for (std::size_t const count : counts)
        extent += count;
    for (std::size_t& count : counts) {
        if (extent == 0 || pieces * count % extent != 0 || count == 0)
            return {};
        count = pieces * count / extent;
    }
    return counts.size() == split.right.size() ? counts : reshard::vector<std::size_t>();
}

/// The pieces of each result of a split.
reshard::vector<share> shares_of(name_list const& pieces, folded_line const& split) {
    reshard::vector<share> shares;
    auto first = pieces.begin();
    reshard::vector<std::size_t> const counts = piece_counts(pieces.size(), split);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        auto const last = first + static_cast<std::ptrdiff_t>(counts[i]);
        shares.push_back({{first, last}, split.right[i]});
        first = last;
    }
    return shares;
}

/// Replaces the statements of an expanded macro by the macro. A temporary is a name that is not a
/// tensor of either side, and that is made once and read once.
class macro_folder {
public:
    macro_folder(reshard::vector<folded_line> lines, tensor_names const& is_tensor)
        : lines_(std::move(lines)) {
        number_temporaries(lines_, is_tensor);
        std::map<std::string, int> results, read;
        for (folded_line const& line : lines_) {
            for (std::string const& name : line.left)
                ++read[name];
            for (std::string const& name : line.right)
                ++results[name];
        }
        for (auto const& [name, count] : results)
            if (count == 1 && read[name] == 1 && !is_tensor(name))
                temporaries_.insert(name);
        for (std::size_t i = 0; i < lines_.size(); ++i)
            note_names(i);
    }

    reshard::vector<folded_line> run() {
        for (int round = 0; round < 2; ++round) { // in the second round, a rename may be of pieces
            for_each_line(
                [&](std::size_t i) { put_together(i, splitting) || put_together(i, joining); });
            for_each_line([&](std::size_t i) { drop_renaming(i); });
        }
        for_each_line([&](std::size_t i) { transpose(i); });
        for_each_line([&](std::size_t i) { move_transpose(i); });
        erase_if(lines_, [](folded_line const& line) { return line.left.empty(); });
        restore_names(lines_);
        return std::move(lines_);
    }

private:
    bool is_temporary(std::string const& name) const { return temporaries_.contains(name); }

    void for_each_line(auto const& step) {
        for (std::size_t i = 0; i < lines_.size(); ++i)
            if (!lines_[i].left.empty())
                step(i);
    }

    /// Records which statement reads each temporary, and which makes it.
    void note_names(std::size_t i) {
        for (std::string const& name : lines_[i].left)
            if (is_temporary(name))
                reader_[name] = i;
        for (std::string const& name : lines_[i].right)
            if (is_temporary(name))
                maker_[name] = i;
    }

    /// Replaces several statements by one.
    void replace(std::set<std::size_t> const& gone, folded_line line) {
        for (std::size_t const i : gone)
            lines_[i] = {};
        lines_[*gone.begin()] = std::move(line);
        note_names(*gone.begin());
    }

    /// Lets the reader of `t`, which statement `i` makes, read `name` instead.
    void read_instead(std::size_t i, std::string const& t, std::string const& name) {
        std::size_t const reader = reader_.at(t);
        std::ranges::replace(lines_[reader].left, t, name);
        lines_[i] = {};
        note_names(reader);
    }

    bool makes_temporary(folded_line const& line) const {
        return line.left.size() == 1 && line.left[0] != "_" && line.right.size() == 1 &&
               line.attributes.empty() && is_temporary(line.right[0]);
    }

    /// Removes `c -> t`, and lets the reader of `t` read `c`.
    void drop_renaming(std::size_t i) {
        folded_line const line = lines_[i];
        if (makes_temporary(line))
            read_instead(i, line.right[0], line.left[0]);
    }

    /// Replaces `x -> y, permute="[]"` by `x^T -> y`.
    void transpose(std::size_t i) {
        folded_line& line = lines_[i];
        if (line.attributes == ", permute=\"[]\"" && line.left.size() == 1 &&
            line.right.size() == 1) {
            line.left[0] += "^T";
            line.attributes.clear();
        }
    }

    /// Removes `x^T -> t`, and lets the reader of `t` read `x^T`.
    void move_transpose(std::size_t i) {
        folded_line const line = lines_[i];
        if (makes_temporary(line) && line.left[0].ends_with("^T"))
            read_instead(i, line.right[0], line.left[0]);
    }

    /// Whether a statement only joins or splits pieces along the axis of the fused tensor.
    static bool passes_on(folded_line const& line, folded_line const& fused, direction way) {
        name_list const &pieces = line.*way.fused, &tensors = line.*way.others;
        return tensors.size() == 1 && tensors[0] != "_" &&
               (line.attributes == fused.attributes ||
                (line.attributes.empty() && pieces.size() == 1));
    }

    /// The members of `fused`, from the statements that read or make its pieces. std::nullopt if
    /// such a statement does anything else.
    std::optional<interleaving> followed(folded_line const& fused, direction way) const {
        interleaving interleaving;
        std::size_t count = 0;
        for (std::string const& piece : fused.*way.others) {
            std::size_t const i = (way.fused == splitting.fused ? reader_ : maker_).at(piece);
            folded_line const& line = lines_[i];
            if (!passes_on(line, fused, way))
                return std::nullopt;
            if (!interleaving.lines.insert(i).second)
                continue; // shares are in the order of their first pieces
            interleaving.shares.push_back({line.*way.fused, (line.*way.others)[0]});
            count += (line.*way.fused).size();
        }
        return count == (fused.*way.others).size() ? std::optional(interleaving) : std::nullopt;
    }

    /// If all pieces make one temporary, and a statement splits it, takes the results of the split
    /// as members.
    void follow_split(interleaving& interleaving, folded_line const& fused) const {
        share const only = interleaving.shares[0];
        if (interleaving.shares.size() > 1 || !is_temporary(only.tensor))
            return;
        std::size_t const i = reader_.at(only.tensor);
        if (lines_[i].left.size() == 1 && lines_[i].attributes.starts_with(fused.attributes)) {
            interleaving.shares = shares_of(only.pieces, lines_[i]);
            interleaving.lines.insert(i);
        }
    }

    /// Replaces `w -> pieces`, `pieces -> a` and `pieces -> b` by a macro, also if a statement
    /// joins all pieces and another one splits the result. Likewise for `a -> pieces`,
    /// `b -> pieces` and `pieces -> w`.
    bool put_together(std::size_t i, direction way) {
        folded_line const fused = lines_[i];
        name_list const& pieces = fused.*way.others;
        bool const is_cut =
            (fused.*way.fused).size() == 1 && pieces.size() > 1 && has_only_axis(fused) &&
            std::ranges::all_of(pieces, [&](auto const& name) { return is_temporary(name); });
        auto match = is_cut ? followed(fused, way) : std::nullopt;
        if (!match)
            return false;
        if (way.fused == splitting.fused)
            follow_split(*match, fused);
        std::string const macro = macro_for(pieces, match->shares);
        if (macro.empty())
            return false;
        folded_line line{{}, {}, macro + axis_text(fused.attributes)};
        line.*way.fused = fused.*way.fused;
        for (share const& share : match->shares)
            (line.*way.others).push_back(share.tensor);
        match->lines.insert(i);
        replace(match->lines, std::move(line));
        return true;
    }

    reshard::vector<folded_line> lines_;
    std::set<std::string> temporaries_;
    std::map<std::string, std::size_t> reader_, maker_; ///< statement numbers by temporary
};

} // namespace

reshard::vector<folded_line> with_macros(reshard::vector<folded_line> lines,
                                         tensor_names const& is_tensor) {
    return macro_folder(std::move(lines), is_tensor).run();
}

} // namespace tool
