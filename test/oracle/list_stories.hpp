// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_LIST_STORIES_HPP
#define RESHARD_TEST_ORACLE_LIST_STORIES_HPP

#include "draft.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// Stories of names of several tensors: arrays and stars.

namespace reshard::oracle {

/// A few numbers, ascending, among them some of two digits.
inline numbers some_ids(draft& program, std::int64_t least) {
    numbers all_numbers{0, 1, 2, 3, 7, 9, 10, 11, 12, 100};
    program.random.shuffle(all_numbers);
    all_numbers.resize(static_cast<std::size_t>(program.random.between(least, 4)));
    std::sort(all_numbers.begin(), all_numbers.end());
    return all_numbers;
}

/// `w[0:3] -> x` and `x -> w[2:4]`.
inline void array_story(draft& program) {
    program.use(operation::array);
    numbers shape = program.a_large_shape();
    std::size_t const axis = program.an_axis(shape);
    std::int64_t const first = program.random.between(0, 2);
    std::int64_t const count = program.random.between(2, 3);
    std::string const stem = program.a_stem("v");
    std::string const written =
        stem + "[" + std::to_string(first) + ":" + std::to_string(first + count) + "]";
    std::string const dtype = program.a_dtype();
    std::string const text = program.random.chance(50) ? program.a_name("t") : std::string();
    names parts;
    for (std::int64_t i = first; i < first + count; ++i)
        parts.push_back(stem + "_" + std::to_string(i));
    numbers joined = shape;
    joined[axis] *= count;
    if (text.empty()) {
        std::string const source = program.new_source(joined, dtype);
        program.say(source + " -> " + written + program.axis_text(axis, shape.size()));
        program.log({operation::even_split, {source}, parts, axis, {}, {}, {}});
        for (std::string const& part : parts)
            program.bind(part, shape, dtype, {source});
        return;
    }
    for (std::string const& part : parts)
        program.new_source(shape, dtype, part);
    program.say(written + " -> " + text + program.axis_text(axis, shape.size()));
    program.log({operation::concat, parts, {text}, axis, {}, {}, {}});
    program.bind(text, joined, dtype, parts);
}

/// `e.*.w -> x`, with keys known from the source.
inline void star_left_story(draft& program) {
    program.use(operation::star);
    numbers const shape = program.a_large_shape();
    std::size_t const axis = program.an_axis(shape);
    std::string const stem = program.a_stem("e") + ".";
    std::string const dtype = program.a_dtype();
    names parts;
    std::int64_t extent = 0;
    for (std::int64_t const id : some_ids(program, 2)) {
        numbers own = shape;
        own[axis] = program.random.between(0, 3);
        extent += own[axis];
        parts.push_back(program.new_source(own, dtype, stem + std::to_string(id) + ".w"));
    }
    numbers all_numbers = shape;
    all_numbers[axis] = extent;
    std::string const to = program.a_name("t");
    program.say(stem + "*.w -> " + to + program.axis_text(axis, shape.size()));
    program.log({operation::concat, parts, {to}, axis, {}, {}, {}});
    program.bind(to, all_numbers, dtype, parts);
}

/// `x -> f.*.w`, with keys known from the target.
inline void star_right_story(draft& program) {
    program.use(operation::star);
    numbers const shape = program.a_large_shape();
    std::size_t const axis = program.an_axis(shape);
    std::string const stem = program.a_stem("f") + ".";
    names parts;
    for (std::int64_t const id : some_ids(program, 2))
        parts.push_back(stem + std::to_string(id) + ".w");
    numbers all_numbers = shape;
    all_numbers[axis] *= static_cast<std::int64_t>(parts.size());
    std::string const from = program.new_source(all_numbers, program.a_dtype());
    program.say(from + " -> " + stem + "*.w" + program.axis_text(axis, shape.size()));
    program.log({operation::even_split, {from}, parts, axis, {}, {}, {}});
    for (std::string const& part : parts) {
        program.bind(part, shape, program.variables.at(from).dtype, {from});
        program.variables.at(part).must_be_target = true;
    }
}

} // namespace reshard::oracle

#endif
