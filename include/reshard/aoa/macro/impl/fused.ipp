// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_FUSED_IPP
#define RESHARD_AOA_MACRO_IMPL_FUSED_IPP

#include <reshard/aoa/macro/fused.hpp>

#include <reshard/aoa/repeated_name.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/nearest.hpp>

#include <algorithm>
#include <variant>

namespace reshard::aoa::detail {

RESHARD_DECL fused_statement::fused_statement(macro_context& context, statement const& one,
                                              std::string_view word, std::string_view form)
    : context_(context), one_(one), like_(context.derive(one, word)), word_(word), form_(form) {}

RESHARD_DECL void fused_statement::allow(std::initializer_list<std::string_view> words) const {
    for (attribute const& each_attribute : context_.code.attributes(one_)) {
        bool const known = each_attribute.word == word_ ||
                           std::ranges::find(words, each_attribute.word) != words.end();
        if (!known)
            refuse("has no attribute '" + each_attribute.word + "'" +
                       (find_attribute_word(each_attribute.word)
                            ? ", which goes into a statement of its own"
                            : reshard::detail::did_you_mean(each_attribute.word, words)),
                   each_attribute.where);
        if (find_attribute(context_.code, one_, each_attribute.word) != &each_attribute)
            refuse("has the attribute '" + each_attribute.word + "' twice", each_attribute.where);
    }
}

RESHARD_DECL std::optional<index_t> fused_statement::number(std::string_view word) const {
    attribute const* const found = find_attribute(context_.code, one_, word);
    if (!found)
        return std::nullopt;
    auto const* const value = std::get_if<index_t>(&found->value);
    if (!value)
        refuse("has a " + std::string(word) + " that is not a number", found->where);
    return *value;
}

RESHARD_DECL index_t fused_statement::heads(std::string_view name, std::string_view other) const {
    auto const value = number(name), older = number(other);
    if (!value && !older)
        refuse("lacks " + std::string(name), {});
    if (value && older && *value != *older)
        refuse("has " + std::string(name) + '=' + std::to_string(*value) + " and " +
                   std::string(other) + '=' + std::to_string(*older),
               {});
    index_t const found = value ? *value : *older;
    if (found < 1)
        refuse("has " + std::string(name) + '=' + std::to_string(found) + ", which is less than 1",
               {});
    return found;
}

RESHARD_DECL void fused_statement::refuse(std::string const& why, text_span where) const {
    fail_in(one_, {errc::bad_macro,
                   std::string(word_) + ' ' + why + "; the form is  " + std::string(form_), where});
}

RESHARD_DECL void fused_statement::check_form(bool is_known) const {
    if (!is_known)
        refuse("has " + std::to_string(one_.left) + " names on the left and " +
                   std::to_string(one_.right) + " on the right",
               {});
    if (context_.options.reverse)
        return;
    if (name const* const again = repeated_name(context_.code.right(one_)))
        refuse("has '" + text(*again) +
                   "' twice on the right, where each tensor needs its own name",
               again->where);
}

RESHARD_DECL index_t fused_statement::left_parts() const {
    return parts(true, 0, &part_counter::before);
}

RESHARD_DECL index_t fused_statement::right_parts() const {
    return parts(false, one_.left, &part_counter::after);
}

RESHARD_DECL name fused_statement::fresh(std::string const& preferred) const {
    context_.count(one_, 1, preferred.size());
    return context_.code.make_fresh(preferred, one_.where);
}

RESHARD_DECL std::vector<name> fused_statement::pieces(std::string const& prefix,
                                                       index_t count) const {
    auto const names = static_cast<std::size_t>(count);
    context_.spend(one_, context_.names, names);
    context_.spend(one_, context_.characters, names * prefix.size());
    std::vector<name> made;
    for (index_t i = 0; i < count; ++i)
        made.push_back(context_.code.make_fresh(prefix + std::to_string(i), one_.where));
    return made;
}

RESHARD_DECL name fused_statement::left(std::size_t i) const { return context_.code.left(one_)[i]; }

RESHARD_DECL name fused_statement::right(std::size_t i) const {
    return context_.code.right(one_)[i];
}

RESHARD_DECL std::string fused_statement::text(name const& of) const {
    return std::string(context_.code.text(of));
}

RESHARD_DECL void fused_statement::append(std::vector<statement>& expanded,
                                          std::span<name const> from, std::span<name const> to) {
    if (!like_is_ready_) {
        like_.attributes = context_.code.make_attributes({{"axis", axis(), '"', {}}});
        like_is_ready_ = true;
    }
    expanded.push_back(context_.make(from, to, like_));
}

RESHARD_DECL index_t fused_statement::parts(bool left, std::uint32_t i, question ask) const {
    catalog const* const keys = left ? context_.left : context_.right;
    if (!keys)
        return 1;
    std::string const side(side_name(context_, left));
    part_counter const counter(context_.code, *context_.chain, *keys, side,
                               context_.options.state_suffixes, context_.steps);
    try {
        if (auto const count = (counter.*ask)(one_, i, axis()))
            return *count;
    } catch (statement_error const& error) {
        fail_in(one_, error);
    }
    std::string const key = text(context_.code.names(one_)[i]);
    context_.warn(one_, "unknown_parts", key,
                  "the number of parts into which the " + side + " cuts '" + key +
                      "' is not known; it is assumed to be 1");
    return 1;
}

RESHARD_DECL bool is_fused(macro_context const& context, statement const& one,
                           std::string_view word) {
    return one.attributes != 0 && find_attribute(context.code, one, word) != nullptr;
}

RESHARD_DECL head_counts read_heads(fused_statement const& fused) {
    fused.allow({"axis", "num_heads", "num_q_heads", "num_key_value_groups", "num_kv_heads"});
    head_counts const heads{fused.heads("num_heads", "num_q_heads"),
                            fused.heads("num_key_value_groups", "num_kv_heads")};
    if (heads.query % heads.key != 0)
        fused.refuse("has " + std::to_string(heads.query) +
                         " query heads, which is not a multiple of " + std::to_string(heads.key) +
                         " key/value heads",
                     {});
    return heads;
}

RESHARD_DECL std::vector<name> qkv_order(std::vector<name> const (&heads)[3], std::size_t groups) {
    std::vector<name> order;
    for (std::size_t group = 0; group < groups; ++group)
        for (std::vector<name> const& kind : heads) {
            std::size_t const step = kind.size() / groups;
            auto const first = kind.begin() + static_cast<std::ptrdiff_t>(group * step);
            order.insert(order.end(), first, first + static_cast<std::ptrdiff_t>(step));
        }
    return order;
}

} // namespace reshard::aoa::detail

#endif
