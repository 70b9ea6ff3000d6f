// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_CHECK_ATTRIBUTES_IPP
#define RESHARD_AOA_MACRO_IMPL_CHECK_ATTRIBUTES_IPP

#include <reshard/aoa/macro/check_attributes.hpp>

#include <reshard/aoa/check_attribute.hpp>
#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/words.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

/// Whether a statement has the word of a macro, which knows its attributes itself.
inline bool has_macro_word(std::vector<attribute> const& list) {
    return std::ranges::any_of(list, [](attribute const& one) {
        attribute_word const* const word = find_attribute_word(one.word);
        return word && word->value == value_kind::none;
    });
}

RESHARD_DECL void check_attributes(macro_context& context, std::vector<statement>& statements) {
    for (statement& one : statements) {
        std::vector<attribute> const& list = context.code.attributes(one);
        if (list.empty() || has_macro_word(list))
            continue;
        bool is_sound = true;
        for (attribute const& each_attribute : list)
            is_sound &= succeeds(context, one, [&] {
                check_attribute(each_attribute);
                check_text(each_attribute);
            });
        if (!is_sound)
            one = broken(context, one);
    }
}

} // namespace reshard::aoa::detail

#endif
