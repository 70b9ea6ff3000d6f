// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_PETSC_HPP
#define RESHARD_BENCH_METHOD_PETSC_HPP

#include "method.hpp"

#include <memory>
#include <string>

/// \file
/// B4: a star forest of PETSc. Its unit is the longest run of bytes that divides all moves.

namespace bench {

/// Includes no header of PETSc, because these replace MPI's functions by macros: see
/// `peer/petsc.cpp`.
class petsc_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        if (moved.casts())
            return "PetscSF cannot cast";
        return moved.permutes() ? "its unit would be one element" : "";
    }

    explicit petsc_method(setting const& where);
    ~petsc_method() override;

    void run() override;

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    struct forest;

    setting where_;
    std::unique_ptr<forest> forest_;
};

} // namespace bench

#endif
