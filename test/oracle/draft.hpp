// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_DRAFT_HPP
#define RESHARD_TEST_ORACLE_DRAFT_HPP

#include "random.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A program while it is made up: its text so far, and the meaning of its names.

namespace reshard::oracle {

using namespace reshard::detail;

using names = std::vector<std::string>;

/// A tensor that has a name.
struct variable {
    numbers shape;
    std::string dtype;
    int depth = 0;               ///< operations on the way from the sources
    std::set<std::string> roots; ///< source keys
    bool is_source = false;
    bool is_used = false;
    bool must_be_target = false;
};

/// The key of a name as written in a statement.
inline std::string key_of(std::string const& name) {
    return name.front() == '"' ? name.substr(1, name.size() - 2) : name;
}

/// `a, b, c`.
inline std::string list(names const& all_names) {
    std::string text;
    for (std::string const& name : all_names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// `[1, 0]`.
inline std::string bracketed(numbers const& all_numbers) {
    std::string text;
    for (std::int64_t const number : all_numbers)
        text += (text.empty() ? "[" : ", ") + std::to_string(number);
    return text.empty() ? "[]" : text + "]";
}

/// The order that reverses all axes.
inline numbers reversed_order(std::size_t ndim) {
    numbers order;
    for (std::size_t axis = ndim; axis-- > 0;)
        order.push_back(static_cast<std::int64_t>(axis));
    return order;
}

/// The draft that the stories of a program add to.
class draft {
public:
    explicit draft(std::uint64_t seed) : random(seed) {}

    random_numbers random;
    scenario made;
    bool is_deep = false;                      ///< it is to have a chain of many operations
    bool may_compute = false;                  ///< it may still add or multiply
    std::set<std::string> filled;              ///< names of tensors that may have zeros of a resize
    std::map<std::string, variable> variables; ///< by name as it is written
    names sources;                             ///< in the order in which they came
    std::map<std::string, std::pair<numbers, std::string>> source_facts; ///< shape and data type
    std::map<std::string, wish> wishes;
    std::set<std::string> removed;

    /// \name What tensors are like
    /// \{
    std::int64_t an_extent() { return random.chance(4) ? 0 : random.between(1, 6); }

    numbers a_shape() {
        numbers shape;
        for (std::int64_t ndim = random.between(0, 5); ndim > 0; --ndim)
            shape.push_back(count_of(shape) > 60 ? random.between(1, 2) : an_extent());
        return shape;
    }

    /// At least two axes, and one that can be cut unevenly.
    numbers a_large_shape() {
        numbers shape{random.between(3, 7), random.between(1, 6)};
        for (std::int64_t more = random.between(0, 3); more > 0; --more)
            shape.push_back(random.between(1, 2));
        random.shuffle(shape);
        return shape;
    }

    std::size_t an_axis(numbers const& shape) {
        return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(shape.size())));
    }

    std::string a_dtype() {
        static names const all_names{"float32", "float32", "bfloat16", "float64", "int64",
                                     "int32",   "float16", "int16",    "int8",    "uint8"};
        return random.pick(all_names);
    }

    std::string a_wide_dtype() {
        static names const all_names{"float32", "bfloat16", "float16", "float64",
                                     "int32",   "int64",    "int16"};
        return random.pick(all_names);
    }

    /// `letter` and a number that no other has.
    std::string a_stem(std::string const& letter) {
        return letter + std::to_string(++last_number_);
    }

    std::string a_name(std::string const& stem) {
        std::string const number = std::to_string(++last_number_);
        if (random.chance(8))
            return "\"" + stem + "/" + number + "-odd name\"";
        return random.chance(30) ? stem + "_" + number + ".w" : stem + "." + number + ".weight";
    }
    /// \}

    /// \name What the program says
    /// \{
    void say(std::string const& statement) {
        static names const blanks{"\n", "\n", "\n", "  # so it is\n", "\n\n", "\r\n"};
        made.text += statement + random.pick(blanks);
    }

    /// `, axis=1`, or the same counted from the end.
    std::string axis_text(std::size_t axis, std::size_t ndim) {
        auto const forward = static_cast<std::int64_t>(axis);
        return ", axis=" + std::to_string(random.chance(20)
                                              ? forward - static_cast<std::int64_t>(ndim)
                                              : forward);
    }

    void use(operation operation) { made.used.insert(operation); }

    /// The same without the language.
    void log(step step) {
        for (names* side : {&step.left, &step.right})
            for (std::string& name : *side)
                name = key_of(name);
        made.steps.push_back(std::move(step));
    }
    /// \}

    /// A new tensor of the source; the result is its name.
    std::string new_source(numbers const& shape, std::string const& dtype, std::string name = {}) {
        if (name.empty())
            name = a_name("s");
        variables[name] = {shape, dtype, 0, {name}, true, false, false};
        source_facts[name] = {shape, dtype};
        sources.push_back(name);
        return name;
    }

    /// A new tensor of the source, of any shape and data type.
    std::string a_source() {
        std::string const dtype = a_dtype();
        return new_source(a_shape(), dtype);
    }

    /// Binds `name` to a tensor made of others.
    void bind(std::string const& name, numbers const& shape, std::string const& dtype,
              names const& of, int operations = 1) {
        variable result{shape, dtype, 0, {}, false, false, false};
        for (std::string const& source : of) {
            variable& from = variables.at(source);
            from.is_used = true;
            result.depth = std::max(result.depth, from.depth + operations);
            result.roots.insert(from.roots.begin(), from.roots.end());
            if (filled.contains(source))
                filled.insert(name);
        }
        variables[name] = std::move(result);
    }

private:
    int last_number_ = 0;
};

} // namespace reshard::oracle

#endif
