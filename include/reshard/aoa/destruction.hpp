// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DESTRUCTION_HPP
#define RESHARD_AOA_DESTRUCTION_HPP

#include <reshard/aoa/downstream.hpp>
#include <reshard/aoa/lower_context.hpp>
#include <reshard/expr/losses.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Which statement of a program destroys what.

namespace reshard::aoa {

/// What is lost of a source tensor, and the statement that does it.
struct destruction {
    reshard::detail::loss what;
    std::string text;         ///< goes on after the tensor's key
    text_span where = {};     ///< empty: no statement does it, nothing uses the tensor
    std::uint32_t origin = 0; ///< of the statement
};

namespace detail {

/// Finds the statements that destroy information; asks the program only about what is lost.
class destruction_finder {
public:
    destruction_finder(program const& code, lowering const& lowered);

    destruction find(reshard::detail::loss const& lost);

    /// Whether all that is lost of a tensor is in values that nothing uses.
    bool is_dropped(reshard::detail::loss const& lost,
                    reshard::detail::source_usage const& used) const;

private:
    static constexpr std::uint32_t none = downstream::none;

    void place(destruction& result, std::uint32_t number) const;

    dropped_value const* dropped_of(reshard::detail::loss const& lost) const;

    std::uint32_t removal_of(std::string_view key);

    std::uint32_t rounding_of(std::string_view key, data_type dtype);

    /// The statement that takes a part of the tensor only.
    std::uint32_t cut_of(std::string_view key);

    name_chain const& chain();

    program const& code_;
    lowering const& lowered_;
    /// Of each source tensor, the dropped values that have elements of it, and which.
    std::unordered_map<reshard::detail::key_id, std::vector<std::pair<std::size_t, box>>> dropped_;
    std::unordered_map<std::string_view, std::uint32_t> removals_;
    std::map<data_type, std::optional<downstream>> roundings_;
    std::optional<downstream> cuts_;
    std::optional<name_chain> chain_;
};

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/destruction.ipp>
#endif

#endif
