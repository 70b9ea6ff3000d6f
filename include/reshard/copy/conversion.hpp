// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CONVERSION_HPP
#define RESHARD_COPY_CONVERSION_HPP

#include <reshard/copy/vector_conversion.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <span>

/// \file
/// A prepared chain of casts: the steps that blocks of elements run through.

namespace reshard::detail {

/// One pass over a block: in registers or by a loop that compilers make fast, where there is
/// either.
struct conversion_step {
    data_type source;
    data_type target;
    block_function fast;
};

RESHARD_DECL void run(conversion_step const& step, unsigned char const* source,
                      unsigned char* target, index_t count);

/// All passes of a chain, at most two for each of its casts.
class conversion {
public:
    /// The most elements that are converted at once; they stay in the nearest cache.
    static constexpr index_t block_elements = 512;

    /// Enough bytes for a block of any type.
    static constexpr std::size_t block_bytes = 8 * block_elements;

    conversion() = default;

    /// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
    conversion(data_type source, std::span<data_type const> chain);

    /// The whole conversion in registers, where there is one.
    vector_conversion const& in_registers() const { return in_registers_; }

    /// Converts one dense block to another.
    ///
    /// \pre there is a step, and `count <= block_elements`
    void operator()(unsigned char const* source, unsigned char* target, index_t count) const;

private:
    void push_cast(data_type source, data_type target);

    void push_step(data_type source, data_type target) {
        steps_[count_++] = {source, target, quickest(source, target)};
    }

    static block_function quickest(data_type source, data_type target);

    conversion_step steps_[30] = {};
    std::size_t count_ = 0;
    vector_conversion in_registers_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/conversion.ipp>
#endif

#endif
