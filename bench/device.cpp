// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/conversions.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/cuda.hpp>
#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/tensor/view.hpp>

#include "stopwatch.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

/// \file
/// Copies within the memory of a GPU, beside CUDA's own copy of as many bytes in the same run. A
/// rate counts bytes read and written.

namespace {

using namespace reshard;
using namespace reshard::detail;

void check(int problem) {
    if (problem != 0)
        fail(errc::unsupported, "CUDA: ", reshard_cuda_error_text(problem));
}

class gpu_memory {
public:
    explicit gpu_memory(std::size_t bytes) { check(reshard_cuda_allocate(0, bytes, &memory_)); }
    gpu_memory(gpu_memory const&) = delete;
    gpu_memory& operator=(gpu_memory const&) = delete;
    ~gpu_memory() { reshard_cuda_free(memory_); }

    void* get() const { return memory_; }

private:
    void* memory_ = nullptr;
};

/// The median of the seconds that `work` takes, after two runs that are not measured.
double seconds_of(int repeat, auto const& work) {
    std::vector<double> seconds;
    for (int i = -2; i < repeat; ++i) {
        bench::stopwatch const watch;
        work();
        if (i >= 0)
            seconds.push_back(watch.seconds());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

/// Copies of one case.
struct device_case {
    std::string name;
    std::vector<affine_copy> loops;
    data_type source = data_type::f32;
    data_type target = data_type::f32;
    double goal = .85; ///< the ratio to CUDA's copy that is wanted

    double bytes() const {
        double sum = 0;
        for (affine_copy const& loop : loops)
            sum += static_cast<double>(element_count(loop)) * (bits(source) + bits(target)) / 8;
        return sum;
    }
};

/// `count` boxes of `elements` floats, which become rows of 256 bytes in a larger matrix.
device_case boxes(std::string const& name, index_t count, index_t elements, double goal) {
    device_case boxes{name, {}, data_type::f32, data_type::f32, goal};
    for (index_t i = 0; i < count; ++i)
        boxes.loops.push_back(
            {{elements / 64, 64}, i * elements, {64, 1}, 2 * i * elements, {128, 1}});
    return boxes;
}

std::vector<device_case> cases_of(index_t side) {
    return {{"rows of half a matrix", {{{side, side / 2}, 0, {side, 1}, 0, {side / 2, 1}}}},
            {"a transposed matrix", {{{side, side}, 0, {1, side}, 0, {side, 1}}}},
            {"a cast of bf16 to f32",
             {{{side * side}, 0, {1}, 0, {1}}},
             data_type::bf16,
             data_type::f32},
            {"a cast of f32 to bf16",
             {{{side * side}, 0, {1}, 0, {1}}},
             data_type::f32,
             data_type::bf16},
            boxes("5,000 boxes of 64 KiB", 5000, 16384, .7),
            boxes("100,000 boxes of 1 KiB", 100000, 256, .5)};
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Copies within the memory of a GPU, beside cudaMemcpy");
    index_t side = 16384;
    int repeat = 9;
    app.add_option("--side", side, "rows and columns of the matrices");
    app.add_option("--repeat", repeat, "measured runs; the median counts");
    CLI11_PARSE(app, argc, argv);
    int count = 0;
    if (reshard_cuda_count(&count) != 0 || count == 0) {
        std::cout << "This machine has no GPU: nothing was measured.\n";
        return 0;
    }
    try {
        auto const gpu = cuda();
        auto const most = std::max<std::size_t>(static_cast<std::size_t>(side * side) * 4,
                                                std::size_t{800} << 20);
        gpu_memory const source(most), target(most);
        std::cout << "case, GB/s, of cudaMemcpy, goal\n" << std::fixed << std::setprecision(2);
        for (device_case const& each : cases_of(side)) {
            element_conversion conversion =
                each.source == each.target
                    ? element_conversion{each.source}
                    : casting(each.source, then({}, each.source, each.target));
            conversion.devices = ends_on(gpu.get(), gpu.get());
            std::vector<prepared_copy> copies;
            for (affine_copy const& loop : each.loops)
                copies.push_back(prepare(loop, conversion));
            double const own = seconds_of(repeat, [&] {
                for (prepared_copy const& copy : copies)
                    run(copy, source.get(), target.get());
                gpu->wait();
            });
            double const bound = seconds_of(repeat, [&] {
                check(reshard_cuda_copy(0, nullptr, target.get(), source.get(),
                                        static_cast<std::size_t>(each.bytes() / 2)));
                check(reshard_cuda_wait(0, nullptr));
            });
            std::cout << each.name << ", " << each.bytes() / own / 1e9 << ", " << bound / own
                      << ", " << each.goal << "\n";
        }
    } catch (error const& problem) {
        std::cerr << problem.what() << "\n";
        return 1;
    }
}
