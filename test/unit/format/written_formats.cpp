// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/written_formats.hpp>

#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>
#include <reshard/format/zip/stored_zip.hpp>

#include "memory_file.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_written_formats)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;
using namespace std::string_literals;

/// A file that has some texts, and zeros everywhere else; it may be larger than any memory.
class planned_file : public file_store::file {
public:
    planned_file(std::vector<placed_text> texts, std::uint64_t bytes)
        : texts_(std::move(texts)), bytes_(bytes) {}

    file_store::identity facts() const override { return {.bytes = bytes_}; }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        std::ranges::fill(target, std::byte{0});
        for (placed_text const& text : texts_)
            for (std::size_t i = 0; i < text.text.size(); ++i) {
                std::uint64_t const index = text.begin + i;
                if (index >= position && index - position < target.size())
                    target[index - position] = static_cast<std::byte>(text.text[i]);
            }
    }

private:
    std::vector<placed_text> texts_;
    std::uint64_t bytes_;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_pickle_has_the_bytes_that_python_reads) {
    pickle_writer out;
    out.dict([&] {
        out.text("a");
        out.begin();
        out.none();
        out.boolean(true);
        out.boolean(false);
        out.integer(7);
        out.integer(256);
        out.integer(-2);
        out.integer(std::int64_t{1} << 40);
        out.real(0.5);
        out.tuple();
        out.text("b");
        out.text("a");
        out.global("torch", "Size");
        out.global("torch", "Size");
    });
    // As pickletools of Python names them: PROTO, EMPTY_DICT, MARK, BINUNICODE, BINPUT, ...
    BOOST_TEST(
        (out.take() ==
         "\x80\x02}(X\1\0\0\0aq\0(N\x88\x89K\x07J\0\1\0\0J\xfe\xff\xff\xff"
         "\x8a\x08\0\0\0\0\0\1\0\0G\x3f\xe0\0\0\0\0\0\0tX\1\0\0\0bq\1h\0ctorch\nSize\nq\2h\2u."s));
}

BOOST_AUTO_TEST_CASE(texts_beyond_the_first_256_have_longer_numbers) {
    pickle_writer out;
    out.begin();
    for (int i = 0; i < 300; ++i)
        out.text(std::to_string(i));
    out.text("299");
    out.tuple();
    std::string const text = out.take();
    BOOST_TEST((text.ends_with("X\3\0\0\000299r\x2b\1\0\0j\x2b\1\0\0t."s)));
}

BOOST_AUTO_TEST_CASE(the_copy_of_a_pickle_says_the_same) {
    // {'a': (1, 2.5, [None, True]), 'b': b'\xff\x00', 'n': Namespace} of protocol 4.
    std::string const source = "\x80\x04}(\x8c\x01"
                               "a(K\x01G\x40\x04\0\0\0\0\0\0](N\x88"
                               "et\x8c\x01"
                               "bC\x02\xff\0\x8c\x01n"
                               "\x8c\x08"
                               "argparse\x8c\tNamespace\x93)R}\x8c\x01xK\x05sbu."s;
    std::string_view const allowed[] = {"argparse.Namespace", "_codecs.encode"};
    memory_file const file(source);
    pickle const values(file, "p", {0, source.size()}, allowed);
    std::string const copy = copy_of(values.root(), values, file, "it");
    memory_file const copied(copy);
    pickle const again(copied, "q", {0, copy.size()}, allowed);
    auto const tuple = again.elements(again.at(again.root(), "a", "it"), "a");
    BOOST_TEST(again.integer(tuple[0], "a") == 1);
    BOOST_TEST(again.real(tuple[1], "a") == 2.5);
    auto const list = again.elements(tuple[2], "a");
    BOOST_TEST((list[0].type == pickle_value::kind::none));
    BOOST_TEST(again.boolean(list[1], "a"));
    auto const bytes = again.object(again.at(again.root(), "b", "it"), "b");
    BOOST_TEST(again.global(bytes.callable, "b") == "_codecs.encode");
    // The characters of the numbers 255 and 0 in UTF-8.
    BOOST_TEST((again.text(again.elements(bytes.arguments, "b")[0], "b") == "\xc3\xbf\0"s));
    pickle_value const name = again.at(again.root(), "n", "it");
    BOOST_TEST(again.is_made_by(name, "argparse.Namespace"));
    BOOST_TEST(again.integer(again.member(name, "x", "n"), "n") == 5);
}

BOOST_AUTO_TEST_CASE(the_copy_of_what_stays_in_the_file_has_its_bytes) {
    // (2**70, bytearray(b'\x80'), frozenset({1}), b'') of protocol 5.
    std::string const source = "\x80\x05(\x8a\x09\0\0\0\0\0\0\0\0\x40\x96\x01\0\0\0\0\0\0\0\x80"
                               "(K\x01\x91"
                               "C\0t."s;
    memory_file const file(source);
    pickle const values(file, "p", {0, source.size()}, {});
    // As pickletools of Python names them: PROTO, MARK, LONG1, GLOBAL, BINPUT, MARK, ...
    BOOST_TEST((copy_of(values.root(), values, file, "it") ==
                "\x80\x02(\x8a\x09\0\0\0\0\0\0\0\0\x40"
                "c__builtin__\nbytearray\nq\0("
                "c_codecs\nencode\nq\1(X\2\0\0\0\xc2\x80q\2X\6\0\0\0latin1q\3tRtR"
                "c__builtin__\nfrozenset\nq\4(](K\1etR"
                "h\1(X\0\0\0\0q\5h\3tRt."s));
}

BOOST_AUTO_TEST_CASE(what_functions_of_torch_make_has_no_copy) {
    std::string const source = "\x80\x02](ctorch\ndevice\nX\3\0\0\0cpu\x85Rctorch\nload\n)Re."s;
    std::string_view const allowed[] = {"torch.*"};
    memory_file const file(source);
    pickle const values(file, "p", {0, source.size()}, allowed);
    BOOST_CHECK_EXCEPTION(copy_of(values.root(), values, file, "object 'o'"), error,
                          mentions(errc::unsupported,
                                   "p: object 'o' has an object of 'torch.load', which cannot be "
                                   "copied; omit values that are not tensors (--no-objects)"));
}

// A hostile file names a function of a module whose classes are carried: who loads what we write
// would run it.
BOOST_AUTO_TEST_CASE(what_is_carried_of_megatron_core_is_plain) {
    std::string_view const allowed[] = {"megatron.core.enums.*",
                                        "megatron.core.transformer.enums.*",
                                        "megatron.core.rerun_state_machine.*", "os.system"};
    auto const is_carried = [&](std::string const& name, std::string const& arguments) {
        std::string const source = "\x80\x02" + name + arguments + ".";
        memory_file const file(source);
        pickle const values(file, "p", {0, source.size()}, allowed);
        try {
            copy_of(values.root(), values, file, "object 'o'");
            return true;
        } catch (error const& problem) {
            BOOST_TEST((problem.code() == errc::unsupported));
            return false;
        }
    };
    std::string const number = "K\1\x85R", text = "X\1\0\0\0a\x85R"s, two = "K\1K\2\x86R",
                      list = "]\x85R", with_state = "K\1\x85R}b";
    for (std::string const module :
         {"cmegatron.core.enums\n", "cmegatron.core.transformer.enums\n"}) {
        BOOST_TEST(is_carried(module + "ModelType\n", number));
        BOOST_TEST(is_carried(module + "ModelType\n", text));
        BOOST_TEST(!is_carried(module + "ModelType\n", two));
        BOOST_TEST(!is_carried(module + "ModelType\n", list));
        BOOST_TEST(!is_carried(module + "ModelType\n", with_state));
        BOOST_TEST(!is_carried(module + "run\n", text));
        BOOST_TEST(!is_carried(module + "_Run\n", text));
    }
    std::string const rerun = "cmegatron.core.rerun_state_machine\n";
    BOOST_TEST(is_carried(rerun + "RerunMode\n", text));
    BOOST_TEST(!is_carried(rerun + "initialize_rerun_state_machine\n", text));
    BOOST_TEST(!is_carried("cos\nsystem\n", text));
}

BOOST_AUTO_TEST_CASE(a_value_within_itself_has_no_copy) {
    std::string const source = "\x80\x04]\x94h\0a."s; // l = []; l.append(l)
    memory_file const file(source);
    pickle const values(file, "p", {0, source.size()}, {});
    BOOST_CHECK_EXCEPTION(
        copy_of(values.root(), values, file, "object 'l'"), error,
        mentions(errc::corrupt_file, "object 'l': the values are nested too deep"));
}

BOOST_AUTO_TEST_CASE(a_checksum_is_that_of_the_standard) {
    BOOST_TEST(zip_checksum("123456789") == 0xcbf43926u); // the check value of CRC-32
}

BOOST_AUTO_TEST_CASE(members_of_an_archive_are_where_its_plan_says) {
    for (std::uint64_t const begin : {0u, 64u}) {
        zip_plan plan(begin);
        plan.add("x/a", "text");
        byte_run const small = plan.add_room("x/b", 10, 64);
        byte_run const large = plan.add_room("x/large", std::uint64_t{5} << 30, 4096);
        byte_run const behind = plan.add_room("x/behind", 3, 1);
        std::uint64_t const end = plan.finish();
        BOOST_TEST(small.begin % 64 == 0u);
        BOOST_TEST(large.begin % 4096 == 0u);
        planned_file const file(plan.texts(), end);
        auto const members = read_zip(file, "z", {begin, end});
        BOOST_TEST_REQUIRE(members.size() == 4u);
        BOOST_TEST((members[1] == zip_member{"x/b", small}));
        BOOST_TEST((members[2] == zip_member{"x/large", large}));
        BOOST_TEST((members[3] == zip_member{"x/behind", behind}));
        std::string text(4, ' ');
        file.read(members[0].bytes.begin, std::as_writable_bytes(std::span(text)));
        BOOST_TEST(text == "text");
    }
}

BOOST_AUTO_TEST_CASE(a_format_is_known_by_its_name_and_some_by_their_files) {
    for (std::string const& name : names_of_written_formats())
        BOOST_TEST(written_format_of(name).name == name);
    BOOST_TEST(format_of_file("a/b.npz")->name == "npz");
    BOOST_TEST(format_of_file("b.pt")->name == "torch_save");
    BOOST_TEST(!format_of_file("model"));
    BOOST_CHECK_EXCEPTION(written_format_of("zarr"), error,
                          mentions(errc::usage, "cannot write format 'zarr'; choose one of gguf, "
                                                "huggingface, megatron_torch_dist, "));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_read_again_is_refused_by_name) {
    struct row {
        std::string_view format;
        std::string key;
        data_type dtype;
        index_vector shape;
        std::string text; ///< of the error; none if it is written
    };
    using enum data_type;
    index_t const huge = index_t{1} << 62;
    row const rows[] = {
        {"torch_dcp", std::string(4096, 'x'), f32, {1}, ""},
        {"torch_dcp", std::string(4097, 'x'), f32, {1}, "has 4097 bytes, but torch_dcp allows"},
        {"paddle_flex", std::string(4097, 'x'), f32, {1}, "at most 4096; rename it"},
        {"torch_save", std::string(65537, 'x'), f32, {1}, "at most 65536; rename it"},
        {"npz", std::string(65531, 'x'), f32, {1}, ""},
        {"npz", std::string(65532, 'x'), f32, {1}, "at most 65531; rename it"},
        {"npz", "zero\0x"s, f32, {1}, "\"zero\\u0000x\": the name has a zero byte"},
        {"torch_save", "zero\0x"s, f32, {1}, ""},
        {"torch_save", "\xed\xa0\x80", f32, {1}, "is not UTF-8"},
        {"safetensors", "w", f4, {3, 2}, ""},
        {"safetensors", "w", f4, {2, 3}, "\"w\": elements of float4_e2m1 are stored in pairs"},
        {"sharded_safetensors", "w", f4, {4, 1}, "has 1 element in shape [4, 1]"},
        {"huggingface", "w", f6_e2m3, {4}, "are not supported by the library of huggingface"},
        {"sharded_safetensors", "w", f6_e2m3, {4}, ""},
        {"npz", "w", f32, {0, huge}, "so large that NumPy cannot load it"},
        {"npy", "w", u8, {0, huge}, ""},
        {"safetensors", "w", f32, {0, huge}, ""},
        {"gguf", std::string(63, 'x'), f32, {1, 1, 1, 0}, ""},
        {"gguf", std::string(64, 'x'), f32, {1}, "has 64 bytes, but gguf allows at most 63 for a"},
        {"gguf", "w", f32, {1, 2, 1, 1, 1}, "\"w\": has 5 axes in shape [1, 2, 1, 1, 1], but gguf"},
        {"gguf", "zero\0x"s, f32, {1}, "\"zero\\u0000x\": the name has a zero byte"},
        {"gguf", "w", f32, {0, huge}, "so large that NumPy cannot load it"},
    };
    for (row const& row : rows) {
        BOOST_TEST_CONTEXT(row.format << ", " << row.text) {
            if (row.text.empty()) {
                BOOST_CHECK_NO_THROW(check_limits(row.format, row.key, row.dtype, row.shape));
                continue;
            }
            BOOST_CHECK_EXCEPTION(check_limits(row.format, row.key, row.dtype, row.shape), error,
                                  mentions(errc::unsupported, row.text));
        }
    }
}

BOOST_AUTO_TEST_CASE(names_of_data_types_are_those_of_torch) {
    BOOST_TEST(torch_name(data_type::boolean, "w") == "bool");
    BOOST_TEST(torch_name(data_type::bf16, "w") == "bfloat16");
    BOOST_TEST(torch_name(data_type::f8_e8m0, "w") == "float8_e8m0fnu");
    BOOST_CHECK_EXCEPTION(torch_name(data_type::f4, "w"), error,
                          mentions(errc::unsupported, "'w': torch has no data type"));
}

BOOST_AUTO_TEST_SUITE_END()
