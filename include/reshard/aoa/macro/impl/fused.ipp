// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/aoa/operation.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

namespace reshard::aoa::detail {

/// For example `[512, 16]`.
inline std::string extents_text(vector<index_t> const& extents) {
    std::string text = "[";
    for (index_t const extent : extents)
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + ']';
}

/// A statement with a fused macro. Its errors show the form of the macro.
class fused_statement {
public:
    fused_statement(macro_context& context, statement const& statement, std::string_view word,
                    std::string_view form)
        : context_(context), one_(statement), like_(statement), word_(word), form_(form) {
        like_.origin = context.code.make_origin(
            {.macro = std::string(word),
             .parent = statement.origin,
             .where = statement.where,
             .is_axis_assumed = !find_attribute(context.code, statement, "axis")});
    }

    /// Refuses attributes other than `others` and the macro's own word.
    void allow(std::initializer_list<std::string_view> others) const {
        for (attribute const& each_attribute : context_.code.attributes(one_)) {
            bool const known = each_attribute.word == word_ ||
                               std::ranges::find(others, each_attribute.word) != others.end();
            if (!known)
                refuse(words("has no attribute '", each_attribute.word, "'",
                             find_attribute_word(each_attribute.word)
                                 ? ", which needs a separate statement"
                                 : meant(each_attribute.word, others)),
                       each_attribute.where);
            if (find_attribute(context_.code, one_, each_attribute.word) != &each_attribute)
                refuse("has the attribute '" + each_attribute.word + "' twice",
                       each_attribute.where);
        }
    }

    /// The number of the attribute with this word, or std::nullopt.
    std::optional<index_t> number(std::string_view word) const {
        attribute const* const attribute = find_attribute(context_.code, one_, word);
        if (!attribute)
            return std::nullopt;
        auto const* const value = std::get_if<index_t>(&attribute->value);
        if (!value)
            refuse(words("requires that ", word, " is a number"), attribute->where);
        return *value;
    }

    /// The number of the attribute `name`, or of its older word `other`.
    index_t heads(std::string_view name, std::string_view other) const {
        auto const value = number(name), older = number(other);
        if (!value && !older)
            refuse(words("lacks ", name), {});
        if (value && older && *value != *older)
            refuse(words("has ", name, '=', *value, " and ", other, '=', *older), {});
        index_t const index = value ? *value : *older;
        if (index < 1)
            refuse(words("has ", name, '=', index, ", which is less than 1"), {});
        return index;
    }

    /// The extents in the attribute `sizes`.
    vector<index_t> sizes() const {
        attribute const* const attribute = find_attribute(context_.code, one_, "sizes");
        if (!attribute)
            refuse("lacks sizes", {});
        try {
            return parse_list(*attribute);
        } catch (statement_error const& error) {
            fail_in(one_, error);
        }
    }

    /// The axis along which the macro cuts and joins. It is 1 if the statement has no `axis`;
    /// errors mention this default.
    index_t axis() const { return number("axis").value_or(1); }

    /// Throws an error about the statement; `why` follows the macro's word in the message.
    [[noreturn]] void refuse(std::string const& why, text_span where) const {
        fail_in(one_, {errc::bad_macro, words(word_, ' ', why, "; the form is  ", form_), where});
    }

    /// Refuses numbers of names that the macro does not support, and a result that occurs twice.
    void check_form(bool is_known) const {
        if (!is_known)
            refuse(words("has ", one_.left, " names on the left and ", one_.right, " on the right"),
                   {});
        if (context_.options.reverse)
            return;
        if (name const* const again = repeated_name(context_.code.right(one_)))
            refuse("has '" + text(*again) +
                       "' twice on the right, but each tensor needs its own name",
                   again->where);
    }

    /// The numbers of parts of the tensors for the first name on the left and on the right.
    index_t left_parts() const { return parts(true, 0, &part_counter::before); }
    index_t right_parts() const { return parts(false, one_.left, &part_counter::after); }

    void report_uncut_axis() const {
        detail::report_uncut_axis(context_, one_, word_, number("axis"));
    }

    void report_cut_groups(index_t groups) const {
        detail::report_cut_groups(context_, one_, word_, axis(), groups);
    }

    bool runs_backwards() const { return context_.options.reverse; }

    /// A temporary with the preferred name `preferred`.
    name fresh(std::string const& preferred) const {
        context_.count(one_, 1, preferred.size());
        return context_.code.make_fresh(preferred, one_.where);
    }

    /// Makes `count` temporaries: `prefix0`, `prefix1`, ...
    vector<name> pieces(std::string const& prefix, index_t count) const {
        auto const names = static_cast<std::size_t>(count);
        context_.spend(one_, context_.names, names);
        context_.spend(one_, context_.characters, names * prefix.size());
        vector<name> new_names;
        for (index_t i = 0; i < count; ++i)
            new_names.push_back(context_.code.make_fresh(prefix + std::to_string(i), one_.where));
        return new_names;
    }

    name left(std::size_t i) const { return context_.code.left(one_)[i]; }
    name right(std::size_t i) const { return context_.code.right(one_)[i]; }
    std::string text(name const& of) const { return std::string(context_.code.text(of)); }

    /// Sets the attribute `sizes` of the splits and concats that follow; they get none if `sizes`
    /// is empty.
    void set_sizes(vector<index_t> sizes) {
        sizes_ = std::move(sizes);
        like_is_ready_ = false;
    }

    /// Appends `from -> to, axis=...`: a split, a concat, or a rename of a single tensor.
    void append(vector<statement>& expanded, std::span<name const> from, std::span<name const> to) {
        if (!like_is_ready_) {
            vector<attribute> list{{"axis", axis(), '"', {}}};
            if (!sizes_.empty())
                list.push_back({"sizes", extents_text(sizes_), '"', {}});
            like_.attributes = context_.code.make_attributes(std::move(list));
            like_is_ready_ = true;
        }
        expanded.push_back(context_.make(from, to, like_));
    }

    /// Appends the statement that makes a fused tensor with one block for each rank, or takes it
    /// apart. The latter makes the tensor if the program runs backwards.
    void append_fused(vector<statement>& expanded, std::span<name const> from,
                      std::span<name const> to, index_t blocks) {
        origin origin = context_.code.origin(like_.origin);
        origin.blocks = blocks;
        for (attribute const& each : context_.code.attributes(one_))
            origin.attributes += (origin.attributes.empty() ? "" : ", ") + attribute_text(each);
        std::uint32_t const plain =
            std::exchange(like_.origin, context_.code.make_origin(std::move(origin)));
        append(expanded, from, to);
        like_.origin = plain;
    }

    /// Appends the split of a tensor into pieces. If `from` is the user's only operand, it is
    /// fused.
    void append_split(vector<statement>& expanded, name const& from, std::span<name const> pieces,
                      index_t blocks) {
        if (one_.left == 1)
            append_fused(expanded, {&from, 1}, pieces, blocks);
        else
            append(expanded, {&from, 1}, pieces);
    }

private:
    using question = std::optional<index_t> (part_counter::*)(statement const&, std::uint32_t,
                                                              index_t) const;

    /// The number of parts for name number `i`. If it is unknown, it is 1, with a warning if the
    /// tensors of the side are known.
    index_t parts(bool left, std::uint32_t i, question ask) const {
        catalog const* const keys = left ? context_.left : context_.right;
        if (!keys)
            return 1;
        std::string const side(side_name(context_, left));
        part_counter const counter(context_.code, *context_.chain, *keys, side,
                                   context_.options.state_suffixes, context_.steps);
        try {
            if (auto const count = (counter.*ask)(one_, i, axis())) {
                report_scattered(context_, one_, word_, axis(), counter, side);
                return *count;
            }
        } catch (statement_error const& error) {
            fail_in(one_, error);
        }
        std::string const key = text(context_.code.names(one_)[i]);
        context_.warn(one_, "unknown_parts", key,
                      "the number of parts into which the " + side + " cuts '" + key +
                          "' is not known; it is assumed to be 1");
        return 1;
    }

    /// For example ` (did you mean 'axis'?)`, from these words, or else from all words of the
    /// language.
    static std::string meant(std::string_view word,
                             std::initializer_list<std::string_view> others) {
        std::string const question = did_you_mean(word, others);
        return question.empty() ? did_you_mean(word, attribute_words, &attribute_word::word)
                                : question;
    }

    macro_context& context_;
    statement one_;
    statement like_;
    bool like_is_ready_ = false;
    vector<index_t> sizes_;
    std::string_view word_;
    std::string_view form_;
};

RESHARD_DECL bool is_fused(macro_context const& context, statement const& statement,
                           std::string_view word) {
    return statement.attributes != 0 && find_attribute(context.code, statement, word) != nullptr;
}

/// The number of query heads, and the number of key heads, which is also the number of value heads.
struct head_counts {
    index_t query;
    index_t key;
};

/// The numbers of heads in a statement of `fused_qkv` or `fused_qkv_old`.
///
/// \throws failed_statement with errc::bad_macro for a number that is missing, given twice or not a
///         multiple of the other number, and for any other attribute
inline head_counts read_heads(fused_statement const& fused) {
    fused.allow({"axis", "num_heads", "num_q_heads", "num_key_value_groups", "num_kv_heads"});
    head_counts const heads{fused.heads("num_heads", "num_q_heads"),
                            fused.heads("num_key_value_groups", "num_kv_heads")};
    if (heads.query % heads.key != 0)
        fused.refuse(words("has ", heads.query, " query heads, which is not a multiple of ",
                           heads.key, " key/value heads"),
                     {});
    return heads;
}

/// The heads in the order of the fused tensor, for `groups` groups. Each group has its queries,
/// then its keys, then its values.
inline vector<name> qkv_order(vector<name> const (&heads)[3], std::size_t groups) {
    vector<name> order;
    for (std::size_t group = 0; group < groups; ++group)
        for (vector<name> const& kind : heads) {
            std::size_t const step = kind.size() / groups;
            auto const first = kind.begin() + static_cast<std::ptrdiff_t>(group * step);
            order.insert(order.end(), first, first + static_cast<std::ptrdiff_t>(step));
        }
    return order;
}

/// Refuses a number of parts that does not divide the number of key heads.
inline void check_parts(fused_statement const& fused, head_counts count, index_t parts,
                        std::string_view side) {
    if (count.key % parts != 0)
        fused.refuse(words("cannot divide ", counted(count.key, "key/value head"),
                           " equally among the ", counted(parts, "part"), " that the ", side,
                           " has"),
                     {});
}

/// Appends the statements of one macro. The macro has three names on the left if it `fuses`, and
/// three names on the right if it `parts_it`.
inline void expand_qkv_old(fused_statement& fused, head_counts count, bool fuses, bool parts_it,
                           vector<statement>& expanded) {
    index_t const source = fuses ? 1 : fused.left_parts();
    index_t const target = parts_it ? 1 : fused.right_parts();
    check_parts(fused, count, source, "source");
    check_parts(fused, count, target, "target");
    vector<name> const heads[3] = {fused.pieces("fused_qkv_old_tmp.Q_", count.query),
                                   fused.pieces("fused_qkv_old_tmp.K_", count.key),
                                   fused.pieces("fused_qkv_old_tmp.V_", count.key)};
    name from = fused.left(0);
    bool const cuts_each = fuses && fused.runs_backwards(); // then the heads determine the extents
    for (std::size_t i = 0; cuts_each && i < 3; ++i) {
        name const projection = fused.left(i);
        fused.append(expanded, {&projection, 1}, heads[i]);
    }
    if (fuses && !cuts_each) {
        name const name[] = {fused.left(0), fused.left(1), fused.left(2)};
        from = fused.fresh(fused.text(name[0]) + '.' + fused.text(name[1]) + '.' +
                           fused.text(name[2]) + ".tmp");
        fused.append(expanded, name, {&from, 1});
    }
    if (!cuts_each)
        fused.append_split(expanded, from, qkv_order(heads, static_cast<std::size_t>(source)),
                           source);
    for (std::size_t i = 0; parts_it && i < 3; ++i) {
        name const projection = fused.right(i);
        fused.append(expanded, heads[i], {&projection, 1});
    }
    name const name = fused.right(0);
    if (!parts_it)
        fused.append_fused(expanded, qkv_order(heads, static_cast<std::size_t>(target)), {&name, 1},
                           target);
}

RESHARD_DECL void expand_fused_qkv_old(macro_context& context, statement const& current_statement,
                                       vector<statement>& expanded) {
    if (!is_fused(context, current_statement, "fused_qkv_old"))
        return expanded.push_back(current_statement);
    fused_statement fused(
        context, current_statement, "fused_qkv_old",
        "s -> d, fused_qkv_old, num_heads=n, num_key_value_groups=m  or  s -> q, k, v, ...  or  "
        "q, k, v -> d, ..., optionally with axis=n");
    auto const count = read_heads(fused);
    bool const fuses = current_statement.left == 3 && current_statement.right == 1;
    bool const parts_it = current_statement.left == 1 && current_statement.right == 3;
    fused.check_form(fuses || parts_it ||
                     (current_statement.left == 1 && current_statement.right == 1));
    fused.report_uncut_axis();
    expand_qkv_old(fused, count, fuses, parts_it, expanded);
}

RESHARD_DECL void expand_fused_qkv(macro_context& context, statement const& current_statement,
                                   vector<statement>& expanded) {
    if (!is_fused(context, current_statement, "fused_qkv"))
        return expanded.push_back(current_statement);
    fused_statement fused(context, current_statement, "fused_qkv",
                          "q, k, v -> d, fused_qkv, num_heads=n, num_key_value_groups=m  or  "
                          "s -> q, k, v, fused_qkv, ..., optionally with axis=n");
    auto const count = read_heads(fused);
    bool const fuses = current_statement.left == 3 && current_statement.right == 1;
    fused.check_form(fuses || (current_statement.left == 1 && current_statement.right == 3));
    fused.report_uncut_axis();
    if (fuses)
        fused.report_cut_groups(count.key);
    vector<name> heads[3];
    for (std::size_t i = 0; i < 3; ++i)
        heads[i] = fused.pieces(fused.text(fuses ? fused.left(i) : fused.right(i)),
                                i == 0 ? count.query : count.key);
    auto const order = qkv_order(heads, static_cast<std::size_t>(count.key));
    name const whole_name = fuses ? fused.right(0) : fused.left(0);
    if (!fuses)
        fused.append_split(expanded, whole_name, order, count.key);
    for (std::size_t i = 0; i < 3; ++i) {
        name const projection = fuses ? fused.left(i) : fused.right(i);
        if (fuses)
            fused.append(expanded, {&projection, 1}, heads[i]);
        else
            fused.append(expanded, heads[i], {&projection, 1});
    }
    if (fuses)
        fused.append(expanded, order, {&whole_name, 1});
}

RESHARD_DECL name const* repeated_name(std::span<name const> names) {
    if (names.size() < 2)
        return nullptr;
    std::unordered_set<std::uint64_t> visited;
    for (name const& name : names)
        if (!visited.insert(std::uint64_t{name.id} << 8 | static_cast<std::uint8_t>(name.kind))
                 .second)
            return &name;
    return nullptr;
}

} // namespace reshard::aoa::detail

#endif
