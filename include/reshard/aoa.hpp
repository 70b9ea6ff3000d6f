// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_HPP
#define RESHARD_AOA_HPP

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/bind/program.hpp>

/// \file
/// Programs as text: AOA is parsed, checked, lowered to a mapping, reversed and printed.

#endif
