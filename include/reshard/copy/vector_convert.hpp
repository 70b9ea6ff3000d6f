// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_VECTOR_CONVERT_HPP
#define RESHARD_COPY_VECTOR_CONVERT_HPP

#include <reshard/copy/vector_pair.hpp>
#include <reshard/copy/vector_pair512.hpp>
#include <reshard/copy/vector_set.hpp>

/// \file
/// The table of casts in registers, for each kind of registers that a processor may have.

namespace reshard::detail {

#if defined(__x86_64__)

template <data_type Source, data_type Target>
vector_conversion vector_conversion_between(vector_set set) {
    return set == vector_set::avx512 ? vector_pair512<Source, Target>::functions()
                                     : vector_pair<Source, Target>::functions();
}

/// From any of the `Sources` to `Target`.
template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from(data_type source, vector_set set) {
    vector_conversion found;
    (void)((source == Sources && (found = vector_conversion_between<Sources, Target>(set), true)) ||
           ...);
    return found;
}

/// The same, and from a float of a byte, of which one stands for all.
template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from_bytes(data_type source, vector_set set) {
    byte_float const* const format = find_byte_float(source);
    if (!format || bits(source) < 8)
        return vector_conversion_from<Target, Sources...>(source, set);
    vector_conversion const found =
        set != vector_set::avx512 ? vector_pair<data_type::f8_e4m3, Target>::functions()
        : format->has_only_nan()  ? vector_pair512<data_type::f8_e4m3fnuz, Target>::functions()
                                  : vector_pair512<data_type::f8_e4m3, Target>::functions();
    return found.with(format);
}

#else

template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from(data_type, vector_set) {
    return {};
}

template <data_type Target, data_type... Sources>
vector_conversion vector_conversion_from_bytes(data_type, vector_set) {
    return {};
}

#endif

/// The table of casts in registers. What would round twice by way of f32 is not in it; without
/// functions, too, where the processor lacks `set`.
inline vector_conversion vector_conversion_of(data_type source, data_type target,
                                              vector_set set = widest_vectors()) {
    using enum data_type;
    if (set == vector_set::none || !has(set))
        return {};
    switch (target) {
    case f32: return vector_conversion_from_bytes<f32, f64, bf16, f16>(source, set);
    case bf16: return vector_conversion_from_bytes<bf16, f32, f16>(source, set);
    case f16: return vector_conversion_from<f16, f32, bf16>(source, set);
    case f64: return vector_conversion_from<f64, f32>(source, set);
    default: return {};
    }
}

} // namespace reshard::detail

#endif
