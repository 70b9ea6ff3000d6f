// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi.hpp>
#include <reshard/typed.hpp>

#include <boost/mpi/environment.hpp>

#include <cstddef>

// Moves a model of 61 layers with 12 tensors each, by a typed plan: from eight tensor-parallel
// ranks to two pipeline stages of four ranks. The script measure.py compiles this file.

namespace {

using namespace reshard;

template <std::size_t Layer, auto Name, index_vector Shape, auto... Cut>
using weight = typed::tensor<typed::key<"model.layers."> + typed::number<Layer> + "." + Name,
                             bfloat16, Shape, Cut...>;

template <std::size_t Layer>
using layer = boost::mp11::mp_list<
    weight<Layer, typed::key<"self_attn.q_proj.weight">, index_vector{4096, 4096}, shard{0}>,
    weight<Layer, typed::key<"self_attn.k_proj.weight">, index_vector{1024, 4096}, shard{0}>,
    weight<Layer, typed::key<"self_attn.v_proj.weight">, index_vector{1024, 4096}, shard{0}>,
    weight<Layer, typed::key<"self_attn.o_proj.weight">, index_vector{4096, 4096}, shard{1}>,
    weight<Layer, typed::key<"self_attn.q_proj.bias">, index_vector{4096}, shard{0}>,
    weight<Layer, typed::key<"self_attn.k_proj.bias">, index_vector{1024}, shard{0}>,
    weight<Layer, typed::key<"self_attn.v_proj.bias">, index_vector{1024}, shard{0}>,
    weight<Layer, typed::key<"mlp.gate_proj.weight">, index_vector{14336, 4096}, shard{0}>,
    weight<Layer, typed::key<"mlp.up_proj.weight">, index_vector{14336, 4096}, shard{0}>,
    weight<Layer, typed::key<"mlp.down_proj.weight">, index_vector{4096, 14336}, shard{1}>,
    weight<Layer, typed::key<"input_layernorm.weight">, index_vector{4096}, replicate{}>,
    weight<Layer, typed::key<"post_attention_layernorm.weight">, index_vector{4096}, replicate{}>>;

template <std::size_t Layer>
using layer_on_stage =
    typed::with_placements<layer<Layer>, only{Layer / 31}, typed::own_placements{}>;

struct trained : typed::layout<mesh{{"tp", 8}}, typed::layers<61, layer>> {};
struct served : typed::layout<mesh{{"pp", 2}, {"tp", 4}}, typed::layers<61, layer_on_stage>> {};

using serve = typed::plan<trained, served>;

#ifdef RESHARD_BENCH_COST
static_assert(cost_of<serve>().by_process[7].bytes_out > 0);
#endif

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    state_dict have, want;
    job ready = prepare<serve>(boost::mpi::communicator(), have, want);
    run(ready);
}
