// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_COPY_ELEMENTS_HPP
#define RESHARD_COPY_COPY_ELEMENTS_HPP

#include <reshard/copy/choose.hpp>
#include <reshard/copy/loops.hpp>
#include <reshard/copy/vector_conversion.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// \file
/// Moves elements: every plan ends here.

namespace reshard::detail {

/// One pass over a block: in registers, or by a loop that compilers make fast, if either exists.
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

    /// \pre    the source is not complex
    /// \throws error as `check_castable`
    conversion(data_type source, std::span<data_type const> chain);

    /// The whole conversion in registers, if there is one.
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

/// How results reach the memory.
enum class stores : std::uint8_t {
    by_size,   ///< non-temporal from `streaming_threshold` bytes on
    cached,    ///< through the caches: the result is read again soon
    streaming, ///< non-temporal: this copy is part of a larger one
};

/// The bytes from which on a result is unlikely to be found in a cache later.
inline constexpr index_t streaming_threshold = index_t{4} << 20;

/// A prepared copy, to be run any number of times: fused, with its kernel chosen.
struct prepared_copy {
    copy_kernel kernel = copy_kernel::nothing;
    affine_copy loop;         ///< offsets and strides in the units of `sizes`
    element_sizes sizes = {}; ///< of the kernel's unit of an element
    detail::conversion conversion;
    conversion_kernels const* kernels = nullptr; ///< of a kernel that converts
    bool streaming = false;
};

/// What converts elements. A program that casts none compiles none of it.
struct conversion_kernels {
    /// \throws error as `check_castable`, and as `by_parts`
    prepared_copy (*prepare)(affine_copy const& fused, element_conversion const& conversion,
                             stores stores);
    void (*run)(prepared_copy const& ready, memory const& at);
};

/// Prepares a copy.
///
/// \pre    a conversion that casts has kernels
/// \throws error as `check_castable`, and as `by_parts`
RESHARD_DECL prepared_copy prepare(affine_copy const& copy, element_conversion const& conversion,
                                   stores stores = stores::by_size);

/// Copies, from and to base pointers that need no alignment.
///
/// \pre the elements of source and target are disjoint in memory
RESHARD_DECL void run(prepared_copy const& ready, void const* source, void* target);

/// Copies elements from `source` to `target`, rounding as the casts say.
///
/// Neither pointer needs alignment; elements below 8 bits may begin at any bit, and the other bits
/// of their bytes stay as they are. Works in one thread.
///
/// \par Units offsets and strides in elements of the stored types, from the base pointers
/// \pre       the elements of source and target are disjoint in memory
/// \throws    error as `prepare`
inline void copy_elements(affine_copy const& copy, element_conversion const& conversion,
                          void const* source, void* target) {
    run(prepare(copy, conversion), source, target);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/copy/impl/copy_elements.ipp>
#endif

#endif
