// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/device/staged_device.hpp>
#include <reshard/testing/fake_device.hpp>
#ifdef RESHARD_EXAMPLE_CUDA
#include <reshard/cuda.hpp>
#include <reshard/cuda/cuda_functions.hpp>
#endif

#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

// Tensors in memory that the processor cannot use: on a GPU, with the argument "cuda", or on a fake
// device, which any machine has.

namespace {

using reshard::index_t;
using reshard::memory_space;

// [tensor]
/// A matrix on a device, as a framework may have it.
struct device_matrix {
    float* data;
    index_t rows, columns;
    memory_space memory;
};

} // namespace

template <>
struct reshard::tensor_traits<device_matrix> {
    using element_type = float;
    static constexpr bool is_borrowed = true;
    static index_vector shape(device_matrix const& t) { return {t.rows, t.columns}; }
    static index_vector strides(device_matrix const& t) { return {t.columns, 1}; }
    static float* data(device_matrix& t) { return t.data; }
    static float const* data(device_matrix const& t) { return t.data; }
    static memory_space memory(device_matrix const& t) { return t.memory; }
};
// [/tensor]

namespace {

using namespace reshard;

/// The functions of a framework that the program uses besides Reshard.
struct accelerator {
    std::function<void*(std::size_t bytes)> allocate;
    std::function<void(void* to, void const* from, std::size_t bytes)> upload;
    std::function<void(void* to, void const* from, std::size_t bytes)> download;
    std::shared_ptr<device> reshard_device;

    device_matrix matrix(index_t rows, index_t columns) const {
        auto const bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
        return {static_cast<float*>(allocate(bytes)), rows, columns, reshard_device->space()};
    }
};

accelerator fake_accelerator() {
    auto const fake = std::make_shared<testing::fake_device>(std::size_t{1} << 20);
    auto const write = [fake](void* to, void const* from, std::size_t bytes) {
        fake->write(to, from, bytes);
    };
    auto const read = [fake](void* to, void const* from, std::size_t bytes) {
        fake->read(to, from, bytes);
    };
    return {[fake](std::size_t bytes) { return fake->allocate(bytes); }, write, read, fake};
}

/// The same memory, reached by two functions only.
accelerator staged_accelerator() {
    accelerator staged = fake_accelerator();
    auto const write_bytes = staged.upload, read_bytes = staged.download;
    // [staged]
    auto const two_functions = std::make_shared<staged_device>(
        memory_space{memory_space::device, 0},
        [=](void* host, void const* memory, std::size_t bytes) { read_bytes(host, memory, bytes); },
        [=](void* memory, void const* host, std::size_t bytes) {
            write_bytes(memory, host, bytes);
        });
    // [/staged]
    staged.reshard_device = two_functions;
    return staged;
}

#ifdef RESHARD_EXAMPLE_CUDA
accelerator cuda_accelerator() {
    auto const copy = [](void* to, void const* from, std::size_t bytes) {
        if (reshard_cuda_copy(0, nullptr, to, from, bytes) != 0 ||
            reshard_cuda_wait(0, nullptr) != 0)
            fail(errc::io, "CUDA cannot copy ", bytes, " bytes");
    };
    return {[](std::size_t bytes) {
                void* memory = nullptr;
                if (int const problem = reshard_cuda_allocate(0, bytes, &memory))
                    fail(errc::limit_exceeded, reshard_cuda_error_text(problem));
                return memory;
            },
            copy, copy, cuda()};
}
#endif

/// Moves a fused matrix from a device to two matrices on it, one of them transposed.
bool are_moved(accelerator const& gpu) {
    device_matrix fused = gpu.matrix(6, 4), left = gpu.matrix(6, 2), right = gpu.matrix(2, 6);
    std::vector<float> numbers(24), result(12);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    gpu.upload(fused.data, numbers.data(), 24 * sizeof(float));
    // [move]
    mapping program;
    auto const halves = split(program.source("fused", {6, 4}, data_type::f32), 1, 2);
    program.define("left", halves[0]);
    program.define("right", transpose(halves[1]));

    state_dict have, want;
    have.add(replicated("fused", data_type::f32, {6, 4}), fused);
    want.add(replicated("left", data_type::f32, {6, 2}), left);
    want.add(replicated("right", data_type::f32, {2, 6}), right);
    redistribute(solo(), have, want, {.program = program, .devices = {gpu.reshard_device}});
    // [/move]
    gpu.download(result.data(), right.data, 12 * sizeof(float));
    for (std::size_t i = 0; i < 12; ++i)
        if (result[i] != static_cast<float>(i % 6 * 4 + 2 + i / 6))
            return false;
    return true;
}

} // namespace

int main(int argc, char** argv) {
    std::string_view const where = argc > 1 ? argv[1] : "fake";
    try {
        bool is_right = false;
        if (where == "fake")
            is_right = are_moved(fake_accelerator()) && are_moved(staged_accelerator());
#ifdef RESHARD_EXAMPLE_CUDA
        else if (where == "cuda")
            is_right = are_moved(cuda_accelerator());
#endif
        else
            std::cerr << "usage: 16_devices [fake|cuda]; cuda needs a build with CUDA's compiler\n";
        if (is_right)
            std::cout << "The elements moved within the memory of the " << where << " device.\n";
        return is_right ? 0 : 1;
    } catch (error const& problem) {
        std::cerr << problem.what() << "\n";
        return 1;
    }
}
