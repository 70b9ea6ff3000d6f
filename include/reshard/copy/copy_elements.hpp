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
/// Copies and casts elements: the last stage of every plan.

namespace reshard::detail {

/// One pass over a block: a cast, or arithmetic in f32 or f64. `fast` is a function in registers or
/// a loop that compilers vectorise, or null; arithmetic has none.
struct conversion_step {
    data_type source;
    data_type target;
    block_function fast;
    chain_step::operation computes = chain_step::operation::none;
    double operand = 0;
    vector_conversion::row_function scale = nullptr; ///< of a product with scales; null: both types
                                                     ///< are f32
};

/// \param scales the factor of each element; only for a step that dequantizes
RESHARD_DECL void run(conversion_step const& step, memory const& at, index_t count,
                      float const* scales = nullptr);

/// All passes of a chain: at most two for each cast, and five for each step that computes or
/// dequantizes.
class conversion {
public:
    /// The largest number of elements that are converted at once. They stay in the first-level
    /// cache.
    static constexpr index_t block_elements = 512;

    /// Enough bytes for a block of any type.
    static constexpr std::size_t block_bytes = 8 * block_elements;

    conversion() = default;

    /// \pre    the source is not complex
    /// \throws error as `check_castable`
    conversion(data_type source, step_chain const& chain);

    /// The whole conversion in registers, if available.
    vector_conversion const& in_registers() const { return in_registers_; }

    /// Converts one dense block to another.
    ///
    /// \param scales    the factor of each element; only for a chain that dequantizes
    /// \param streaming whether a product with scales is written with non-temporal stores
    /// \pre there is a step, and `count <= block_elements`
    void operator()(unsigned char const* source, unsigned char* target, index_t count,
                    float const* scales = nullptr, bool streaming = false) const;

private:
    void push_cast(data_type source, data_type target);

    /// Casts to the type of the computation, computes, and casts to `step.dtype`.
    void push_arithmetic(data_type source, chain_step const& step);

    void push_step(data_type source, data_type target) {
        steps_[count_++] = {source, target, quickest(source, target)};
    }

    /// Unpacks and casts to f32 if necessary, multiplies by scales, and casts to `step.dtype`.
    void push_scales(data_type source, chain_step const& step);

    static block_function quickest(data_type source, data_type target);

    conversion_step steps_[36] = {};
    std::size_t count_ = 0;
    vector_conversion in_registers_;
};

/// How results are written to memory.
enum class stores : std::uint8_t {
    by_size,   ///< non-temporal from `streaming_threshold` bytes on
    cached,    ///< through the caches: the result is read again soon
    streaming, ///< non-temporal: this copy is part of a larger one
};

/// From this number of bytes on, a later reader is unlikely to find a result in the cache.
inline constexpr index_t streaming_threshold = index_t{4} << 20;

/// A copy that is ready to run any number of times: its axes are fused and its kernel is chosen.
struct prepared_copy {
    copy_kernel kernel = copy_kernel::nothing;
    affine_copy loop;         ///< offsets and strides in the units of `sizes`
    element_sizes sizes = {}; ///< the size of an element in the kernel's units
    detail::conversion conversion;
    element_conversion given = {}; ///< only for kernels that convert, and on devices
    bool streaming = false;
};

/// The functions that convert elements. A program without casts compiles none of them.
struct conversion_kernels {
    /// \throws error as `check_castable`, and as `by_parts`
    prepared_copy (*prepare)(affine_copy const& fused, element_conversion const& conversion,
                             stores stores);
    void (*run)(prepared_copy const& ready, memory const& at);
};

/// Prepares a copy.
///
/// \pre    `conversion` has kernels if it has casts
/// \throws error as `check_castable`, and as `by_parts`
RESHARD_DECL prepared_copy prepare(affine_copy const& copy, element_conversion const& conversion,
                                   stores stores = stores::by_size);

/// Runs a prepared copy, or starts it on its devices. The base pointers need no alignment.
///
/// \pre the elements of source and target are disjoint in memory
RESHARD_DECL void run(prepared_copy const& ready, void const* source, void* target);

/// Copies elements from `source` to `target`, and casts them.
///
/// Neither pointer needs alignment. Elements below 8 bits may begin at any bit; the other bits of
/// their bytes do not change. Uses one thread.
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
