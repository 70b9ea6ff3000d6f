// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/typed_expression.hpp>
#include <reshard/layout/typed_facts.hpp>
#include <reshard/plan/typed_cost.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <type_traits>

// Plans between typed layouts; compiling is the test.

namespace static_typed_plan {

using namespace reshard;
using namespace reshard::detail;

// A matrix of 4 x 6 moves from two ranks that have rows each to three that have columns each.
struct by_rows
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"w", float, index_vector{4, 6}, shard{0}>> {};
struct by_columns
    : typed::layout<mesh{{"tp", 3}}, typed::tensor<"w", float, index_vector{4, 6}, shard{1}>> {};
using turned = typed::plan<by_rows, by_columns>;

static_assert(typed::is_covered<by_rows> && typed::has_equal_shards<by_rows> &&
              typed::has_equal_shards<by_columns>);
static_assert(typed::has_same_keys<by_rows, by_columns>);

// Each rank of the target gets two rows of two columns from each of the source.
static_assert(cost_of<turned>().transfers == 6 && cost_of<turned>().messages == 4);
static_assert(cost_of<turned>().bytes == 4 * 6 * 4 && cost_of<turned>().bytes_local == 2 * 16);
static_assert(cost_of<turned>().by_process[2].bytes_in == 2 * 16);

// Rank 1 gives three boxes, and gets one of rank 0 beside its own.
static_assert(typed::transfers_of<turned>(1).size() == 4);

// Rank 0 gives rank 1 two rows of the columns from 2 on; rank 1 keeps those from row 2 on.
static_assert([] {
    auto const transfers = typed::transfers_of<turned>(1);
    box const box{{0, 2}, {2, 2}}, kept{{2, 2}, {2, 2}};
    return transfers[1].source_holder == 0 && transfers[1].target_holder == 1 &&
           transfers[1].source == 0 && transfers[1].target == 0 &&
           transfers[1].geometry.source_box() == box && transfers[1].geometry.target_box() == box &&
           transfers[2].source_holder == 1 && transfers[2].target_holder == 1 &&
           transfers[2].geometry.source_box() == kept && transfers[2].geometry.target_box() == kept;
}());

// Seven rows on three ranks are 3, 3 and 1; on four ranks 2, 2, 2 and 1; two on three: 1, 1, none.
struct three
    : typed::layout<mesh{{"tp", 3}}, typed::tensor<"seven", float, index_vector{7}, shard{0}>,
                    typed::tensor<"two", double, index_vector{2}, shard{0}>,
                    typed::tensor<"scalar", double, index_vector{}, replicate{}>,
                    typed::tensor<"nothing", float, index_vector{0, 5}, shard{0}>> {};
struct four
    : typed::layout<mesh{{"tp", 4}}, typed::tensor<"nothing", float, index_vector{0, 5}, shard{1}>,
                    typed::tensor<"scalar", double, index_vector{}, replicate{}>,
                    typed::tensor<"two", double, index_vector{2}, replicate{}>,
                    typed::tensor<"seven", float, index_vector{7}, shard{0}>> {};
using uneven = typed::plan<three, four>;

static_assert(!typed::has_equal_shards<three> && typed::is_covered<three> &&
              typed::has_same_keys<three, four>);
static_assert(!typed::has_same_keys<three, by_rows>);

// seven: 2 | 1 + 1 | 2 | 1 from ranks 0 | 0 1 | 1 | 2; two: two parts for each of four; scalar:
// three have their own, the fourth takes one of the replicas.
static_assert(cost_of<uneven>().transfers == 5 + 8 + 4);
static_assert(cost_of<uneven>().by_process[0].bytes_in == 8); // the second of "two"
static_assert(cost_of<uneven>().by_process[0].bytes_local == 2 * 4 + 8 + 8);
static_assert(cost_of<uneven>().by_process[3].bytes_in == 4 + 2 * 8 + 8);
static_assert(cost_of<uneven>().by_process[3].bytes_out == 0);

// Definitions in the typed algebra: one tensor of two, rounded, and zeros.
struct parts
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"a", float, index_vector{2, 4}, shard{0}>,
                    typed::tensor<"b", float, index_vector{2, 4}, shard{1}>> {};
struct whole : typed::layout<mesh{}, typed::tensor<"ab", bfloat16, index_vector{4, 4}>,
                             typed::tensor<"ba", bfloat16, index_vector{4, 4}>,
                             typed::tensor<"none", float, index_vector{3}>> {};
template <fixed_string First, fixed_string Second>
using joined =
    typed::cast<typed::concat<0, typed::source_of<parts, First>, typed::source_of<parts, Second>>,
                bfloat16>;
using fused = typed::plan<parts, whole, typed::definition<"ba", joined<"b", "a">>,
                          typed::definition<"ab", joined<"a", "b">>,
                          typed::definition<"none", typed::zeros<float, index_vector{3}>>>;

static_assert(cost_of<fused>().transfers == 4 + 4 + 1);
static_assert(cost_of<fused>().by_process[0].bytes_in == 2 * (4 + 4) * 2);
static_assert(cost_of<fused>().by_process[1].bytes_out == 2 * (4 + 4) * 2);
static_assert(typed::transfers_of<fused>(0)[0].source == 0 &&
              typed::transfers_of<fused>(0)[0].target == 0);

// Equal tensors are one pattern, with any keys.
struct layers : typed::layout<mesh{{"tp", 2}},
                              typed::tensor<"layers.0.w", float, index_vector{4, 4}, shard{0}>,
                              typed::tensor<"layers.1.w", float, index_vector{4, 4}, shard{0}>> {};
static_assert(layers::kinds[0] == layers::kinds[1]);
static_assert(std::is_same_v<joined<"a", "b">::keyless, joined<"b", "a">::keyless>);

// A rank may hold a whole stage, or no tensors.
struct staged
    : typed::layout<mesh{{"pp", 2}, {"tp", 2}},
                    typed::tensor<"layers.0.w", float, index_vector{4, 4}, only{0}, shard{1}>,
                    typed::tensor<"layers.1.w", float, index_vector{4, 4}, only{1}, shard{1}>> {};
static_assert(typed::is_covered<staged> && cost_of<typed::plan<layers, staged>>().transfers == 8);
static_assert(cost_of<typed::plan<layers, staged>>().by_process[3].bytes_in == 32);
static_assert(typed::transfers_of<typed::plan<staged, layers>>(3).size() == 2);

// Models are generated: keys are made of texts and numbers, layers of their number, and each layer
// goes to its stage as it is cut.
template <std::size_t I>
using block = boost::mp11::mp_list<typed::tensor<typed::key<"layers."> + typed::number<I> + ".w",
                                                 float, index_vector{4, 4}, shard{0}>,
                                   typed::tensor<typed::key<"layers."> + typed::number<I> + ".norm",
                                                 float, index_vector{4}, replicate{}>>;
template <std::size_t I>
using block_on_stage = typed::with_placements<block<I>, only{I / 6}, typed::own_placements{}>;
struct model : typed::layout<mesh{{"tp", 2}}, typed::layers<12, block>,
                             typed::tensor<"head", float, index_vector{4, 8}, shard{1}>> {};
struct pipelined
    : typed::layout<mesh{{"pp", 2}, {"tp", 2}},
                    typed::tensor<"head", float, index_vector{4, 8}, only{1}, shard{1}>,
                    typed::layers<12, block_on_stage>> {};
static_assert(model::keys.size() == 25 && model::keys[23].text == "layers.11.norm");
static_assert(typed::number<0>.view() == "0" &&
              (typed::key<"a"> + typed::number<1203> + typed::key<"z">).view() == "a1203z");
static_assert(
    std::is_same_v<
        typed::with_placements<block<7>, shard{1}>,
        boost::mp11::mp_list<typed::tensor<"layers.7.w", float, index_vector{4, 4}, shard{1}>,
                             typed::tensor<"layers.7.norm", float, index_vector{4}, shard{1}>>>);
static_assert(pipelined::kinds[1] == pipelined::kinds[11] &&
              pipelined::kinds[1] != pipelined::kinds[13]);
// Ranks 0 and 1 keep their parts of the first six layers; of the others and of the head, ranks 2
// and 3 get half of each matrix and all of each norm.
static_assert(cost_of<typed::plan<model, pipelined>>().by_process[1].bytes_local ==
              6 * (2 * 4 + 4) * 4);
static_assert(cost_of<typed::plan<model, pipelined>>().by_process[3].bytes_in ==
              6 * (2 * 4 + 4) * 4 + 4 * 4 * 4);

// Ranks that are listed by hand may leave a gap, or share elements without being replicas.
template <index_t Row, index_t Rows>
using rows = typed::shard<"w", float, index_vector{4, 2}, box{{Row, 0}, {Rows, 2}}>;
static_assert(
    typed::is_covered<typed_ranks<typed::state_dict<rows<0, 2>>, typed::state_dict<rows<2, 2>>,
                                  typed::state_dict<rows<0, 2>>>>);
static_assert(
    !typed::is_covered<typed_ranks<typed::state_dict<rows<0, 1>>, typed::state_dict<rows<2, 2>>>>);
static_assert(
    !typed::is_covered<typed_ranks<typed::state_dict<rows<0, 3>>, typed::state_dict<rows<2, 2>>>>);
static_assert(typed::is_covered<typed_ranks<>>);

} // namespace static_typed_plan
