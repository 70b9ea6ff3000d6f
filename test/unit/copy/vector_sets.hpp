// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_COPY_VECTOR_SETS_HPP
#define RESHARD_TEST_UNIT_COPY_VECTOR_SETS_HPP

#include <reshard/copy/vector_set.hpp>

#include <string>
#include <vector>

/// \file
/// Which kernels the processor that tests can run; every one of them is tested, not only the one that would be chosen.

namespace reshard::test {

inline std::vector<detail::vector_set> vector_sets() {
    using enum detail::vector_set;
    std::vector<detail::vector_set> sets{none, avx2, avx512};
    erase_if(sets, [](detail::vector_set set) { return !detail::has(set); });
    return sets;
}

inline std::string text(detail::vector_set vectors) {
    return vectors == detail::vector_set::none   ? "no vectors"
           : vectors == detail::vector_set::avx2 ? "AVX2 and F16C"
                                                 : "AVX-512";
}

} // namespace reshard::test

#endif
