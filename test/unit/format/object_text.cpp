// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include "support/says.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/resource.h>

/// \file
/// Values that are not tensors as text, as they are compared.

BOOST_AUTO_TEST_SUITE(format_object_text)

namespace {

using namespace reshard;
using namespace reshard::detail;

/// The text of what `write` pickles.
std::string shown(auto const& write, std::size_t most_bytes = std::size_t{1} << 28) {
    pickle_writer out;
    write(out);
    return text_of({"k", torch_file_of(out.take())}, "f", most_bytes);
}

/// The most memory that this process had.
long peak_kilobytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
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

// Python refuses it; it is not the text whose characters are the bytes of this one.
BOOST_AUTO_TEST_CASE(a_text_that_latin_1_does_not_have_is_not_shown_as_bytes) {
    BOOST_TEST(shown([](auto& out) {
                   out.call("_codecs", "encode", [&] {
                       out.text("\xe2\x82\xac");
                       out.text("latin1");
                   });
               }) == "_codecs.encode('\xe2\x82\xac', 'latin1')");
}

BOOST_AUTO_TEST_CASE(bytearrays_of_all_protocols_are_bytes) {
    BOOST_TEST(shown([](auto& out) { out.call("__builtin__", "bytearray", [] {}); }) == "b''");
    BOOST_TEST(shown([](auto& out) {
                   out.call("__builtin__", "bytearray", [&] {
                       out.text("\xc3\xbf");
                       out.text("latin-1");
                   });
               }) == "b'\\xff'");
}

BOOST_AUTO_TEST_CASE(names_of_older_libraries_are_those_of_newer_ones) {
    BOOST_TEST(shown([](auto& out) { out.global("numpy.core.multiarray", "scalar"); }) ==
               "numpy._core.multiarray.scalar");
    BOOST_TEST(shown([](auto& out) { out.global("pathlib._local", "PosixPath"); }) ==
               "pathlib.PosixPath");
}

BOOST_AUTO_TEST_CASE(arrays_of_numpy_are_one_text_however_they_were_pickled) {
    auto const put_dtype = [](auto& out) { out.call("numpy", "dtype", [&] { out.text("u2"); }); };
    auto const put_bytes = [](auto& out) {
        out.call("_codecs", "encode", [&] {
            out.text("abcd");
            out.text("latin1");
        });
    };
    auto const rebuilt = [&](std::string_view module, bool is_fortran) {
        return shown([&](auto& out) {
            out.call(module, "_reconstruct", [&] {
                out.global("numpy", "ndarray");
                out.integers({0});
                out.text("b");
            });
            out.begin();
            out.integer(1);
            out.integers({2});
            put_dtype(out);
            out.boolean(is_fortran);
            put_bytes(out);
            out.tuple();
            out.set_state();
        });
    };
    auto const from_buffer = [&](std::string_view order) {
        return shown([&](auto& out) {
            out.call("numpy.core.numeric", "_frombuffer", [&] {
                put_bytes(out);
                put_dtype(out);
                out.integers({2});
                out.text(order);
            });
        });
    };
    std::string const expected = "numpy.array(numpy.dtype('u2'), (2), b'abcd')";
    BOOST_TEST(rebuilt("numpy._core.multiarray", false) == expected);
    BOOST_TEST(rebuilt("numpy.core.multiarray", false) == expected);
    BOOST_TEST(from_buffer("C") == expected);
    BOOST_TEST(from_buffer("F") == rebuilt("numpy._core.multiarray", true));
    BOOST_TEST(from_buffer("F") != expected);
}

// Each of the texts is in the file once, and its bytes are far fewer than its text's.
BOOST_AUTO_TEST_CASE(a_text_that_stands_many_times_is_not_made_beyond_the_limit) {
    constexpr std::size_t most = 1 << 20;
    std::string const large(4000, 'x');
    auto const repeated = [&](auto const& between) {
        return [&, between](auto& out) {
            out.empty_list();
            out.begin();
            for (int i = 0; i < 2000; ++i) // far more
                between(out);
            out.append_all();
        };
    };
    auto const says = test::says(errc::limit_exceeded,
                                 "f: object 'k': object 'k': exceeds 1048576 bytes as text");
    auto const plain = repeated([&](auto& out) { out.text(large); });
    long const before = peak_kilobytes();
    BOOST_CHECK_EXCEPTION(shown(plain, most), error, says);
    if (!test::is_sanitized)
        BOOST_TEST(peak_kilobytes() - before < 16 << 10);
    auto const replaced = repeated([&](auto& out) {
        out.dict([&] { // of which the first value is not kept
            for (std::string_view const value : {std::string_view(large), std::string_view("y")}) {
                out.text("a");
                out.text(value);
            }
        });
    });
    BOOST_CHECK_EXCEPTION(shown(replaced, most), error, says);
}

BOOST_AUTO_TEST_CASE(what_is_kept_outside_the_pickle_is_refused) {
    BOOST_CHECK_EXCEPTION(
        shown([](auto& out) {
            out.text("elsewhere");
            out.persistent_id();
        }),
        error,
        test::says(
            errc::unsupported,
            "f: object 'k': object 'k' has something outside the pickle, which is not supported"));
}

BOOST_AUTO_TEST_SUITE_END()
