// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATEMENT_TRACE_HPP
#define RESHARD_AOA_STATEMENT_TRACE_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

/// \file
/// Finds the statements that lead from a source tensor to a target tensor, and the tensors that an
/// intermediate tensor is made from and becomes.

namespace reshard::aoa::detail {

/// Connects the versions of names: a name that is bound twice has two versions.
///
/// \par Source the mapping chain of AOA (PaddlePaddle flex_checkpoint), which follows names; there
///             a temporary that is bound twice, read twice or transposed gets another tensor's
///             number of parts
class name_chain {
public:
    name_chain(program const& code, vector<statement> const& statements);

    static constexpr std::uint32_t none = 0xffffffff;

    vector<statement> const& statements() const { return statements_; }

    std::size_t version_count() const { return versions_.size(); }

    /// The version that name number `i` of a statement reads or binds.
    std::uint32_t version(statement const& of, std::uint32_t i) const;
    /// The name of a version.
    name const& name_of(std::uint32_t version) const { return versions_[version].called; }

    /// The statement that binds a version; `none` for a source tensor.
    std::uint32_t maker(std::uint32_t version) const { return versions_[version].maker; }

    /// Calls `visit` with each statement that reads a version.
    void for_each_reader(std::uint32_t version, auto const& visit) const {
        for (std::uint32_t i = versions_[version].first_read; i != none; i = reads_[i].next)
            visit(statements_[reads_[i].reader]);
    }

    /// Whether no later statement binds the name again.
    bool is_last(std::uint32_t version) const;

private:
    struct entry {
        name called;
        std::uint32_t maker = none;
        std::uint32_t first_read = none;
    };

    struct read_entry {
        std::uint32_t reader;
        std::uint32_t next; ///< index of the next read of the same version
    };

    std::uint32_t& current(name const& name);

    std::uint32_t bind(name const& name, std::uint32_t maker);

    void record(program const& code, std::uint32_t i);

    std::uint32_t read(name const& name, std::uint32_t reader);

    vector<statement> statements_;
    vector<entry> versions_;
    vector<read_entry> reads_;
    vector<std::uint32_t> version_of_; ///< by index of the name in the program
    vector<std::uint32_t> text_versions_, fresh_versions_;
};

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// Follows names backwards through a program without macros. A parameter's state has the same
/// statements as the parameter.
class statement_trace {
public:
    /// \pre `code` outlives this object
    explicit statement_trace(program const& code);

    /// The numbers of the statements between two keys, ascending.
    vector<std::size_t> between(std::string_view source, std::string_view target) const;

    /// The numbers of all statements that lead to a key, ascending. For an added key, the number of
    /// the statement that adds it.
    vector<std::size_t> leading_to(std::string_view target) const;

private:
    /// A parameter that statements name, and the text around it in the key of its state.
    struct named_parameter {
        std::uint32_t id;
        state_suffix const* state; ///< null: the key is the parameter's own
    };

    /// The parameter that statements name for the key of a parameter or a state.
    std::optional<named_parameter> named(std::string_view key) const;

    /// A version and all versions that it depends on, ascending: operands precede results.
    vector<std::uint32_t> behind(std::uint32_t version) const;

    /// The statements on the way to a text from the tensors for which `begins` is true.
    vector<std::size_t> makers(std::optional<std::uint32_t> id, auto const& begins) const {
        if (!id || last_[*id] == detail::name_chain::none)
            return {};
        std::unordered_map<std::uint32_t, bool> leads; // whether a version depends on such a tensor
        vector<std::size_t> numbers;
        for (std::uint32_t const version : behind(last_[*id])) {
            std::uint32_t const maker = chain_.maker(version);
            if (maker == detail::name_chain::none) {
                leads[version] = begins(version);
                continue;
            }
            statement const& statement = chain_.statements()[maker];
            bool is_match = false;
            for (std::uint32_t i = 0; i < statement.left; ++i)
                if (std::uint32_t const read = chain_.version(statement, i);
                    read != detail::name_chain::none)
                    is_match = is_match || leads[read];
            leads[version] = is_match;
            if (is_match)
                numbers.push_back(maker);
        }
        std::ranges::sort(numbers);
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        return numbers;
    }

    program const& code_;
    detail::name_chain chain_;
    vector<std::uint32_t> last_; ///< by text: its last version
    vector<state_suffix> suffixes_;
    std::unordered_map<std::string_view, std::size_t> added_; ///< number of the statement, by key
};

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/statement_trace.ipp>
#include <reshard/aoa/macro/impl/chain.ipp>
#endif

#endif
