// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RECOVERY_HPP
#define RESHARD_AOA_RECOVERY_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/version_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Which values of a program can be recovered from what it makes, and why others cannot.

namespace reshard::aoa::detail {

/// Why a value is lost: the statement that loses it, and what it does.
struct loss_reason {
    std::uint32_t statement;
    statement_error error;
};

/// What a recovery has to know of how the program is reversed.
struct recovery_options {
    bool allow_rounding = false;
    bool is_target_known = true; ///< it may say what a reshape makes
};

/// Goes through the statements of a program from the last to the first.
///
/// A value can be recovered when it is a tensor of the target, or when a statement reads it of
/// which everything can be recovered. Where there are several ways, the target's own tensor is
/// taken, else the statement that comes first.
class recovery {
public:
    static constexpr std::uint32_t none = version_table::none;

    /// `made` are the tensors of the target. The program has been lowered over `source` and them
    /// without error, and everything has to outlive this.
    recovery(program const& code, source_names const& source, source_names const& made,
             recovery_options const& options);

    version_table const& versions() const { return versions_; }

    /// Whether a value is a tensor of the target, unchanged.
    bool is_kept(std::uint32_t version) const;

    bool is_recoverable(std::uint32_t version) const {
        return is_kept(version) || makers_[version] != none;
    }

    /// \pre the value cannot be recovered, and a statement reads it
    loss_reason const& reason(std::uint32_t version) const {
        return reasons_[reasons_of_[version]];
    }

    /// \name What is needed
    /// \{

    /// Asks for a value.
    void want(std::uint32_t version) { is_wanted_[version] = true; }

    /// Finds out which statements have to be reversed for all that has been asked for.
    void find_needed();

    /// Whether statement number `i` has to be reversed.
    ///
    /// \pre `find_needed` has been called
    bool is_needed(std::uint32_t i) const { return is_needed_[i]; }

    /// Whether name number `k` of statement `i`, on its left, is what the reversed statement is
    /// wanted for; else what it gives is a copy.
    bool gives(std::uint32_t i, std::size_t k) const;
    /// \}

    /// What undoes statement number `i`, which neither adds nor removes.
    ///
    /// \throws statement_error with errc::not_invertible
    inverse_statement inverse(std::uint32_t i) const;

private:
    bool has_no_value(statement const& one) const;

    std::vector<tensor_facts> operands(std::uint32_t i) const;

    dissection dissected(std::uint32_t i) const;

    void find_facts(source_names const& source);

    void go_back(std::uint32_t i);

    /// Why a statement cannot be undone, or `none`.
    std::uint32_t find_reason(std::uint32_t i);

    std::uint32_t add(std::uint32_t i, statement_error error);

    statement_error unused(std::uint32_t version) const;

    program const& code_;
    source_names const& made_;
    recovery_options options_;
    version_table versions_;
    std::vector<tensor_facts> facts_;
    std::vector<std::uint32_t> makers_;
    std::vector<std::uint32_t> reasons_of_; ///< by value
    std::vector<loss_reason> reasons_;
    std::vector<bool> is_wanted_; ///< by value
    std::vector<bool> is_needed_; ///< by statement
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/recovery.ipp>
#endif

#endif
