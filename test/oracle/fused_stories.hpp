// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_FUSED_STORIES_HPP
#define RESHARD_TEST_ORACLE_FUSED_STORIES_HPP

#include "draft.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

/// \file
/// Stories of the fused macros, whose meaning depends on the layout.

namespace reshard::oracle {

using namespace reshard::detail;

/// A tensor of the source, transposed if it will be read with `^T`.
inline std::string new_qkv(draft& program, numbers shape, std::string const& dtype, bool turned) {
    if (turned)
        std::reverse(shape.begin(), shape.end());
    return program.new_source(shape, dtype);
}

/// Query, key and value by groups of heads, into one tensor or out of it.
inline void qkv_story(draft& program) {
    program.use(operation::fused_qkv);
    program.made.only_text = true;
    std::int64_t const groups = program.random.between(1, 3);
    std::int64_t const heads = groups * program.random.between(1, 3);
    std::int64_t const head = program.random.between(1, 2);
    std::size_t const axis = static_cast<std::size_t>(program.random.below(2));
    std::string const dtype = program.a_dtype();
    numbers shape{program.random.between(1, 4), program.random.between(1, 4)};
    auto const with_heads = [&](std::int64_t count) {
        numbers result = shape;
        result[axis] = count * head;
        return result;
    };
    std::string const tail = ", fused_qkv, num_heads=" + std::to_string(heads) +
                             ", num_key_value_groups=" + std::to_string(groups) +
                             (axis == 1 ? "" : ", axis=0");
    if (program.random.chance(50)) {
        bool const turns = program.random.chance(40);
        names const from{new_qkv(program, with_heads(heads), dtype, turns),
                         new_qkv(program, with_heads(groups), dtype, turns),
                         new_qkv(program, with_heads(groups), dtype, turns)};
        std::string const to = program.a_name("t");
        std::string const mark = turns ? "^T" : "";
        if (turns)
            program.use(operation::transpose);
        program.say(from[0] + mark + ", " + from[1] + mark + ", " + from[2] + mark + " -> " + to +
                    tail);
        program.bind(to, with_heads(heads + 2 * groups), dtype, from);
        return;
    }
    std::string const from = program.new_source(with_heads(heads + 2 * groups), dtype);
    names const to{program.a_name("q"), program.a_name("k"), program.a_name("v")};
    program.say(from + " -> " + list(to) + tail);
    program.bind(to[0], with_heads(heads), dtype, {from});
    program.bind(to[1], with_heads(groups), dtype, {from});
    program.bind(to[2], with_heads(groups), dtype, {from});
}

/// Query, key and value by the ranks that hold them: one tensor cut again, taken apart, or put
/// together.
inline void old_qkv_story(draft& program) {
    program.use(operation::fused_qkv_old);
    program.made.only_text = true;
    std::size_t const axis = static_cast<std::size_t>(program.random.below(2));
    auto const form = program.random.below(3);
    std::int64_t const stored = form == 2 ? 1 : program.random.between(1, 3);
    std::int64_t const wanted = form == 1 ? 1 : program.random.between(1, 3);
    std::int64_t const groups = std::lcm(stored, wanted) * program.random.between(1, 2);
    std::int64_t const heads = groups * program.random.between(1, 2);
    std::string const dtype = program.a_dtype();
    numbers const shape{program.random.between(1, 3), program.random.between(1, 3)};
    auto const with_heads = [&](std::int64_t count) {
        numbers result = shape;
        result[axis] = count;
        return result;
    };
    numbers const whole_numbers = with_heads(heads + 2 * groups);
    numbers const parts[] = {with_heads(heads), with_heads(groups), with_heads(groups)};
    names from, to;
    for (std::size_t i = 0; i < (form == 2 ? 3 : 1); ++i)
        from.push_back(program.new_source(form == 2 ? parts[i] : whole_numbers, dtype));
    for (std::size_t i = 0; i < (form == 1 ? 3 : 1); ++i)
        to.push_back(program.a_name("o"));
    program.say(list(from) + " -> " + list(to) +
                ", fused_qkv_old, num_heads=" + std::to_string(heads) +
                ", num_key_value_groups=" + std::to_string(groups) + (axis == 1 ? "" : ", axis=0"));
    for (std::size_t i = 0; i < to.size(); ++i)
        program.bind(to[i], form == 1 ? parts[i] : whole_numbers, dtype, from);
    if (form != 2)
        program.wishes[from[0]] = {false, axis, stored, false};
    if (form != 1) {
        program.wishes[to[0]] = {false, axis, wanted, false};
        program.variables.at(to[0]).must_be_target = true;
    }
}

/// Gate and up projection: one tensor cut again, taken apart, or put together.
inline void ffn_story(draft& program) {
    program.use(operation::fused_ffn);
    program.made.only_text = true;
    std::size_t const axis = static_cast<std::size_t>(program.random.below(2));
    auto const form = program.random.below(3);
    std::int64_t const stored = form == 2 ? 1 : program.random.between(1, 3);
    std::int64_t const wanted = form == 1 ? 1 : program.random.between(1, 4);
    std::int64_t const half = std::lcm(stored, wanted) * program.random.between(1, 2);
    std::string const dtype = program.a_dtype();
    numbers whole_numbers{program.random.between(1, 4), program.random.between(1, 4)};
    numbers part = whole_numbers;
    whole_numbers[axis] = 2 * half;
    part[axis] = half;
    std::string const tail = std::string(", fused_ffn") + (axis == 1 ? "" : ", axis=0");
    names const from = form == 2
                           ? names{program.new_source(part, dtype), program.new_source(part, dtype)}
                           : names{program.new_source(whole_numbers, dtype)};
    names const to =
        form == 1 ? names{program.a_name("g"), program.a_name("u")} : names{program.a_name("d")};
    program.say(list(from) + " -> " + list(to) + tail);
    for (std::string const& element : to)
        program.bind(element, form == 1 ? part : whole_numbers, dtype, from);
    if (form != 2)
        program.wishes[from[0]] = {false, axis, stored, false};
    if (form != 1) {
        program.wishes[to[0]] = {false, axis, wanted, false};
        program.variables.at(to[0]).must_be_target = true;
    }
}

} // namespace reshard::oracle

#endif
