// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_INSTANCE_IPP
#define RESHARD_AOA_MACRO_IMPL_INSTANCE_IPP

#include <reshard/aoa/macro/instance.hpp>

#include <reshard/aoa/statement_text.hpp>

#include <charconv>
#include <span>
#include <string>
#include <utility>

namespace reshard::aoa::detail {

/// The one placeholder that counts down by itself: right of the arrow it is one less.
inline constexpr std::string_view offset_placeholder = "LAYER_ID_OFFSET";

RESHARD_DECL index_t shift_of(segment const& placeholder, bool on_right) {
    return placeholder.first - (on_right && placeholder.text == offset_placeholder ? 1 : 0);
}

/// Puts the digits of a number behind a text.
inline void append_number(std::string& text, index_t number) {
    char digits[20];
    auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text.append(digits, end);
}

/// Makes the names of the statements that one with placeholders stands for.
class instance_names {
public:
    instance_names(macro_context& context, statement const& one, placeholder_use const& use)
        : context_(context),
          one_(one),
          use_(use),
          has_others_(
              std::ranges::any_of(context.code.pattern(context.code.names(one)[use.deciding]),
                                  [](segment const& each_segment) {
                                      return each_segment.kind == segment::kind_type::array ||
                                             each_segment.kind == segment::kind_type::star;
                                  })) {}

    /// Whether the name that decides has `*` or `[0:2]` too: then there is a match for each number
    /// that these leave open.
    bool has_others() const { return has_others_; }

    /// Name number `which` for a match; the name that decides is what has been found, which may
    /// have zeros before its numbers.
    name make(std::size_t which, key_match const& found) {
        name const open = context_.code.names(one_)[which];
        if (open.kind == name::kind_type::nothing)
            return open;
        name made = which == use_.deciding && !has_others_
                        ? context_.code.make_text(found.key, open.where)
                        : fill(which, open, found.numbers);
        made.transposed = open.transposed;
        return made;
    }

private:
    /// A name with numbers for its placeholders.
    name fill(std::size_t which, name const& open, std::span<index_t const> numbers) {
        std::vector<segment> filled;
        text_.clear();
        for (segment const& each_segment : context_.code.pattern(open))
            if (each_segment.kind == segment::kind_type::text)
                text_ += each_segment.text;
            else if (each_segment.kind == segment::kind_type::placeholder)
                append_number(text_, number_for(which, each_segment, numbers));
            else
                end_text(filled), filled.push_back(each_segment);
        if (filled.empty())
            return context_.code.make_text(text_, open.where);
        end_text(filled);
        return context_.code.make_pattern(std::move(filled), open.where);
    }

    void end_text(std::vector<segment>& filled) {
        if (!text_.empty())
            filled.push_back({segment::kind_type::text, std::exchange(text_, {})});
    }

    index_t number_for(std::size_t which, segment const& placeholder,
                       std::span<index_t const> numbers) const {
        std::size_t const capture = position(use_.names, placeholder.text);
        index_t const number =
            numbers[capture] - use_.shifts[capture] + shift_of(placeholder, which >= one_.left);
        name const open = context_.code.names(one_)[which];
        if (number < 0)
            fail_in(one_, {errc::bad_macro,
                           '$' + placeholder.text + " is " + std::to_string(number) + " in '" +
                               bare_name_text(context_.code, open) + "', which is less than 0",
                           open.where});
        return number;
    }

    macro_context& context_;
    statement const& one_;
    placeholder_use const& use_;
    bool has_others_;
    std::string text_; ///< of the name that is being made
};

RESHARD_DECL void append_instances(macro_context& context, statement const& one,
                                   placeholder_use const& use,
                                   std::vector<key_match> const& matches,
                                   std::vector<statement>& expanded) {
    statement const like = context.derive(one, '$' + std::string(use.names[0]));
    instance_names instances(context, one, use);
    std::vector<name> names;
    key_match const* last = nullptr;
    for (key_match const& found : matches) {
        if (instances.has_others() && last && same_numbers(*last, found))
            continue;
        last = &found;
        names.clear();
        for (std::size_t i = 0; i < one.left + one.right; ++i)
            names.push_back(instances.make(i, found));
        std::span<name const> const all(names);
        expanded.push_back(context.make(all.first(one.left), all.subspan(one.left), like));
    }
}

} // namespace reshard::aoa::detail

#endif
