// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_EXPANDED_PROGRAM_HPP
#define RESHARD_TOOL_EXPANDED_PROGRAM_HPP

#include "job.hpp"
#include "rename_rules.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/layout_file.hpp>

#include <optional>

/// \file
/// Expands a job's program, over the names of the source's tensors.

namespace tool {

/// Lowers a program without a target. Tensors that the reversed program adds are as in `--like`.
reshard::aoa::lowering lower_exports(reshard::aoa::program const& code,
                                     reshard::catalog const& source, job_files const& files);

/// The tensors that a program yields if no target lists the wanted ones; none after an error.
reshard::catalog exports_of(reshard::aoa::expansion const& expanded, reshard::catalog const& source,
                            job_files const& files);

/// The tensors of a layout file. Data types that it omits come from `catalog`, or are F32.
reshard::catalog catalog_of(reshard::detail::layout_table const& table,
                            reshard::catalog const& catalog);

/// Expands programs for a source, in the direction in which they will run. The renames of
/// `--rename` are before the program, or after it with `--reverse`.
class program_expander {
public:
    /// `source` and `files` have to outlive this object.
    ///
    /// \throws error for a file of names or of `--like` that cannot be read
    program_expander(reshard::catalog const& source, job_files const& files);

    reshard::catalog const& source() const { return source_; }
    job_files const& files() const { return files_; }

    /// \param target the target's tensors, or null
    /// \throws error for renames that match no name, or that give two tensors one name
    reshard::aoa::expansion expand(reshard::aoa::program const& written,
                                   reshard::detail::layout_table const* target) const;

    /// The source's tensors as the program sees them, with the names from `--rename`.
    reshard::catalog const& seen() const { return seen_ ? *seen_ : source_; }

private:
    reshard::vector<reshard::aoa::known_tensor>
    known_tensors(reshard::detail::layout_table const* target) const;

    void check_like(reshard::aoa::program const& back) const;

    reshard::aoa::expansion expand_as_written(reshard::aoa::program const& written,
                                              reshard::detail::layout_table const* target) const;

    reshard::catalog const& source_;
    job_files const& files_;
    std::optional<rename_rules> rules_;                  ///< of `--rename`, if there is a program
    reshard::vector<reshard::aoa::state_suffix> states_; ///< the states of a renamed source
    reshard::vector<rename_pair> before_;                ///< renames before the program
    std::optional<reshard::catalog> seen_;               ///< the renamed source, if any
    reshard::vector<reshard::aoa::known_tensor> like_;
};

} // namespace tool

#endif
