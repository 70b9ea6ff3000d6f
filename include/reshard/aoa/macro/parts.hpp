// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PARTS_HPP
#define RESHARD_AOA_MACRO_PARTS_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/catalog.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Counts the parts along an axis into which the source or the target cuts a tensor of a program.

namespace reshard::aoa {

struct macro_context;

} // namespace reshard::aoa

namespace reshard::aoa::detail {

/// A key that was reached by following names, and the axis of interest there.
struct reached_key {
    catalog_entry const* entry;
    std::size_t axis;

    index_t parts() const { return entry->parts[axis]; }

    /// Another axis of the key that is cut, or std::nullopt.
    std::optional<std::size_t> other_cut() const {
        for (std::size_t other = 0; other < entry->parts.size(); ++other)
            if (other != axis && entry->parts[other] > 1)
                return other;
        return std::nullopt;
    }
};

/// Follows names to the keys of one side. A negative axis counts from the end: -1 is the last axis.
class part_counter {
public:
    part_counter(program const& code, name_chain const& chain, catalog const& keys,
                 std::string side, vector<state_suffix> const& suffixes, budget& steps)
        : code_(code),
          chain_(chain),
          keys_(keys),
          side_(std::move(side)),
          suffixes_(suffixes),
          steps_(steps) {}

    /// The parts of the tensor that name number `i` of a statement is made from, or std::nullopt.
    ///
    /// \throws statement_error with errc::bad_macro if it is made from several tensors, or if a
    ///         parameter and its state are cut differently; with errc::shape_mismatch for an axis
    ///         that does not exist; with errc::limit_exceeded if the search exceeds the budget;
    ///         no_value after an earlier error
    std::optional<index_t> before(statement const& about, std::uint32_t i, index_t axis) const;

    /// The parts of the tensor that name number `i` of a statement becomes, or std::nullopt.
    ///
    /// \throws as `before`; also if it becomes several tensors that are cut differently
    std::optional<index_t> after(statement const& about, std::uint32_t i, index_t axis) const;

    /// The keys that `before` and `after` have reached, even if they threw an error.
    vector<reached_key> const& reached() const { return reached_; }

private:
    void step() const;

    /// An axis of a tensor on the way to a key, and the reason why its parts may be different
    /// there.
    struct followed_axis {
        std::uint32_t version;
        index_t axis;
        char const* doubt = nullptr; ///< null: the parts are the same
    };

    /// Moves from the axis `at` of a statement's result to the axis of its operand.
    void go_back(statement const& maker, followed_axis& at) const;

    /// Moves from the axis `at` of a statement's operand to the axis of its result.
    void go_on(statement const& reader, followed_axis& at) const;

    /// Records a doubt if an attribute cuts or joins a tensor so that the parts along the axis
    /// differ from the other side's parts.
    static void note_doubt(statement const& statement, attribute const& by, followed_axis& at);

    /// Whether an attribute may refer to `axis`. If the number of axes is unknown, the last axis
    /// may be axis 0.
    static bool may_be(attribute const& by, index_t axis);

    /// \throws statement_error if the key has several parts, and their number is in doubt
    void check_doubt(std::optional<index_t> parts, std::uint32_t version,
                     followed_axis const& at) const;

    static vector<index_t> permutation_of(attribute const& permute);
    static std::size_t index_in(vector<index_t> const& order, index_t axis);
    void add_readers(followed_axis const& from, vector<followed_axis>& open) const;
    void settle(std::uint32_t version, std::optional<index_t>& index, index_t parts) const;

    /// The parts of a key along an axis. Its parameter and its states must have the same parts.
    std::optional<index_t> parts_of_key(std::uint32_t version, index_t axis) const;

    void add_parts(std::string const& key, index_t axis, std::optional<index_t>& parts) const;
    statement_error ambiguous(std::uint32_t version, std::string why) const;

    program const& code_;
    name_chain const& chain_;
    catalog const& keys_;
    std::string side_;
    vector<state_suffix> const& suffixes_;
    budget& steps_;
    mutable vector<reached_key> reached_;
};

/// Reports that neither side cuts a tensor of the macro's statement along the macro's axis,
/// although a side cuts one along another axis. It is a note if the statement has an `axis`, and a
/// warning if the axis is 1 by default.
///
/// \param word the macro
RESHARD_DECL void report_uncut_axis(macro_context& context, statement const& statement,
                                    std::string_view word, std::optional<index_t> named);

/// Warns about a tensor with groups of heads if the target cuts it inside a group.
///
/// \param word the macro
RESHARD_DECL void report_cut_groups(macro_context& context, statement const& statement,
                                    std::string_view word, index_t axis, index_t groups);

/// Warns about a tensor if a rank has several of its parts along the axis: then these are not the
/// ranks' parts that the macro interleaves. The command-line tool refuses such a tensor.
///
/// \param counter the parts found on that side
RESHARD_DECL void report_scattered(macro_context& context, statement const& statement,
                                   std::string_view word, index_t axis, part_counter const& counter,
                                   std::string_view side);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/part_counter.ipp>
#include <reshard/aoa/macro/impl/parts.ipp>
#endif

#endif
