// expect: errc::syntax, .*in_statement<1>, .*at_column<16>.*: expected a number or a quoted string
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/typed_program.hpp>
#include <reshard/plan/typed_plan.hpp>

using namespace reshard;

struct source : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{3, 4}>,
                              typed::tensor<"b", float, index_vector{3, 4}>> {};
struct target : typed::layout<mesh{}, typed::tensor<"c", float, index_vector{6, 4}>> {};

using wrong = typed::plan<source, target, typed::program<"a -> b, axis = one">>;

constexpr std::size_t bad = wrong::size;
