// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_PROGRAM_HPP
#define RESHARD_BIND_PROGRAM_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>

/// \file
/// The steps for `options::program`, `strict` and `shape_mismatch`. Code that sets one of these
/// options includes this file, as `<reshard.hpp>` and `<reshard/aoa.hpp>` do.

namespace reshard::detail {

/// The steps of a call with any program.
RESHARD_DECL program_steps const& steps_of_programs();

/// The steps that adapt a program to its target.
RESHARD_DECL fit_steps const& steps_of_fitting();

template <class Value>
struct include_bind_program_hpp {
    static program_steps const& of_program() { return steps_of_programs(); }
    static fit_steps const& of_fitting() { return steps_of_fitting(); }
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/program.ipp>
#endif

#endif
