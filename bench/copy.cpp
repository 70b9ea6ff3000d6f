// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures the kernels of copies on one core, beside memcpy of the bytes that they read. A cast
/// writes more or fewer bytes than memcpy, so the last column compares the bytes read and written.

#include "json_list.hpp"
#include "number_steps.hpp"
#include "stopwatch.hpp"

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/convert.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/stream_lines.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace {

using namespace reshard;
using namespace reshard::detail;

using reshard::data_type;
using reshard::index_t;

/// A row-major matrix that is cast, transposed, or both. Perhaps 1 is added on the way, or each
/// element is multiplied by the scale of its block.
struct kernel_case {
    data_type from;
    data_type to;
    bool transposes;
    bool adds_one = false;
    index_t block = 0; ///< the rows and columns of a block; 0: there are no scales

    step_chain chain() const {
        if (block > 0)
            return then({}, from, chain_step{to, chain_step::operation::dequantize});
        if (adds_one)
            return then({}, from, chain_step{to, chain_step::operation::add, 1});
        return then({}, from, to);
    }

    std::string name() const {
        std::string const words = std::string(reshard::code(from)) +
                                  (from == to ? "" : " to " + std::string(reshard::code(to)));
        return words + (adds_one ? " plus 1" : "") +
               (block > 0 ? " times scales of " + std::to_string(block) : "") +
               (transposes ? ", transposed" : "");
    }
};

std::vector<kernel_case> all_cases() {
    using enum data_type;
    std::vector<kernel_case> cases;
    for (data_type const type : {f64, f32, bf16, u8})
        cases.push_back({type, type, true});
    for (bool const transposes : {false, true})
        for (auto const& [from, to] : {std::pair{f32, bf16},
                                       {bf16, f32},
                                       {f32, f16},
                                       {f16, f32},
                                       {f64, f32},
                                       {f32, f64},
                                       {f8_e4m3, f32},
                                       {f8_e4m3, bf16}})
            cases.push_back({from, to, transposes});
    for (bool const adds_one : {false, true})
        for (auto const& [from, to] :
             {std::pair{bf16, f16}, {bf16, bf16}, {f32, bf16}, {bf16, f32}, {f32, f32}})
            cases.push_back({from, to, false, adds_one});
    for (index_t const block : {128, 32})
        cases.push_back({f8_e4m3, bf16, false, false, block});
    return cases;
}

index_t element_bytes(data_type dtype) { return reshard::bits(dtype) / 8; }

/// Memory that begins `skew` bytes after the start of a cache line.
class buffer {
public:
    explicit buffer(index_t bytes, index_t skew = 0)
        : memory_(static_cast<std::size_t>(bytes + skew) + line), skew_(skew) {}

    unsigned char* data() {
        auto const position = reinterpret_cast<std::uintptr_t>(memory_.data());
        return memory_.data() + (line - position % line) % line + skew_;
    }

private:
    static constexpr std::size_t line = 64;
    std::vector<unsigned char> memory_;
    index_t skew_;
};

struct options {
    index_t mebibytes = 128;
    index_t skew = 0;
    int repeat = 7;
    std::string only;
    std::string json;
};

/// A case with a source of the requested size, in rows of 4096 elements.
class kernel_run {
public:
    kernel_run(kernel_case const& kernel_case, options const& chosen)
        : what_(kernel_case),
          columns_(4096),
          rows_(std::max<index_t>(1, (chosen.mebibytes << 20) / element_bytes(kernel_case.from) /
                                         columns_)),
          source_(read_bytes()),
          target_(written_bytes(), chosen.skew),
          plain_(read_bytes(), chosen.skew) {
        std::uint32_t state = 1;
        for (index_t i = 0; i < read_bytes(); ++i) {
            state = state * 1664525 + 1013904223;
            source_.data()[i] = static_cast<unsigned char>(state >> 24);
        }
        reshard::detail::affine_copy copy{{rows_, columns_}, 0, {columns_, 1}, 0, {columns_, 1}};
        if (what_.transposes)
            copy = {{columns_, rows_}, 0, {1, columns_}, 0, {rows_, 1}};
        element_conversion conversion = casting(what_.from, what_.chain());
        if (what_.block > 0)
            add_scales(conversion);
        ready_ = prepare(copy, conversion);
    }

    index_t read_bytes() const { return rows_ * columns_ * element_bytes(what_.from); }
    index_t written_bytes() const { return rows_ * columns_ * element_bytes(what_.to); }

    double kernel_seconds() {
        bench::stopwatch const watch;
        run(ready_, source_.data(), target_.data());
        return watch.seconds();
    }

    double memcpy_seconds(bool streaming) {
        bench::stopwatch const watch;
        auto const bytes = static_cast<std::size_t>(read_bytes());
        if (streaming)
            reshard::detail::copy_bytes_streaming(plain_.data(), source_.data(), bytes);
        else
            std::memcpy(plain_.data(), source_.data(), bytes);
        return watch.seconds();
    }

    /// True if every `step`-th element equals the exact conversion.
    bool is_right(index_t step) {
        bool right = true;
        for (index_t i = 0; i < rows_ * columns_; i += step) {
            index_t const index = what_.transposes ? i % columns_ * rows_ + i / columns_ : i;
            right &= is_equal(expected(element(source_.data(), i, what_.from), i),
                              element(target_.data(), index, what_.to));
        }
        return right;
    }

private:
    static std::uint64_t element(unsigned char const* data, index_t i, data_type dtype) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, data + i * element_bytes(dtype),
                    static_cast<std::size_t>(element_bytes(dtype)));
        return bits;
    }

    void add_scales(element_conversion& conversion) {
        index_t const each_row = columns_ / what_.block;
        values_.resize(static_cast<std::size_t>((rows_ / what_.block + 1) * each_row));
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = 1 + static_cast<float>(i % 7) / 8;
        scales_.memory = {{columns_, rows_, 0, 1}, {1, columns_, 1, 1}};
        scales_.axes = {{0, what_.block, each_row}, {0, what_.block, 1}};
        scales_.values = values_.data();
        conversion.scales = &scales_;
        conversion.first = reinterpret_cast<std::uintptr_t>(source_.data());
    }

    /// The exact conversion of element number `i`.
    std::uint64_t expected(std::uint64_t bits, index_t i) const {
        using enum data_type;
        if (!what_.adds_one && what_.block == 0)
            return what_.from == what_.to ? bits : reshard::convert(what_.from, what_.to, bits);
        auto const wide = std::bit_cast<float>(
            static_cast<std::uint32_t>(reshard::convert(what_.from, f32, bits)));
        index_t const block = std::max<index_t>(what_.block, 1);
        float const result =
            what_.adds_one
                ? wide + 1
                : wide * values_[static_cast<std::size_t>(
                             i / columns_ / block * (columns_ / block) + i % columns_ / block)];
        return reshard::convert(f32, what_.to, std::bit_cast<std::uint32_t>(result));
    }

    /// Equal bits; a product with NaN may be any NaN.
    bool is_equal(std::uint64_t a, std::uint64_t b) const {
        auto const as_float = [&](std::uint64_t bits) {
            return std::bit_cast<float>(
                static_cast<std::uint32_t>(reshard::convert(what_.to, data_type::f32, bits)));
        };
        return a == b || (what_.block > 0 && std::isnan(as_float(a)) && std::isnan(as_float(b)));
    }

    kernel_case what_;
    index_t columns_;
    index_t rows_;
    buffer source_;
    buffer target_;
    buffer plain_; ///< the target of memcpy
    std::vector<float> values_;
    element_scales scales_;
    reshard::detail::prepared_copy ready_;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Measures a case and writes a line of the table; false if an element was wrong.
bool measure(kernel_case const& kernel_case, options const& chosen,
             std::vector<std::string>& rows) {
    kernel_run work(kernel_case, chosen);
    std::vector<double> kernel, plain, streamed;
    for (int i = 0; i <= chosen.repeat; ++i) {
        double const seconds[] = {work.memcpy_seconds(false), work.memcpy_seconds(true),
                                  work.kernel_seconds()};
        if (i == 0)
            continue; // the first touch
        plain.push_back(seconds[0]);
        streamed.push_back(seconds[1]);
        kernel.push_back(seconds[2]);
    }
    double const bound = std::min(median(plain), median(streamed));
    double const best_bound = std::min(*std::min_element(plain.begin(), plain.end()),
                                       *std::min_element(streamed.begin(), streamed.end()));
    double const best = *std::min_element(kernel.begin(), kernel.end());
    double const gigabytes = static_cast<double>(work.read_bytes()) / 1e9;
    double const moved = // of the bytes that memcpy moves in that time
        static_cast<double>(work.read_bytes() + work.written_bytes()) /
        static_cast<double>(2 * work.read_bytes());
    std::printf("%-26s  %9.2f  %9.2f  %11.2f  %13.2f  %16.2f\n", kernel_case.name().c_str(),
                gigabytes / median(kernel), gigabytes / bound, bound / median(kernel),
                best_bound / best, moved * bound / median(kernel));
    std::fflush(stdout);
    rows.push_back(bench::json_object{}
                       .add("case", kernel_case.name())
                       .add("gb_per_s", gigabytes / median(kernel))
                       .add("memcpy_gb_per_s", gigabytes / bound)
                       .add("ratio_to_memcpy", bound / median(kernel))
                       .add("ratio_of_best", best_bound / best)
                       .add("ratio_of_bytes_moved", moved * bound / median(kernel))
                       .text());
    return work.is_right(kernel_case.from == kernel_case.to ? 1 : 97);
}

bool run(options const& chosen) {
    bool all_right = true;
    std::vector<std::string> rows;
    std::printf("kernel                      read GB/s  memcpy     its median   of best times  "
                "read and written\n");
    for (kernel_case const& kernel_case : all_cases())
        if (kernel_case.name().find(chosen.only) != std::string::npos &&
            !measure(kernel_case, chosen, rows)) {
            std::fprintf(stderr, "%s: wrong elements\n", kernel_case.name().c_str());
            all_right = false;
        }
    bench::number_steps((chosen.mebibytes << 20) / 4, chosen.repeat, chosen.only, rows)
        .measure_all();
    if (!chosen.json.empty())
        bench::write_json_list(chosen.json, rows);
    return all_right;
}

} // namespace

int main(int count, char** words) {
    CLI::App program("Measures the kernels of copies on one core, and checks their results.");
    options chosen;
    program.add_option("--mebibytes", chosen.mebibytes, "MiB of the source")->capture_default_str();
    program.add_option("--skew", chosen.skew, "Bytes from the start of a cache line to the target")
        ->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "Repetitions")->capture_default_str();
    program.add_option("--only", chosen.only, "Only kernels whose name contains this");
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    CLI11_PARSE(program, count, words);
    try {
        return run(chosen) ? 0 : 1;
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "copy: %s\n", problem.what());
        return 1;
    }
}
