// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/pickle/pickle.hpp>

#include "memory_file.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(format_pickle)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace std::string_literals;

constexpr std::string_view names[] = {"torch.Size", "collections.*", "torch.*",
                                      "megatron.core.enums.*"};

pickle read(std::string const& codes) {
    reshard::test::memory_file const file("\x80\x04"s + codes);
    return pickle(file, "p", {0, codes.size() + 2}, names);
}

std::string refusal(std::string const& codes, errc code = errc::corrupt_file) {
    try {
        read(codes);
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code), thrown.what());
        return thrown.what();
    }
    return "accepted";
}

} // namespace

// The codes of each are what Python's pickletools.dis shows.

BOOST_AUTO_TEST_CASE(numbers_are_what_python_wrote) {
    pickle const pickle = read("](K\x07M\x2c\x01J\xff\xff\xff\xff\x8a\x05\x00\x00\x00\x00\x80"
                               "\x8a\x00G\x3f\xf8\x00\x00\x00\x00\x00\x00\x88\x89Ne."s);
    auto const values = pickle.elements(pickle.root(), "the root");
    BOOST_TEST_REQUIRE(values.size() == 9u);
    BOOST_TEST(pickle.integer(values[0], "") == 7);
    BOOST_TEST(pickle.integer(values[1], "") == 300);
    BOOST_TEST(pickle.integer(values[2], "") == -1);
    BOOST_TEST(pickle.integer(values[3], "") == -549755813888); // 0x80 << 32, its sign is set
    BOOST_TEST(pickle.integer(values[4], "") == 0);
    BOOST_TEST(pickle.real(values[5], "") == 1.5);
    BOOST_TEST(pickle.boolean(values[6], ""));
    BOOST_TEST(!pickle.boolean(values[7], ""));
    BOOST_TEST((values[8].type == pickle_value::kind::none));
}

BOOST_AUTO_TEST_CASE(memory_grows_with_the_bytes_that_were_read) {
    // Each empty list takes 40 bytes of memory, of one byte.
    std::string const text = refusal(std::string(4 << 20, ']') + ".", errc::limit_exceeded);
    BOOST_TEST(text.find("bytes of the pickle up to here would take") != std::string::npos);
    pickle const numbers = read("](" + std::string(1 << 20, 'N') + "e.");
    BOOST_TEST(numbers.memory() < numbers.most_memory());
}

BOOST_AUTO_TEST_CASE(a_dict_has_its_last_value_of_a_key) {
    pickle const pickle = read("}(\x8c\x01\x61K\x01\x8c\x01\x62K\x02\x8c\x01\x61K\x03u."s);
    BOOST_TEST(pickle.pairs(pickle.root(), "").size() == 3u);
    BOOST_TEST(pickle.integer(pickle.at(pickle.root(), "a", ""), "") == 3);
    BOOST_TEST(pickle.integer(pickle.at(pickle.root(), "b", ""), "") == 2);
    BOOST_TEST(!pickle.find(pickle.root(), "c", ""));
}

BOOST_AUTO_TEST_CASE(lists_grow_between_one_another) {
    // a = [1]; b = [a]; a += [2, 3]; b += [4]
    pickle const pickle =
        read("]\x94K\x01\x61]\x94h\x00\x61h\x00(K\x02K\x03\x65\x30h\x01K\x04\x61\x30."s);
    auto const b = pickle.elements(pickle.root(), "");
    BOOST_TEST_REQUIRE(b.size() == 2u);
    auto const a = pickle.elements(b[0], "");
    BOOST_TEST_REQUIRE(a.size() == 3u);
    BOOST_TEST(pickle.integer(a[2], "") == 3);
    BOOST_TEST(pickle.integer(b[1], "") == 4);
}

BOOST_AUTO_TEST_CASE(a_size_is_its_tuple_and_an_object_has_a_state) {
    // [torch.Size((2, 3)), an object of torch.device('a') whose state is {'x': 9}]
    pickle const pickle = read("]\x8c\x05torch\x8c\x04Size\x93K\x02K\x03\x86\x85R\x61"
                               "\x8c\x05torch\x8c\x06"
                               "device\x93\x8c\x01\x61\x85R"
                               "}\x8c\x01xK\x09sb\x61."s);
    auto const both = pickle.elements(pickle.root(), "");
    BOOST_TEST_REQUIRE(both.size() == 2u);
    auto const extents = pickle.elements(both[0], "");
    BOOST_TEST_REQUIRE(extents.size() == 2u);
    BOOST_TEST(pickle.integer(extents[1], "") == 3);
    BOOST_TEST(pickle.is_made_by(both[1], "torch.device"));
    BOOST_TEST(pickle.integer(pickle.member(both[1], "x", ""), "") == 9);
}

BOOST_AUTO_TEST_CASE(a_long_number_stays_in_the_file) {
    // 2**70
    pickle const pickle = read("\x8a\x09\0\0\0\0\0\0\0\0\x40."s);
    BOOST_TEST((pickle.unread(pickle.root(), "") == byte_run{4, 13}));
    BOOST_TEST(pickle.described(pickle.root()) == "a number of 9 bytes");
    BOOST_CHECK_EXCEPTION(pickle.integer(pickle.root(), "it"), error,
                          reshard::test::mentions(errc::corrupt_file, "a number of 9 bytes"));
}

BOOST_AUTO_TEST_CASE(a_long_text_stays_in_the_file) {
    pickle const most = read("X\0\x10\0\0"s + std::string(4096, 'x') + ".");
    BOOST_TEST(most.text(most.root(), "it").size() == 4096u);
    pickle const more = read("X\1\x10\0\0"s + std::string(4097, 'x') + ".");
    BOOST_TEST((more.unread(more.root(), "it") == byte_run{7, 4104}));
    BOOST_CHECK_EXCEPTION(
        more.text(more.root(), "it"), error,
        reshard::test::mentions(
            errc::corrupt_file,
            "it should be a string of at most 4096 bytes, but is a string of 4097 bytes"));
}

BOOST_AUTO_TEST_CASE(a_counter_is_its_dict) {
    pickle const pickle = read("ccollections\nCounter\n}\x8c\x01\x61K\x02s\x85R."s);
    BOOST_TEST(pickle.integer(pickle.at(pickle.root(), "a", ""), "") == 2);
}

BOOST_AUTO_TEST_CASE(a_deque_is_made_of_the_list_of_what_is_added) {
    // deque([1, 2]) and deque([1, 2], maxlen=4): of nothing, and of () and 4, and then 1 and 2.
    for (std::string const arguments : {")", ")K\x04\x86"}) {
        pickle const pickle = read("ccollections\ndeque\n" + arguments + "RK\x01\x61(K\x02\x65.");
        BOOST_TEST(pickle.is_made_by(pickle.root(), "collections.deque"));
        auto const made_of = pickle.elements(pickle.object(pickle.root(), "").arguments, "");
        BOOST_TEST_REQUIRE(made_of.size() == 2u);
        auto const elements = pickle.elements(made_of[0], "");
        BOOST_TEST_REQUIRE(elements.size() == 2u);
        BOOST_TEST(pickle.integer(elements[1], "") == 2);
        BOOST_TEST((made_of[1].type == pickle_value::kind::none) == (arguments == ")"));
    }
    BOOST_TEST(refusal("ccollections\ndeque\nK\x01\x85RK\x01\x61.") ==
               "p: byte 27 adds to the number 1, which is not a list");
    BOOST_TEST(refusal("ctorch\ndevice\n)RK\x01\x61.") ==
               "p: byte 20 adds to an object of 'torch.device', which is not a list");
}

BOOST_AUTO_TEST_CASE(bytes_stay_in_the_file) {
    pickle const pickle = read("C\x03"
                               "abc."s);
    BOOST_TEST((pickle.bytes(pickle.root(), "") == byte_run{4, 7}));
    BOOST_TEST(pickle.end() == 8u);
}

BOOST_AUTO_TEST_CASE(what_names_that_are_not_known_make_is_opaque) {
    auto const unknown = [](std::string const& codes) {
        pickle const pickle = read(codes);
        BOOST_TEST(pickle.has_unknown());
        return std::string(pickle.unknown_class(pickle.root()).value_or("known"));
    };
    BOOST_TEST(unknown("\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R."s) == "posix.system");
    BOOST_TEST(unknown("cos\nsystem\n."s) == "os.system");
    // A star matches one name, not modules.
    BOOST_TEST(unknown("ctorch.hub\nload\n."s) == "torch.hub.load");
    // A class with arguments by name, a method of an object, and a state.
    BOOST_TEST(unknown("cm\nC\n)}\x8c\x01xK\x01s\x92."s) == "m.C");
    BOOST_TEST(unknown("cbuiltins\ngetattr\ncm\nC\n)\x81\x8c\x01x\x86R)R."s) == "builtins.getattr");
    BOOST_TEST(unknown("cm\nC\n)\x81}\x8c\x01xK\x01sb."s) == "m.C");
    // Early releases of Python 3.11 write an enumerator as an attribute of its class.
    auto const attribute = [&](std::string const& of, std::string const& name) {
        return unknown("cbuiltins\ngetattr\nc" + of + "\nX" + static_cast<char>(name.size()) +
                       "\0\0\0"s + name + "\x86R."s);
    };
    BOOST_TEST(attribute("megatron.core.enums\nModelType", "gpt") == "known");
    for (std::string const name : {"__class__", "", "gpt.__class__", "gpt\n"})
        BOOST_TEST(attribute("megatron.core.enums\nModelType", name) == "builtins.getattr");
    BOOST_TEST(attribute("megatron.core.enums\nmake", "gpt") == "builtins.getattr");
    BOOST_TEST(attribute("torch\nfloat32", "gpt") == "builtins.getattr");
    pickle const pickle = read("ctorch\nfloat32\n."s);
    BOOST_TEST(!pickle.has_unknown());
    BOOST_TEST(!pickle.unknown_class(pickle.root()));
    BOOST_TEST(refusal("ctorch\ndevice\n)}\x8c\x01xK\x01s\x92."s, errc::unsupported) ==
               "p: byte 24 makes an object with named arguments, which is not supported");
}

BOOST_AUTO_TEST_CASE(what_is_added_to_an_object_of_an_unknown_class_is_kept_with_its_arguments) {
    // A class of a list and a dict: m.C(7), to which 1, [2, 3] and {'x': 4} are added.
    pickle const pickle = read("cm\nC\nK\x07\x85RK\x01\x61(K\x02K\x03\x65\x8c\x01xK\x04s."s);
    BOOST_TEST(*pickle.unknown_class(pickle.root()) == "m.C");
    auto const with_dict = pickle.elements(pickle.object(pickle.root(), "").arguments, "");
    BOOST_TEST_REQUIRE(with_dict.size() == 2u);
    BOOST_TEST(pickle.integer(pickle.at(with_dict[1], "x", ""), "") == 4);
    auto const with_list = pickle.elements(with_dict[0], "");
    BOOST_TEST_REQUIRE(with_list.size() == 2u);
    BOOST_TEST(pickle.elements(with_list[1], "").size() == 3u);
    BOOST_TEST(pickle.integer(pickle.elements(with_list[0], "")[0], "") == 7);
}

BOOST_AUTO_TEST_CASE(what_ends_early_is_named_with_its_position) {
    BOOST_TEST(refusal("") == "p: ends early: 1 byte is expected from byte 2 onwards, but 0 are "
                              "present; was it cut short?");
    BOOST_TEST(refusal("\x8c\x05"
                       "ab") == "p: ends early: 5 bytes are expected from byte 4 onwards, but 2 "
                                "are present; was it cut short?");
    BOOST_TEST(refusal("B\xff\xff\xff\xff.").find("4294967295 bytes are expected") !=
               std::string::npos);
    BOOST_TEST(refusal("X\xff\xff\xff\xff.").find("4294967295 bytes are expected") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(codes_that_miss_their_values_are_refused) {
    BOOST_TEST(refusal(".") == "p: byte 2 takes a value, but there is none");
    BOOST_TEST(refusal("(.") == "p: byte 3 takes a value, but there is none");
    BOOST_TEST(refusal("t.") == "p: byte 2 takes all values up to a mark, but there is none");
    BOOST_TEST(refusal("K\x01\x86.") == "p: byte 4 takes 2 values, but there are fewer");
    BOOST_TEST(refusal("}K\x01\x61.") == "p: byte 5 adds to a dict of 0, which is not a list");
    BOOST_TEST(refusal("K\x01K\x01\x61.") == "p: byte 6 adds to the number 1, which is not a list");
    BOOST_TEST(refusal("}(K\x01u.") == "p: byte 6 adds an odd number of keys and values");
    BOOST_TEST(refusal("h\x03.") == "p: byte 2 reads memo entry 3, which was never stored");
    BOOST_TEST(refusal("K\x01)R.").find("the name of a class or a function, but is the number 1") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(other_protocols_and_codes_are_refused) {
    reshard::test::memory_file const text("(dp0\n.");
    BOOST_CHECK_THROW(pickle(text, "p", {0, 6}, names), error);
    reshard::test::memory_file const six("\x80\x06N.");
    BOOST_CHECK_THROW(pickle(six, "p", {0, 4}, names), error);
    BOOST_TEST(refusal("\x82\x01.", errc::unsupported) ==
               "p: byte 2 is the opcode 130, which is not supported in a checkpoint");
}

BOOST_AUTO_TEST_CASE(memory_grows_with_the_file_alone) {
    // Each of 60 tuples has the one before it twice: 2^60 values for who follows them, 60 here.
    std::string codes = ")";
    for (int i = 0; i < 60; ++i)
        codes += "2\x86";
    pickle const pickle = read(codes + ".");
    BOOST_TEST(pickle.elements(pickle.root(), "").size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
