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
/// The program of a job without macros, over the names that the source has.

namespace tool {

/// Lowers a program without a target. Tensors that it adds backwards are as in `--like`.
reshard::aoa::lowering lower_exports(reshard::aoa::program const& code,
                                     reshard::catalog const& source, job_files const& files);

/// The tensors that a program yields if no target says which are wanted; none after an error.
reshard::catalog exports_of(reshard::aoa::expansion const& expanded, reshard::catalog const& source,
                            job_files const& files);

/// The tensors of a layout file; data types that it leaves open come from `catalog`, or are F32.
reshard::catalog catalog_of(reshard::detail::layout_table const& table,
                            reshard::catalog const& catalog);

/// Expands programs for a source, in the direction in which they are to be run, with the renames of
/// `--rename` before them, or after them with `--reverse`.
class program_expander {
public:
    /// Both have to outlive this.
    ///
    /// \throws error for a file of names or of `--like` that cannot be read
    program_expander(reshard::catalog const& source, job_files const& files);

    reshard::catalog const& source() const { return source_; }
    job_files const& files() const { return files_; }

    /// \param target may be null
    /// \throws error for renames that match nothing, or that meet
    reshard::aoa::expansion expand(reshard::aoa::program const& written,
                                   reshard::detail::layout_table const* target) const;

    /// The source as the program sees it, with the names that `--rename` gives.
    reshard::catalog const& seen() const { return seen_ ? *seen_ : source_; }

private:
    reshard::vector<reshard::aoa::known_tensor>
    known_tensors(reshard::detail::layout_table const* target) const;

    void check_like(reshard::aoa::program const& back) const;

    reshard::aoa::expansion expand_as_written(reshard::aoa::program const& written,
                                              reshard::detail::layout_table const* target) const;

    reshard::catalog const& source_;
    job_files const& files_;
    std::optional<rename_rules> rules_;                  ///< beside a program
    reshard::vector<reshard::aoa::state_suffix> states_; ///< of the source, if it is renamed
    reshard::vector<rename_pair> before_;                ///< before the program
    std::optional<reshard::catalog> seen_;               ///< if there are some
    reshard::vector<reshard::aoa::known_tensor> like_;
};

} // namespace tool

#endif
