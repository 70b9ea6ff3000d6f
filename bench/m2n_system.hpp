// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_M2N_SYSTEM_HPP
#define RESHARD_BENCH_M2N_SYSTEM_HPP

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/network.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Trainers that pass their weights to servers, as in the benchmark of NVIDIA's nccl_m2n: the
/// layouts of both sides.

namespace bench {

using reshard::holder_t;
using reshard::index_t;
using reshard::index_vector;

/// The sizes of a model. If `query_rows` is 0, the model has multi-head latent attention and a
/// shared expert.
struct m2n_model {
    index_t hidden = 0;
    index_t vocabulary = 0;
    index_t layers = 0;
    index_t dense_layers = 0; ///< the first layers, which have no experts
    index_t feed_forward = 0;
    index_t experts = 0;
    index_t expert_feed_forward = 0;
    index_t query_rows = 0;
    index_t key_rows = 0;
};

/// A system of trainers and servers. Trainer `(stage * replicas + m) * tensor + t` has the experts
/// of group `m % expert`. The servers, numbered `dp * server_tensor + t`, follow the trainers.
struct m2n_system {
    std::string_view name;
    m2n_model model;
    holder_t ranks = 0; ///< the number of trainers, and of servers
    index_t tensor = 1;
    index_t stages = 1;
    index_t expert = 1;
    index_t server_tensor = 1;
    holder_t ranks_per_node = 8;

    index_t replicas() const { return index_t{ranks} / tensor / stages; }
};

inline constexpr m2n_model m2n_qwen3_32b{5120, 151936, 64, 64, 25600, 0, 0, 8192, 1024};
inline constexpr m2n_model m2n_deepseek_v3{7168, 129280, 61, 3, 18432, 256, 2048, 0, 0};
inline constexpr m2n_model m2n_qwen3_235b{4096, 151936, 94, 0, 0, 128, 1536, 8192, 512};
inline constexpr m2n_model m2n_qwen3_30b{2048, 151936, 48, 0, 0, 128, 768, 4096, 512};
inline constexpr m2n_model m2n_llama_70b{8192, 128256, 80, 80, 28672, 0, 0, 8192, 1024};

inline constexpr m2n_system m2n_systems[] = {
    {"qwen32", m2n_qwen3_32b, 32, 4, 4, 1, 4, 8},
    {"dsv3", m2n_deepseek_v3, 128, 1, 4, 16, 8, 64},
    {"dsv3pp8", m2n_deepseek_v3, 128, 1, 8, 16, 8, 64},
    {"qwen235", m2n_qwen3_235b, 64, 2, 4, 8, 8, 64},
    {"qwen30", m2n_qwen3_30b, 16, 1, 2, 8, 4, 8},
    {"llama70", m2n_llama_70b, 32, 8, 4, 1, 8, 8},
};

/// The network of a system. It is assumed that each network card has 48 GB/s, and each rank's
/// memory 400 GB/s for sending and receiving together.
inline reshard::network network_of(m2n_system const& system) {
    return {.ranks_per_node = system.ranks_per_node,
            .copy = {1.5e12, 0, 0},
            .memory = {400e9, 0, 5e-6},
            .link = {48e9, 48e9 * system.ranks_per_node, 1e-5},
            .rack = {}};
}

/// One tensor, in bf16.
struct m2n_tensor {
    std::string key;
    index_vector shape;
    std::optional<std::size_t> axis;              ///< the axis that tensor parallelism cuts
    index_t stage = 0;                            ///< the stage of its trainers
    std::optional<index_t> expert = std::nullopt; ///< the group of trainers that has it whole

    double bytes() const { return 2 * static_cast<double>(reshard::element_count(shape)); }
};

/// Lists the tensors of a system.
class m2n_tensors {
public:
    explicit m2n_tensors(m2n_system const& system) : system_(system), m_(system.model) {}

    std::vector<m2n_tensor> list() && {
        add("embed", {m_.vocabulary, m_.hidden}, 0);
        for (index_t layer = 0; layer < m_.layers; ++layer)
            add_layer(layer);
        stage_ = system_.stages - 1;
        prefix_.clear();
        add("head", {m_.vocabulary, m_.hidden}, 0);
        return std::move(all_);
    }

private:
    void add(std::string_view name, index_vector const& shape,
             std::optional<std::size_t> axis = std::nullopt) {
        all_.push_back({prefix_ + std::string(name), shape, axis, stage_, expert_});
    }

    void add_layer(index_t layer) {
        stage_ = layer * system_.stages / m_.layers;
        std::string const prefix = prefix_ = "layers." + std::to_string(layer) + ".";
        add("in", {m_.hidden});
        add("post", {m_.hidden});
        m_.query_rows == 0 ? add_latent_attention() : add_attention();
        if (layer < m_.dense_layers)
            return add_feed_forward(m_.feed_forward);
        add("router", {m_.experts, m_.hidden});
        if (m_.query_rows == 0) {
            prefix_ = prefix + "shared.";
            add_feed_forward(m_.expert_feed_forward);
        }
        for (index_t expert = 0; expert < m_.experts; ++expert) {
            prefix_ = prefix + "experts." + std::to_string(expert) + ".";
            expert_ = expert * system_.expert / m_.experts;
            add_feed_forward(m_.expert_feed_forward);
        }
        expert_.reset();
    }

    void add_attention() {
        add("q", {m_.query_rows, m_.hidden}, 0);
        add("k", {m_.key_rows, m_.hidden}, 0);
        add("v", {m_.key_rows, m_.hidden}, 0);
        add("o", {m_.hidden, m_.query_rows}, 1);
    }

    void add_latent_attention() {
        add("qa", {1536, m_.hidden});
        add("qb", {24576, 1536}, 0);
        add("kva", {576, m_.hidden});
        add("kvb", {32768, 512}, 0);
        add("o", {m_.hidden, 16384}, 1);
    }

    void add_feed_forward(index_t inner) {
        add("gate", {inner, m_.hidden}, 0);
        add("up", {inner, m_.hidden}, 0);
        add("down", {m_.hidden, inner}, 1);
    }

    m2n_system const& system_;
    m2n_model m_;
    std::string prefix_;
    index_t stage_ = 0;
    std::optional<index_t> expert_;
    std::vector<m2n_tensor> all_;
};

/// The layout of the trainers: each rank that has an expert has it whole.
inline reshard::layout trainers_of(m2n_system const& system,
                                   std::vector<m2n_tensor> const& tensors) {
    reshard::mesh const ranks{{"pp", system.stages},
                              {"dp", system.replicas() / system.expert},
                              {"ep", system.expert},
                              {"tp", system.tensor}};
    std::vector<reshard::tensor_sharding> all;
    for (m2n_tensor const& tensor : tensors) {
        std::vector<reshard::placement> placements(4, reshard::replicate{});
        placements[0] = reshard::only{tensor.stage};
        if (tensor.expert)
            placements[2] = reshard::only{*tensor.expert};
        else if (tensor.axis)
            placements[3] = reshard::shard{*tensor.axis};
        all.push_back(sharding_of(tensor.key, reshard::data_type::bf16,
                                  reshard::distribution(ranks, placements, tensor.shape)));
    }
    return reshard::layout_of(std::move(all));
}

/// The layout of the servers: a mesh over the ranks after the trainers.
inline reshard::layout servers_of(m2n_system const& system,
                                  std::vector<m2n_tensor> const& tensors) {
    std::vector<holder_t> later(system.ranks);
    std::iota(later.begin(), later.end(), system.ranks);
    reshard::rank_mesh const ranks(
        reshard::mesh{{"dp", system.ranks / system.server_tensor}, {"tp", system.server_tensor}},
        std::move(later));
    std::vector<reshard::tensor_sharding> all;
    for (m2n_tensor const& tensor : tensors) {
        std::vector<reshard::placement> placements(2, reshard::replicate{});
        if (tensor.axis)
            placements[1] = reshard::shard{*tensor.axis};
        all.push_back(sharding_of(tensor.key, reshard::data_type::bf16,
                                  reshard::distribution(ranks, placements, tensor.shape)));
    }
    return reshard::layout_of(std::move(all));
}

} // namespace bench

#endif
