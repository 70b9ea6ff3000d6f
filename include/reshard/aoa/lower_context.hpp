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
#include <reshard/expr/check.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The data of `lower`.

namespace reshard::aoa::detail {

/// The message about a name that no tensor has.
inline constexpr std::string_view no_such_key =
    "is neither in the source nor made by an earlier statement";

/// The result of a statement, or a tensor of the source.
struct bound_value {
    expression tensor;
    vector<key_id> sources = {};     ///< only for a value without elements of the source: the
                                     ///< source tensors that it is made of nevertheless, in order,
                                     ///< each once
    std::uint32_t fused = not_fused; ///< index of the facts about its interleaving
    std::uint32_t apart = not_fused; ///< index of the list of tensors that macros took apart for it

    static constexpr std::uint32_t not_fused = 0xffffffff;

    /// Calls `visit` with each source tensor that the value is made of, in order, once for each of
    /// its pieces.
    void for_each_source(auto const& visit) const {
        for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
            if (tensor.pieces.source(i) != zero_source)
                visit(tensor.pieces.source(i));
        for (key_id const id : sources)
            visit(id);
    }

    /// The first source tensor that the value is made of.
    ///
    /// \pre the value is made of at least one source tensor
    key_id first_source() const;
};

/// Whether a tensor has elements of a source tensor; false if it is empty or all zeros.
RESHARD_DECL bool has_source_elements(expression const& tensor);

/// The current meaning of a name.
struct binding {
    static constexpr std::uint32_t none = 0xffffffff;

    std::uint32_t value = none;        ///< number of the value that is bound to the name
    key_id source_value = none;        ///< number of the source tensor, if a statement has read it
    std::uint32_t source_place = none; ///< index of its value, which may have been released
    std::uint32_t uses = 0;            ///< number of statements that read `value`
    bool is_spoilt = false;            ///< the statement that binds the name has an error
    bool is_added = false;
    bool is_removed = false;
    bool is_wanted = false;   ///< the target has a tensor of this name
    bool is_shadow = false;   ///< hides a source tensor, and a warning has reported it
    text_span where;          ///< position of the name that was bound
    std::uint32_t origin = 0; ///< origin of the statement that bound it
};

/// Identifies a full, unchanged source tensor, or the result of a statement.
struct value_identity {
    bool is_source;
    std::uint32_t number; ///< number of the tensor, or of the value

    auto operator<=>(value_identity const&) const = default;
};

/// The bindings of all names of a program.
class scope {
public:
    scope(program const& code, source_names const& source);

    /// The current meaning of a name.
    ///
    /// \pre it is a text or a temporary
    binding& operator[](name const& name);

    /// The binding of a key, or null if no name in the program has this text.
    binding const* find(std::string_view key) const;

    binding* find(std::string_view key);

    /// The source tensor whose key is the name, or `source_names::none`.
    key_id source(name const& name) const;

    /// For example ` (did you mean 'w'?)`, for a source tensor or a result of a statement. Empty
    /// after too many searches for the errors of one program.
    std::string near(std::string_view key) const;

    /// The nearest key of a tensor in a catalog, in the same form.
    std::string near(std::string_view key, catalog const& tensors) const {
        return nearest_of(tensors, nearest_text(key, true));
    }

    /// The value with this number; the reference is valid until the next `store`. \pre the value
    /// has been stored and not released
    bound_value const& value(std::uint32_t id) const { return values_[id].value; }

    /// The identity of the value of text number `id`; std::nullopt if the program does not define
    /// the name. Names with the same identity are the same tensor.
    std::optional<value_identity> identity(std::uint32_t id) const;

    /// The source tensors that values are made of, in order, each once.
    vector<key_id> sources_of(vector<std::uint32_t> const& values) const;

    /// Stores a new value without a name, and returns its number.
    std::uint32_t store(bound_value&& value);

    /// Releases a value that no name is bound to. Another value may then get its number.
    void release(std::uint32_t id);

    /// Binds a name to a value, for a statement with this origin.
    void bind(name const& name, std::uint32_t value, std::uint32_t origin);

    /// Marks a name as the result of a statement with an error.
    void spoil(name const& name);

    /// The value of a name that a statement reads. The value has to be released after the statement
    /// has run.
    ///
    /// \throws statement_error with errc::unknown_key if the name has no value or is removed;
    ///         no_value after an earlier error
    std::uint32_t read(name const& name);

private:
    /// Continues a search in the keys of `tensors`, and returns its result.
    std::string nearest_of(auto const& tensors, nearest_text search) const {
        if (searches_left_ == 0)
            return {};
        --searches_left_;
        for (catalog_entry const& entry : tensors)
            search.look_at(entry.key);
        return search.question();
    }

    /// A value, and the number of names that are bound to it.
    struct stored_value {
        bound_value value;
        key_id source = source_names::none; ///< the full source tensor that the value equals
        std::uint32_t names = 0;
        bool is_free = false;
    };

    /// The value of a source tensor. While names are bound to it, they share the same value.
    std::uint32_t read_source(name const& name, std::string_view key, binding& bound);

    /// Unbinds a name. A statement that binds the name again has already read its operands, so they
    /// still exist for the statement.
    void unbind(binding& bound);

    /// The value of a temporary. The last statement that reads it takes it from the temporary.
    std::uint32_t read_value(name const& name, binding& bound);

    bound_value source_value(name const& name, std::string_view key, binding& bound) const;

    program const& code_;
    source_names const& source_;
    vector<binding> bindings_;
    vector<key_id> sources_; ///< by text number
    vector<stored_value> values_;
    vector<std::uint32_t> free_;       ///< indices of `values_` that can be used again
    vector<std::uint32_t> reads_left_; ///< by temporary: remaining statements that read it
    mutable int searches_left_ = 32;   ///< limits the cost: each search compares all names
};

/// The state of `lower`: its input and its results.
struct lower_context {
    lower_context(program const& lowered, catalog const& sources, catalog const* targets,
                  lower_options const& chosen);

    lower_context(lower_context const&) = delete;
    lower_context& operator=(lower_context const&) = delete;

    /// Adds a finding that is an error with this code.
    void report(errc problem, finding finding);

    /// Records a statement that has no effect.
    void note_idle(statement const& statement);

    /// Records a name whose value is not used.
    void drop(name const& name, bool is_reported);

    /// Adds a warning about a statement: a `finding::code`, the tensor, and a sentence.
    void warn(statement const& statement, std::string kind, std::string key, std::string message);

    /// Refuses to bind a name that is the state of a target tensor: state follows its parameter, so
    /// no statement may make it.
    void check_bindable(name const& name) const;

    /// Warns about a value that no statement has read, and that none can read once its name is
    /// bound again.
    void warn_overwritten(statement const& statement, name const& bound_again);

    /// Warns about each source tensor that no statement has read, and that none can read any more,
    /// because a statement has bound its name.
    void warn_replaced();

    /// The shape of a target key. If the target has only the key's states, it is the states' shape.
    ///
    /// \par Source section 4.7 of the description of AOA; there states of two shapes are an error
    index_vector const* wanted_shape(std::string_view key) const;

    program const& code;
    catalog const* target; ///< null: unknown
    lower_options const& options;
    vector<state_suffix> suffixes; ///< from the options and from the program
    scale_places declared{code};   ///< suffixes that the program adds
    source_names source;
    scope names;
    budget pieces{options.max_pieces, "pieces in all tensors that it makes", "max_pieces"};
    std::map<key_id, tensor_scales> dequantized = {}; ///< sources, and their scales
    vector<fused_tensor> fused = {};                  ///< interleavings, by `bound_value::fused`
    vector<vector<taken_apart>> apart = {};           ///< lists, by `bound_value::apart`
    lowering result;
};

/// Relates outputs that are the same full tensor: `w -> a` and `w -> b` make `b` an alias of `a`.
/// Each later output is related to the first one.
///
/// \par Source in the original, each copy is a separate tensor, and so is its state
RESHARD_DECL void relate_copies(lower_context& context);

/// Declares that the removed source tensor `key` has to equal the tensor that `by` names, and
/// likewise each state that both tensors have.
///
/// \throws statement_error with errc::unknown_key, errc::shape_mismatch or errc::dtype_mismatch
RESHARD_DECL void relate_copy(lower_context& context, std::string const& key, attribute const& by);

/// Records how the results of a statement are interleaved: by a fused macro, or like its operands.
RESHARD_DECL void note_fused(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values);

/// Records, for each result of a statement, the source tensors that a macro took apart to make it.
RESHARD_DECL void note_apart(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values);

/// Refuses a macro that treats an interleaved value as one tensor, and interleaves it again.
///
/// \throws statement_error with errc::bad_macro
RESHARD_DECL void check_fused_again(lower_context const& context, statement const& statement,
                                    vector<std::uint32_t> const& operands);

/// Declares how the outputs are interleaved, and the tensors that macros took apart for them.
RESHARD_DECL void declare_fused(lower_context& context);

/// Warns about outputs that have the names of fused tensors but are plain concats, if the target
/// cuts them along the concat's axis: a rank would have rows of one member, and none of the others.
RESHARD_DECL void warn_plain_concats(lower_context& context);

/// Warns once of tensors that keep their names although the name contains the name of a tensor that
/// the program changes: optimizer state that does not follow its parameter.
RESHARD_DECL void warn_left_states(lower_context& context);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lower_context.ipp>
#endif

#endif
