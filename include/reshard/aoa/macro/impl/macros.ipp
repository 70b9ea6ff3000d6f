// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_MACROS_IPP
#define RESHARD_AOA_MACRO_IMPL_MACROS_IPP

#include <reshard/aoa/macro/macros.hpp>

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/make_finding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace reshard::aoa::detail {

/// Refuses `_^T`, `x^T -> _`, and `x^T` right of the arrow.
inline void check_transposed(macro_context const& context, statement const& one) {
    bool const is_removed = is_removal(context.code, one);
    for (name const& each_name : context.code.names(one)) {
        if (each_name.transposed && each_name.kind == name::kind_type::nothing)
            fail_in(one, {errc::bad_macro, "'_' cannot be transposed", each_name.where});
        if (each_name.transposed && is_removed)
            fail_in(one, {errc::bad_macro,
                          words("a transpose cannot be removed; write  ",
                                context.code.text(each_name), " -> _"),
                          each_name.where, std::string(context.code.text(each_name))});
    }
    for (name const& target : context.code.right(one))
        if (target.transposed)
            fail_in(
                one,
                {errc::bad_macro,
                 words("'", context.code.text(target),
                       "^T' is on the right of '->'; only tensors on its left can be transposed"),
                 target.where});
}

/// Expands statements one after the other.
class transposer {
public:
    explicit transposer(macro_context& context)
        : context_(context),
          reversed_(context.code.make_attributes({{"permute", std::string("[]"), '"', {}}})),
          temporaries_(context.code.text_count()) {}

    /// Makes room for what will be made of the statements.
    void reserve(std::vector<statement> const& statements) {
        std::size_t names = 0, temporaries = 0, characters = 0;
        for (statement const& one : statements) {
            std::size_t const before = temporaries;
            for (name const& each_name : context_.code.left(one))
                if (each_name.transposed && each_name.kind == name::kind_type::text) {
                    ++temporaries;
                    characters += context_.code.text(each_name).size() + transposed_ending.size();
                }
            names += temporaries > before ? one.left + one.right : 0;
        }
        context_.code.reserve_names(std::min(names + 2 * temporaries, context_.names.left()));
        context_.code.reserve_fresh(std::min(temporaries, context_.names.left()),
                                    std::min(characters, context_.characters.left()));
    }

    /// Appends a statement, after those that transpose what it reads.
    void expand(statement const& one, std::vector<statement>& expanded) {
        check_transposed(context_, one);
        auto const written = context_.code.names(one);
        if (std::ranges::none_of(written, &name::transposed))
            return expanded.push_back(one);
        ++statement_;
        statement const like = context_.derive(one, "^T");
        names_.assign(written.begin(), written.end());
        for (name& each_name : names_)
            if (each_name.transposed)
                each_name = temporary_for(each_name, like, expanded);
        std::span<name const> const all(names_);
        expanded.push_back(context_.make(all.first(one.left), all.subspan(one.left), like));
    }

private:
    struct temporary {
        name called;
        std::uint32_t statement = 0; ///< that has it; none is number 0
    };

    /// What stands for `x^T`: the first time in a statement, after `x -> temporary, permute="[]"`.
    name temporary_for(name const& transposed, statement const& like,
                       std::vector<statement>& expanded) {
        temporary& made = temporaries_[transposed.id];
        if (made.statement == statement_)
            return made.called;
        name plain = transposed;
        plain.transposed = false;
        made = {context_.code.make_fresh(context_.code.text(plain), plain.where, transposed_ending),
                statement_};
        statement helper = like;
        helper.attributes = reversed_;
        expanded.push_back(context_.make({&plain, 1}, {&made.called, 1}, helper));
        return made.called;
    }

    macro_context& context_;
    std::uint32_t reversed_; ///< the attributes of a statement that transposes
    std::uint32_t statement_ = 0;
    std::vector<temporary> temporaries_; ///< by the text of what they transpose
    std::vector<name> names_;            ///< of the statement that is expanded
};

RESHARD_DECL void expand_transpose(macro_context& context, std::vector<statement>& statements) {
    transposer macro(context);
    macro.reserve(statements);
    std::vector<statement> expanded;
    expanded.reserve(statements.size());
    for (statement const& written : statements)
        attempt(context, written, expanded,
                [&](statement const& one) { macro.expand(one, expanded); });
    statements = std::move(expanded);
}

} // namespace reshard::aoa::detail

#endif
