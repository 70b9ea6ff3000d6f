// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_OPERATIONS_HPP
#define RESHARD_TEST_ORACLE_OPERATIONS_HPP

#include "draft.hpp"
#include "element.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

/// \file
/// One statement each: operations on a tensor that a program has.

namespace reshard::oracle {

using namespace reshard::detail;

/// The name of the result of `from`: now and then the same name again.
inline std::string result_name(draft& program, std::string const& from) {
    if (program.variables.at(from).must_be_target || !program.random.chance(8))
        return program.a_name("t");
    return from;
}

inline std::string rename(draft& program, std::string const& from) {
    variable const old = program.variables.at(from);
    std::string const to = program.a_name("t");
    program.use(operation::rename);
    program.say(from + " -> " + to);
    program.log({operation::rename, {from}, {to}, 0, {}, {}, {}});
    program.bind(to, old.shape, old.dtype, {from});
    return to;
}

/// One statement of one tensor to one, as it grows: its result, and its steps without the language.
struct change_text {
    std::string from;
    std::string to;
    variable now;
    std::vector<step> steps;
};

/// Reverses the axes; returns the text after the name.
inline std::string transpose(draft& program, change_text& change) {
    program.use(operation::transpose);
    std::reverse(change.now.shape.begin(), change.now.shape.end());
    change.steps.push_back({operation::permute,
                            {change.from},
                            {change.to},
                            0,
                            {},
                            reversed_order(change.now.shape.size()),
                            {}});
    return "^T";
}

/// Permutes; returns the text after the statement.
inline std::string permute(draft& program, change_text& change) {
    variable& now = change.now;
    numbers order(now.shape.size(), 0);
    std::iota(order.begin(), order.end(), 0);
    bool const is_reverse = program.random.chance(20);
    if (is_reverse)
        std::reverse(order.begin(), order.end());
    else
        program.random.shuffle(order);
    numbers shape;
    for (std::int64_t const axis : order)
        shape.push_back(now.shape[static_cast<std::size_t>(axis)]);
    now.shape = shape;
    program.use(operation::permute);
    change.steps.push_back({operation::permute, {change.from}, {change.to}, 0, {}, order, {}});
    return ", permute=\"" + (is_reverse ? "[]" : bracketed(order)) + "\"";
}

/// Casts; returns the text after the statement.
inline std::string cast(draft& program, change_text& change) {
    std::string const before = change.now.dtype;
    change.now.dtype = program.a_wide_dtype();
    program.use(operation::cast);
    change.steps.push_back(
        {operation::cast, {change.from}, {change.to}, 0, {}, {}, change.now.dtype});
    if (!program.random.chance(25))
        return ", dtype=\"" + change.now.dtype + "\"";
    program.use(operation::cast_pair);
    return ", src_dtype=\"" + before + "\", dst_dtype=\"" + change.now.dtype + "\"";
}

/// `2:5`; sometimes without a bound that is an end of the axis.
inline std::string range_text(draft& program, std::int64_t first, std::int64_t last,
                              std::int64_t extent) {
    bool const open_first = first == 0 && program.random.chance(60);
    bool const open_last = last == extent && program.random.chance(60);
    return (open_first ? "" : std::to_string(first)) + ":" +
           (open_last ? "" : std::to_string(last));
}

/// Keeps a box of the tensor, mostly a large one; returns the text after the statement.
inline std::string slice(draft& program, change_text& change) {
    numbers offset, shape;
    std::string text;
    for (std::int64_t const extent : change.now.shape) {
        std::int64_t const cut = program.random.chance(50) ? 0 : program.random.between(0, extent);
        std::int64_t const first = program.random.between(0, std::min(cut, (extent + 1) / 3));
        std::int64_t const last = std::max(first, extent - std::min(cut, (extent + 1) / 3) + first);
        offset.push_back(first);
        shape.push_back(std::min(last, extent) - first);
        text +=
            (text.empty() ? "" : ", ") + range_text(program, first, first + shape.back(), extent);
    }
    change.now.shape = shape;
    program.use(operation::slice);
    change.steps.push_back({operation::slice, {change.from}, {change.to}, 0, shape, offset, {}});
    return ", slice=\"[" + text + "]\"";
}

/// Crops or extends each axis; returns the text after the statement.
inline std::string resize(draft& program, change_text& change) {
    numbers shape;
    std::string text;
    for (std::int64_t const extent : change.now.shape) {
        bool const keeps = program.random.chance(50);
        shape.push_back(keeps ? extent
                              : std::max<std::int64_t>(0, extent + program.random.between(-1, 2)));
        text += (text.empty() ? "" : ",") + (keeps ? "*" : std::to_string(shape.back()));
    }
    change.now.shape = shape;
    program.use(operation::resize);
    change.steps.push_back({operation::resize, {change.from}, {change.to}, 0, shape, {}, {}});
    return ", resize='[" + text + "]'";
}

/// Merges and splits axes; returns the text after the statement.
inline std::string reshape(draft& program, change_text& change) {
    std::int64_t left = count_of(change.now.shape);
    numbers shape;
    std::string text;
    for (std::int64_t more = program.random.between(0, 2); more > 0; --more) {
        std::int64_t const extent = program.random.between(1, 4);
        shape.push_back(left % extent == 0 ? extent : 1);
        left /= shape.back();
    }
    shape.push_back(left);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        bool const is_open = axis + 1 == shape.size() && left > 0 && program.random.chance(50);
        text += (axis ? ", " : "") + (is_open ? "*" : std::to_string(shape[axis]));
    }
    change.now.shape = shape;
    program.use(operation::reshape);
    change.steps.push_back({operation::reshape, {change.from}, {change.to}, 0, shape, {}, {}});
    return ", reshape=\"[" + text + "]\"";
}

/// Adds an integer or doubles, once in a program, so that no result and no chain of steps is too
/// large; returns the text after the statement. The data type is written at the end, where the only
/// rounding is.
inline std::string compute(draft& program, change_text& change) {
    bool const may = program.may_compute && digits_of(change.now.dtype) > 0 &&
                     !program.filled.contains(change.to) && program.random.chance(60);
    if (!may)
        return {};
    program.may_compute = false;
    program.made.only_text = true; // a step has no word for it
    program.use(operation::compute);
    std::string const text = program.random.chance(70)
                                 ? ", add=" + std::to_string(program.random.between(-9, 9))
                                 : std::string(", scale=2");
    if (change.now.dtype != "float64" && program.random.chance(50))
        change.now.dtype = program.random.pick(names{"float32", "bfloat16", "float16"});
    return text + ", dtype='" + change.now.dtype + "'";
}

/// Permutes, casts, transposes, slices, reshapes, resizes, or several of that in one statement.
inline std::string change(draft& program, std::string const& from) {
    change_text text{from, result_name(program, from), program.variables.at(from), {}};
    std::string const mark = program.random.chance(35) ? transpose(program, text) : "";
    auto const below = program.random.below(8);
    std::string attributes;
    if (below == 4)
        attributes += slice(program, text);
    if (below == 0 || below == 2)
        attributes += permute(program, text);
    if (below == 5 || (below == 4 && program.random.chance(20)))
        attributes += resize(program, text);
    if (below == 6 || below == 7)
        attributes += reshape(program, text);
    if (below != 0 && below != 5 && below != 6)
        attributes += cast(program, text);
    if (below == 3)
        attributes += permute(program, text);
    if (below == 5 && program.random.chance(30))
        attributes += slice(program, text);
    if (attributes.find("resize") != attributes.npos || program.filled.contains(from))
        program.filled.insert(text.to);
    else
        program.filled.erase(text.to);
    attributes += compute(program, text);
    for (std::size_t i = 0; i < text.steps.size(); ++i) {
        text.steps[i].left = {i == 0 ? from : text.to};
        program.log(text.steps[i]);
    }
    program.say(from + mark + " -> " + text.to + attributes);
    program.bind(text.to, text.now.shape, text.now.dtype, {from},
                 static_cast<int>(text.steps.size()));
    return text.to;
}

/// Joins a tensor with others, new ones or itself again.
inline std::string concat(draft& program, std::string const& name) {
    variable const from = program.variables.at(name);
    std::size_t const axis = program.an_axis(from.shape);
    names operands{name};
    std::int64_t extent = from.shape[axis];
    for (std::int64_t more = program.random.between(1, 2); more > 0; --more) {
        numbers shape = from.shape;
        shape[axis] = program.random.between(0, 4);
        bool const is_again = program.random.chance(15);
        operands.push_back(is_again ? name : program.new_source(shape, from.dtype));
        extent += program.variables.at(operands.back()).shape[axis];
    }
    program.random.shuffle(operands);
    numbers shape = from.shape;
    shape[axis] = extent;
    std::string const to = program.a_name("t");
    program.use(operation::concat);
    program.say(list(operands) + " -> " + to + program.axis_text(axis, shape.size()));
    program.log({operation::concat, operands, {to}, axis, {}, {}, {}});
    program.bind(to, shape, from.dtype, operands);
    return to;
}

/// Cuts a tensor into parts of any sizes; the result is the largest.
inline std::string split(draft& program, std::string const& name) {
    variable const from = program.variables.at(name);
    std::size_t const axis = program.an_axis(from.shape);
    numbers sizes;
    std::int64_t left = from.shape[axis];
    for (std::int64_t more = program.random.between(1, 3); more > 0; --more) {
        sizes.push_back(program.random.between(0, left));
        left -= sizes.back();
    }
    sizes.push_back(left);
    program.random.shuffle(sizes);
    names to;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        to.push_back(program.a_name("t"));
    program.use(operation::sized_split);
    program.say(name + " -> " + list(to) + program.axis_text(axis, from.shape.size()) +
                ", sizes=\"" + bracketed(sizes) + "\"");
    program.log({operation::sized_split, {name}, to, axis, sizes, {}, {}});
    std::size_t largest = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        numbers shape = from.shape;
        shape[axis] = sizes[i];
        program.bind(to[i], shape, from.dtype, {name});
        if (sizes[i] > sizes[largest])
            largest = i;
    }
    return to[largest];
}

/// Cuts a tensor into equal parts if its extent allows it; the result is one of them.
inline std::string even_split(draft& program, std::string const& name) {
    variable const from = program.variables.at(name);
    std::size_t const axis = program.an_axis(from.shape);
    numbers counts;
    for (std::int64_t parts = 2; parts <= 4; ++parts)
        if (from.shape[axis] % parts == 0)
            counts.push_back(parts);
    if (counts.empty())
        return split(program, name);
    std::int64_t const parts = program.random.pick(counts);
    names to;
    for (std::int64_t i = 0; i < parts; ++i)
        to.push_back(program.a_name("t"));
    program.use(operation::even_split);
    program.say(name + " -> " + list(to) + program.axis_text(axis, from.shape.size()));
    program.log({operation::even_split, {name}, to, axis, {}, {}, {}});
    numbers shape = from.shape;
    shape[axis] /= parts;
    for (std::string const& element : to)
        program.bind(element, shape, from.dtype, {name});
    return program.random.pick(to);
}

/// Applies something to a tensor; the result is the name of what to go on with.
inline std::string any_operation(draft& program, std::string const& name) {
    variable const from = program.variables.at(name);
    bool const is_large = count_of(from.shape) > 250;
    switch (from.shape.empty() ? program.random.below(3) : program.random.below(9)) {
    case 0: return rename(program, name);
    case 1:
    case 2: return change(program, name);
    case 3: return change(program, name);
    case 4:
    case 5: return is_large ? split(program, name) : concat(program, name);
    case 6: return even_split(program, name);
    default: return split(program, name);
    }
}

/// One operation after the other, mostly on what came last.
inline void chain(draft& program, std::int64_t length) {
    numbers const shape = program.is_deep ? program.a_large_shape() : program.a_shape();
    std::string at =
        program.new_source(shape, program.is_deep ? program.a_wide_dtype() : program.a_dtype());
    bool const is_long = length >= 3;
    for (std::int64_t i = 0; i < length; ++i)
        at = any_operation(program, at);
    if (is_long)
        program.variables.at(at).must_be_target = true;
}

} // namespace reshard::oracle

#endif
