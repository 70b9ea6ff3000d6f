// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP
#define RESHARD_FORMAT_PICKLE_NAMED_VALUES_HPP

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
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

    value_walk(pickle const& values, file_store::file const& file, predicate const& is_tensor)
        : values_(values), file_(file), is_tensor_(is_tensor) {}

    std::vector<named_value> all() {
        walk("", values_.root(), 0);
        return std::move(all_);
    }

    /// The names of tuples that were entered, and stand in no other one.
    ///
    /// \pre `all` was called
    std::vector<std::string> const& tuples() const { return tuples_; }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 64; ///< deeper than any state

    /// What a file may have, beside what it has for each byte that was read: values that stand in
    /// many places are there many times here, and each with a name.
    static constexpr std::uint64_t base_values = 1 << 16, base_elements = 1 << 24,
                                   base_bytes_of_names = 1 << 20;

    /// A name has those around it in front.
    static constexpr std::uint64_t bytes_of_names_a_byte = 64;

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
        if (depth > most_depth)
            fail(errc::corrupt_file, values_.file(), ": '", key, "': values within values, ",
                 most_depth, " of them; is one of them within itself?");
        count(found_, 1, base_values + values_.bytes_read(), "values");
        if (value.what == kind::dict)
            return walk_dict(key, value, depth);
        if (value.what == kind::list || value.what == kind::tuple)
            return walk_elements(key, value, depth);
        bool const is_tensor = is_tensor_(value);
        add(key, value, is_tensor);
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
        std::size_t const before = all_.size(), tuples_before = tuples_.size();
        auto const elements = values_.elements(value, key);
        if (are_plain(elements)) { // often many numbers, which need no names
            count(elements_, elements.size(), base_elements + values_.bytes_read(),
                  "elements of lists");
            add(key, value);
            return found;
        }
        for (std::size_t i = 0; i < elements.size(); ++i)
            found |= walk(joined(key, std::to_string(i)), elements[i], depth + 1);
        if (value.what == kind::tuple)
            found.opens_list = found.has_tensor;
        if (value.what == kind::tuple && found.has_tensor) {
            tuples_.resize(tuples_before);
            tuples_.push_back(key);
        }
        if (!found.opens_list) {
            for (std::size_t i = before; i < all_.size(); ++i)
                memory_ -= memory_of(all_[i].key, false);
            all_.resize(before);
            add(key, value);
        }
        return found;
    }

    /// What is made of a value before anything is read: three times its name, and a tensor of a
    /// checkpoint with where it lies, or an object.
    static std::uint64_t memory_of(std::string const& key, bool is_tensor) {
        return (is_tensor ? 480 : 220) + 3 * key.size();
    }

    void add(std::string const& key, pickle_value value, bool is_tensor = false) {
        all_.push_back({key, value});
        memory_ += memory_of(key, is_tensor);
        if (std::uint64_t const all = values_.memory() + memory_; all > values_.most_memory())
            fail(errc::limit_exceeded, values_.file(), ": the first ", all_.size(),
                 " values would take ", all, " bytes of memory; that is too much for a pickle of ",
                 values_.bytes_read(), " bytes");
    }

    bool are_plain(std::span<pickle_value const> elements) const {
        return std::ranges::none_of(elements, [&](pickle_value one) {
            return one.what == kind::dict || one.what == kind::list || one.what == kind::tuple ||
                   is_tensor_(one);
        });
    }

    std::string joined(std::string const& key, std::string const& name) {
        std::string all = key.empty() ? name : key + "." + name;
        count(bytes_of_names_, all.size(),
              base_bytes_of_names + bytes_of_names_a_byte * values_.bytes_read(), "bytes of names");
        return all;
    }

    /// Refuses what would take more memory or time than a file of that length can ask for.
    void count(std::uint64_t& counted, std::uint64_t more, std::uint64_t most,
               std::string_view what) const {
        counted += more;
        if (counted > most)
            fail(errc::limit_exceeded, values_.file(), ": more than ", most, " ", what,
                 ", if all is counted as often as it stands in dicts and lists; that is too much "
                 "for a pickle of ",
                 values_.bytes_read(), " bytes");
    }

    std::string name_of(pickle_value name, std::string const& key) const {
        if (name.what == kind::integer)
            return std::to_string(values_.integer(name, key));
        if (name.what == kind::text)
            return std::string(values_.text(name, key));
        if (name.what == kind::long_text)
            return long_name(values_.unread(name, key));
        return values_.described(name); // of no tensor that is asked for
    }

    std::string long_name(byte_run where) const {
        if (where.size() > most_pickled_name_bytes)
            fail(errc::limit_exceeded, values_.file(), ": byte ", where.begin, " begins a name of ",
                 where.size(), " bytes; those of more than ", most_pickled_name_bytes,
                 " are not read");
        std::string name(static_cast<std::size_t>(where.size()), '\0');
        file_.read(where.begin, std::as_writable_bytes(std::span(name)));
        return name;
    }

    pickle const& values_;
    file_store::file const& file_;
    predicate const& is_tensor_;
    std::vector<named_value> all_;
    std::vector<std::string> tuples_;
    std::uint64_t memory_ = 0;   ///< for `all_`
    std::uint64_t found_ = 0;    ///< values that were come by
    std::uint64_t elements_ = 0; ///< of lists that are one value
    std::uint64_t bytes_of_names_ = 0;
};

/// The tensors and other values of a pickle, in their order. One that is alone has no name.
///
/// Dicts are entered, so that an empty one is nothing; lists that have a tensor, a dict, or a list
/// that is entered; tuples that have a tensor somewhere. All others are one value.
///
/// Its memory grows with the bytes of the pickle that were read.
///
/// \param  file the one that the pickle was read from, which long names are in
/// \throws error with errc::corrupt_file for values within themselves; errc::limit_exceeded for
///         values that stand in so many places that they are out of proportion to the file, and for
///         a name of more than 64 KiB
/// \par Source torch.distributed.checkpoint._traverse of torch 2.4 to 2.15, but for tuples, all of
///             which are one value there
inline std::vector<named_value> named_values(pickle const& values, file_store::file const& file,
                                             value_walk::predicate const& is_tensor) {
    return value_walk(values, file, is_tensor).all();
}

} // namespace reshard::detail

#endif
