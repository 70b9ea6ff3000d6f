// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RUN_STATEMENTS_HPP
#define RESHARD_AOA_RUN_STATEMENTS_HPP

#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The first half of `lower`: statements run, and names get their values.

namespace reshard::aoa::detail {

/// Compares the heads that `q, k, v -> d, fused_qkv` cuts its queries and its keys into: attention
/// multiplies one with the other, so they are of one size.
///
/// \par Source in the original any numbers that divide the extents are taken
class head_widths {
public:
    /// Looks at a statement and what it has made, in the order of the program; what is wrong with
    /// the heads, if something is.
    std::optional<std::string> look_at(program const& code, statement const& one,
                                       std::span<expression const> made);

private:
    struct heads {
        std::uint32_t origin = 0; ///< of the statement, never 0 for one of a macro
        std::size_t count = 0;
        index_vector shape = {};
        std::string key = {};
    };

    static std::string text(heads const& of);

    heads queries_;
    bool is_compared_ = false;
};

/// Refuses a split that a fused macro made of a tensor that does not divide into its pieces; other
/// statements, and other faults of this one, are the algebra's to find.
///
/// \throws statement_error with errc::shape_mismatch
RESHARD_DECL void check_fused_cut(program const& code, statement const& one,
                                  expression const& tensor);

/// Runs the statements of a program one after the other, each binding what it makes.
class statement_runner {
public:
    explicit statement_runner(lower_context& context) : in_(context) {}

    void run_statements();

private:
    /// Runs a step for a statement; an error becomes a finding, and what it binds is left without a
    /// value.
    template <class Step>
    void guarded(statement const& one, Step const& step) {
        try {
            return step();
        } catch (statement_error const& error) {
            in_.report(error.code, make_finding(in_.code, one, error));
        } catch (no_value const&) {
        }
        for (name const& bound : in_.code.right(one))
            if (bound.kind != name::kind_type::nothing)
                in_.names.spoil(bound);
    }

    bool is_single(statement const& one) const;

    /// Removal holds for the whole program, so that a use before it is found as well.
    void find_removed();

    void run(statement const& one);

    /// What a broken statement would have read counts as read, and its results have no value.
    [[noreturn]] void pass_over(statement const& one);

    void check_bare(statement const& one, std::string_view what) const;

    void remove(statement const& one);

    void add(statement const& one);

    /// Rename, concat, split, and whatever the attributes do.
    void make(statement const& one);

    /// Reads all names on the left; each that has no value is a finding, an array is one name.
    void read_operands(statement const& one);

    void rename(statement const& one, std::uint32_t operand);

    void make(statement const& one, std::vector<std::uint32_t> const& operands);

    std::uint32_t read(statement const& one, name const& which);

    /// Refuses names that the statement cannot bind; warns of a value that is lost by that.
    void check_results(statement const& one);

    lower_context& in_;
    std::vector<std::uint32_t> operands_; ///< of the statement that runs
    head_widths heads_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/run_statements.ipp>
#endif

#endif
