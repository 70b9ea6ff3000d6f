// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP
#define RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP

#include <reshard/core/config.hpp>
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
#include <vector>

/// \file
/// The values in the dicts and lists of a pickle, by names with dots.

namespace reshard::detail {

/// A value with its name: the keys of dicts and the indices in lists that lead to it, with dots.
struct named_value {
    std::string key;
    pickle_value value;
};

/// Says whether a value is one that is looked for.
using value_predicate = std::function<bool(pickle_value)>;

/// The tensors and other values of a pickle, in their order. One that is alone has no name.
///
/// Dicts are entered, so that an empty one is nothing; lists that have a tensor, a dict, or a list
/// that is entered; tuples that have a tensor somewhere. All others are one value, and so is one
/// that is within itself, or within more than 64 others. A key that is not a text is a name as
/// Python writes it, `('a', 1)`. Its memory grows with the bytes of the pickle that were read.
///
/// \param  file   the one that the pickle was read from, which long names are in
/// \param  tuples gets the names of tuples that were entered, and are in no other one
/// \throws error with errc::limit_exceeded for values that occur so often that they are out of
///         proportion to the file, and for a name of more than 64 KiB
/// \par Source torch.distributed.checkpoint._traverse of torch 2.4 to 2.15, except for tuples, all
///             of which are one value there
RESHARD_DECL std::vector<named_value> named_values(pickle const& values,
                                                   file_store::file const& file,
                                                   value_predicate const& is_tensor,
                                                   std::vector<std::string>* tuples = nullptr);

/// True for a value of which others are parts.
inline bool has_others(pickle_value value) {
    using kind = pickle_value::kind;
    switch (value.type) {
    case kind::tuple: return value.count > 0; // empty ones may be shared
    case kind::list:
    case kind::set:
    case kind::dict:
    case kind::object: return true;
    default: return false;
    }
}

/// Looks for values within others: in lists and dicts, in a deque, in a set, or in the state of an
/// object. Each value is looked through once, wherever it is.
class value_search {
public:
    value_search(pickle const& values, value_predicate is_wanted)
        : values_(values), is_wanted_(std::move(is_wanted)) {}

    /// A value that is wanted, which may be `value` itself.
    std::optional<pickle_value> find_in(pickle_value value) { return find_in(value, 0); }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 1000; ///< more than values that are carried may have

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

/// Finds values that are neither read nor carried, but only listed: those that name what no file
/// may name, those that are within themselves, and those that are too deep.
class opaque_search {
public:
    explicit opaque_search(pickle const& values)
        : values_(values), unknown_(values, [&values](pickle_value value) {
              return values.unknown_class(value).has_value();
          }) {}

    /// Why a value is opaque; empty if it is not.
    RESHARD_DECL std::string reason(pickle_value value);

private:
    /// A value that is looked through, and the number of its next part.
    struct step {
        pickle_value value;
        std::size_t next = 0;
        std::size_t height = 0; ///< of the parts before
    };

    std::size_t height(pickle_value value);
    std::optional<pickle_value> part(step const& of) const;
    bool has_few_plain(pickle_value value) const;

    pickle const& values_;
    value_search unknown_;
    /// How many values are in each other, for each that was looked through.
    std::map<std::pair<pickle_value::kind, std::uint64_t>, std::size_t> heights_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/named_values.ipp>
#endif

#endif
