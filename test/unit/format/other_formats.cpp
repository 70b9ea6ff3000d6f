// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/checkpoint.hpp>

#include <reshard/format/json_document.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/os/file_bytes.hpp>

#include "support/described_checkpoint.hpp"
#include "support/says.hpp"
#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// Files of other libraries, with their descriptions: see test/data/formats/README.md.

BOOST_AUTO_TEST_SUITE(format_other_formats)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

namespace fs = std::filesystem;

/// Puts the elements of a shard, one by one, into the tensor.
void put(std::string& whole_bytes, checkpoint_tensor const& tensor, checkpoint_shard const& shard,
         std::string const& bytes) {
    box const region = shard.region;
    auto const size = static_cast<std::size_t>(bits(tensor.dtype)) / 8;
    flat_range const range = shard.flat.value_or(flat_range{0, element_count(region)});
    for (index_t i = 0; i < range.size(); ++i) {
        index_vector index = unravel_index(range.begin + i, region.shape);
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            index[axis] += region.offset[axis];
        auto const position = static_cast<std::size_t>(ravel_index(index, tensor.shape)) * size;
        bytes.copy(whole_bytes.data() + position, size, static_cast<std::size_t>(i) * size);
    }
}

described_tensors tensors_in(opened_checkpoint const& opened) {
    described_tensors tensors;
    for (checkpoint_tensor const& tensor : opened.metadata.tensors) {
        if (!tensor.is_read())
            continue;
        std::string whole_bytes(static_cast<std::size_t>(byte_count(
                                    element_count(index_vector(tensor.shape)), tensor.dtype)),
                                '\xEE');
        for (checkpoint_shard const& shard : tensor.shards) {
            auto const file = opened.files->open(opened.metadata.files[shard.file].path);
            std::string bytes(shard.end - shard.begin, ' ');
            file->read(shard.begin, std::as_writable_bytes(std::span(bytes)));
            put(whole_bytes, tensor, shard, bytes);
        }
        tensors.emplace(tensor.key, described_tensor{std::string(code(tensor.dtype)), tensor.shape,
                                                     hexadecimal(whole_bytes)});
    }
    return tensors;
}

/// Each list of names of one tensor: the others are aliases of the first.
std::map<std::string, std::string> expected_aliases(json_cursor const& expected) {
    std::map<std::string, std::string> all;
    auto const lists = expected.find("aliases");
    if (!lists)
        return all;
    for (json_cursor const& names : lists->elements()) {
        auto const list = names.elements();
        for (std::size_t i = 1; i < list.size(); ++i)
            all.emplace(list[i].text(), list[0].text());
    }
    return all;
}

std::set<std::string> expected_objects(json_cursor const& expected) {
    std::set<std::string> all;
    for (json_cursor const& cursor : expected.at("objects").elements())
        all.insert(cursor.at("key").text());
    if (auto const common = expected.find("common"))
        for (json_cursor const& cursor : common->elements())
            if (!cursor.find("dtype"))
                all.insert(cursor.at("key").text());
    return all;
}

std::set<std::string> objects_in(opened_checkpoint const& opened) {
    std::set<std::string> all;
    for (checkpoint_object const& object : opened.metadata.objects)
        all.insert(object.key);
    return all;
}

/// Codes of a short text, of several values as a tuple, and of a class or a function.
std::string text(std::string const& value) {
    return "\x8c" + std::string(1, static_cast<char>(value.size())) + value;
}
std::string tuple(std::string const& values) { return "(" + values + "t"; }
std::string global(std::string const& module, std::string const& name) {
    return "c" + module + "\n" + name + "\n";
}

/// Codes of an array of NumPy, as Python wrote them.
///
/// \param shape codes of its extents
/// \param type  as NumPy has it, `i1`
/// \param bytes codes of its bytes
std::string array(std::string const& shape, std::string const& type, std::string const& bytes) {
    std::string const dtype = global("numpy", "dtype") + tuple(text(type) + "\x89\x88") + "R" +
                              tuple("K\x03" + text("|") + "NNN") + "b";
    return global("numpy.core.multiarray", "_reconstruct") +
           tuple(global("numpy", "ndarray") + tuple(shape) + text("b")) + "R" +
           tuple("K\x01" + tuple(shape) + dtype + "\x89" + bytes) + "b";
}

/// A pickle of a dict.
std::string dict_file(std::string const& keys_and_values) {
    return "\x80\x03}(" + keys_and_values + "u.";
}

/// The files of the system, of which no directory can be listed.
class unlisted_files : public file_store {
public:
    kind find(fs::path const& path) const override { return files_of_system()->find(path); }
    reshard::vector<fs::path> list(fs::path const& directory) const override {
        fail(errc::io, directory.string(), ": cannot be listed");
    }
    std::unique_ptr<file> open(fs::path const& path) const override {
        return files_of_system()->open(path);
    }
};

/// Opens a checkpoint and reads all of it.
void read_all(fs::path const& path) { tensors_in(open_files(files_of_system(), path, {})); }

/// True for a checkpoint that is not read, or of which something is listed with a reason only.
bool is_refused(fs::path const& path) {
    try {
        checkpoint_metadata const metadata = open_files(files_of_system(), path, {}).metadata;
        return !std::ranges::all_of(metadata.tensors, &checkpoint_tensor::is_read) ||
               std::ranges::any_of(metadata.objects,
                                   [](auto const& element) { return !element.opaque.empty(); });
    } catch (error const& thrown) {
        return thrown.code() == errc::unsupported || thrown.code() == errc::limit_exceeded;
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(what_other_libraries_wrote_is_read) {
    auto const elements = descriptions();
    BOOST_TEST(elements.size() > 50u);
    for (fs::path const& description : elements)
        BOOST_TEST_CONTEXT(description) {
            std::string const name = description.string();
            auto const document = parse_json(read_text_file(description), name, errc::corrupt_file);
            json_cursor const expected(document, name, errc::corrupt_file);
            fs::path const path = described_by(description);
            if (expected.find("refused")) {
                BOOST_TEST(is_refused(path));
                continue;
            }
            opened_checkpoint const opened = open_files(files_of_system(), path, {});
            described_tensors const there = tensors_in(opened);
            for (auto const& [key, tensor] : expected_tensors(expected, path)) {
                auto const match = there.find(key);
                BOOST_TEST_CONTEXT(key) {
                    BOOST_TEST_REQUIRE((match != there.end()));
                    BOOST_TEST(match->second == tensor);
                }
            }
            BOOST_TEST(there.size() == expected_tensors(expected, path).size());
            BOOST_TEST((opened.metadata.aliases == expected_aliases(expected)));
            BOOST_TEST((objects_in(opened) == expected_objects(expected)));
        }
}

BOOST_AUTO_TEST_CASE(a_file_is_read_in_a_directory_that_cannot_be_listed) {
    auto const files = std::make_shared<unlisted_files const>();
    temporary_directory const directory;
    std::vector<fs::path> paths{directory.path() / "model-rank-0-part-0.npy"};
    fs::copy_file(fs::path(RESHARD_TEST_DATA) / "formats/npy/float32.npy", paths[0]);
    for (fs::path const& description : descriptions())
        if (fs::path const path = described_by(description);
            fs::is_regular_file(path) && !is_refused(path))
            paths.push_back(path);
    BOOST_TEST(paths.size() > 50u);
    for (fs::path const& path : paths)
        BOOST_CHECK_NO_THROW(open_files(files, path, {}));
}

BOOST_AUTO_TEST_CASE(parts_of_an_array_that_do_not_fit_it_are_refused) {
    std::string text = read_text_file(fs::path(RESHARD_TEST_DATA) /
                                      "formats/paddle/paddle-3.3/cut_protocol3.pdparams");
    std::size_t const shape = text.find("K\x02K\x03\x86", text.find("OriginShape"));
    BOOST_TEST_REQUIRE(shape != text.npos);
    text[shape + 3] = 4;
    temporary_directory const directory;
    BOOST_CHECK_EXCEPTION(read_all(directory.write("cut.pdparams", text)), error,
                          mentions(errc::corrupt_file,
                                   "cut.pdparams: tensor '0.weight': its 3 slices have 6 "
                                   "elements, but shape [2, 4] has 8"));
}

BOOST_AUTO_TEST_CASE(arrays_that_have_their_bytes_in_common_are_tensors_of_their_own) {
    // Python keeps each bytes object of one byte once, and its pickle refers to it later.
    std::string const again = "h\x01";
    temporary_directory const directory;
    std::string const path = directory.write(
        "one.pdparams", dict_file(text("flag") + array("K\x01", "b1", "C\x01\x01q\x01") +
                                  text("count") + array("K\x01", "u1", again) + text("scalar") +
                                  array("", "i1", again) + "q\x02" + text("same") + "h\x02"));
    opened_checkpoint const opened = open_files(files_of_system(), path, {});
    described_tensors const expected{{"flag", {"BOOL", {1}, "01"}},
                                     {"count", {"U8", {1}, "01"}},
                                     {"scalar", {"I8", {}, "01"}},
                                     {"same", {"I8", {}, "01"}}};
    BOOST_TEST((tensors_in(opened) == expected));
    BOOST_TEST((opened.metadata.aliases == std::map<std::string, std::string>{{"same", "scalar"}}));
}

BOOST_AUTO_TEST_CASE(a_part_is_of_one_array_alone) {
    using namespace std::string_literals;
    // Two arrays are one dict with one part: more of them would be memory that the file has not.
    std::string const slices = text("slices") + "](" + text("z") + "e";
    std::string const cut = "}(" + text("OriginShape") + tuple("K\0"s) + slices + "uq\x06";
    temporary_directory const directory;
    std::string const path =
        directory.write("cut.pdparams", dict_file(text("z") + array("K\0"s, "u1", "C\0"s) +
                                                  text("UnpackBigParamInfor@@") + "}(" + text("a") +
                                                  cut + text("b") + "h\x06u"));
    BOOST_CHECK_EXCEPTION(
        read_all(path), error,
        mentions(errc::corrupt_file, "cut.pdparams: tensor 'b': its slice 'z' occurs twice"));
}

BOOST_AUTO_TEST_SUITE_END()
