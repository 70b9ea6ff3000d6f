// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_UNIT_CASTS_HPP
#define RESHARD_DEVICE_UNIT_CASTS_HPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/copy/convert.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/step_chain.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// The conversion of one element on a device. Everything here is `constexpr`, so that the processor
/// runs it, too.

namespace reshard::detail {

/// A cast, or arithmetic in f32 or f64.
struct unit_step {
    data_type from{};
    data_type to{};
    chain_step::operation computes = chain_step::operation::none;
    double operand = 0;
};

/// A conversion of elements: its steps in order.
struct unit_program {
    static constexpr std::size_t most_steps = 3 * 15;

    std::uint32_t count = 0;
    unit_step steps[most_steps] = {};
};

/// A format as a type, since nvcc 13 loses formats that are template arguments of functions here.
struct f16_format {
    static constexpr float_format value = format_f16;
};
struct bf16_format {
    static constexpr float_format value = format_bf16;
};
struct f8_e4m3_format {
    static constexpr float_format value = format_f8_e4m3;
};
struct f8_e5m2_format {
    static constexpr float_format value = format_f8_e5m2;
};
struct f8_e4m3fnuz_format {
    static constexpr float_format value = format_f8_e4m3fnuz;
};
struct f8_e5m2fnuz_format {
    static constexpr float_format value = format_f8_e5m2fnuz;
};

template <class Format>
constexpr std::uint64_t widen_from(std::uint32_t bits) {
    return widen<Format::value>(bits);
}
template <class Format>
constexpr std::uint64_t narrow_to(std::uint32_t bits) {
    return narrow<Format::value>(bits);
}

/// Converts a float to f32, exactly or rounded once. Returns false for types that need `convert`.
constexpr bool widen_to_f32(data_type from, std::uint64_t& bits) {
    auto const low = static_cast<std::uint32_t>(bits);
    switch (from) {
    case data_type::bf16: bits = std::uint64_t{low} << 16; return true;
    case data_type::f16: bits = widen_from<f16_format>(low); return true;
    case data_type::f8_e4m3: bits = widen_from<f8_e4m3_format>(low); return true;
    case data_type::f8_e5m2: bits = widen_from<f8_e5m2_format>(low); return true;
    case data_type::f8_e4m3fnuz: bits = widen_from<f8_e4m3fnuz_format>(low); return true;
    case data_type::f8_e5m2fnuz: bits = widen_from<f8_e5m2fnuz_format>(low); return true;
    case data_type::f32: return true;
    default: return false;
    }
}

/// Converts an f32, rounded once. Returns false for types that need `convert`.
constexpr bool narrow_from_f32(data_type to, std::uint64_t& bits) {
    auto const value = static_cast<std::uint32_t>(bits);
    switch (to) {
    case data_type::bf16: bits = narrow_to<bf16_format>(value); return true;
    case data_type::f16: bits = narrow_to<f16_format>(value); return true;
    case data_type::f8_e4m3: bits = narrow_to<f8_e4m3_format>(value); return true;
    case data_type::f8_e5m2: bits = narrow_to<f8_e5m2_format>(value); return true;
    case data_type::f8_e4m3fnuz: bits = narrow_to<f8_e4m3fnuz_format>(value); return true;
    case data_type::f8_e5m2fnuz: bits = narrow_to<f8_e5m2fnuz_format>(value); return true;
    case data_type::f64: bits = f64_of_f32(value); return true;
    case data_type::f32: return true;
    default: return false;
    }
}

/// As `convert`, faster for floats of at most 32 bits.
constexpr std::uint64_t cast_bits(data_type from, data_type to, std::uint64_t bits) {
    if (from == data_type::f64 && to == data_type::f32)
        return f32_of_f64(bits);
    std::uint64_t result = bits;
    if (widen_to_f32(from, result) && narrow_from_f32(to, result))
        return result;
    return encode(to, decode(from, bits));
}

constexpr std::uint64_t run_step(unit_step const& step, std::uint64_t bits) {
    if (step.computes == chain_step::operation::none)
        return cast_bits(step.from, step.to, bits);
    bool const adds = step.computes == chain_step::operation::add;
    if (step.from == data_type::f64) {
        double const value = std::bit_cast<double>(bits);
        return std::bit_cast<std::uint64_t>(adds ? value + step.operand : value * step.operand);
    }
    float const value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    auto const operand = static_cast<float>(step.operand);
    return std::bit_cast<std::uint32_t>(adds ? value + operand : value * operand);
}

constexpr std::uint64_t run_program(unit_program const& program, std::uint64_t bits) {
    for (std::uint32_t i = 0; i < program.count; ++i)
        bits = run_step(program.steps[i], bits);
    return bits;
}

/// The steps of a chain, one cast or one computation each.
///
/// \pre the chain does not dequantize
constexpr unit_program program_of(data_type source, step_chain const& chain) {
    unit_program program;
    auto const push = [&](unit_step const& step) {
        if (step.computes != chain_step::operation::none || step.from != step.to)
            program.steps[program.count++] = step;
    };
    data_type from = source;
    for (chain_step const& step : chain.steps()) {
        data_type const computed =
            step.computes == chain_step::operation::none ? from : computing_type(from, step.dtype);
        push({from, computed});
        if (step.computes != chain_step::operation::none)
            push({computed, computed, step.computes, step.operand});
        push({computed, step.dtype});
        from = step.dtype;
    }
    return program;
}

} // namespace reshard::detail

#endif
