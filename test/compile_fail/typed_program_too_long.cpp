// expect: errc::limit_exceeded, .*in_statement<1>, .*at_column<1>.*: a typed::program has at most 4,096 bytes
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/typed_program.hpp>
#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct source : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{3, 4}>> {};
struct target : typed::layout<mesh{}, typed::tensor<"c", float, index_vector{3, 4}>> {};

constexpr auto line = detail::fixed_string("# a comment of 31 characters  \n");
constexpr auto lines = line + line + line + line;
constexpr auto text = lines + lines + lines + lines + lines + lines + lines + lines;
constexpr auto program = text + text + text + text + detail::fixed_string("a -> c\n") +
                         detail::fixed_string("#########################\n");

static_assert(program.view().size() == 4 * 32 * 31 + 33);
constexpr auto too_long = program + lines + detail::fixed_string("##\n#");

using wrong = typed::plan<source, target, typed::program<too_long>>;

constexpr std::size_t bad = wrong::size;
