// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP
#define RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What is in the dicts and lists of a pickle, by names with dots.

namespace reshard::detail {

/// A value with its name: the keys of dicts and the places in lists that lead to it, with dots.
struct named_value {
    std::string key;
    pickle_value value;
};

/// What is in the dicts and lists of a file, tensors and other values, in their order.
class value_walk {
public:
    using predicate = std::function<bool(pickle_value)>;

    value_walk(pickle const& values, predicate const& is_tensor)
        : values_(values), is_tensor_(is_tensor) {}

    std::vector<named_value> all() {
        walk("", values_.root(), 0);
        return std::move(all_);
    }

private:
    using kind = pickle_value::kind;

    /// Deeper than any state, and values within values more often than any.
    static constexpr std::size_t most_depth = 64, most_steps = std::size_t{1} << 24;

    /// What a value has that decides whether the list or the tuple around it is entered.
    struct content {
        bool has_tensor = false;
        bool opens_list = false; ///< it is a tensor, a dict, or a list that is entered itself

        content& operator|=(content other) {
            has_tensor |= other.has_tensor;
            opens_list |= other.opens_list;
            return *this;
        }
    };

    content walk(std::string const& key, pickle_value value, std::size_t depth) {
        if (depth > most_depth || ++steps_ > most_steps)
            fail(errc::corrupt_file, values_.file(), ": '", key, "': values within values, ",
                 depth > most_depth ? most_depth : most_steps,
                 " of them; is one of them within itself?");
        if (value.what == kind::dict)
            return walk_dict(key, value, depth);
        if (value.what == kind::list || value.what == kind::tuple)
            return walk_elements(key, value, depth);
        all_.push_back({key, value});
        bool const is_tensor = is_tensor_(value);
        return {is_tensor, is_tensor};
    }

    content walk_dict(std::string const& key, pickle_value value, std::size_t depth) {
        content found;
        pickle_pairs const members = values_.pairs(value, key);
        for (std::size_t i = 0; i < members.size(); ++i)
            found |= walk(joined(key, name_of(members[i].key, key)), members[i].value, depth + 1);
        return {found.has_tensor, true};
    }

    /// What was found in a list or a tuple that is not entered is forgotten again.
    content walk_elements(std::string const& key, pickle_value value, std::size_t depth) {
        content found;
        std::size_t const before = all_.size();
        auto const elements = values_.elements(value, key);
        if (are_plain(elements)) { // often many numbers, which need no names
            steps_ += elements.size();
            all_.push_back({key, value});
            return found;
        }
        for (std::size_t i = 0; i < elements.size(); ++i)
            found |= walk(joined(key, std::to_string(i)), elements[i], depth + 1);
        if (value.what == kind::tuple)
            found.opens_list = found.has_tensor;
        if (!found.opens_list) {
            all_.resize(before);
            all_.push_back({key, value});
        }
        return found;
    }

    bool are_plain(std::span<pickle_value const> elements) const {
        return std::ranges::none_of(elements, [&](pickle_value one) {
            return one.what == kind::dict || one.what == kind::list || one.what == kind::tuple ||
                   is_tensor_(one);
        });
    }

    static std::string joined(std::string const& key, std::string const& name) {
        return key.empty() ? name : key + "." + name;
    }

    std::string name_of(pickle_value name, std::string const& key) const {
        if (name.what == kind::integer)
            return std::to_string(values_.integer(name, key));
        if (name.what == kind::text)
            return std::string(values_.text(name, key));
        return values_.described(name); // of no tensor that is asked for
    }

    pickle const& values_;
    predicate const& is_tensor_;
    std::vector<named_value> all_;
    std::size_t steps_ = 0;
};

/// The tensors and other values of a pickle, in their order. One that is alone has no name.
///
/// Dicts are entered, so that an empty one is nothing; lists that have a tensor, a dict, or a list
/// that is entered; tuples that have a tensor somewhere. All others are one value.
///
/// \throws error with errc::corrupt_file for values within themselves
/// \par Source torch.distributed.checkpoint._traverse of torch 2.4 to 2.15, but for tuples, all of
///             which are one value there
inline std::vector<named_value> named_values(pickle const& values,
                                             value_walk::predicate const& is_tensor) {
    return value_walk(values, is_tensor).all();
}

} // namespace reshard::detail

#endif
