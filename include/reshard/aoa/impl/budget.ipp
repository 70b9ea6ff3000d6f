// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_BUDGET_IPP
#define RESHARD_AOA_IMPL_BUDGET_IPP

#include <reshard/aoa/budget.hpp>

#include <reshard/core/config.hpp>

namespace reshard::aoa {

RESHARD_DECL std::string budget::refusal() const {
    return "the program has more than " + std::to_string(most) + ' ' + std::string(what) +
           " (option " + std::string(option) + ')';
}

} // namespace reshard::aoa

#endif
