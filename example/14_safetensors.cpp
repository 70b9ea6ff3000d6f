// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/safetensors.hpp>

#include <filesystem>
#include <iostream>
#include <span>
#include <vector>

// A safetensors file, written and read again, in one include and without MPI.

namespace safetensors = reshard::safetensors;
using reshard::data_type;

namespace {

// [write]
void write_layer(std::filesystem::path const& path) {
    std::vector<float> const weight{1, 2, 3, 4, 5, 6};
    std::vector<reshard::bfloat16> const bias{{0x3F80}, {0x4000}}; // 1 and 2
    std::vector<safetensors::tensor> const tensors{
        {"layer.weight", data_type::f32, {2, 3}, std::as_bytes(std::span(weight))},
        {"layer.bias", data_type::bf16, {2}, std::as_bytes(std::span(bias))}};
    safetensors::write(path, tensors, {.metadata = {{"format", "pt"}}, .replace = true});
}
// [/write]

// [read]
float sum_of_weight(std::filesystem::path const& path) {
    safetensors::file const file = safetensors::open(path);
    for (safetensors::tensor const& tensor : file.tensors) {
        std::cout << tensor.name << ": " << name(tensor.dtype) << " [";
        for (char const* comma = ""; auto const extent : tensor.shape) {
            std::cout << comma << extent;
            comma = ", ";
        }
        std::cout << "], " << tensor.bytes.size() << " bytes\n";
    }
    float sum = 0;
    for (float const value : file.at("layer.weight").as<float>())
        sum += value;
    return sum;
}
// [/read]

} // namespace

int main() {
    auto const path = std::filesystem::temp_directory_path() / "reshard_14.safetensors";
    write_layer(path);
    float const sum = sum_of_weight(path);
    std::cout << "The elements of layer.weight add up to " << sum << ".\n";
    std::filesystem::remove(path);
    return sum == 21 ? 0 : 1;
}
