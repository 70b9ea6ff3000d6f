// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_APPLY_RULES_HPP
#define RESHARD_FORMAT_APPLY_RULES_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/layout_rules.hpp>
#include <reshard/format/layout_table.hpp>

/// \file
/// From rules and shapes to a layout.

namespace reshard {

/// The layout that the rules give the tensors of a catalog.
///
/// The first rule that matches a key counts. A key without one is replicated, on its stage or over
/// the mesh, and noted; so is a rule, a pattern of stages, or a layer of a stage without a key. A
/// key of several stages stands on each of them.
///
/// \throws error with errc::bad_layout that names file, key, axis and both numbers where a rule
///         does not fit a tensor
RESHARD_DECL detail::layout_table apply(detail::layout_rules const& rules, catalog const& tensors);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/apply_rules.ipp>
#endif

#endif
