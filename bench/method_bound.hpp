// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_BOUND_HPP
#define RESHARD_BENCH_METHOD_BOUND_HPP

#include "method.hpp"
#include "values.hpp"

#include <reshard/copy/stream_lines.hpp>

#include <algorithm>
#include <cstring>

/// \file
/// B0, the bound: every rank copies the bytes that its target is made of, without waiting for other
/// ranks.

namespace bench {

/// Copies the source to the target. At the end of either array, continues at its beginning.
class bound_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const&) { return {}; }

    bound_method(setting const& where, bool streaming)
        : where_(where),
          bytes_(read_bytes(where.moved, where.world.rank())),
          source_bytes_(memory_map(where.moved.sources, where.world.rank()).bytes),
          target_bytes_(memory_map(where.moved.targets, where.world.rank()).bytes),
          streaming_(streaming) {}

    void run() override {
        index_t const most = std::min(source_bytes_, target_bytes_);
        for (index_t done = 0; done < bytes_ && most > 0;) {
            index_t const from = done % source_bytes_, to = done % target_bytes_;
            index_t const count =
                std::min({bytes_ - done, source_bytes_ - from, target_bytes_ - to});
            copy(where_.target + to, where_.source + from, static_cast<std::size_t>(count));
            done += count;
        }
    }

private:
    void copy(std::byte* target, std::byte const* source, std::size_t bytes) const {
        if (streaming_)
            reshard::detail::copy_bytes_streaming(target, source, bytes);
        else
            std::memcpy(target, source, bytes);
    }

    setting where_;
    index_t bytes_;
    index_t source_bytes_;
    index_t target_bytes_;
    bool streaming_;
};

} // namespace bench

#endif
