// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SCOPE_HPP
#define RESHARD_AOA_SCOPE_HPP

#include <reshard/aoa/bound_value.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/core/nearest.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// What the names of a program mean while its statements run one after the other.

namespace reshard::aoa {

namespace detail {

/// What to write for the numbers of a name that has something else for them.
inline std::string number_advice(std::string_view key) {
    return key.find_first_of("${") == key.npos
               ? std::string()
               : "; for each number that there is write a placeholder in capitals, as in "
                 "l.$LAYER_ID.w";
}

} // namespace detail

/// What a name means now.
struct binding {
    static constexpr std::uint32_t none = 0xffffffff;

    std::uint32_t value = none;        ///< what a statement bound it to
    key_id source_value = none;        ///< the tensor of the source, where a statement has read it
    std::uint32_t source_place = none; ///< where its value was, and is if it has not been released
    std::uint32_t uses = 0;            ///< how many statements read `value`
    bool is_spoilt = false;            ///< the statement that binds it has an error
    bool is_added = false;
    bool is_removed = false;
    bool is_wanted = false;   ///< the target has a tensor of that name
    bool is_shadow = false;   ///< of a tensor of the source; that has been said
    text_span where;          ///< of the name, where it was bound
    std::uint32_t origin = 0; ///< of the statement that bound it
};

/// A tensor of the source, all of it and unchanged, or a value that a statement has made.
struct value_identity {
    bool is_source;
    std::uint32_t number; ///< of the tensor, or of the value

    auto operator<=>(value_identity const&) const = default;
};

/// The bindings of all names of a program.
class scope {
public:
    scope(program const& code, source_names const& source)
        : code_(code),
          source_(source),
          bindings_(code.text_count() + code.fresh_count()),
          sources_(code.text_count(), source_names::none),
          reads_left_(code.fresh_count()) {
        for (key_id id = 0; id < source.tensors().size(); ++id)
            if (auto const text = code.find(source.tensors()[id].key))
                sources_[*text] = id;
        for (statement const& one : code.statements())
            for (name const& read_name : code.left(one))
                if (read_name.kind == name::kind_type::fresh)
                    ++reads_left_[read_name.id];
    }

    /// What a name means now.
    ///
    /// \pre it is a text or a temporary
    binding& operator[](name const& one) {
        return bindings_[one.id + (one.kind == name::kind_type::fresh ? code_.text_count() : 0)];
    }

    /// The binding of a key, or null where no name of the program has that text.
    binding const* find(std::string_view key) const {
        auto const id = code_.find(key);
        return id ? &bindings_[*id] : nullptr;
    }

    binding* find(std::string_view key) {
        auto const id = code_.find(key);
        return id ? &bindings_[*id] : nullptr;
    }

    /// The tensor of the source that has the name for its key, or `source_names::none`.
    key_id source(name const& one) const {
        return one.kind == name::kind_type::text ? sources_[one.id] : source_names::none;
    }

    /// ` (did you mean 'w'?)`, for a tensor of the source or one that a statement has made; nothing
    /// once it has been asked too often for errors of one program.
    std::string near(std::string_view key) const {
        nearest_text search(key, true);
        for (std::uint32_t id = 0; searches_left_ > 0 && id < code_.text_count(); ++id)
            if (bindings_[id].value != binding::none)
                search.look_at(code_.text({name::kind_type::text, false, id, {}}));
        return nearest_of(source_.tensors(), search);
    }

    /// The same for a tensor of a catalog.
    std::string near(std::string_view key, catalog const& tensors) const {
        return nearest_of(tensors, nearest_text(key, true));
    }

    /// The value of that number, which has been stored and not been released; it lasts until the
    /// next `store`.
    bound_value const& value(std::uint32_t id) const { return values_[id].value; }

    /// What tells the value of text number `id` from others: two names of one are the same tensor.
    /// Nothing where the program does not say what the name is.
    std::optional<value_identity> identity(std::uint32_t id) const {
        binding const& bound = bindings_[id];
        if (bound.is_spoilt)
            return std::nullopt;
        if (bound.value == binding::none)
            return bound.source_value == source_names::none
                       ? std::nullopt
                       : std::optional(value_identity{true, bound.source_value});
        key_id const source = values_[bound.value].source;
        return source != source_names::none ? value_identity{true, source}
                                            : value_identity{false, bound.value};
    }

    /// The tensors of the source that values are made of, in order, each once.
    std::vector<key_id> sources_of(std::vector<std::uint32_t> const& values) const {
        std::vector<key_id> sources;
        std::unordered_set<key_id> seen;
        for (std::uint32_t const id : values)
            value(id).for_each_source([&](key_id from) {
                if (seen.insert(from).second)
                    sources.push_back(from);
            });
        return sources;
    }

    /// The number of a new value, which no name is bound to.
    std::uint32_t store(bound_value&& made) {
        if (free_.empty()) {
            values_.push_back({std::move(made)});
            return static_cast<std::uint32_t>(values_.size() - 1);
        }
        std::uint32_t const id = free_.back();
        free_.pop_back();
        values_[id].value = std::move(made);
        values_[id].source = source_names::none;
        values_[id].is_free = false;
        return id;
    }

    /// Gives a value up, if no name is bound to it: its number is another one's from now on.
    void release(std::uint32_t id) {
        if (values_[id].names > 0 || values_[id].is_free)
            return;
        values_[id].is_free = true;
        free_.push_back(id);
    }

    /// A statement of that origin binds a name to a value.
    void bind(name const& one, std::uint32_t value, std::uint32_t origin) {
        binding& bound = (*this)[one];
        if (value != binding::none)
            ++values_[value].names;
        unbind(bound);
        bound.value = value;
        bound.uses = 0;
        bound.is_spoilt = false;
        bound.where = one.where;
        bound.origin = origin;
    }

    /// The statement that should have bound a name has an error.
    void spoil(name const& one) {
        bind(one, binding::none, 0);
        (*this)[one].is_spoilt = true;
    }

    /// The value of a name that a statement reads; to be released when the statement has run.
    ///
    /// \throws statement_error with errc::unknown_key when it has none, or is removed; no_value
    ///         after an earlier error
    std::uint32_t read(name const& one) {
        binding& bound = (*this)[one];
        if (bound.is_spoilt)
            throw no_value{};
        if (bound.value != binding::none) {
            ++bound.uses;
            return read_value(one, bound);
        }
        std::string_view const key = code_.text(one);
        if (bound.is_removed)
            throw statement_error{errc::unknown_key,
                                  "'" + std::string(key) + "' is used here, and the statement at " +
                                      place_text(code_, bound.where) + " removes it",
                                  one.where, std::string(key)};
        return read_source(one, key, bound);
    }

private:
    /// What a search finds that looks at the tensors as well.
    template <class Tensors>
    std::string nearest_of(Tensors const& tensors, nearest_text search) const {
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
        key_id source = source_names::none; ///< that it is, all of it
        std::uint32_t names = 0;
        bool is_free = false;
    };

    /// The value of a tensor of the source: the one that names are bound to, if there are any.
    std::uint32_t read_source(name const& one, std::string_view key, binding& bound) {
        if (bound.source_place != binding::none) {
            stored_value const& before = values_[bound.source_place];
            if (!before.is_free && before.source == bound.source_value)
                return bound.source_place;
        }
        bound.source_place = store(source_value(one, key, bound));
        values_[bound.source_place].source = bound.source_value;
        return bound.source_place;
    }

    /// No name is unbound before the statement that binds it anew has read its operands: what that
    /// gives up is still there for it.
    void unbind(binding& bound) {
        if (bound.value != binding::none && --values_[bound.value].names == 0)
            release(bound.value);
        bound.value = binding::none;
    }

    /// The last statement that reads a temporary leaves it without a value.
    std::uint32_t read_value(name const& one, binding& bound) {
        std::uint32_t const id = bound.value;
        if (one.kind == name::kind_type::fresh && --reads_left_[one.id] == 0) {
            --values_[id].names;
            bound.value = binding::none;
        }
        return id;
    }

    bound_value source_value(name const& one, std::string_view key, binding& bound) const {
        auto const refuse = [&](std::string const& why) {
            throw statement_error{errc::unknown_key, "'" + std::string(key) + "' " + why, one.where,
                                  std::string(key)};
        };
        if (source_.is_state(key))
            refuse("is the state of '" + std::string(parameter_of(key, source_.suffixes())) +
                   "'; statements name parameters, and their state follows");
        key_id id = source(one);
        if (id == source_names::none)
            id = source_.find_parameter(key);
        if (id == source_names::none)
            refuse(bound.is_added ? "is added by an earlier statement, and has nothing to be read"
                                  : "is neither in the source nor made by an earlier statement" +
                                        near(key) + detail::number_advice(key));
        bound.source_value = id;
        catalog_entry const& entry = source_.entry(id);
        bound_value found{source_tensor(id, entry.shape, entry.dtype)};
        if (!has_source_elements(found.tensor))
            found.sources.push_back(id);
        return found;
    }

    program const& code_;
    source_names const& source_;
    std::vector<binding> bindings_;
    std::vector<key_id> sources_; ///< by text
    std::vector<stored_value> values_;
    std::vector<std::uint32_t> free_;       ///< places of `values_` that may be used again
    std::vector<std::uint32_t> reads_left_; ///< by temporary: how many statements will read it
    mutable int searches_left_ = 32;        ///< each looks at all names
};

} // namespace reshard::aoa

#endif
