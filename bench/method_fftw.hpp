// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_FFTW_HPP
#define RESHARD_BENCH_METHOD_FFTW_HPP

#include "method.hpp"

#include <fftw3-mpi.h>

/// \file
/// B5: the distributed transpose of FFTW, with an estimated plan.

namespace bench {

class fftw_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        if (!moved.is_one_tensor() || !moved.permutes())
            return "FFTW only transposes one matrix";
        index_vector const& shape = moved.sources[0].shape;
        return shape[0] % moved.ranks || shape[1] % moved.ranks ? "needs equal parts" : "";
    }

    explicit fftw_method(setting const& where) : where_(where) {
        fftw_mpi_init();
        index_vector const& shape = where.moved.sources[0].shape;
        auto* const source =
            const_cast<double*>(reinterpret_cast<double const*>(where.source)); // only read
        plan_ = fftw_mpi_plan_transpose(shape[0], shape[1], source,
                                        reinterpret_cast<double*>(where.target), where.world,
                                        FFTW_ESTIMATE);
    }
    fftw_method(fftw_method const&) = delete;
    fftw_method& operator=(fftw_method const&) = delete;
    ~fftw_method() override { fftw_destroy_plan(plan_); }

    void run() override { fftw_execute(plan_); }

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    setting where_;
    fftw_plan plan_ = nullptr;
};

} // namespace bench

#endif
