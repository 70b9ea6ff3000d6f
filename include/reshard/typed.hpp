// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TYPED_HPP
#define RESHARD_TYPED_HPP

#include <reshard/bind/typed_redistribute.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/layout/typed_layout.hpp>
#include <reshard/plan/typed_plan.hpp>

/// \file
/// What is known at compile time, as types: state dicts, layouts, expressions, plans.

#endif
