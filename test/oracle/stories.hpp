// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_STORIES_HPP
#define RESHARD_TEST_ORACLE_STORIES_HPP

#include "draft.hpp"

#include <string>

/// \file
/// Stories of one tensor: added, removed, kept.

namespace reshard::oracle {

inline void add_story(draft& program) {
    program.use(operation::add);
    std::string const to = program.a_name("n");
    program.say("_ -> " + to);
    program.log({operation::add, {}, {to}, 0, program.a_shape(), {}, program.a_dtype()});
    step const& added = program.made.steps.back();
    program.variables[to] = {added.sizes, added.dtype, 0, {}, false, false, true};
}

inline void remove_story(draft& program) {
    program.use(operation::remove);
    std::string const from = program.a_source();
    program.variables.at(from).is_used = true;
    program.removed.insert(from);
    program.say(from + " -> _");
    program.log({operation::remove, {from}, {}, 0, {}, {}, {}});
}

inline void identity_story(draft& program) {
    program.use(operation::identity);
    program.variables.at(program.a_source()).must_be_target = true;
}

} // namespace reshard::oracle

#endif
