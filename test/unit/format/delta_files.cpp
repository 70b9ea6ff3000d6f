// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/delta_files.hpp>

#include "support/says.hpp"
#include "temporary_directory.hpp"

#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/os/file_bytes.hpp>

#include <boost/test/unit_test.hpp>

#include <span>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_delta_files)

namespace {

using namespace reshard;
using namespace reshard::detail;

/// The file of a base: an empty safetensors header, and ten bytes that no header needs to know.
std::string const base_bytes = std::string("\2\0\0\0\0\0\0\0{}", 10) + "abcdefghij";
std::uint64_t const base_digest = digest_of_bytes(std::as_bytes(std::span("{}", 2)));

/// A delta beside the directory `base` of file `m`, 8 bytes: `cd`, then its own `XYZ`, then `hij`.
struct files_of_delta {
    test::temporary_directory directory;
    save_record record{"5a", {{"m", 8, 0}}};

    files_of_delta() {
        std::filesystem::create_directory(directory.path() / "base");
        std::filesystem::create_directory(directory.path() / "delta");
        directory.write("base/m", base_bytes);
        std::string const own = delta_header("5a", 3) + "XYZ";
        directory.write("delta/delta-00001.safetensors", own);
        directory.write("delta/note.txt", "hello");
        std::uint64_t const digest =
            digest_of_bytes(std::as_bytes(std::span(own).subspan(8, delta_data_offset - 8)));
        record.delta = record_delta{{{"delta-00001.safetensors", own.size(), digest}},
                                    {{"../base", "1d", {"m", base_bytes.size(), base_digest}}},
                                    {{{2, 1, 12}, {5, 0, delta_data_offset}, {8, 1, 17}}}};
    }

    std::filesystem::path path() const { return directory.path() / "delta"; }
    delta_files store() const { return {files_of_system(), path(), record}; }
};

std::string read(file_store::file const& file, std::uint64_t position, std::size_t count) {
    std::string text(count, '-');
    file.read(position, std::as_writable_bytes(std::span(text)));
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_file_of_changes_is_a_safetensors_file) {
    std::string const header = delta_header("00112233445566778899aabbccddeeff", 1'000'000'000'000);
    BOOST_TEST(header.size() == delta_data_offset);
    auto const read = parse_safetensors_header(std::as_bytes(std::span(header)),
                                               delta_data_offset + 1'000'000'000'000, "file");
    BOOST_TEST(read.metadata.at("RESHARD_SAVE") == "00112233445566778899aabbccddeeff");
    BOOST_TEST(read.tensors.size() == 1);
    BOOST_TEST(delta_header(unknown_save_id, 0).size() == delta_data_offset);
}

BOOST_AUTO_TEST_CASE(a_file_is_put_together_from_runs) {
    files_of_delta const files;
    delta_files const store = files.store();
    auto const file = store.open(files.path() / "m");
    BOOST_TEST(file->facts().bytes == 8u);
    BOOST_TEST(read(*file, 0, 8) == "cdXYZhij");
    for (std::size_t begin = 0; begin < 8; ++begin)
        for (std::size_t end = begin; end <= 8; ++end)
            BOOST_TEST(read(*file, begin, end - begin) ==
                       std::string("cdXYZhij").substr(begin, end - begin));
    BOOST_CHECK_EXCEPTION(read(*file, 7, 2), error,
                          test::mentions(errc::corrupt_file, "ends before byte 9"));
}

BOOST_AUTO_TEST_CASE(a_directory_shows_the_files_of_a_whole_save) {
    files_of_delta const files;
    delta_files const store = files.store();
    std::vector<std::filesystem::path> const paths{files.path() / "m", files.path() / "note.txt"};
    BOOST_TEST((store.list(files.path()) == paths));
    BOOST_TEST((store.find(files.path() / "m") == file_store::kind::file));
    BOOST_TEST((store.find(files.path() / "delta-00001.safetensors") == file_store::kind::nothing));
    BOOST_TEST((store.find(files.path() / "note.txt") == file_store::kind::file));
    BOOST_TEST((store.find(files.path() / "other") == file_store::kind::nothing));
    BOOST_TEST(read(*store.open(files.path() / "note.txt"), 1, 3) == "ell");
    std::vector<std::filesystem::path> const beside{files.directory.path() / "base" / "m"};
    BOOST_TEST((store.list(files.directory.path() / "base") == beside));
}

BOOST_AUTO_TEST_CASE(a_write_to_a_base_is_seen) {
    files_of_delta const files;
    delta_files const store = files.store();
    auto const file = store.open(files.path() / "m");
    auto const before = file->facts();
    BOOST_TEST((file->facts() == before));
    files.directory.write("base/m", base_bytes + "!");
    BOOST_TEST((file->facts() != before));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_that_of_its_save_is_named) {
    files_of_delta const files;
    auto const refused = [&](errc code, std::string const& sentence) {
        BOOST_CHECK_EXCEPTION(files.store().open(files.path() / "m"), error,
                              test::mentions(code, sentence));
    };
    std::string const base = (files.directory.path() / "base" / "m").string();
    files.directory.write("base/m", base_bytes + "!");
    refused(errc::corrupt_file, "needs the save 1d, whose file " + base +
                                    " has 21 bytes, but had 20 when the delta was saved");
    files.directory.write("base/m", std::string("\2\0\0\0\0\0\0\0[]abcdefghij", 20));
    refused(errc::corrupt_file, base + " was replaced");
    std::filesystem::remove(base);
    refused(errc::missing_file, "needs the save 1d, whose file " + base + " is missing");
    files.directory.write("delta/delta-00001.safetensors", "short");
    refused(errc::corrupt_file, "delta-00001.safetensors has 5 bytes, but had 4099");
}

BOOST_AUTO_TEST_CASE(a_delta_that_is_opened_by_a_link_names_its_base_where_that_is) {
    files_of_delta const files;
    std::filesystem::path const links = files.directory.path() / "links";
    std::filesystem::create_directory(links);
    std::filesystem::create_directory_symlink("../delta", links / "latest");
    for (std::filesystem::path const& link : {links / "latest", links / "latest" / ""}) {
        delta_files const store(files_of_system(), link, files.record);
        BOOST_TEST(read(*store.open(link / "m"), 0, 8) == "cdXYZhij");
    }
    std::filesystem::remove(files.directory.path() / "base" / "m");
    delta_files const store(files_of_system(), links / "latest", files.record);
    BOOST_CHECK_EXCEPTION(
        store.open(links / "latest" / "m"), error,
        test::mentions(errc::missing_file,
                       (files.directory.path() / "base" / "m").string() + " is missing"));
}

BOOST_AUTO_TEST_SUITE_END()
