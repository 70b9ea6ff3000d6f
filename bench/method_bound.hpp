// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_BOUND_HPP
#define RESHARD_BENCH_METHOD_BOUND_HPP

#include "method.hpp"

#include <reshard/copy/streaming.hpp>

#include <algorithm>
#include <cstring>

/// \file
/// B0, the bound: every rank writes as many bytes as its target has, with nobody to wait for.

namespace bench {

/// Copies the source over the target, from its beginning again where the target is longer.
class bound_method : public method {
public:
    bound_method(setting const& where, bool streaming) : where_(where), streaming_(streaming) {}

    void run() override {
        index_t const source = where_.source_part().elements();
        index_t const target = where_.target_part().elements();
        for (index_t first = 0; first < target && source > 0; first += source) {
            auto const bytes =
                static_cast<std::size_t>(std::min(source, target - first)) * sizeof(double);
            if (streaming_)
                reshard::copy_bytes_streaming(where_.memory.target + first, where_.memory.source,
                                              bytes);
            else
                std::memcpy(where_.memory.target + first, where_.memory.source, bytes);
        }
    }

private:
    setting where_;
    bool streaming_;
};

} // namespace bench

#endif
