// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_NAMED_VALUES_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_NAMED_VALUES_IPP

#include <reshard/format/pickle/named_values.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/pickle/encoded_bytes.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>

namespace reshard::detail {

/// Writes a key of a dict that is neither a text nor a whole number in Python's form.
class key_writer {
public:
    key_writer(pickle const& values, file_store::file const& file, std::string const& dict)
        : values_(values), file_(file), dict_(dict) {}

    /// \throws error with errc::limit_exceeded for a text that is too long for a name
    std::string text(pickle_value key) {
        put(key, 0);
        return std::move(text_);
    }

private:
    using kind = pickle_value::kind;

    void put(pickle_value value, std::size_t depth) {
        constexpr std::size_t most_depth = 64;
        switch (value.type) {
        case kind::integer: return add(std::to_string(values_.integer(value, dict_)));
        case kind::boolean: return add(value.position != 0 ? "True" : "False");
        case kind::real: return add(python_text(values_.real(value, dict_)));
        case kind::text: return put_quoted(values_.text(value, dict_), true);
        case kind::bytes: return put_bytes(bytes_at(values_.bytes(value, dict_)));
        case kind::global: return add(values_.global(value, dict_));
        case kind::tuple:
        case kind::size:
        case kind::set:
        case kind::object: break;
        default: return add(values_.described(value));
        }
        if (depth == most_depth)
            return add(values_.described(value));
        if (value.type == kind::object)
            return put_object(value, depth);
        auto const elements = values_.elements(value, dict_);
        if (value.type == kind::tuple)
            return put_elements("(", elements, elements.size() == 1 ? ",)" : ")", depth);
        if (value.type == kind::size)
            return put_elements("torch.Size([", elements, "])", depth);
        put_elements("frozenset({", elements, "})", depth);
    }

    void put_elements(std::string_view begin, std::span<pickle_value const> elements,
                      std::string_view end, std::size_t depth) {
        add(begin);
        for (std::size_t i = 0; i < elements.size(); ++i) {
            add(i == 0 ? "" : ", ");
            put(elements[i], depth + 1);
        }
        add(end);
    }

    /// Writes bytes or frozen sets of protocol 2, or the arguments of a class.
    void put_object(pickle_value value, std::size_t depth) {
        pickle_object const& object = values_.object(value, dict_);
        auto const arguments = values_.elements(object.arguments, dict_);
        std::string_view const maker = values_.global(object.callable, dict_);
        if (maker == "_codecs.encode" && !arguments.empty() && arguments[0].type == kind::text)
            if (auto const bytes = latin1_bytes(values_.text(arguments[0], dict_)))
                return put_bytes(*bytes);
        bool const is_set = maker == "__builtin__.frozenset" || maker == "builtins.frozenset";
        if (is_set && arguments.size() == 1 && arguments[0].type == kind::list)
            return put_elements("frozenset({", values_.elements(arguments[0], dict_), "})", depth);
        add(maker);
        put_elements("(", arguments, ")", depth);
    }

    std::string bytes_at(byte_run where) const {
        std::string bytes(std::min<std::uint64_t>(where.size(), most_pickled_name_bytes), ' ');
        file_.read(where.begin, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }

    void put_bytes(std::string_view bytes) {
        add("b");
        put_quoted(bytes, false);
    }

    void put_quoted(std::string_view bytes, bool is_text) {
        bool const has_single = bytes.find('\'') != bytes.npos;
        char const quote = has_single && bytes.find('"') == bytes.npos ? '"' : '\'';
        add({&quote, 1});
        for (char const character : bytes)
            put_character(character, quote, is_text);
        add({&quote, 1});
    }

    void put_character(char character, char quote, bool is_text) {
        constexpr std::string_view digits = "0123456789abcdef";
        auto const number = static_cast<unsigned char>(character);
        if (character == quote || character == '\\')
            return add({'\\', character});
        for (auto const& [control, letter] : {std::pair{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}})
            if (character == control)
                return add({'\\', letter});
        if ((number >= 0x20 && number < 0x7f) || (number >= 0x80 && is_text))
            return add({&character, 1});
        add({'\\', 'x', digits[number >> 4], digits[number & 15]});
    }

    void add(std::initializer_list<char> text) { add(std::string_view(text.begin(), text.size())); }

    void add(std::string_view text) {
        text_ += text;
        if (text_.size() > most_pickled_name_bytes)
            fail(errc::limit_exceeded, values_.file(), ": '", dict_, "' has a key of more than ",
                 most_pickled_name_bytes, " bytes as Python writes it; such keys are not read");
    }

    pickle const& values_;
    file_store::file const& file_;
    std::string const& dict_;
    std::string text_;
};

/// Visits the values of a file in their order: dicts, lists, tensors and other values.
class value_walk {
public:
    value_walk(pickle const& values, file_store::file const& file, value_predicate const& is_tensor)
        : values_(values), file_(file), is_tensor_(is_tensor) {}

    vector<named_value> all() {
        walk("", values_.root());
        return std::move(all_);
    }

    /// The names of entered tuples that are not inside another tuple.
    ///
    /// \pre `all` was called
    vector<std::string> const& tuples() const { return tuples_; }

private:
    using kind = pickle_value::kind;

    static constexpr std::size_t most_depth = 64; ///< deeper than the state of any training

    /// The limits of an empty file. Each byte that was read raises them. A value that occurs
    /// several times counts each time, and so does its name.
    static constexpr std::uint64_t base_values = 1 << 16, base_elements = 1 << 24,
                                   base_bytes_of_names = 1 << 20;

    /// A name contains the names of all enclosing values.
    static constexpr std::uint64_t bytes_of_names_a_byte = 64;

    /// The properties of a value that decide whether a list or a tuple around it is entered.
    struct content {
        bool has_tensor = false;
        bool opens_list = false; ///< the value is a tensor, a dict, or a list that is entered

        content& operator|=(content other_content) {
            has_tensor |= other_content.has_tensor;
            opens_list |= other_content.opens_list;
            return *this;
        }
    };

    /// True for a dict, a list or a tuple that is not inside itself.
    bool is_entered(pickle_value value) const {
        bool const may_be =
            value.type == kind::dict || value.type == kind::list || value.type == kind::tuple;
        return may_be && around_.size() < most_depth &&
               std::ranges::find(around_, value) == around_.end();
    }

    content walk(std::string const& key, pickle_value value) {
        count(found_, 1, base_values + values_.bytes_read(), "values");
        if (!is_entered(value)) {
            bool const is_tensor = is_tensor_(value);
            add(key, value, is_tensor);
            return {is_tensor, is_tensor};
        }
        around_.push_back(value);
        content const found_content =
            value.type == kind::dict ? walk_dict(key, value) : walk_elements(key, value);
        around_.pop_back();
        return found_content;
    }

    content walk_dict(std::string const& key, pickle_value value) {
        content found_content;
        pickle_pairs const members = values_.pairs(value, key);
        for (std::size_t i = 0; i < members.size(); ++i)
            found_content |= walk(joined(key, name_of(members[i].key, key)), members[i].value);
        return {found_content.has_tensor, true};
    }

    /// Walks the elements of a list or a tuple. If it is not entered, discards the values that were
    /// found in it.
    content walk_elements(std::string const& key, pickle_value value) {
        content found_content;
        std::size_t const before = all_.size(), tuples_before = tuples_.size();
        auto const elements = values_.elements(value, key);
        if (are_plain(elements)) { // often many numbers, which need no names
            count(elements_, elements.size(), base_elements + values_.bytes_read(),
                  "elements of lists");
            add(key, value);
            return found_content;
        }
        for (std::size_t i = 0; i < elements.size(); ++i)
            found_content |= walk(joined(key, std::to_string(i)), elements[i]);
        if (value.type == kind::tuple)
            found_content.opens_list = found_content.has_tensor;
        if (value.type == kind::tuple && found_content.has_tensor) {
            tuples_.resize(tuples_before);
            tuples_.push_back(key);
        }
        if (!found_content.opens_list) {
            for (std::size_t i = before; i < all_.size(); ++i)
                memory_ -= memory_of(all_[i].key, false);
            all_.resize(before);
            add(key, value);
        }
        return found_content;
    }

    /// The memory of a value before data is read: three times the bytes of its name, and either a
    /// checkpoint's tensor with its position, or an object.
    static std::uint64_t memory_of(std::string const& key, bool is_tensor) {
        return (is_tensor ? 480 : 220) + 3 * key.size();
    }

    /// \param key empty for the only value of the file; an empty key of a dict is written in
    /// Python's form
    void add(std::string const& key, pickle_value value, bool is_tensor = false) {
        all_.push_back({key.empty() && value != values_.root() ? "''" : key, value});
        memory_ += memory_of(key, is_tensor);
        if (std::uint64_t const total = values_.memory() + memory_; total > values_.most_memory())
            fail(errc::limit_exceeded, values_.file(), ": the first ", all_.size(),
                 " values would take ", total,
                 " bytes of memory; that is too much for a pickle of ", values_.bytes_read(),
                 " bytes");
    }

    bool are_plain(std::span<pickle_value const> elements) const {
        return std::ranges::none_of(elements, [&](pickle_value value) {
            return value.type == kind::dict || value.type == kind::list ||
                   value.type == kind::tuple || is_tensor_(value);
        });
    }

    std::string joined(std::string const& key, std::string const& name) {
        std::string text = key.empty() ? name : key + "." + name;
        count(bytes_of_names_, text.size(),
              base_bytes_of_names + bytes_of_names_a_byte * values_.bytes_read(), "bytes of names");
        return text;
    }

    /// Refuses values that need too much memory or time for the length of the file.
    void count(std::uint64_t& counted, std::uint64_t more, std::uint64_t most,
               std::string_view noun) const {
        counted += more;
        if (counted > most)
            fail(errc::limit_exceeded, values_.file(), ": more than ", most, " ", noun,
                 ", counting a shared value each time; that is too much for a pickle of ",
                 values_.bytes_read(), " bytes");
    }

    std::string name_of(pickle_value name, std::string const& key) const {
        if (name.type == kind::integer)
            return std::to_string(values_.integer(name, key));
        if (name.type == kind::text)
            return std::string(values_.text(name, key));
        if (name.type == kind::long_text)
            return long_name(values_.unread(name, key));
        return key_writer(values_, file_, key).text(name);
    }

    std::string long_name(byte_run where) const {
        if (where.size() > most_pickled_name_bytes)
            fail(errc::limit_exceeded, values_.file(), ": byte ", where.begin, " begins a name of ",
                 where.size(), " bytes; names of more than ", most_pickled_name_bytes,
                 " are not read");
        std::string name(static_cast<std::size_t>(where.size()), '\0');
        file_.read(where.begin, std::as_writable_bytes(std::span(name)));
        return name;
    }

    pickle const& values_;
    file_store::file const& file_;
    value_predicate const& is_tensor_;
    vector<named_value> all_;
    vector<std::string> tuples_;
    vector<pickle_value> around_; ///< the values that enclose the current value, the innermost last
    std::uint64_t memory_ = 0;    ///< the memory for `all_`
    std::uint64_t found_ = 0;     ///< the number of visited values
    std::uint64_t elements_ = 0;  ///< elements of lists that are single values
    std::uint64_t bytes_of_names_ = 0;
};

RESHARD_DECL vector<named_value> named_values(pickle const& values, file_store::file const& file,
                                              value_predicate const& is_tensor,
                                              vector<std::string>* tuples) {
    value_walk walk(values, file, is_tensor);
    vector<named_value> named_values = walk.all();
    if (tuples)
        *tuples = walk.tuples();
    return named_values;
}

/// The next part of a value; std::nullopt after the last part.
RESHARD_DECL std::optional<pickle_value> opaque_search::part(step const& of) const {
    using kind = pickle_value::kind;
    if (of.value.type == kind::object) {
        pickle_object const& object = values_.object(of.value, {});
        return of.next == 0   ? std::optional(object.arguments)
               : of.next == 1 ? std::optional(object.state)
                              : std::nullopt;
    }
    auto const parts = of.value.type == kind::dict ? values_.pairs(of.value, {}).values
                                                   : values_.elements(of.value, {});
    return of.next < parts.size() ? std::optional(parts[of.next]) : std::nullopt;
}

/// True for a value with a few parts that have no parts themselves. Most values are like this, and
/// their heights are not stored.
RESHARD_DECL bool opaque_search::has_few_plain(pickle_value value) const {
    constexpr std::size_t few = 8;
    for (step parts{value}; parts.next < few; ++parts.next)
        if (auto const element = part(parts); !element || has_others(*element))
            return !element;
    return false;
}

inline constexpr std::size_t endless_height = std::numeric_limits<std::size_t>::max();

/// The depth of nesting in a value; `endless_height` if a value is inside itself. It uses no
/// recursion, because there may be millions of values.
RESHARD_DECL std::size_t opaque_search::height(pickle_value value) {
    vector<step> steps;
    std::size_t last = 0; // the height of the last searched value
    auto const enter = [&](pickle_value pickle_value) {
        last = 0;
        if (!has_others(pickle_value))
            return;
        if (has_few_plain(pickle_value)) {
            last = 1;
            return;
        }
        auto const [match, is_new] =
            heights_.try_emplace({pickle_value.type, pickle_value.position}, endless_height);
        if (is_new)
            steps.push_back({pickle_value});
        else
            last = match->second; // also endless while the value is being searched
    };
    for (enter(value); !steps.empty();) {
        step& top = steps.back();
        top.height = std::max(top.height, last);
        last = 0;
        if (auto const next = part(top)) {
            ++top.next;
            enter(*next);
            continue;
        }
        last = top.height == endless_height ? endless_height : top.height + 1;
        heights_[{top.value.type, top.value.position}] = last;
        steps.pop_back();
    }
    return last;
}

RESHARD_DECL std::string opaque_search::reason(pickle_value value) {
    std::size_t const values_in_one_another = height(value);
    if (values_in_one_another == endless_height)
        return "has a value that contains itself";
    if (values_in_one_another > most_carried_depth)
        return words("has values nested ", values_in_one_another, " levels deep; at most ",
                     most_carried_depth, " levels are read");
    auto const match = values_.has_unknown() ? unknown_.find_in(value) : std::nullopt;
    return match ? "uses '" + std::string(*values_.unknown_class(*match)) +
                       "', which is not an allowed class or function; nothing was executed"
                 : std::string();
}

} // namespace reshard::detail

#endif
