// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_EXPAND_IPP
#define RESHARD_AOA_IMPL_EXPAND_IPP

#include <reshard/aoa/expand.hpp>

#include <reshard/aoa/macro/macros.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/aoa/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace reshard::aoa {

namespace detail {

/// Whether a statement has the word of a macro. Then the macro checks the statement's attributes.
inline bool has_macro_word(vector<attribute> const& list) {
    return std::ranges::any_of(list, [](attribute const& attribute) {
        attribute_word const* const word = find_attribute_word(attribute.word);
        return word && word->value == value_kind::none;
    });
}

/// Finds names that look like a mistyped word of a macro.
class misspelt_words {
public:
    misspelt_words(macro_context const& context, vector<statement> const& statements)
        : context_(context), is_read_(context.code.text_count()) {
        for (statement const& statement : statements)
            for (name const& read : context.code.left(statement))
                if (read.kind == name::kind_type::text)
                    is_read_[read.id] = true;
    }

    /// \throws statement_error with errc::syntax for a result, other than the first, that resembles
    ///         the word of a macro, that no tensor is called, and that no statement reads
    void check(statement const& statement) const {
        for (name const& name :
             context_.code.right(statement).subspan(std::min<std::size_t>(1, statement.right)))
            if (name.kind == name::kind_type::text && !is_meant(name))
                if (std::string const question = question_of(name); !question.empty())
                    throw statement_error{errc::syntax,
                                          words("unknown attribute '", context_.code.text(name),
                                                "'", question,
                                                "; a tensor of that name is written in quotes"),
                                          name.where};
    }

private:
    /// Whether a name is certainly a tensor's.
    bool is_meant(name const& name) const {
        std::string_view const key = context_.code.text(name);
        std::string_view const text = context_.code.source_text();
        bool const is_bare = name.where.last > name.where.first && name.where.last <= text.size() &&
                             is_plain_char(text[name.where.first]);
        auto const has = [&](catalog const* keys) { return keys && keys->find(key); };
        return !is_bare || is_read_[name.id] || has(context_.left) || has(context_.right);
    }

    std::string question_of(name const& name) const {
        nearest_text search(context_.code.text(name), true);
        for (attribute_word const& each_word : attribute_words)
            if (each_word.value == value_kind::none)
                search.look_at(each_word.word);
        return search.question();
    }

    macro_context const& context_;
    vector<bool> is_read_; ///< by text number
};

/// Reports all invalid attributes of a statement; returns whether all are valid.
inline bool has_sound_attributes(macro_context& context, statement const& statement) {
    bool is_sound = true;
    vector<attribute> const& list = context.code.attributes(statement);
    if (!has_macro_word(list))
        for (attribute const& each_attribute : list)
            is_sound &= succeeds(context, statement, [&] {
                check_attribute(each_attribute);
                check_text(each_attribute);
            });
    return is_sound;
}

/// Marks statements with invalid attributes as broken before they are expanded, so that each fault
/// is reported once, and not for each layer.
inline void check_attributes(macro_context& context, vector<statement>& statements) {
    misspelt_words const misspelt(context, statements);
    for (statement& statement : statements) {
        bool is_sound = succeeds(context, statement, [&] { misspelt.check(statement); });
        is_sound &= has_sound_attributes(context, statement);
        if (!is_sound)
            statement = broken(context, statement);
    }
}

/// A set of outlines. The outline of a key omits its numbers.
class outline_set {
public:
    void add(vector<segment> const& segments) { outlines_.intern(outline_of(segments)); }

    bool has(std::string_view key) const {
        std::string outline;
        append_outline(outline, key);
        return outlines_.find(outline).has_value();
    }

    bool empty() const { return outlines_.size() == 0; }

private:
    name_table outlines_;
};

/// The keys of a side that match the outline of a lost name.
inline vector<std::string_view> keys_in(outline_set const& lost, catalog const* keys,
                                        vector<state_suffix> const& suffixes) {
    vector<std::string_view> matches;
    if (keys && !lost.empty())
        for (catalog_entry const& entry : *keys)
            for_each_parameter_name(*keys, entry, suffixes, [&](std::string_view key) {
                if ((matches.empty() || matches.back() != key) && lost.has(key))
                    matches.push_back(key);
            });
    return matches;
}

/// The program's texts and the keys of a side that match the outline of a lost name.
inline vector<name> names_of(macro_context& context, outline_set const& lost, catalog const* keys) {
    vector<name> names;
    if (!lost.empty())
        for (std::uint32_t id = 0; id < context.code.text_count(); ++id)
            if (name const name{name::kind_type::text, false, id, {}};
                lost.has(context.code.text(name)))
                names.push_back(name);
    for (std::string_view const key : keys_in(lost, keys, context.options.state_suffixes))
        names.push_back(context.code.make_text(key));
    return names;
}

/// Inserts a broken statement before all others. It reads and binds every name that a broken
/// statement with placeholders could have meant.
inline void restore_lost_names(macro_context& context, vector<statement>& statements) {
    if (context.lost.empty())
        return;
    outline_set read, bound;
    for (lost_name const& name : context.lost)
        (name.is_read ? read : bound).add(context.code.pattern(name.open));
    vector<name> left;
    for (std::string_view const key : keys_in(read, context.left, context.options.state_suffixes))
        left.push_back(context.code.make_text(key));
    vector<name> const right = names_of(context, bound, context.right);
    statement like{};
    like.origin = context.code.make_origin({{}, 0, {}, true});
    statements.insert(statements.begin(), context.code.make_statement(left, right, like));
}

/// Whether a statement has the word of a macro that needs to know how tensors are cut.
inline bool needs_chain(macro_context const& context, vector<statement> const& statements) {
    return std::ranges::any_of(statements, [&](statement const& statement) {
        return std::ranges::any_of(macros, [&](macro const& each_macro) {
            return each_macro.needs_chain && is_fused(context, statement, each_macro.name);
        });
    });
}

/// Warns about statements on the same line, which occur if a comma between two texts is missing.
inline void warn_of_joined(macro_context& context, vector<statement> const& statements) {
    for (std::size_t i = 1; i < statements.size(); ++i)
        if (text_span const where = statements[i].where;
            where.last > where.first && where.first == statements[i - 1].where.last)
            context.warn(statements[i], "joined", {},
                         "this statement is on the same line as the one before it; write it on its "
                         "own line (in a list of strings, a comma may be missing)");
}

/// Applies all macros in order, each to the results of the macro before it.
///
/// \throws failed_statement with errc::limit_exceeded
inline void apply_macros(macro_context& context, vector<statement>& statements) {
    check_attributes(context, statements);
    std::optional<name_chain> chain;
    for (macro const& each_macro : macros) {
        if (each_macro.needs_chain && !chain && needs_chain(context, statements))
            context.chain = &chain.emplace(context.code, statements);
        each_macro.expand(context, statements);
    }
}

} // namespace detail

RESHARD_DECL expansion expand_all(program const& written, catalog const& source,
                                  catalog const* target, expand_options const& options) {
    expansion result{written, {}};
    expand_options expand_options = options;
    expand_options.state_suffixes =
        detail::with_conventions(options.state_suffixes, source, target);
    result.code.set_state_suffixes(expand_options.state_suffixes);
    macro_context context{result.code, options.reverse ? target : &source,
                          options.reverse ? &source : target, expand_options, result.findings};
    vector<statement> statements = written.statements();
    detail::warn_of_joined(context, statements);
    try {
        detail::apply_macros(context, statements);
        detail::restore_lost_names(context, statements);
    } catch (detail::failed_statement const& limit) {
        detail::add_error(context, limit);
        result.is_complete = false;
    } catch (error const& limit) { // a limit for all statements together
        detail::add_error(context, limit);
        result.is_complete = false;
    }
    result.first_error = context.first_error;
    result.code.replace_statements(std::move(statements));
    return result;
}

RESHARD_DECL expansion expand(program const& written, catalog const& source, catalog const* target,
                              expand_options const& options) {
    expansion result = expand_all(written, source, target, options);
    if (result.first_error)
        fail(*result.first_error, describe(result.code, *first_error_of(result.findings)));
    return result;
}

} // namespace reshard::aoa

#endif
