// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_SAFETENSORS_EVENTS_HPP
#define RESHARD_FORMAT_SAFETENSORS_EVENTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/json_events.hpp>
#include <reshard/format/safetensors.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// The JSON of a safetensors header, event by event: a header of 100 MB is never held twice.

namespace reshard::detail {

/// Reads tensors, metadata and warnings of a header from its JSON; returns what is wrong with the
/// text, or nothing.
///
/// \par Source the serde schema of the reference reader, with all that it lets pass: fields that it
///             does not know, a tensor as an array of three, a data type as `{"F32": null}`,
///             repeated names (the last one counts), `__metadata__` as null
RESHARD_DECL std::optional<json_fault>
read_header_json(std::string_view json, std::size_t max_depth, safetensors_header& header);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/safetensors_events.ipp>
#endif

#endif
