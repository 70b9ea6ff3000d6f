// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/check.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_key_classes)

namespace {

using class_keys = std::vector<std::string>;

catalog const tensors_to_class({{"a", data_type::f32, {4}, {1}},
                                {"b", data_type::f32, {4}, {1}},
                                {"e", data_type::f32, {0, 3}, {1, 1}},
                                {"s", data_type::f32, {}, {}}});

} // namespace

BOOST_AUTO_TEST_CASE(each_key_has_one_class) {
    mapping map(tensors_to_class);
    map.define("a", map.source(0));
    map.define("c", map.source(1));
    map.define("d", cast(map.source(1), data_type::bf16));
    map.define("half", split(map.source(0), 0, std::size_t{2})[0]);
    map.define("both", concat({map.source(0), map.source(1)}, 0));
    map.define("s", map.source(3));
    map.add("z", {2}, data_type::f32);
    map.remove("b");
    key_classes const classes = classify(map, tensors_to_class);
    BOOST_TEST(classes.identity == (class_keys{"a", "s"}), boost::test_tools::per_element());
    BOOST_TEST(classes.renamed == class_keys{"c"}, boost::test_tools::per_element());
    BOOST_TEST(classes.transformed == (class_keys{"both", "d", "half"}),
               boost::test_tools::per_element());
    BOOST_TEST(classes.added == class_keys{"z"}, boost::test_tools::per_element());
    BOOST_TEST(classes.removed == class_keys{"b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_is_the_one_of_its_name) {
    mapping map(tensors_to_class);
    map.define("e", map.source(2));
    BOOST_TEST(classify(map, tensors_to_class).identity == class_keys{"e"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_that_differs_is_another_one) {
    mapping map(tensors_to_class);
    map.define("e", transpose(map.source(2)));
    map.define("f", map.source(2));
    map.define("a", split(map.source(0), 0, std::vector<index_t>{0, 4})[0]);
    key_classes const classes = classify(map, tensors_to_class);
    BOOST_TEST(classes.transformed == (class_keys{"a", "e"}), boost::test_tools::per_element());
    BOOST_TEST(classes.renamed == class_keys{"f"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_tensors_that_change_names_are_renamed) {
    mapping map(tensors_to_class);
    map.define("a", map.source(1));
    map.define("b", map.source(0));
    BOOST_TEST(classify(map, tensors_to_class).renamed == (class_keys{"a", "b"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
