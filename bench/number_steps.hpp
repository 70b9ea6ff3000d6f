// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_NUMBER_STEPS_HPP
#define RESHARD_BENCH_NUMBER_STEPS_HPP

#include "json_list.hpp"
#include "stopwatch.hpp"

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/format/gguf/impl/gguf_blocks.ipp>
#include <reshard/format/impl/packed_values.ipp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Measures quantising and decoding on one core, each beside a plain cast or memcpy in the same
/// run. The unit tests compare the results with those of the real libraries.

namespace bench {

using namespace reshard;
using namespace reshard::detail;

/// A store with one file in memory.
class memory_store : public file_store {
public:
    explicit memory_store(std::span<std::byte const> bytes) : bytes_(bytes) {}

    kind find(std::filesystem::path const&) const override { return kind::file; }
    vector<std::filesystem::path> list(std::filesystem::path const&) const override { return {}; }
    std::unique_ptr<file> open(std::filesystem::path const&) const override {
        return std::make_unique<memory_file>(bytes_);
    }

private:
    struct memory_file : file {
        explicit memory_file(std::span<std::byte const> all) : bytes(all) {}
        identity facts() const override { return {.bytes = bytes.size()}; }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            std::memcpy(target.data(), bytes.data() + position, target.size());
        }
        std::span<std::byte const> bytes;
    };

    std::span<std::byte const> bytes_;
};

/// Quantises and decodes a matrix with rows of 4096 elements.
class number_steps {
public:
    number_steps(index_t elements, int repeat, std::string only, std::vector<std::string>& rows)
        : rows_(std::max<index_t>(elements / columns, 256) / 256 * 256),
          repeat_(repeat),
          only_(std::move(only)),
          json_(rows),
          source_(static_cast<std::size_t>(4 * count())),
          target_(source_.size()) {}

    void measure_all() {
        using enum data_type;
        std::printf("\nnumber step                   bytes of  GB/s   beside it            GB/s"
                    "   its median   of best times\n");
        for (char const* const scheme : {"fp8_block", "int8_channel", "mxfp4", "q4_0"})
            for (data_type const from : {f32, bf16})
                measure(
                    {std::string(code(from)) + " to " + scheme, from, "read", bits(from) / 8,
                     std::string(code(from)) + " to F8_E4M3"},
                    [&] { quantise(scheme, from); }, [&] { cast(from, f8_e4m3); });
        memory_store const store(std::as_bytes(std::span(source_)));
        packed_runs mxfp4;
        mxfp4.numbers = {"numbers", u8, {count() / 2}, "file", 0};
        mxfp4.table = {0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6};
        mxfp4.block = 32;
        stored_array const powers{"powers", u8, {count() / 32}, "file", 0};
        mxfp4.scales = [&](open_files_of const& files, index_t first, index_t end) {
            return powers.floats(files, first, end - first);
        };
        measure(
            {"mxfp4 to BF16", u8, "written", 2, "F8_E4M3 to BF16"},
            [&] { decode(store, mxfp4, bf16); }, [&] { cast(f8_e4m3, bf16); });
        gguf_tensor const q4_k("file", 0, {256, 144, decode_q4_k});
        measure(
            {"q4_k to F16", u8, "written", 2, "memcpy"}, [&] { decode(store, q4_k, f16); },
            [&] { std::memcpy(target_.data(), source_.data(), target_.size() / 2); });
    }

private:
    static constexpr index_t columns = 4096;

    struct step_names {
        std::string name;
        data_type source;
        std::string direction;
        index_t element_bytes;
        std::string beside;
    };

    index_t count() const { return rows_ * columns; }

    /// Numbers between -1 and 1, or bytes.
    void fill(data_type type) {
        std::uint32_t state = 1;
        for (index_t i = 0; i < count(); ++i) {
            state = state * 1664525 + 1013904223;
            float const value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
            auto const number =
                type == data_type::u8 ? state >> 8 : std::bit_cast<std::uint32_t>(value);
            if (type == data_type::bf16)
                std::memcpy(source_.data() + 2 * i, reinterpret_cast<char const*>(&number) + 2, 2);
            else
                std::memcpy(source_.data() + 4 * i, &number, 4);
        }
    }

    void convert(void const* source, data_type from, void* target, data_type to, index_t elements) {
        affine_copy const copy{{elements}, 0, {1}, 0, {1}};
        copy_elements(copy, casting(from, then({}, from, to)), source, target);
    }

    void cast(data_type from, data_type to) {
        convert(source_.data(), from, target_.data(), to, count());
    }

    /// In bands of 2 Mi elements, as files are quantised.
    void quantise(char const* scheme, data_type from) {
        quantiser const quantiser(scheme, {rows_, columns});
        band_.resize(std::size_t{1} << 21);
        index_t const unit = quantiser.first_element(1);
        index_t const units = std::max<index_t>(std::ssize(band_) / unit, 1);
        for (index_t first = 0; first < quantiser.units(); first += units) {
            index_t const end = std::min(first + units, quantiser.units());
            index_t const begin = quantiser.first_element(first);
            index_t const elements = quantiser.first_element(end) - begin;
            auto const* values = reinterpret_cast<float const*>(source_.data()) + begin;
            if (from != data_type::f32) {
                convert(source_.data() + begin * (bits(from) / 8), from, band_.data(),
                        data_type::f32, elements);
                values = band_.data();
            }
            std::vector<std::span<std::byte>> bytes;
            std::size_t at = 0;
            for (std::size_t which = 0; which < quantiser.tensors().size(); ++which) {
                std::uint64_t const position = quantiser.first_byte(which, first);
                bytes.push_back(
                    std::as_writable_bytes(std::span(target_))
                        .subspan(at + position, quantiser.first_byte(which, end) - position));
                at += quantiser.first_byte(which, quantiser.units()) / 64 * 64 + 64;
            }
            quantiser.run(first, {values, static_cast<std::size_t>(elements)}, 0, bytes);
        }
    }

    /// In windows of 1 MiB, as checkpoints are read.
    void decode(memory_store const& store, decoded_tensor const& tensor, data_type to) {
        open_files_of const files(store);
        band_.resize(std::size_t{1} << 18);
        for (index_t first = 0; first < count(); first += std::ssize(band_)) {
            auto const elements = std::min(std::ssize(band_), count() - first);
            tensor.read(files, first, std::span(band_).first(static_cast<std::size_t>(elements)));
            convert(band_.data(), data_type::f32, target_.data() + first * (bits(to) / 8), to,
                    elements);
        }
    }

    void measure(step_names const& names, auto const& step, auto const& plain) {
        if (names.name.find(only_) == std::string::npos)
            return;
        fill(names.source);
        std::vector<double> steps, plains;
        for (int i = 0; i <= repeat_; ++i)
            for (bool const is_step : {false, true}) {
                stopwatch const watch;
                is_step ? step() : plain();
                if (i > 0) // after the first touch
                    (is_step ? steps : plains).push_back(watch.seconds());
            }
        std::ranges::sort(steps);
        std::ranges::sort(plains);
        std::size_t const middle = steps.size() / 2;
        double const gigabytes = static_cast<double>(count() * names.element_bytes) / 1e9;
        std::printf("%-26s %10s %6.2f  %-18s %6.2f  %11.2f  %14.2f\n", names.name.c_str(),
                    names.direction.c_str(), gigabytes / steps[middle], names.beside.c_str(),
                    gigabytes / plains[middle], plains[middle] / steps[middle],
                    plains[0] / steps[0]);
        std::fflush(stdout);
        json_.push_back(json_object{}
                            .add("case", names.name)
                            .add("beside", names.beside)
                            .add("gb_per_s", gigabytes / steps[middle])
                            .add("beside_gb_per_s", gigabytes / plains[middle])
                            .add("ratio", plains[middle] / steps[middle])
                            .add("ratio_of_best", plains[0] / steps[0])
                            .text());
    }

    index_t rows_;
    int repeat_;
    std::string only_;
    std::vector<std::string>& json_;
    std::vector<unsigned char> source_, target_;
    std::vector<float> band_;
};

} // namespace bench

#endif
