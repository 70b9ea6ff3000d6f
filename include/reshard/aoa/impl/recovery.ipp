// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_RECOVERY_IPP
#define RESHARD_AOA_IMPL_RECOVERY_IPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/aoa/version_table.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// Finds the values of a program that can be recovered from its results, and the reasons for the
/// others.

namespace reshard::aoa::detail {

/// The reason why a value is lost: a statement, and its error.
struct loss_reason {
    std::uint32_t statement;
    statement_error error;
};

/// Options of a recovery.
struct recovery_options {
    bool allow_rounding = false;
    bool is_target_known = true; ///< the target's shapes may determine the result of a reshape
};

/// Analyses the statements of a program from the last to the first.
///
/// A value can be recovered if it is a tensor of the target, or if a statement reads it and all
/// results of that statement can be recovered. If there are several ways, the target's own tensor
/// is used, else the first statement.
class recovery {
public:
    static constexpr std::uint32_t none = version_table::none;

    /// \param source_names the tensors of the target
    /// \pre the program has been lowered over `source` and `source_names` without error; all
    ///      arguments outlive this object
    recovery(program const& code, source_names const& source, source_names const& source_names,
             recovery_options const& options)
        : code_(code),
          made_(source_names),
          options_(options),
          versions_(code),
          facts_(versions_.size()),
          makers_(versions_.size(), none),
          reasons_of_(versions_.size(), none),
          is_wanted_(versions_.size()) {
        find_facts(source);
        for (std::size_t i = code.statements().size(); i-- > 0;)
            go_back(static_cast<std::uint32_t>(i));
    }

    version_table const& versions() const { return versions_; }

    /// Whether a value is a tensor of the target, unchanged.
    bool is_kept(std::uint32_t version) const {
        name const& called = versions_.called(version);
        if (called.kind != name::kind_type::text || !versions_.is_last(version))
            return false;
        bool const is_source = versions_.maker(version) == none;
        return made_.find_parameter(code_.text(called)) != source_names::none &&
               !(is_source && versions_.added_by(called.id) != none);
    }

    bool is_recoverable(std::uint32_t version) const {
        return is_kept(version) || makers_[version] != none;
    }

    /// \pre the value cannot be recovered, and a statement reads it
    loss_reason const& reason(std::uint32_t version) const {
        return reasons_[reasons_of_[version]];
    }

    /// \name Needed statements \{

    /// Requests a value.
    void want(std::uint32_t version) { is_wanted_[version] = true; }

    /// Finds the statements that have to be reversed for all requested values.
    void find_needed() {
        vector<statement> const& statements = code_.statements();
        is_needed_.assign(statements.size(), false);
        for (std::uint32_t i = 0; i < statements.size(); ++i) {
            for (std::size_t k = 0; k < statements[i].left; ++k)
                is_needed_[i] = is_needed_[i] || gives(i, k);
            for (std::size_t k = 0; is_needed_[i] && k < statements[i].right; ++k)
                want(versions_.at(statements[i], statements[i].left + k));
        }
    }

    /// Whether statement number `i` has to be reversed.
    ///
    /// \pre `find_needed` has been called
    bool is_needed(std::uint32_t i) const { return is_needed_[i]; }

    /// Whether reversed statement `i` provides the value of name number `k` on its left; otherwise
    /// its result for that name is an unused copy.
    bool gives(std::uint32_t i, std::size_t k) const {
        std::uint32_t const version = versions_.at(code_.statements()[i], k);
        return version != none && is_wanted_[version] && makers_[version] == i && !is_kept(version);
    }
    /// \}

    /// The inverse of statement number `i`, which neither adds nor removes a tensor.
    ///
    /// \throws statement_error with errc::not_invertible
    inverse_statement inverse(std::uint32_t i) const {
        return invert(analyzed(i), options_.allow_rounding);
    }

private:
    bool has_no_value(statement const& statement) const {
        return is_removal(code_, statement) || is_addition(code_, statement);
    }

    vector<tensor_facts> operands(std::uint32_t i) const {
        statement const& statement = code_.statements()[i];
        vector<tensor_facts> result;
        for (std::size_t k = 0; k < statement.left; ++k)
            result.push_back(facts_[versions_.at(statement, k)]);
        return result;
    }

    statement_analysis analyzed(std::uint32_t i) const {
        statement const& statement = code_.statements()[i];
        key_id const id = options_.is_target_known
                              ? made_.find_parameter(code_.text(code_.right(statement)[0]))
                              : source_names::none;
        index_vector const* const wanted =
            id == source_names::none ? nullptr : &made_.entry(id).shape;
        return analyze(code_, statement, operands(i), wanted);
    }

    void find_facts(source_names const& source) {
        for (std::uint32_t v = 0; v < versions_.size(); ++v)
            if (versions_.maker(v) == none) {
                catalog_entry const& entry =
                    source.entry(source.find_parameter(code_.text(versions_.called(v))));
                facts_[v] = {entry.shape, entry.dtype, entry.dtype};
            }
        for (std::uint32_t i = 0; i < code_.statements().size(); ++i) {
            statement const& statement = code_.statements()[i];
            if (has_no_value(statement))
                continue;
            vector<tensor_facts> const facts = analyzed(i).made;
            for (std::size_t k = 0; k < statement.right; ++k)
                facts_[versions_.at(statement, statement.left + k)] = facts[k];
        }
    }

    void go_back(std::uint32_t i) {
        statement const& statement = code_.statements()[i];
        if (has_no_value(statement))
            return;
        std::uint32_t const reason = find_reason(i);
        for (std::size_t k = 0; k < statement.left; ++k)
            (reason == none ? makers_ : reasons_of_)[versions_.at(statement, k)] =
                reason == none ? i : reason;
    }

    /// The number of the reason why a statement cannot be undone, or `none`.
    std::uint32_t find_reason(std::uint32_t i) {
        statement const& statement = code_.statements()[i];
        for (std::size_t k = 0; k < statement.right; ++k)
            if (std::uint32_t const result = versions_.at(statement, statement.left + k);
                !is_recoverable(result))
                return reasons_of_[result] != none ? reasons_of_[result] : add(i, unused(result));
        if (statement.attributes == 0)
            return none;
        try {
            inverse(i);
            return none;
        } catch (statement_error const& error) {
            return add(i, error);
        }
    }

    std::uint32_t add(std::uint32_t i, statement_error error) {
        reasons_.push_back({i, std::move(error)});
        return static_cast<std::uint32_t>(reasons_.size() - 1);
    }

    statement_error unused(std::uint32_t version) const {
        name const& called = versions_.called(version);
        std::string const key(code_.text(called));
        return {errc::not_invertible,
                "'" + key + "', which this statement makes, is " +
                    (versions_.is_last(version)
                         ? "neither read nor a tensor of the target"
                         : "made again by a later statement before anything reads it"),
                called.where, key};
    }

    program const& code_;
    source_names const& made_;
    recovery_options options_;
    version_table versions_;
    vector<tensor_facts> facts_;
    vector<std::uint32_t> makers_;
    vector<std::uint32_t> reasons_of_; ///< by value
    vector<loss_reason> reasons_;
    vector<bool> is_wanted_; ///< by value
    vector<bool> is_needed_; ///< by statement
};

} // namespace reshard::aoa::detail

#endif
