// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/fused_text.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(format_fused_text)

BOOST_AUTO_TEST_CASE(tensors_that_are_alike_stand_together) {
    fused_tensors const tensors{{"b", {0, 3, "fused_ffn, axis=0"}},
                                {"q\"", {1, 8, {}}},
                                {"a", {0, 3, "fused_ffn, axis=0"}}};
    std::string const text =
        R"([{"axis":0,"blocks":3,"macro":"fused_ffn, axis=0","keys":["a","b"]},)"
        R"({"axis":1,"blocks":8,"macro":"","keys":["q\""]}])";
    BOOST_TEST(fused_text(tensors) == text);
    BOOST_TEST((parse_fused(text, "file") == tensors));
    BOOST_TEST(fused_text({}) == "[]");
    BOOST_TEST(parse_fused("[]", "file").empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_such_list_is_refused_with_its_file) {
    for (char const* const text :
         {"", "{}", "[1]", R"([{"axis":0}])", R"([{"axis":-1,"blocks":3,"macro":"","keys":["a"]}])",
          R"([{"axis":0,"blocks":0,"macro":"","keys":["a"]}])",
          R"([{"axis":0,"blocks":3,"macro":"","keys":[1]}])"})
        BOOST_CHECK_EXCEPTION(parse_fused(text, "m.safetensors"), error, [&](error const& problem) {
            BOOST_TEST_INFO(text);
            BOOST_TEST(std::string(problem.what()).starts_with("m.safetensors: RESHARD_FUSED"));
            return problem.code() == errc::corrupt_file;
        });
}

BOOST_AUTO_TEST_SUITE_END()
