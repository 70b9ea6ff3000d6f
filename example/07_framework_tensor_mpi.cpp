// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/aoa.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Framework tensors are handles whose data type is known only at run time. Here such tensors are
// redistributed by a program in AOA text. Each of three ranks has read one projection of a layer
// under its Hugging Face name. The program fuses the projections for tensor parallelism, and
// converts the norm to float. Run it on three ranks.

namespace framework {

// [tensor]
/// A handle: its copies, and the results of `narrow`, share the same elements.
class tensor {
public:
    tensor(reshard::data_type dtype, reshard::index_vector const& shape)
        : dtype_(dtype), shape_(shape), strides_(reshard::row_major_strides(shape)) {
        auto const bytes = reshard::byte_count(reshard::element_count(shape), dtype);
        storage_ = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
        data_ = storage_->data();
    }

    /// The `count` rows from `first` on.
    tensor narrow(reshard::index_t first, reshard::index_t count) const {
        tensor rows = *this;
        rows.data_ += reshard::byte_count(first * strides_[0], dtype_);
        rows.shape_[0] = count;
        return rows;
    }

    reshard::data_type dtype() const { return dtype_; }
    reshard::index_vector const& shape() const { return shape_; }
    reshard::index_vector const& strides() const { return strides_; }
    std::byte* data() const { return data_; }

private:
    reshard::data_type dtype_;
    reshard::index_vector shape_;
    reshard::index_vector strides_;
    std::shared_ptr<std::vector<std::byte>> storage_;
    std::byte* data_ = nullptr;
};
// [/tensor]

} // namespace framework

// [traits]
template <>
struct reshard::tensor_traits<framework::tensor> {
    // The type of the address only: `dtype` gives the type of the elements.
    using element_type = std::byte;
    // A copy shares the elements and keeps them alive, so a state dict stores a copy.
    static constexpr bool is_handle = true;

    static data_type dtype(framework::tensor const& t) { return t.dtype(); }
    static index_vector shape(framework::tensor const& t) { return t.shape(); }
    static index_vector strides(framework::tensor const& t) { return t.strides(); }
    static std::byte* data(framework::tensor& t) { return t.data(); }
    static std::byte const* data(framework::tensor const& t) { return t.data(); }
};

static_assert(reshard::tensor<framework::tensor>);
// [/traits]

namespace {

using framework::tensor;
using reshard::data_type, reshard::index_t, reshard::index_vector;

// [program]
/// Six query heads and three pairs of key and value heads, with two rows each.
constexpr char const* fuse = R"(
self_attn.q_proj.weight, self_attn.k_proj.weight, self_attn.v_proj.weight ->
    linear_qkv.weight, fused_qkv, axis=0, num_q_heads=6, num_kv_heads=3
input_layernorm.weight -> layer_norm_weight, dtype="float32"
)";
// [/program]

/// A bfloat16 is the upper half of a float, so these numbers lose nothing.
reshard::bfloat16 half_of(float number) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16)};
}

float number_of(float element) { return element; }
float number_of(reshard::bfloat16 element) {
    return std::bit_cast<float>(std::uint32_t{element.bits} << 16);
}

/// A bf16 tensor whose elements are the numbers from `first` on.
tensor numbered(index_vector const& shape, int first) {
    tensor result(data_type::bf16, shape);
    auto* const elements = reinterpret_cast<reshard::bfloat16*>(result.data());
    for (index_t i = 0; i < reshard::element_count(shape); ++i)
        elements[i] = half_of(static_cast<float>(first + i));
    return result;
}

template <class Element>
std::vector<float> numbers_in(tensor const& t) {
    auto const* const elements = reinterpret_cast<Element const*>(t.data());
    std::vector<float> result;
    for (index_t i = 0; i < reshard::element_count(t.shape()); ++i)
        result.push_back(number_of(elements[i]));
    return result;
}

/// The fused rows of head pair `group`: two heads of q, which has 48 elements, one of k and one of
/// v.
std::vector<float> expected_of(int group) {
    std::vector<float> result;
    for (auto const& [first, count] :
         {std::pair{16 * group, 16}, {48 + 8 * group, 8}, {72 + 8 * group, 8}})
        for (int i = 0; i < count; ++i)
            result.push_back(static_cast<float>(first + i));
    return result;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (world.size() != 3) {
        std::cerr << "Run this on three ranks.\n";
        return 1;
    }
    int const rank = world.rank();

    // [have]
    // The source tensors of this rank: one full projection, as in its file. Rank 0 has the norm,
    // too.
    std::vector<tensor> const projections{numbered({12, 4}, 0), numbered({6, 4}, 48),
                                          numbered({6, 4}, 72)};
    std::vector<std::string> const names{"self_attn.q_proj.weight", "self_attn.k_proj.weight",
                                         "self_attn.v_proj.weight"};
    tensor const& own_tensor = projections[static_cast<std::size_t>(rank)];
    tensor const norm = numbered({4}, 96);

    reshard::const_state_dict have;
    have.add(reshard::replicated(names[static_cast<std::size_t>(rank)], own_tensor.dtype(),
                                 own_tensor.shape()),
             own_tensor);
    if (rank == 0)
        have.add(reshard::replicated("input_layernorm.weight", norm.dtype(), norm.shape()), norm);
    // [/have]

    // [want]
    // The target tensors: a third of the rows of the fused weight, in a larger buffer, and the
    // norm. The state dict keeps a copy of the handle that `narrow` returns.
    tensor const buffer(data_type::bf16, {10, 4});
    tensor fused_norm(data_type::f32, {4});

    reshard::state_dict want;
    want.add(reshard::equal_shares("linear_qkv.weight", data_type::bf16, {8, 4}, {{0, rank, 3}}),
             buffer.narrow(0, 8));
    want.add(reshard::replicated("layer_norm_weight", data_type::f32, {4}), fused_norm);

    reshard::redistribute(world, have, want, {.program = reshard::aoa::parse(fuse, "fuse.aoa")});
    // [/want]

    bool const is_right =
        numbers_in<reshard::bfloat16>(buffer.narrow(0, 8)) == expected_of(rank) &&
        numbers_in<reshard::bfloat16>(buffer.narrow(8, 2)) == std::vector<float>(8) &&
        numbers_in<float>(fused_norm) == std::vector<float>{96, 97, 98, 99};
    if (rank == 0 || !is_right)
        std::cout << (is_right ? "Each rank has its heads.\n" : "This is wrong.\n");
    return is_right ? 0 : 1;
}
