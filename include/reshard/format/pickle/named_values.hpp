// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP
#define RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// The values in the dicts and lists of a pickle, with dotted names.

namespace reshard::detail {

/// A value with its name: the dict keys and list indices that lead to the value, joined by dots.
struct named_value {
    std::string key;
    pickle_value value;
};

/// True for the values that a search should find.
using value_predicate = std::function<bool(pickle_value)>;

/// The tensors and other values of a pickle, in their order. If the pickle is a single value, the
/// value has no name.
///
/// All dicts are entered, so an empty dict gives no value. Lists are entered if they have a tensor,
/// a dict, or a list that is entered; tuples, if they have a tensor at any depth. Any other value
/// is one entry, and so is a value within itself or below more than 64 others. A key that is not a
/// text becomes a name in Python's form, `('a', 1)`. The memory is proportional to the bytes that
/// were read of the pickle.
///
/// \param  file   the file of the pickle; long names are read from it
/// \param  tuples receives the names of entered tuples that are not inside another tuple
/// \throws error with errc::limit_exceeded if repeated values make their number too large for the
///         file, and for a name of more than 64 KiB
/// \par Source torch.distributed.checkpoint._traverse of torch 2.4 to 2.15, except for tuples:
///             there each tuple is one value
RESHARD_DECL vector<named_value> named_values(pickle const& values, file_store::file const& file,
                                              value_predicate const& is_tensor,
                                              vector<std::string>* tuples = nullptr);

/// True for a value that contains other values.
inline bool has_others(pickle_value value) {
    using kind = pickle_value::kind;
    switch (value.type) {
    case kind::tuple: return value.count > 0; // empty tuples may be shared
    case kind::list:
    case kind::set:
    case kind::dict:
    case kind::object: return true;
    default: return false;
    }
}

/// Finds values inside other values: in lists and dicts, in a deque, in a set, or in the state of
/// an object. Each value is searched only once, even if it occurs several times.
class value_search {
public:
    value_search(pickle const& values, value_predicate is_wanted)
        : values_(values), is_wanted_(std::move(is_wanted)) {}

    /// A wanted value in `value`, which may be `value` itself.
    std::optional<pickle_value> find_in(pickle_value value) { return find_in(value, 0); }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 1000; ///< deeper than any carried value

    std::optional<pickle_value> find_in(pickle_value value, std::size_t depth) {
        if (is_wanted_(value))
            return value;
        if (!has_others(value))
            return std::nullopt;
        std::pair const pair{value.type, value.position};
        auto const [match, is_new] = known_.try_emplace(pair);
        if (!is_new || depth > most_depth)
            return match->second;
        return match->second = find_in_others(value, depth + 1);
    }

    std::optional<pickle_value> find_in_others(pickle_value value, std::size_t depth) {
        if (value.type == kind::dict)
            return find_in_any(values_.pairs(value, {}).values, depth);
        if (value.type != kind::object)
            return find_in_any(values_.elements(value, {}), depth);
        pickle_object const& object = values_.object(value, {});
        pickle_value const parts[] = {object.arguments, object.state};
        return find_in_any(parts, depth);
    }

    std::optional<pickle_value> find_in_any(std::span<pickle_value const> values,
                                            std::size_t depth) {
        for (pickle_value const value : values)
            if (auto const match = find_in(value, depth))
                return match;
        return std::nullopt;
    }

    pickle const& values_;
    value_predicate is_wanted_;
    std::map<std::pair<kind, std::uint64_t>, std::optional<pickle_value>> known_;
};

/// Finds values that are listed, but neither read nor carried: values with unknown classes or
/// functions, values within themselves, and values that are nested too deeply.
class opaque_search {
public:
    explicit opaque_search(pickle const& values)
        : values_(values), unknown_(values, [&values](pickle_value value) {
              return values.unknown_class(value).has_value();
          }) {}

    /// Why a value is opaque; empty if it is not.
    RESHARD_DECL std::string reason(pickle_value value);

private:
    /// A value that is being searched, and the index of its next part.
    struct step {
        pickle_value value;
        std::size_t next = 0;
        std::size_t height = 0; ///< the largest height of the parts so far
    };

    std::size_t height(pickle_value value);
    std::optional<pickle_value> part(step const& of) const;
    bool has_few_plain(pickle_value value) const;

    pickle const& values_;
    value_search unknown_;
    /// The depth of nesting in each value that was searched.
    std::map<std::pair<pickle_value::kind, std::uint64_t>, std::size_t> heights_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/named_values.ipp>
#endif

#endif
