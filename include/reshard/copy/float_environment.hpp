// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_FLOAT_ENVIRONMENT_HPP
#define RESHARD_COPY_FLOAT_ENVIRONMENT_HPP

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/// \file
/// What a program may have asked of floating-point arithmetic, set aside.

namespace reshard::detail {

#if defined(__SSE2__)

/// Rounds to nearest, keeps subnormals and traps nothing while it lives; then all is as it was, and
/// no exception is recorded. Programs that are compiled for speed flush subnormals to zero, and a
/// cast must not depend on that.
class float_environment {
public:
    float_environment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
    ~float_environment() { _mm_setcsr(saved_); }

    float_environment(float_environment const&) = delete;
    float_environment& operator=(float_environment const&) = delete;

private:
    unsigned saved_;
};

#else

/// Elsewhere the environment is taken as it is.
struct float_environment {
    float_environment() {}
};

#endif

} // namespace reshard::detail

#endif
