// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/safetensors.hpp>

#include <reshard/core/error.hpp>

#include "safetensors_cases.hpp"
#include "support/says.hpp"
#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace {

struct e4m3 {
    std::uint8_t bits;
};

} // namespace

template <>
struct reshard::data_type_traits<e4m3> {
    static constexpr data_type value = data_type::f8_e4m3;
};

BOOST_AUTO_TEST_SUITE(format_safetensors)

namespace {

using namespace reshard;
using test::mentions;
using test::says;

using names = std::vector<std::string>;

/// Two tensors with the values 1.5, -2 and 7, 8, 9, behind 140 bytes of header.
std::string const small_header =
    R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
std::string const small_data("\0\0\xC0\x3F\0\0\0\xC0\x07\x08\x09", 11);

std::string with_length(std::string header) {
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return test::eight_bytes(header.size()) + header;
}

std::string text_of(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

std::span<std::byte const> bytes_of(std::string const& text) {
    return std::as_bytes(std::span(text));
}

std::string content(std::filesystem::path const& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string extents(vector<std::uint64_t> const& shape) {
    std::string text;
    for (std::uint64_t const extent : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "[" + text + "]";
}

/// The corpus's `ok`: name, data type, shape and bytes of each tensor.
std::string summary(safetensors::file const& file) {
    std::string text;
    for (safetensors::tensor const& t : file.tensors)
        text += (text.empty() ? "" : " ") + t.name + ":" + std::string(code(t.dtype)) + ":" +
                extents(t.shape) + ":" + std::to_string(t.bytes.size());
    return text;
}

/// The bytes of all tensors in the order of their data.
std::string data_of(safetensors::file const& file) {
    auto tensors = file.tensors;
    std::ranges::stable_sort(
        tensors, {}, [](auto const& t) { return std::pair(t.bytes.data(), t.bytes.size()); });
    std::string data;
    for (safetensors::tensor const& t : tensors)
        data += text_of(t.bytes);
    return data;
}

/// The case with data that counts from 1, so that wrong bytes show themselves.
test::safetensors_case counted(test::safetensors_case element) {
    std::size_t const data = element.file.find_last_not_of('\0') + 1;
    if (element.is_ok)
        for (std::size_t i = data; i < element.file.size(); ++i)
            element.file[i] = static_cast<char>(i - data + 1);
    return element;
}

class files_fixture {
public:
    std::string path(std::string const& name) const { return (directory_.path() / name).string(); }
    std::string put(std::string const& name, std::string const& bytes) const {
        return directory_.write(name, bytes);
    }
    std::string put_small(std::string const& name) const {
        return put(name, with_length(small_header) + small_data);
    }
    names all_names() const {
        names all;
        for (auto const& entry : std::filesystem::directory_iterator(directory_.path()))
            all.push_back(entry.path().filename().string());
        std::ranges::sort(all);
        return all;
    }

    /// The verdict on a file, as the corpus has it.
    std::string verdict(std::string const& bytes, bool compatible) const {
        try {
            auto const file = safetensors::open(put("case", bytes), {.compatible = compatible});
            auto const parsed =
                safetensors::parse(bytes_of(bytes), "case", {.compatible = compatible});
            BOOST_TEST(summary(parsed) == summary(file));
            BOOST_TEST(data_of(parsed) == data_of(file));
            BOOST_TEST(bytes.ends_with(data_of(file)));
            return "ok " + summary(file);
        } catch (error const& problem) {
            std::string const text = problem.what();
            BOOST_TEST((problem.code() == errc::corrupt_file));
            BOOST_TEST(text.starts_with(path("case") + ": "));
            std::size_t const begin = text.rfind('[') + 1;
            return text.substr(begin, text.size() - begin - 1);
        }
    }

private:
    test::temporary_directory directory_;
};

/// Files that the reference reader accepts and the text of the format does not.
std::set<std::string> const lax = {"dup_same", "dup_diff_first_bad", "meta_dup_inner", "meta_null",
                                   "tensor_as_array"};

} // namespace

BOOST_FIXTURE_TEST_CASE(each_file_has_the_verdict_and_the_tensors_of_the_reference_reader,
                        files_fixture) {
    auto const cases = test::safetensors_cases();
    BOOST_TEST(cases.size() == 59u);
    for (auto const& uncounted : cases)
        BOOST_TEST_CONTEXT(uncounted.name) {
            auto const element = counted(uncounted);
            std::string const expected =
                element.is_ok ? "ok " + element.expected
                              : element.expected.substr(0, element.expected.find('('));
            BOOST_TEST(verdict(element.file, true) == expected);
            BOOST_TEST(verdict(element.file, false) ==
                       (lax.contains(element.name) ? "NotStrict" : expected));
        }
}

BOOST_FIXTURE_TEST_CASE(what_only_the_text_forbids_is_a_warning_where_it_is_accepted,
                        files_fixture) {
    for (auto const& element : test::safetensors_cases())
        if (element.is_ok)
            BOOST_TEST_CONTEXT(element.name) {
                auto const file =
                    safetensors::open(put("case", element.file), {.compatible = true});
                BOOST_TEST(file.warnings.empty() != lax.contains(element.name));
            }
}

BOOST_FIXTURE_TEST_CASE(a_file_lists_its_tensors_by_name, files_fixture) {
    std::string const path = put_small("small.safetensors");
    auto const file = safetensors::open(path);
    BOOST_TEST(file.path == path);
    BOOST_TEST(summary(file) == "b:U8:[3]:3 w:F32:[2, 1]:8");
    BOOST_TEST(file.metadata.size() == 1u);
    BOOST_TEST(file.metadata.at("format") == "pt");
    BOOST_TEST(text_of(file.at("b").bytes) == "\x07\x08\x09");
    BOOST_TEST(file.find("w") == &file.tensors[1]);
    BOOST_TEST(file.find("c") == nullptr);
    BOOST_TEST(file.find("z") == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_path_may_be_one_of_the_file_system, files_fixture) {
    std::filesystem::path const path = put_small("small.safetensors");
    BOOST_TEST(safetensors::open(path).tensors.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(elements_are_values_of_their_type, files_fixture) {
    auto const file = safetensors::open(put_small("a"));
    BOOST_TEST(file.at("w").as<float>() == (std::vector<float>{1.5f, -2.0f}),
               boost::test_tools::per_element());
    BOOST_TEST(file.at("b").as<std::uint8_t>() == (std::vector<std::uint8_t>{7, 8, 9}),
               boost::test_tools::per_element());
    alignas(2) std::array<std::byte, 2> const one{std::byte{0x80}, std::byte{0x3F}};
    safetensors::tensor const bf16{"h", data_type::bf16, {1}, one};
    BOOST_TEST((bf16.as<bfloat16>()[0] == bfloat16{0x3F80}));
    safetensors::tensor const fp8{"f", data_type::f8_e4m3, {2}, one};
    BOOST_TEST(fp8.as<e4m3>()[0].bits == 0x80);
    safetensors::tensor const none{"n", data_type::c64, {0, 4}, {}};
    BOOST_TEST(none.as<std::complex<float>>().empty());
}

BOOST_FIXTURE_TEST_CASE(elements_of_another_type_are_refused, files_fixture) {
    std::string const path = put_small("a");
    auto const file = safetensors::open(path);
    BOOST_CHECK_EXCEPTION(
        file.at("w").as<std::int32_t>(), error,
        says(errc::dtype_mismatch, path + ": tensor 'w': its elements are float32, not int32; "
                                          "read them as float32, or convert `bytes`"));
    safetensors::tensor const own{"v", data_type::f8_e4m3, {1}, bytes_of("x")};
    BOOST_CHECK_EXCEPTION(own.as<std::uint8_t>(), error,
                          mentions(errc::dtype_mismatch, "tensor 'v': its elements are "
                                                         "float8_e4m3fn, not uint8"));
}

BOOST_FIXTURE_TEST_CASE(elements_that_are_not_aligned_are_refused, files_fixture) {
    std::string const header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
    std::string const path = put("a", with_length(header) + "12345");
    auto const file = safetensors::open(path);
    BOOST_TEST(text_of(file.at("b").bytes) == "2345");
    BOOST_CHECK_EXCEPTION(
        file.at("b").as<float>(), error,
        says(errc::unsupported, path + ": tensor 'b': its address is not a multiple of 4, which "
                                       "float32 needs; copy `bytes` to memory that is"));
}

BOOST_FIXTURE_TEST_CASE(a_bool_is_zero_or_one, files_fixture) {
    std::string const bytes("\0\1\2", 3);
    safetensors::tensor mask{"m", data_type::boolean, {2}, bytes_of(bytes).first(2)};
    BOOST_TEST(mask.as<bool>() == (std::vector<bool>{false, true}),
               boost::test_tools::per_element());
    mask.bytes = bytes_of(bytes);
    BOOST_CHECK_EXCEPTION(mask.as<bool>(), error,
                          says(errc::corrupt_file, "tensor 'm': element 2 is 2, but a bool is 0 "
                                                   "or 1; read `bytes`"));
}

BOOST_FIXTURE_TEST_CASE(a_name_that_is_not_there_is_named_with_a_similar_one, files_fixture) {
    std::string const path =
        put("a", with_length(R"({"model.norm.weight":{"dtype":"U8","shape":[],)"
                             R"("data_offsets":[0,1]}})") +
                     "x");
    auto const file = safetensors::open(path);
    BOOST_CHECK_EXCEPTION(
        file.at("model.norn.weight"), error,
        says(errc::unknown_key, path + ": there is no tensor 'model.norn.weight' among 1 tensor "
                                       "(did you mean 'model.norm.weight'?)"));
    BOOST_CHECK_EXCEPTION(file.at(""), error, mentions(errc::unknown_key, "no tensor ''"));
}

BOOST_FIXTURE_TEST_CASE(paths_that_are_no_files_are_refused, files_fixture) {
    BOOST_CHECK_EXCEPTION(safetensors::open(path("none")), error,
                          says(errc::missing_file, path("none") + ": no such file"));
    BOOST_CHECK_EXCEPTION(safetensors::open(path("")), error,
                          mentions(errc::corrupt_file, "this is not a file"));
    BOOST_TEST_REQUIRE(::mkfifo(path("pipe").c_str(), 0600) == 0);
    BOOST_CHECK_EXCEPTION(safetensors::open(path("pipe")), error,
                          says(errc::corrupt_file, path("pipe") + ": this is not a file"));
}

BOOST_FIXTURE_TEST_CASE(copies_of_a_file_keep_its_bytes, files_fixture) {
    safetensors::file copy;
    {
        auto const file = safetensors::open(put_small("a"));
        copy = file;
    }
    std::filesystem::remove(path("a"));
    BOOST_TEST(copy.at("w").as<float>()[0] == 1.5f);
    BOOST_CHECK_EXCEPTION(copy.at("w").as<double>(), error,
                          mentions(errc::dtype_mismatch, path("a") + ": tensor 'w'"));
}

BOOST_FIXTURE_TEST_CASE(a_written_file_has_the_bytes_of_hugging_faces_writer, files_fixture) {
    std::vector<float> const w{1.5f, -2.0f};
    std::vector<std::uint8_t> const b{7, 8, 9};
    std::vector<safetensors::tensor> const tensors{
        {"b", data_type::u8, {3}, std::as_bytes(std::span(b))},
        {"w", data_type::f32, {2, 1}, std::as_bytes(std::span(w))}};
    safetensors::write(path("a"), tensors, {.metadata = {{"format", "pt"}}});
    BOOST_TEST(content(path("a")) == with_length(small_header) + small_data);
    BOOST_TEST((all_names() == names{"a"}));
}

BOOST_FIXTURE_TEST_CASE(every_type_and_shape_comes_back, files_fixture) {
    std::string data(256, '\0');
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<char>(i);
    struct row {
        data_type dtype;
        vector<std::uint64_t> shape;
        std::size_t bytes;
    };
    std::vector<row> rows{{data_type::f32, {}, 4},
                          {data_type::bf16, {0}, 0},
                          {data_type::i64, {3, 0, 2}, 0},
                          {data_type::f4, {3, 2}, 3},
                          {data_type::f6_e2m3, {4}, 3},
                          {data_type::f6_e3m2, {2, 2}, 3},
                          {data_type::u8, {1, 1, 1, 1, 1, 1, 1, 2}, 2}};
    for (data_type const dtype :
         {data_type::boolean, data_type::i8, data_type::f8_e5m2, data_type::f8_e4m3,
          data_type::f8_e8m0, data_type::f8_e4m3fnuz, data_type::f8_e5m2fnuz})
        rows.push_back({dtype, {5}, 5});
    for (data_type const dtype : {data_type::i16, data_type::u16, data_type::f16})
        rows.push_back({dtype, {5}, 10});
    for (data_type const dtype : {data_type::u32, data_type::i32})
        rows.push_back({dtype, {2, 3}, 24});
    for (data_type const dtype : {data_type::f64, data_type::u64, data_type::c64})
        rows.push_back({dtype, {2, 3}, 48});
    std::vector<safetensors::tensor> tensors;
    for (row const& r : rows)
        tensors.push_back({"t" + std::to_string(tensors.size() + 10), r.dtype, r.shape,
                           bytes_of(data).subspan(tensors.size(), r.bytes)});
    safetensors::write(path("a"), tensors);
    auto const file = safetensors::open(path("a"));
    BOOST_TEST_REQUIRE(file.tensors.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        BOOST_TEST_CONTEXT("row " << i) {
            BOOST_TEST(file.tensors[i].name == "t" + std::to_string(i + 10));
            BOOST_TEST((file.tensors[i].dtype == rows[i].dtype));
            BOOST_TEST(extents(file.tensors[i].shape) == extents(rows[i].shape));
            BOOST_TEST(text_of(file.tensors[i].bytes) == data.substr(i, rows[i].bytes));
        }
}

BOOST_FIXTURE_TEST_CASE(a_file_may_have_no_tensors, files_fixture) {
    safetensors::write(path("a"), {});
    BOOST_TEST(content(path("a")) == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
    auto const file = safetensors::open(path("a"));
    BOOST_TEST(file.tensors.empty());
    BOOST_TEST(file.metadata.empty());
}

BOOST_FIXTURE_TEST_CASE(a_file_is_replaced_only_if_asked, files_fixture) {
    std::string const path = put("a", "old");
    BOOST_CHECK_EXCEPTION(safetensors::write(path, {}), error,
                          says(errc::already_exists, path + ": already exists; give another path, "
                                                            "or allow it to be replaced"));
    BOOST_TEST(content(path) == "old");
    safetensors::write(path, {}, {.replace = true});
    BOOST_TEST(safetensors::open(path).tensors.empty());
    BOOST_TEST((all_names() == names{"a"}));
}

BOOST_FIXTURE_TEST_CASE(a_file_may_be_replaced_by_its_own_tensors, files_fixture) {
    std::string const path = put_small("a");
    auto const file = safetensors::open(path);
    auto tensors = file.tensors;
    tensors[0].name = "c";
    safetensors::write(path, tensors, {.metadata = file.metadata, .replace = true});
    auto const again = safetensors::open(path);
    BOOST_TEST(summary(again) == "c:U8:[3]:3 w:F32:[2, 1]:8");
    BOOST_TEST(data_of(again) == small_data);
    BOOST_TEST(data_of(file) == small_data);
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_written_leaves_nothing, files_fixture) {
    std::string const data(64, 'x');
    auto const make = [&](vector<std::uint64_t> shape, std::size_t bytes,
                          data_type dtype = data_type::f32, std::string name = "t") {
        return safetensors::tensor{std::move(name), dtype, std::move(shape),
                                   bytes_of(data).first(bytes)};
    };
    struct row {
        std::vector<safetensors::tensor> tensors;
        errc code;
        std::string text;
    };
    std::uint64_t const huge = std::uint64_t{1} << 63;
    row const rows[] = {
        {{make({2, 3}, 20)},
         errc::shape_mismatch,
         "tensor 't': shape [2, 3] of F32 needs 24 bytes, but `bytes` has 20"},
        {{make({}, 0)}, errc::shape_mismatch, "shape [] of F32 needs 4 bytes, but `bytes` has 0"},
        {{make({1}, 4), make({1}, 4)}, errc::bad_layout, "tensor 't' would occur twice"},
        {{make({1}, 4, data_type::f32, "__metadata__")}, errc::unsupported, "'__metadata__'"},
        {{make({1}, 4, data_type::f32, "\xFF")}, errc::unsupported, "is not UTF-8"},
        {{make({3}, 2, data_type::f4)}, errc::unsupported, "do not fill whole bytes"},
        {{make({1}, 16, data_type::c128)}, errc::unsupported, "complex128"},
        {{make({1, 1, 1, 1, 1, 1, 1, 1, 1}, 4)},
         errc::limit_exceeded,
         "tensor 't' has 9 axes; at most 8 are written"},
        {{make({0, huge}, 0)},
         errc::overflow,
         "tensor 't' has an extent of 9223372036854775808; at most 9223372036854775807 are "
         "written"},
        {{make({huge / 2, 8}, 0)}, errc::overflow, "does not fit in 64 bits"},
    };
    for (row const& r : rows)
        BOOST_TEST_CONTEXT(r.text) {
            BOOST_CHECK_EXCEPTION(safetensors::write(path("a"), r.tensors), error,
                                  mentions(r.code, r.text));
            BOOST_TEST(all_names().empty());
        }
    BOOST_CHECK_EXCEPTION(safetensors::write(path("none/a"), {}), error,
                          mentions(errc::io, path("none")));
}

namespace {

/// A file with one byte for each name.
std::string bytes_named(std::string const& all_names, std::string const& metadata) {
    std::string header = "{\"__metadata__\":{" + metadata + "}", data;
    for (char const name : all_names) {
        header += std::string(",\"") + name + R"(":{"dtype":"U8","shape":[],"data_offsets":[)" +
                  std::to_string(data.size()) + "," + std::to_string(data.size() + 1) + "]}";
        data += name;
    }
    return with_length(header + "}") + data;
}

/// A model of the tensors a, b and c in two files.
class model_fixture : public files_fixture {
public:
    model_fixture() {
        put("1.safetensors", bytes_named("ca", R"("format":"pt","part":"1")"));
        put("2.safetensors", bytes_named("b", R"("format":"pt","part":"2")"));
    }

    std::string index(std::string const& files) const {
        return put("model.safetensors.index.json", "{\"weight_map\":{" + files + "}}");
    }
};

std::string const whole_map = R"("a":"1.safetensors","b":"2.safetensors","c":"1.safetensors")";

} // namespace

BOOST_FIXTURE_TEST_CASE(an_index_opens_all_files_of_a_model, model_fixture) {
    auto const model = safetensors::open(index(whole_map));
    BOOST_TEST(model.path == path("model.safetensors.index.json"));
    BOOST_TEST(summary(model) == "a:U8:[]:1 b:U8:[]:1 c:U8:[]:1");
    for (safetensors::tensor const& t : model.tensors)
        BOOST_TEST(text_of(t.bytes) == t.name);
    BOOST_TEST(model.at("a").file == path("1.safetensors"));
    BOOST_TEST(model.at("b").file == path("2.safetensors"));
    BOOST_TEST(model.metadata.size() == 1u);
    BOOST_TEST(model.metadata.at("format") == "pt");
    BOOST_TEST(model.warnings.empty());
}

BOOST_FIXTURE_TEST_CASE(an_index_and_its_files_agree, model_fixture) {
    struct row {
        std::string map;
        errc code;
        std::string text;
        std::string compatible; ///< the tensors where these differences are accepted
    };
    row const rows[] = {
        {whole_map + R"(,"d":"2.safetensors")", errc::corrupt_file,
         "'d' should be in 2.safetensors, but is not", ""},
        {whole_map + R"(,"d":"3.safetensors")", errc::missing_file, "3.safetensors: no such file",
         ""},
        {R"("a":"1.safetensors","b":"2.safetensors")", errc::corrupt_file,
         "'c' is in 1.safetensors, but the index does not list it there", "ab"},
        {R"("a":"model.safetensors.index.json")", errc::corrupt_file,
         "model.safetensors.index.json: ", ""}, // itself
        {R"("a":"../1.safetensors")", errc::corrupt_file, "is not the name of a file", ""},
        {"", errc::corrupt_file, "the index lists no tensor", ""},
    };
    for (row const& r : rows)
        BOOST_TEST_CONTEXT(r.map) {
            std::string const path = index(r.map);
            BOOST_CHECK_EXCEPTION(safetensors::open(path), error, mentions(r.code, r.text));
            if (r.compatible.empty()) {
                BOOST_CHECK_EXCEPTION(safetensors::open(path, {.compatible = true}), error,
                                      mentions(r.code, r.text));
                continue;
            }
            auto const model = safetensors::open(path, {.compatible = true});
            BOOST_TEST(data_of(model).size() == r.compatible.size());
            BOOST_TEST(model.warnings.size() == 1u);
            BOOST_TEST(model.find("c") == nullptr);
        }
}

BOOST_FIXTURE_TEST_CASE(a_tensor_in_two_files_is_that_of_the_index, model_fixture) {
    put("2.safetensors", bytes_named("bc", ""));
    std::string const path = index(whole_map);
    BOOST_CHECK_EXCEPTION(safetensors::open(path), error,
                          mentions(errc::corrupt_file,
                                   "'c' is in 2.safetensors, but the index lists it in another "
                                   "file"));
    auto const model = safetensors::open(path, {.compatible = true});
    BOOST_TEST(model.tensors.size() == 3u);
    BOOST_TEST(model.at("c").file == this->path("1.safetensors"));
    BOOST_TEST_REQUIRE(model.warnings.size() == 1u);
    BOOST_TEST(model.metadata.empty());
}

BOOST_AUTO_TEST_SUITE_END()
