// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_TRACE_HPP
#define RESHARD_TOOL_TRACE_HPP

#include <reshard/aoa/macro/chain.hpp>
#include <reshard/aoa/state_suffix.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
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
    std::vector<std::uint32_t> behind(std::uint32_t version) const;

    reshard::aoa::program const& code_;
    reshard::aoa::name_chain chain_;
    std::vector<std::uint32_t> last_; ///< of each text, the version that it is in the end
    std::vector<reshard::aoa::state_suffix> suffixes_ = reshard::aoa::default_state_suffixes();
};

} // namespace tool

#endif
