// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/typed_program.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/plan/typed_cost.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Programs whose text is a template argument; the texts are those of the goldens, which
// goldens.cpp compares all.

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(typed_programs)

namespace {

template <fixed_string Key, index_t... Extents>
using f32 = typed::tensor<Key, float, index_vector{Extents...}>;
template <fixed_string Key, index_t... Extents>
using bf16 = typed::tensor<Key, bfloat16, index_vector{Extents...}>;
template <class... Tensors>
using alone = typed::layout<mesh{}, Tensors...>;

using abh = alone<f32<"a", 2, 4>, f32<"b", 2, 6>, bf16<"h", 2, 4>>;

template <class Layout>
catalog catalog_of_typed() {
    std::vector<catalog_entry> tensors;
    for (std::size_t i = 0; i < Layout::keys.size(); ++i)
        tensors.push_back(test::tensor(std::string(Layout::keys[i].text), Layout::kinds[i]->shape,
                                       Layout::kinds[i]->dtype));
    return catalog(std::move(tensors));
}

/// Compares what a program makes of each target tensor with the mapping of run time.
template <class Source, class Target, fixed_string Text>
struct row {
    using plan = typed::plan<Source, Target, typed::program<Text>>;
    using values = typename typed::program<Text>::template values<Source, Target>;
    static_assert(plan::size == Target::keys.size());

    template <class Value>
    static void compare(mapping const& map, mapping_output const& wanted, Value const&) {
        auto const source = [&](std::string_view key) {
            key_id id = 0;
            while (map.sources().key(id) != key)
                ++id;
            return source_tensor(id, map.sources()[id].shape, map.sources()[id].dtype);
        };
        BOOST_TEST((Value::value(source) == wanted.value), Text.view() << ": " << wanted.key);
        BOOST_TEST(wanted.added == requires { Value::keeps_memory; });
    }

    template <std::size_t I>
    static void compare(mapping const& map) {
        mapping_output const* const wanted = map.find(Target::keys[I].text);
        BOOST_TEST_REQUIRE(wanted, Text.view());
        if constexpr (std::is_void_v<decltype(values::template value_of<I>())>)
            BOOST_TEST((wanted->value.pieces.size() == 0 ||
                        map.sources().key(wanted->value.pieces.source(0)) == wanted->key));
        else
            compare(map, *wanted, values::template value_of<I>());
    }

    static void check() {
        catalog const source = catalog_of_typed<Source>(), target = catalog_of_typed<Target>();
        mapping const map = aoa::lower(aoa::expand(test::parsed(Text.view()), source, &target).code,
                                       source, &target);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (compare<I>(map), ...);
        }(std::make_index_sequence<Target::keys.size()>());
    }
};

template <class... Rows>
void check_all() {
    (Rows::check(), ...);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_program_of_either_kind_gives_the_same_mapping) {
    check_all<
        row<abh, alone<f32<"a", 2, 4>, f32<"n", 3>>, "_ -> n\nb -> _\nh -> _\n">,
        row<abh, alone<f32<"x", 2, 4>, bf16<"y", 2, 4>>,
            "h -> x, dtype = \"float32\"\na -> t, dtype = \"float16\"\n"
            "t -> y, src_dtype = \"float16\", dst_dtype = \"bfloat16\"\n">,
        row<abh, alone<f32<"c", 2, 10>>, "a, b -> c, axis = -1\n">,
        row<abh, alone<f32<"a", 2, 4>, f32<"b", 2, 6>>, "">,
        row<abh, alone<f32<"a", 2, 4>>, "# nothing but this">,
        row<alone<f32<"s", 2, 3, 4>>, alone<f32<"d", 4, 2, 3>, f32<"e", 4, 3, 2>>,
            "s -> d, permute = \"[2,0,1]\"\ns -> e, permute = '[]'\n">,
        row<abh, alone<f32<"x", 2, 4>, bf16<"y", 2, 4>, f32<"b", 2, 4>, f32<"z", 2, 4>>,
            "a -> x, axis = 0\nh -> y, src_dtype = \"float16\", dst_dtype = \"bfloat16\"\n"
            "none -> _\na -> b\nb -> z\n_ -> q\n">,
        row<abh, alone<f32<"x", 2, 4>>, "a -> x">,
        row<alone<f32<"a", 2, 4>, f32<"b", 2, 6>>,
            alone<f32<"x", 8>, f32<"y", 2, 2, 3>, f32<"z", 4, 2>>,
            "a -> x, reshape = \"[8]\"\nb -> y, reshape = \"[2, *, 3]\"\n"
            "a -> z, permute='[]', reshape = \"[4, 2]\"\n">,
        row<alone<f32<"s", 6, 4>, f32<"c", 2, 3, 2, 2>>,
            alone<f32<"d", 2, 3, 2, 2>, f32<"f", 6, 4>, f32<"g", 6, 4>>,
            "s -> d, reshape = \"[2, 3, 2, 2]\"\nc -> f, reshape = \"[2, 3, 2, 2]\"\n"
            "s -> g, reshape = \"[2, 3, 2, 2]\"\n">,
        row<alone<f32<"a", 2, 4>, bf16<"h", 2, 4>>,
            alone<f32<"t", 8, 2>,
                  typed::tensor<"x", data_type_constant<data_type::f16>, index_vector{2, 2}>,
                  typed::tensor<"y", data_type_constant<data_type::f16>, index_vector{2, 2}>>,
            "h, h -> t, dtype = \"float32\", axis = 1, permute = \"[]\"\n"
            "a -> x, y, permute = \"[1,0]\", axis = 0, dtype = \"float16\"\n">,
        row<abh, alone<f32<"x", 2, 2>, f32<"y", 2, 2>>, "a -> x, y, axis = 1\n">,
        row<abh, alone<f32<"x", 2, 1>, f32<"y", 2, 3>>,
            "a -> x, y, axis = 1, sizes = \"[1, 3]\"\n">,
        row<abh, alone<f32<"a", 2, 6>, f32<"b", 2, 4>>, "a -> t\nb -> a\nt -> b\n">,
        row<alone<f32<"a", 2>, f32<"b", 2>>, alone<f32<"a", 2>, f32<"b", 2>>, "a -> b\nb -> a\n">,
        row<alone<f32<"a", 2>, f32<"w", 2>>, alone<f32<"v", 2>>,
            "a -> _\na -> _\n_ -> v\nw -> v\n">,
        row<alone<f32<"e", 0, 3>, f32<"s">, f32<"a", 2>>,
            alone<f32<"e", 0, 3>, f32<"s">, f32<"b", 2>, f32<"f", 0, 3>, f32<"c", 2>>,
            "a -> b\n_ -> c\ne -> f\n">,
        row<alone<f32<"a", 2>, f32<"b", 2>, f32<"any-name/here", 2>>,
            alone<f32<"s", 4>, f32<"d", 4>, f32<"axis", 2>>,
            "a,   # a line goes on\n b -> s, axis=0\ns -> d, dtype='float32'\"any-name/here\" -> "
            "'axis'\n">>();
}

// Definitions beside a program; and a program that moves nothing of what it adds.
using source = alone<f32<"a", 4>, f32<"b", 4>>;
using target = alone<f32<"ab", 8>, f32<"n", 2>, f32<"c", 4>>;
using mixed = typed::plan<source, target, typed::definition<"c", typed::source_of<source, "b">>,
                          typed::program<"a, b -> ab, axis=0\n_ -> n">>;
static_assert(cost_of<mixed>().transfers == 3 && cost_of<mixed>().bytes == 4 * (8 + 4));

// Equal statements of different layers are one type without keys, so that they are planned once.
using layers = alone<f32<"l.0.q", 4>, f32<"l.0.k", 4>, f32<"l.1.q", 4>, f32<"l.1.k", 4>>;
using joined = alone<f32<"m.0", 8>, f32<"m.1", 8>>;
using of_layers = typed::program<"l.0.q, l.0.k -> m.0, axis=0\nl.1.q, l.1.k -> m.1, axis=0">;
template <std::size_t I>
using of_layer = decltype(of_layers::values<layers, joined>::value_of<I>());
static_assert(std::is_same_v<of_layer<0>::keyless, of_layer<1>::keyless>);

// 4,096 bytes of the shortest statements: clang counts the steps of a constant, and gives up.
template <std::size_t Count, fixed_string Text>
constexpr auto repeated() {
    fixed_string<Count * (sizeof(Text.characters) - 1) + 1> text;
    for (std::size_t i = 0; i < Count; ++i)
        text.put(i * (sizeof(Text.characters) - 1), Text.characters, sizeof(Text.characters) - 1);
    return text;
}
constexpr auto longest = repeated<819, "a->b\n">() + "#";
static_assert(longest.view().size() == 4096);
static_assert(
    cost_of<typed::plan<alone<f32<"a", 4>>, alone<f32<"b", 4>>, typed::program<longest>>>()
        .transfers == 1);

BOOST_AUTO_TEST_SUITE_END()
