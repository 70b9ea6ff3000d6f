// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TYPED_HPP
#define RESHARD_TYPED_HPP

#include <reshard/plan/typed_definition.hpp> // first: errors then name few files

#include <reshard/aoa/typed_program.hpp>
#include <reshard/bind/typed_redistribute.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_facts.hpp>
#include <reshard/layout/typed_layout.hpp>
#include <reshard/plan/typed_cost.hpp>

/// \file
/// Layouts as types: shards, layouts and expressions, the plan that the compiler makes from them,
/// its cost, and its execution.

#endif
