// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP
#define RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle.hpp>

#include <cstddef>
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
    explicit value_walk(pickle const& values) : values_(values) {}

    std::vector<named_value> all() {
        walk("", values_.root(), 0);
        return std::move(all_);
    }

private:
    using kind = pickle_value::kind;

    /// Deeper than any state, and values within values more often than any.
    static constexpr std::size_t most_depth = 64, most_steps = std::size_t{1} << 24;

    void walk(std::string const& key, pickle_value value, std::size_t depth) {
        if (depth > most_depth || ++steps_ > most_steps)
            fail(errc::corrupt_file, values_.file(), ": '", key, "': values within values, ",
                 depth > most_depth ? most_depth : most_steps,
                 " of them; is one of them within itself?");
        bool const is_list = value.what == kind::list || value.what == kind::tuple;
        bool const is_empty = value.what == kind::dict
                                  ? values_.pairs(value, key).size() == 0
                                  : is_list && values_.elements(value, key).empty();
        if (is_empty || (value.what != kind::dict && !is_list))
            all_.push_back({key, value});
        else if (value.what == kind::dict) {
            pickle_pairs const members = values_.pairs(value, key);
            for (std::size_t i = 0; i < members.size(); ++i)
                walk(joined(key, name_of(members[i].key, key)), members[i].value, depth + 1);
        } else {
            auto const elements = values_.elements(value, key);
            for (std::size_t i = 0; i < elements.size(); ++i)
                walk(joined(key, std::to_string(i)), elements[i], depth + 1);
        }
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
    std::vector<named_value> all_;
    std::size_t steps_ = 0;
};

/// All values of a pickle that are not dicts, lists or tuples of others, in their order. One that
/// is alone has no name.
///
/// \throws error with errc::corrupt_file for values within themselves
inline std::vector<named_value> named_values(pickle const& values) {
    return value_walk(values).all();
}

} // namespace reshard::detail

#endif
