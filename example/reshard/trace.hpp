// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_TRACE_HPP
#define RESHARD_TOOL_TRACE_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/aoa/state_suffix.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// \file
/// Which statements of a program lead from a source tensor to a target tensor.

namespace tool {

/// Follows names backwards through a program without macros.
class statement_trace {
public:
    /// Refers to the program, which must live as long.
    explicit statement_trace(reshard::aoa::program const& code);

    /// The numbers of the statements between two keys, ascending. Of the state of a parameter, those of
    /// the parameter.
    std::vector<std::size_t> between(std::string_view source, std::string_view target) const;

private:
    struct path;

    bool follow(path& found, reshard::aoa::name const& wanted, std::size_t before) const;

    reshard::aoa::program const& code_;
    /// For each name, the statements that bind it, ascending.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> makers_;
    std::vector<reshard::aoa::state_suffix> suffixes_ = reshard::aoa::default_state_suffixes();
};

} // namespace tool

#endif
