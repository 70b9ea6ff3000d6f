// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/lower.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_LOWER_CONTEXT_HPP
#define RESHARD_AOA_LOWER_CONTEXT_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The data that `lower` works on.

namespace reshard::aoa::detail {

/// The text of an error about a name that means no tensor.
inline constexpr std::string_view no_such_key =
    "is neither in the source nor made by an earlier statement";

/// The result of a statement, or a tensor of the source.
struct bound_value {
    expression tensor;
    vector<key_id> sources = {};     ///< only for a tensor that has no element of the source: its
                                     ///< sources all the same, in order, each once
    std::uint32_t fused = not_fused; ///< how it is interleaved: an index into the known facts
    std::uint32_t apart = not_fused; ///< what macros took apart for it: an index into that list

    static constexpr std::uint32_t not_fused = 0xffffffff;

    /// Calls `visit` with each tensor of the source that the value is made of, in order, once for
    /// each of its pieces.
    void for_each_source(auto const& visit) const {
        for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
            if (tensor.pieces.source(i) != zero_source)
                visit(tensor.pieces.source(i));
        for (key_id const id : sources)
            visit(id);
    }

    /// The first tensor of the source that the value is made of.
    ///
    /// \pre the value is made of at least one
    key_id first_source() const;
};

/// Whether a tensor has elements of the source, and is neither empty nor all zeros.
RESHARD_DECL bool has_source_elements(expression const& tensor);

/// The present meaning of a name.
struct binding {
    static constexpr std::uint32_t none = 0xffffffff;

    std::uint32_t value = none;        ///< the value that a statement has bound the name to
    key_id source_value = none;        ///< the tensor of the source, if a statement has read it
    std::uint32_t source_place = none; ///< the index of its value, which may have been released
    std::uint32_t uses = 0;            ///< how many statements read `value`
    bool is_spoilt = false;            ///< the statement that binds it has an error
    bool is_added = false;
    bool is_removed = false;
    bool is_wanted = false;   ///< the target has a tensor of that name
    bool is_shadow = false;   ///< it hides a tensor of the source, and a warning has said so
    text_span where;          ///< of the name that was bound
    std::uint32_t origin = 0; ///< of the statement that bound it
};

/// A whole, unchanged tensor of the source, or a value that a statement has made.
struct value_identity {
    bool is_source;
    std::uint32_t number; ///< of the tensor, or of the value

    auto operator<=>(value_identity const&) const = default;
};

/// The bindings of all names of a program.
class scope {
public:
    scope(program const& code, source_names const& source);

    /// The present meaning of a name.
    ///
    /// \pre it is a text or a temporary
    binding& operator[](name const& name);

    /// The binding of a key, or null if no name of the program has that text.
    binding const* find(std::string_view key) const;

    binding* find(std::string_view key);

    /// The tensor of the source that has the name for its key, or `source_names::none`.
    key_id source(name const& name) const;

    /// ` (did you mean 'w'?)`, for a tensor of the source or a tensor that a statement has made;
    /// empty after too many searches for errors of one program.
    std::string near(std::string_view key) const;

    /// The same for a tensor of a catalog.
    std::string near(std::string_view key, catalog const& tensors) const {
        return nearest_of(tensors, nearest_text(key, true));
    }

    /// The value of that number, which must be stored and not released; the reference lasts until
    /// the next `store`.
    bound_value const& value(std::uint32_t id) const { return values_[id].value; }

    /// The identity of the value of text number `id`: names with the same identity are the same
    /// tensor. std::nullopt if the program does not define the name.
    std::optional<value_identity> identity(std::uint32_t id) const;

    /// The tensors of the source that values are made of, in order, each once.
    vector<key_id> sources_of(vector<std::uint32_t> const& values) const;

    /// Stores a new value that no name is bound to, and returns its number.
    std::uint32_t store(bound_value&& value);

    /// Releases a value if no name is bound to it. Another value may then get its number.
    void release(std::uint32_t id);

    /// Binds a name to a value, for a statement of that origin.
    void bind(name const& name, std::uint32_t value, std::uint32_t origin);

    /// Marks a name whose statement has an error.
    void spoil(name const& name);

    /// The value of a name that a statement reads; it has to be released when the statement has
    /// run.
    ///
    /// \throws statement_error with errc::unknown_key when the name has no value, or is removed;
    ///         no_value after an earlier error
    std::uint32_t read(name const& name);

private:
    /// The result of a search that also looks at these tensors.
    std::string nearest_of(auto const& tensors, nearest_text search) const {
        if (searches_left_ == 0)
            return {};
        --searches_left_;
        for (catalog_entry const& entry : tensors)
            search.look_at(entry.key);
        return search.question();
    }

    /// A value, and how many names are bound to it.
    struct stored_value {
        bound_value value;
        key_id source = source_names::none; ///< the source tensor that the value equals, whole
        std::uint32_t names = 0;
        bool is_free = false;
    };

    /// The value of a tensor of the source. If names are bound to it, it is the same value.
    std::uint32_t read_source(name const& name, std::string_view key, binding& bound);

    /// Unbinds a name. The statement that binds it again has read its operands before, so they
    /// still exist for it.
    void unbind(binding& bound);

    /// The value of a temporary, which loses it when the last statement reads it.
    std::uint32_t read_value(name const& name, binding& bound);

    bound_value source_value(name const& name, std::string_view key, binding& bound) const;

    program const& code_;
    source_names const& source_;
    vector<binding> bindings_;
    vector<key_id> sources_; ///< by text
    vector<stored_value> values_;
    vector<std::uint32_t> free_;       ///< indices of `values_` that may be used again
    vector<std::uint32_t> reads_left_; ///< by temporary: how many statements will read it
    mutable int searches_left_ = 32;   ///< each looks at all names
};

/// The state of `lower`: its input, and its results so far.
struct lower_context {
    lower_context(program const& lowered, catalog const& sources, catalog const* targets,
                  lower_options const& chosen);

    lower_context(lower_context const&) = delete;
    lower_context& operator=(lower_context const&) = delete;

    /// Adds a finding that is an error of that code.
    void report(errc problem, finding finding);

    /// Notes that a statement changes nothing.
    void note_idle(statement const& statement);

    /// Notes that nothing uses the value of a name.
    void drop(name const& name, bool is_reported);

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& statement, std::string kind, std::string key, std::string message);

    /// Refuses a name that is the state of a tensor of the target: state follows its parameter, and
    /// no statement makes it.
    void check_bindable(name const& name) const;

    /// Warns of a value that nothing has read, and that nothing can read after its name is bound
    /// again.
    void warn_overwritten(statement const& statement, name const& bound_again);

    /// Warns of each tensor of the source that nothing has read, and that nothing can read because
    /// a statement has bound its name.
    void warn_replaced();

    /// The shape of a key of the target; if the target has only the key's states, their shape.
    ///
    /// \par Source 4.7 of the description of AOA; there states of two shapes are an error
    index_vector const* wanted_shape(std::string_view key) const;

    program const& code;
    catalog const* target; ///< null: unknown
    lower_options const& options;
    vector<state_suffix> suffixes; ///< from the options, and from the program
    scale_places declared{code};   ///< the program's additions
    source_names source;
    scope names;
    budget pieces{options.max_pieces, "pieces in all tensors that it makes", "max_pieces"};
    vector<fused_tensor> fused = {};        ///< how values are interleaved, by `bound_value::fused`
    vector<vector<taken_apart>> apart = {}; ///< by `bound_value::apart`
    lowering result;
};

/// Relates each output that has the same whole tensor as an earlier output to the first output of
/// that value: `w -> a` and `w -> b` make `b` an alias of `a`.
///
/// \par Source in the original, each copy is a separate tensor, and so is its state
RESHARD_DECL void relate_copies(lower_context& context);

/// Declares that `key` of the source, which is removed, has to equal the tensor that `by` names;
/// the same for each state that both have.
///
/// \throws statement_error with errc::unknown_key, errc::shape_mismatch or errc::dtype_mismatch
RESHARD_DECL void relate_copy(lower_context& context, std::string const& key, attribute const& by);

/// Notes how the result of a statement is interleaved: by a fused macro, or in the same way as its
/// operands.
RESHARD_DECL void note_fused(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values);

/// Notes for each result of a statement which source tensors a macro took apart to make it.
RESHARD_DECL void note_apart(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values);

/// Refuses a macro that treats an interleaved value as one tensor, and interleaves it once more.
///
/// \throws statement_error with errc::bad_macro
RESHARD_DECL void check_fused_again(lower_context const& context, statement const& statement,
                                    vector<std::uint32_t> const& operands);

/// Declares how outputs are interleaved, and what macros took apart for them.
RESHARD_DECL void declare_fused(lower_context& context);

/// Warns of outputs that are named like fused tensors, are a plain concat, and are cut by the
/// target along its axis: a rank then has rows of one of the tensors, and none of the others.
RESHARD_DECL void warn_plain_concats(lower_context& context);

/// Warns, once, of tensors that keep their own names, although part of the name is a tensor that
/// the program changes: they are optimizer state that does not follow.
RESHARD_DECL void warn_left_states(lower_context& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lower_context.ipp>
#endif

#endif
