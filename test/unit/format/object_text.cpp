// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

/// \file
/// Values that are no tensors as text, as they are compared.

BOOST_AUTO_TEST_SUITE(format_object_text)

namespace {

using namespace reshard;
using namespace reshard::detail;

/// The text of what `write` pickles.
std::string shown(auto const& write) {
    pickle_writer out;
    write(out);
    return text_of({"k", torch_file_of(out.take())}, "f");
}

} // namespace

BOOST_AUTO_TEST_CASE(scalars_are_told_apart) {
    BOOST_TEST(shown([](auto& out) { out.none(); }) == "None");
    BOOST_TEST(shown([](auto& out) { out.boolean(true); }) == "True");
    BOOST_TEST(shown([](auto& out) { out.integer(3); }) == "3");
    BOOST_TEST(shown([](auto& out) { out.real(3); }) == "3.0");
    BOOST_TEST(shown([](auto& out) { out.real(-0.0); }) == "-0.0");
    BOOST_TEST(shown([](auto& out) { out.real(0.1); }) == "0.1");
    BOOST_TEST(shown([](auto& out) { out.real(1e30); }) == "1e+30");
    BOOST_TEST(shown([](auto& out) { out.text("3"); }) == "'3'");
    BOOST_TEST(shown([](auto& out) { out.text("a', 'b"); }) == "'a\\', \\'b'");
}

BOOST_AUTO_TEST_CASE(the_order_of_a_dict_does_not_count) {
    BOOST_TEST(shown([](auto& out) {
                   out.dict([&] {
                       out.text("b");
                       out.integer(1);
                       out.text("a");
                       out.none();
                       out.text("b");
                       out.integer(2);
                   });
               }) == "{'a': None, 'b': 2}");
}

BOOST_AUTO_TEST_CASE(what_is_put_together_is_shown_with_its_kind) {
    BOOST_TEST(shown([](auto& out) { out.integers({2, 3}); }) == "(2, 3)");
    BOOST_TEST(shown([](auto& out) {
                   out.empty_list();
                   out.begin();
                   out.integers({1});
                   out.empty_list();
                   out.append_all();
               }) == "[(1), []]");
    BOOST_TEST(shown([](auto& out) {
                   out.call("torch", "Size", [&] { out.integers({2, 3}); });
               }) == "torch.Size(2, 3)");
    BOOST_TEST(shown([](auto& out) {
                   out.object("argparse", "Namespace", [&] {
                       out.text("lr");
                       out.real(0.5);
                   });
               }) == "argparse.Namespace() with {'lr': 0.5}");
}

BOOST_AUTO_TEST_CASE(names_and_calls_of_protocol_2_are_those_of_others) {
    BOOST_TEST(shown([](auto& out) {
                   out.call("__builtin__", "set", [&] { out.integers({12, 5}); });
               }) == "set(12, 5)");
    BOOST_TEST(shown([](auto& out) {
                   out.call("builtins", "frozenset", [&] { out.integers({5, 12}); });
               }) == "set(12, 5)");
    BOOST_TEST(shown([](auto& out) {
                   out.call("_codecs", "encode", [&] {
                       out.text("\xc3\xbfz'");
                       out.text("latin1");
                   });
               }) == "b'\\xffz\\''");
    BOOST_TEST(shown([](auto& out) { out.global("__builtin__", "long"); }) == "builtins.int");
}

BOOST_AUTO_TEST_CASE(what_is_kept_outside_the_pickle_is_refused) {
    BOOST_CHECK_EXCEPTION(shown([](auto& out) {
                              out.text("elsewhere");
                              out.persistent_id();
                          }),
                          error,
                          test::says(errc::unsupported,
                                     "f: object 'k': object 'k' has something outside the pickle, "
                                     "which is not read"));
}

BOOST_AUTO_TEST_SUITE_END()
