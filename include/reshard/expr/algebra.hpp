// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_ALGEBRA_HPP
#define RESHARD_EXPR_ALGEBRA_HPP

#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/concat.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/expr/split.hpp>

/// \file
/// The whole algebra: each operation of an AOA program, as a function on expressions.

#endif
