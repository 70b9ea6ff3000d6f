// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/shards_of.hpp>
#include <reshard/model/fully_shard.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_published_models)

namespace {

/// The dimensions of a Llama or, with experts, of a Qwen3.
struct dimensions {
    index_t hidden, layers, heads, groups, inner, vocabulary, experts;
};

constexpr dimensions llama_8b{4096, 32, 32, 8, 14336, 128256, 0};
constexpr dimensions llama_70b{8192, 80, 64, 8, 28672, 128256, 0};
constexpr dimensions llama_405b{16384, 126, 128, 8, 53248, 128256, 0};
constexpr dimensions qwen3_235b{4096, 94, 64, 4, 1536, 151936, 128};

/// Lists the tensors of a model; heads are of 128 elements.
class tensor_lister {
public:
    explicit tensor_lister(dimensions const& model) : m_(model) {
        add({m_.vocabulary, m_.hidden}, vocabulary_parallel(), on_first_stage());
        for (index_t layer = 0; layer < m_.layers; ++layer)
            add_layer(on_layer(layer));
        add({m_.hidden}, replicated(), on_last_stage());
        add({m_.vocabulary, m_.hidden}, vocabulary_parallel(), on_last_stage());
    }

    std::vector<parallel_tensor> all;

private:
    void add(index_vector const& shape, tensor_cut const& cut, stage_place const& stage,
             std::optional<index_t> expert = {}) {
        all.push_back({.key = std::to_string(all.size()),
                       .shape = shape,
                       .cut = cut,
                       .stage = stage,
                       .expert = expert});
    }

    void add_layer(stage_place const& here) {
        index_t const h = m_.hidden;
        add({m_.heads * 128, h}, head_cut(m_.heads), here);
        add({m_.groups * 128, h}, head_cut(m_.groups), here);
        add({m_.groups * 128, h}, head_cut(m_.groups), here);
        add({h, m_.heads * 128}, row_parallel(), here);
        add({h}, replicated(), here);
        add({h}, replicated(), here);
        if (m_.experts == 0)
            return add_feed_forward(here, {});
        add({128}, replicated(), here);
        add({128}, replicated(), here);
        add({m_.experts, h}, replicated(), here);
        for (index_t expert = 0; expert < m_.experts; ++expert)
            add_feed_forward(here, expert);
    }

    void add_feed_forward(stage_place const& here, std::optional<index_t> expert) {
        add({m_.inner, m_.hidden}, column_parallel(), here, expert);
        add({m_.inner, m_.hidden}, column_parallel(), here, expert);
        add({m_.hidden, m_.inner}, row_parallel(), here, expert);
    }

    dimensions m_;
};

struct counts {
    std::size_t pieces = 0;
    index_t bytes = 0;

    bool operator==(counts const&) const = default;
};

/// The shards that have elements, and the bytes of two an element that they hold.
counts counted(std::vector<tensor_sharding> const& tensors, copies which) {
    counts result;
    for (tensor_sharding const& tensor : tensors)
        for_each_holder(tensor, whole(tensor.shape), which,
                        [&](holder_t, box const& region, std::optional<flat_range> const&) {
                            ++result.pieces;
                            result.bytes += 2 * element_count(region);
                        });
    return result;
}

counts parallel_counts(dimensions const& model, parallelism const& ranks,
                       copies which = copies::all) {
    parallel_job const job(ranks, uneven_pipeline(model.layers, ranks.pp), model.experts);
    std::vector<tensor_sharding> tensors;
    for (parallel_tensor const& tensor : tensor_lister(model).all)
        tensors.push_back(sharding_of(tensor, job));
    return counted(tensors, which);
}

counts fsdp_counts(dimensions const& model, index_t ranks) {
    std::vector<tensor_sharding> tensors;
    for (parallel_tensor const& tensor : tensor_lister(model).all) {
        distribution const here({{"dp", ranks}}, {replicate{}}, tensor.shape);
        tensors.push_back(sharding_of(tensor.key, tensor.dtype, fully_shard(here, "dp")));
    }
    return counted(tensors, copies::all);
}

} // namespace

// The numbers were counted by another program, which lists the boxes of all ranks.

BOOST_AUTO_TEST_CASE(fully_sharded_llamas_have_the_pieces_that_were_counted) {
    BOOST_TEST((fsdp_counts(llama_8b, 64) == counts{18'624, 16'060'522'496}));
    BOOST_TEST((fsdp_counts(llama_8b, 48) == counts{13'904, 16'060'522'496}));
    BOOST_TEST((fsdp_counts(llama_405b, 512) == counts{582'142, 811'706'777'600}));
    BOOST_TEST((fsdp_counts(llama_405b, 384) == counts{424'762, 811'706'777'600}));
}

BOOST_AUTO_TEST_CASE(parallel_llamas_have_the_pieces_that_were_counted) {
    BOOST_TEST((parallel_counts(llama_8b, {.tp = 16}) == counts{4'656, 16'605'380'608}));
    BOOST_TEST((parallel_counts(llama_70b, {.tp = 8, .dp = 2, .pp = 2}) ==
                counts{11'568, 282'251'755'520}));
    BOOST_TEST((parallel_counts(llama_70b, {.tp = 4, .dp = 2, .pp = 4}, copies::main) ==
                counts{2'409, 141'107'412'992}));
    BOOST_TEST((parallel_counts(llama_405b, {.tp = 8, .dp = 4, .pp = 8}, copies::main) ==
                counts{7'325, 811'706'777'600}));
    BOOST_TEST((parallel_counts(llama_405b, {.tp = 8, .pp = 2}) == counts{9'096, 811'764'809'728}));
}

BOOST_AUTO_TEST_CASE(a_model_of_experts_has_the_pieces_that_were_counted) {
    BOOST_TEST((parallel_counts(qwen3_235b, {.tp = 4, .dp = 4, .pp = 16, .ep = 8}, copies::main) ==
                counts{38'079, 470'187'269'120}));
    BOOST_TEST(
        (parallel_counts(qwen3_235b, {.tp = 8, .ep = 8}) == counts{42'888, 471'676'936'192}));
}

BOOST_AUTO_TEST_SUITE_END()
