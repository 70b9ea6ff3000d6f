// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_PICKLE_COPY_HPP
#define RESHARD_FORMAT_PICKLE_PICKLE_COPY_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/os/file_store.hpp>

#include <functional>
#include <string>

/// \file
/// A value of a pickle as a pickle of its own.

namespace reshard::detail {

/// The pickle of a value, whose classes and functions stay names. An ordered dict is a dict.
///
/// \param file the one that `values` was read from
/// \param what names the value in messages: "object 'lr'"
/// \param is_left_out of a value, says whether None takes its place
/// \throws error with errc::unsupported for whole numbers of more than 64 bits and for what is kept
///         outside the pickle; errc::corrupt_file for values within themselves
RESHARD_DECL std::string copy_of(pickle_value value, pickle const& values,
                                 file_store::file const& file, std::string const& what,
                                 std::function<bool(pickle_value)> const& is_left_out = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/pickle_copy.ipp>
#endif

#endif
