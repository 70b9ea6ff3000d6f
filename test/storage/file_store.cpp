// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/file_store.hpp>

#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <cstring>
#include <map>

/// \file
/// Checkpoints in other places than a file system.

BOOST_AUTO_TEST_SUITE(storage_file_store)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Files in memory, one directory of them; it notes what is done.
class memory_files : public file_store {
public:
    explicit memory_files(std::map<std::filesystem::path, std::string> files)
        : files_(std::move(files)) {}

    kind find(std::filesystem::path const& path) const override {
        if (files_.contains(path))
            return kind::file;
        return path == "model" ? kind::directory : kind::nothing;
    }

    std::vector<std::filesystem::path> list(std::filesystem::path const&) const override {
        calls += "list;";
        std::vector<std::filesystem::path> paths;
        for (auto const& [path, bytes] : files_)
            paths.push_back(path);
        return paths;
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        calls += "open " + path.filename().string() + ";";
        return std::make_unique<memory_file>(files_.at(path), fails);
    }

    mutable std::string calls;
    bool fails = false; ///< from now on, files that are opened cannot be read

private:
    class memory_file : public file {
    public:
        memory_file(std::string const& bytes, bool const& fails) : bytes_(bytes), fails_(fails) {}

        identity facts() const override { return {.bytes = bytes_.size()}; }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (fails_)
                fail(errc::io, "the memory fails");
            BOOST_TEST_REQUIRE(position + target.size() <= bytes_.size());
            std::memcpy(target.data(), bytes_.data() + position, target.size());
        }

    private:
        std::string const& bytes_;
        bool const& fails_;
    };

    std::map<std::filesystem::path, std::string> files_;
};

std::shared_ptr<memory_files> saved_in_memory(held& part) {
    shared_directory const directory;
    save(world(), part.tensors(), directory / "model");
    std::map<std::filesystem::path, std::string> files;
    for (std::string const& name : directory.names("model"))
        files[std::filesystem::path("model") / name] = read_file(directory / "model" / name);
    return std::make_shared<memory_files>(std::move(files));
}

held rows() {
    index_t const rank = world().rank(), size = world().size();
    return held({shard_of("w", data_type::f32, {2 * size, 3}, {2 * rank, 0}, {2, 3})});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_checkpoint_in_memory_is_loaded_and_verified) {
    held part = rows();
    auto const files = saved_in_memory(part);
    auto const opened = open_checkpoint(world(), "model", {.files = files});
    BOOST_TEST(verify(world(), opened).ok());
    load(world(), opened, part.cleared().tensors());
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_store_is_listed_and_each_file_opened_for_its_header_and_its_data) {
    if (world().size() > 1)
        return;
    held part = rows();
    auto const files = saved_in_memory(part);
    open_checkpoint(world(), "model", {.files = files});
    BOOST_TEST(files->calls == "list;open shard-00001-model-00001-of-00001.safetensors;"
                               "open reshard.json;"
                               "open shard-00001-model-00001-of-00001.safetensors;");
}

BOOST_AUTO_TEST_CASE(a_store_that_fails_on_one_rank_fails_on_all) {
    held part = rows();
    auto const files = saved_in_memory(part);
    auto const opened = open_checkpoint(world(), "model", {.files = files});
    files->fails = world().rank() == 0;
    BOOST_CHECK_EXCEPTION(load(world(), opened, part.tensors()), error,
                          mentions(errc::io, "the memory fails"));
}

BOOST_AUTO_TEST_CASE(files_in_memory_are_not_mapped) {
    held part = rows();
    auto const files = saved_in_memory(part);
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), "model", {.mapped = true, .files = files}),
                          error, mentions(errc::usage, "can be mapped"));
}

BOOST_AUTO_TEST_SUITE_END()
