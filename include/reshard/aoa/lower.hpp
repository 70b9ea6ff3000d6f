// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOWER_HPP
#define RESHARD_AOA_LOWER_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

/// \file
/// Lowers a program to a mapping: the sources of each target tensor.

namespace reshard::aoa {

/// The data types that a target may have if they differ from the program's.
enum class dtype_policy {
    equal, ///< none: the program has to cast
    widen, ///< any type that represents every value of the program's type
};

/// Options of `lower`.
struct lower_options {
    dtype_policy policy = dtype_policy::equal;
    std::size_t max_pieces = 8'388'608; ///< limit, including intermediate values
    bool leave_unexpected = false; ///< a target key that no statement makes is not an error: the
                                   ///< mapping omits it, and `lowering::unexpected` lists it
};

/// A value that a statement makes, and that neither a statement nor a target reads.
struct dropped_value {
    std::string key;
    text_span where; ///< position of the name that it was bound to
    std::uint32_t origin = 0;
    expression value;
    bool is_reported = false; ///< a finding reports that another value took its name
};

/// A mapping, and the findings about the program.
struct lowering {
    mapping map;
    vector<finding> findings;
    std::optional<errc> first_error = {}; ///< code of the first finding that is an error
    vector<dropped_value> dropped = {};   ///< filled if the target is known
    vector<std::uint32_t> idle = {};      ///< numbers of statements that have no effect
    vector<std::string> unexpected = {};  ///< target keys that no statement makes
};

namespace detail {

/// Warnings about values that are not used, one for each name that the user wrote.
///
/// \pre the lowering has no errors
RESHARD_DECL vector<finding> dropped_findings(lowering const& lowered);

/// The other tensors that are missing for the same reason as the first error's tensor, each once.
///
/// \pre there is an error
RESHARD_DECL vector<std::string> equally_missing(vector<finding> const& findings);

/// For example `the same holds for 'a', 'b' and 3 more`; empty without keys.
RESHARD_DECL std::string same_for(vector<std::string> const& keys);

} // namespace detail

/// Runs an expanded program on the tensors of `source`. Returns the sources of each tensor of
/// `target` or, if the target is unknown, of each tensor that remains after the program.
///
/// Every error is a finding. A statement is skipped if it reads a name that has no value because of
/// an error.
RESHARD_DECL lowering lower_all(program const& expanded, catalog const& source,
                                catalog const* target = nullptr, lower_options const& options = {});

/// As `lower_all`, but throws the first error.
///
/// A target key that no statement makes is the source tensor of that name. Optimizer state follows
/// its parameter.
///
/// \throws     error, with the position in the text, a caret and the chain of macros:
///             errc::unknown_key, errc::shape_mismatch, errc::dtype_mismatch, errc::syntax for
///             attributes that do not fit, errc::unsupported
/// \par Source section 4 of the description of AOA (PaddlePaddle flex_checkpoint); there
///             definitions are not compared with the target's shapes, types are compared only by
///             parts of their names, and tensors made of a removed tensor stay unfilled
RESHARD_DECL mapping lower(program const& expanded, catalog const& source,
                           catalog const* target = nullptr, lower_options const& options = {});

/// The mapping of a program as the user wrote it: expands and lowers it. With this function, a
/// program is an `any_program`.
///
/// \throws error as `expand` and `lower`
RESHARD_DECL mapping mapping_of(program const& written, catalog const& source,
                                catalog const* target = nullptr);

/// As `mapping_of`, for `options::program`, with findings: `tell` receives each warning and note,
/// and `describe(expanded, finding)` prints it.
///
/// \par Collective `tell` is called on every rank that runs the program, with the same findings; if
///                 the cache has a plan, the program does not run, and `tell` is not called
RESHARD_DECL std::function<mapping(catalog const& source, catalog const* target)>
with_findings(program written,
              std::function<void(program const& expanded, finding const& finding)> tell);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lower.ipp>
#endif

#endif
