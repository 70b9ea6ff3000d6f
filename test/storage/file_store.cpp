// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/file_store.hpp>

#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <cstring>
#include <map>
#include <sstream>

/// \file
/// Checkpoints in other places than a file system.

BOOST_AUTO_TEST_SUITE(storage_file_store)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Files in memory, one directory of them; it notes the operations.
class memory_files : public file_store {
public:
    explicit memory_files(std::map<std::filesystem::path, std::string> files)
        : files_(std::move(files)) {}

    kind find(std::filesystem::path const& path) const override {
        if (files_.contains(path))
            return kind::file;
        return path == "model" ? kind::directory : kind::nothing;
    }

    reshard::vector<std::filesystem::path> list(std::filesystem::path const&) const override {
        calls += "list;";
        std::vector<std::filesystem::path> paths;
        for (auto const& [path, bytes] : files_)
            paths.push_back(path);
        return paths;
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        calls += "open " + path.filename().string() + ";";
        if (is_rewritten)
            ++written_ns;
        return std::make_unique<memory_file>(files_.at(path), fails, written_ns);
    }

    mutable std::string calls;
    bool fails = false;        ///< from now on, files that are opened cannot be read
    bool is_rewritten = false; ///< each opening finds a file that was written to

private:
    class memory_file : public file {
    public:
        memory_file(std::string const& bytes, bool const& fails, std::int64_t written_ns)
            : bytes_(bytes), fails_(fails), written_ns_(written_ns) {}

        identity facts() const override {
            return {.bytes = bytes_.size(), .written_ns = written_ns_};
        }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (fails_)
                fail(errc::io, "the memory fails");
            BOOST_TEST_REQUIRE(position + target.size() <= bytes_.size());
            std::memcpy(target.data(), bytes_.data() + position, target.size());
        }

    private:
        std::string const& bytes_;
        bool const& fails_;
        std::int64_t written_ns_;
    };

    mutable std::int64_t written_ns = 0;
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
    BOOST_TEST(files->calls == "open reshard.json;" // is it a delta?
                               "list;open shard-00001-model-00001-of-00001.safetensors;"
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

BOOST_AUTO_TEST_CASE(a_file_that_is_written_to_behind_its_header_is_refused) {
    held part = rows();
    auto const files = saved_in_memory(part);
    files->is_rewritten = true;
    BOOST_CHECK_EXCEPTION(open_checkpoint(solo(), "model", {.files = files}), error,
                          mentions(errc::corrupt_file, "while it was opened"));
}

BOOST_AUTO_TEST_CASE(files_in_memory_are_not_mapped) {
    held part = rows();
    auto const files = saved_in_memory(part);
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), "model", {.mapped = true, .files = files}),
                          error, mentions(errc::usage, "can be mapped"));
}

namespace {

/// Directories of files in memory, which are written, too. Functions are noted as they are called,
/// writes with their position. It is of one process.
class written_memory : public file_store {
public:
    using files = std::map<std::filesystem::path, std::string>;

    kind find(std::filesystem::path const& path) const override {
        if (directories.contains(path))
            return kind::directory;
        return file_at(path) ? kind::file : kind::nothing;
    }

    reshard::vector<std::filesystem::path> list(std::filesystem::path const& path) const override {
        std::vector<std::filesystem::path> paths;
        for (auto const& [name, bytes] : directories.at(path))
            paths.push_back(path / name);
        return paths;
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        return std::make_unique<input>(*file_at(path));
    }

    std::unique_ptr<unfinished> begin(std::filesystem::path const& target,
                                      bool replace) const override {
        note("begin " + target.string());
        if (!replace && directories.contains(target))
            fail(errc::already_exists, target.string(), ": already exists");
        return std::make_unique<draft>(*this, target);
    }

    mutable std::map<std::filesystem::path, files> directories;
    mutable std::string calls;
    std::string failing;    ///< the call, as noted, that is to fail
    bool is_killed = false; ///< nothing is done any more once a call has failed

private:
    void note(std::string const& call) const {
        calls += call + "\n";
        if (call == failing)
            fail(errc::io, "'", call, "' fails");
    }

    std::string const* file_at(std::filesystem::path const& path) const {
        auto const directory = directories.find(path.parent_path());
        if (directory == directories.end() || !directory->second.contains(path.filename()))
            return nullptr;
        return &directory->second.at(path.filename());
    }

    class input : public file {
    public:
        explicit input(std::string const& bytes) : bytes_(bytes) {}

        identity facts() const override { return {.bytes = bytes_.size()}; }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            BOOST_TEST_REQUIRE(position + target.size() <= bytes_.size());
            std::memcpy(target.data(), bytes_.data() + position, target.size());
        }

    private:
        std::string bytes_;
    };

    class written : public output {
    public:
        written(written_memory const& memory, std::string name, std::string& bytes)
            : all_(memory), name_(std::move(name)), bytes_(bytes) {}

        void write(std::uint64_t position, std::span<std::byte const> bytes) override {
            all_.note("write " + name_ + (position == 0 ? " from its begin" : " behind"));
            bytes_.resize(std::max<std::size_t>(bytes_.size(), position + bytes.size()));
            std::memcpy(bytes_.data() + position, bytes.data(), bytes.size());
        }
        void sync() override { all_.note("sync " + name_); }

    private:
        written_memory const& all_;
        std::string name_;
        std::string& bytes_;
    };

    class draft : public unfinished {
    public:
        draft(written_memory const& memory, std::filesystem::path target)
            : all_(memory), target_(std::move(target)), fresh_(target_.string() + ".unfinished") {
            all_.directories[fresh_];
        }

        std::string name() const override { return fresh_.string(); }
        std::unique_ptr<output> open(std::filesystem::path const& file,
                                     std::uint64_t bytes) override {
            all_.note("open " + file.string());
            std::string& content = all_.directories[fresh_][file];
            content.resize(std::max<std::size_t>(content.size(), bytes));
            return std::make_unique<written>(all_, file.string(), content);
        }
        void commit() override {
            all_.note("commit");
            std::swap(all_.directories[target_], all_.directories[fresh_]);
        }
        void clean_up() noexcept override {
            if (all_.is_killed)
                return;
            all_.calls += "clean up\n";
            all_.directories.erase(fresh_);
        }

    private:
        written_memory const& all_;
        std::filesystem::path target_, fresh_;
    };
};

/// Two tensors on one rank.
held two_tensors() {
    return held({whole_of("a", data_type::f32, {2, 3}), whole_of("b", data_type::u8, {5})});
}

/// Which of the checkpoints exists at `path`, as text.
std::string loaded_from(std::shared_ptr<file_store const> const& files,
                        std::filesystem::path const& path, held part) {
    auto const opened = open_checkpoint(solo(), path, {.files = files});
    load(solo(), opened, part.cleared().tensors());
    return part.wrong() + (verify(solo(), opened).ok() ? "" : " and digests differ");
}

std::vector<std::string> paths_in(written_memory const& store) {
    std::vector<std::string> paths;
    for (auto const& [path, files] : store.directories)
        paths.push_back(path.string());
    return paths;
}

using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(a_save_calls_a_store_in_this_order) {
    auto const store = std::make_shared<written_memory>();
    held part = two_tensors();
    save(solo(), part.tensors(), "model", {.writing = {.files = store}});
    std::string const file = "shard-00001-model-00001-of-00001.safetensors\n";
    BOOST_TEST(store->calls ==
               "begin model\n"
               "open " +
                   file +
                   "write shard-00001-model-00001-of-00001.safetensors from its begin\n"
                   "write shard-00001-model-00001-of-00001.safetensors behind\n"
                   "write shard-00001-model-00001-of-00001.safetensors behind\n"
                   "write shard-00001-model-00001-of-00001.safetensors from its begin\n"
                   "open " +
                   file + "sync " + file +
                   "open reshard.json\n"
                   "write reshard.json from its begin\n"
                   "sync reshard.json\n"
                   "commit\n"
                   "clean up\n");
    BOOST_TEST((paths_in(*store) == texts{"model"}));
}

BOOST_AUTO_TEST_CASE(what_is_saved_to_memory_is_loaded_from_there) {
    auto const store = std::make_shared<written_memory>();
    held part = two_tensors();
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        std::string const path = form == save_form::sharded ? "sharded" : "whole";
        save(solo(), part.tensors(), path, {.form = form, .writing = {.files = store}});
        BOOST_TEST(loaded_from(store, path, two_tensors()) == "");
    }
    convert(solo(), open_checkpoint(solo(), "sharded", {.files = store}), "converted",
            {.writing = {.files = store}});
    BOOST_TEST(loaded_from(store, "converted", two_tensors()) == "");
    async_saver saver;
    save_async(solo(), part.tensors(), "later", saver, {.writing = {.files = store}}).get();
    BOOST_TEST(loaded_from(store, "later", two_tensors()) == "");
    BOOST_TEST((paths_in(*store) == texts{"converted", "later", "sharded", "whole"}));
}

BOOST_AUTO_TEST_CASE(a_delta_is_written_to_memory_beside_its_base) {
    auto const store = std::make_shared<written_memory>();
    held part = two_tensors();
    save(solo(), part.tensors(), "run/1", {.writing = {.files = store}});
    part.memory(1)[3] ^= std::byte{1};
    auto const report =
        save(solo(), part.tensors(), "run/2", {.writing = {.base = "run/1", .files = store}});
    BOOST_TEST(report.reused == 24);
    auto const changed = part.memory(1);
    load(solo(), open_checkpoint(solo(), "run/2", {.files = store}), part.cleared().tensors());
    BOOST_TEST((part.memory(1) == changed));
    part.memory(1)[3] ^= std::byte{1};
    BOOST_TEST(part.wrong() == "");
    store->directories.erase("run/1");
    BOOST_CHECK_EXCEPTION(open_checkpoint(solo(), "run/2", {.files = store}), error,
                          mentions(errc::missing_file, "run/1/shard-00001"));
}

BOOST_AUTO_TEST_CASE(files_beside_a_checkpoint_are_copied_into_another_store) {
    shared_directory const directory;
    auto const own = directory / std::to_string(world().rank());
    auto const store = std::make_shared<written_memory>();
    save(solo(), two_tensors().tensors(), own);
    write_file(own / "config.json", "{\"layers\": 2}");
    auto const report =
        convert(solo(), open_checkpoint(solo(), own), "model", {.writing = {.files = store}});
    BOOST_TEST((report.carried == texts{"config.json"}));
    BOOST_TEST(store->directories["model"]["config.json"] == "{\"layers\": 2}");
    meet();
}

BOOST_AUTO_TEST_CASE(a_store_that_fails_leaves_its_target_as_it_was) {
    for (std::string const failing :
         {"begin model", "write reshard.json from its begin", "commit",
          "write shard-00001-model-00001-of-00001.safetensors behind"}) {
        auto const store = std::make_shared<written_memory>();
        held const old({whole_of("old", data_type::f64, {4})});
        held part = two_tensors();
        save(solo(), held(old).tensors(), "model", {.writing = {.files = store}});
        store->failing = failing;
        save_options const options{.writing = {.replace = true, .files = store}};
        BOOST_CHECK_EXCEPTION(save(solo(), part.tensors(), "model", options), error,
                              mentions(errc::io, "'" + failing + "' fails"));
        async_saver saver;
        BOOST_CHECK_EXCEPTION(save_async(solo(), part.tensors(), "model", saver, options).get(),
                              error, mentions(errc::io, "'" + failing + "' fails"));
        BOOST_TEST((paths_in(*store) == texts{"model"}));
        BOOST_TEST(loaded_from(store, "model", old) == "");
    }
}

BOOST_AUTO_TEST_CASE(what_a_writer_that_died_left_in_a_store_is_refused) {
    auto const store = std::make_shared<written_memory>();
    held const old({whole_of("old", data_type::f64, {4})});
    held part = two_tensors();
    save(solo(), held(old).tensors(), "model", {.writing = {.files = store}});
    store->failing = "open reshard.json";
    store->is_killed = true;
    BOOST_CHECK_THROW(
        save(solo(), part.tensors(), "model", {.writing = {.replace = true, .files = store}}),
        error);
    BOOST_TEST((paths_in(*store) == texts{"model", "model.unfinished"}));
    BOOST_TEST(loaded_from(store, "model", old) == "");
    BOOST_CHECK_EXCEPTION(open_checkpoint(solo(), "model.unfinished", {.files = store}), error,
                          mentions(errc::corrupt_file, "not finished"));
}

BOOST_AUTO_TEST_CASE(a_target_in_a_store_is_replaced_only_where_it_may_be) {
    auto const store = std::make_shared<written_memory>();
    held part = two_tensors();
    save(solo(), held({whole_of("old", data_type::f64, {4})}).tensors(), "model",
         {.writing = {.files = store}});
    BOOST_CHECK_EXCEPTION(save(solo(), part.tensors(), "model", {.writing = {.files = store}}),
                          error, mentions(errc::already_exists, "model: already exists"));
    save(solo(), part.tensors(), "model", {.writing = {.replace = true, .files = store}});
    BOOST_TEST(loaded_from(store, "model", two_tensors()) == "");
    BOOST_TEST((paths_in(*store) == texts{"model"}));
}

BOOST_AUTO_TEST_CASE(a_store_that_is_only_read_refuses_a_save) {
    auto const files =
        std::make_shared<memory_files>(std::map<std::filesystem::path, std::string>());
    held part = rows();
    BOOST_CHECK_EXCEPTION(
        save(world(), part.tensors(), "model", {.writing = {.files = files}}), error,
        says(errc::unsupported, "model: cannot be written: this file store is read-only"));
}

BOOST_AUTO_TEST_CASE(several_ranks_do_not_save_to_the_memory_of_one) {
    if (world().size() == 1)
        return;
    auto const store = std::make_shared<written_memory>();
    held part = rows();
    save_options const options{.writing = {.files = store}};
    BOOST_CHECK_EXCEPTION(save(world(), part.tensors(), "model", options), error,
                          says(errc::unsupported,
                               "model: only one process can write model.unfinished in this file "
                               "store; save on one rank (rank 1)"));
    BOOST_TEST(store->directories.empty());
    async_saver saver;
    BOOST_CHECK_EXCEPTION(save_async(world(), part.tensors(), "model", saver, options), error,
                          mentions(errc::usage, "support one rank, not"));
}

namespace {

/// The shared state of several processes: objects of flat names in one directory, and a small one
/// for each target that says which objects are its files. Nothing is ever renamed.
class objects : public file_store {
public:
    explicit objects(std::filesystem::path path) : place_(std::move(path)) {}

    kind find(std::filesystem::path const& path) const override {
        if (!generation_of(path).empty())
            return kind::directory;
        return std::filesystem::exists(object_of(path)) ? kind::file : kind::nothing;
    }

    reshard::vector<std::filesystem::path> list(std::filesystem::path const& path) const override {
        std::vector<std::filesystem::path> paths;
        std::string const prefix = generation_of(path) + ",";
        for (auto const& object : files_of_system()->list(place_))
            if (std::string const name = object.filename().string(); name.starts_with(prefix))
                paths.push_back(path / name.substr(prefix.size()));
        return paths;
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        return std::make_unique<input_file>(object_of(path));
    }

    std::unique_ptr<unfinished> begin(std::filesystem::path const& target, bool) const override {
        return std::make_unique<draft>(place_, target, random_text());
    }

    std::unique_ptr<unfinished> join(std::filesystem::path const& target, bool,
                                     std::string const& name) const override {
        return std::make_unique<draft>(place_, target, name);
    }

private:
    std::string generation_of(std::filesystem::path const& target) const {
        auto const path = place_ / target;
        return std::filesystem::is_regular_file(path) ? read_file(path) : std::string();
    }

    std::filesystem::path object_of(std::filesystem::path const& path) const {
        return place_ / (generation_of(path.parent_path()) + "," + path.filename().string());
    }

    class draft : public unfinished {
    public:
        draft(std::filesystem::path path, std::filesystem::path target, std::string generation)
            : place_(std::move(path)),
              target_(std::move(target)),
              generation_(std::move(generation)) {}

        std::string name() const override { return generation_; }
        std::unique_ptr<output> open(std::filesystem::path const& file,
                                     std::uint64_t bytes) override {
            return std::make_unique<output_file>(
                output_file::open(place_ / (generation_ + "," + file.string()), bytes));
        }
        void commit() override { write_whole_file(place_ / target_, generation_); }
        void clean_up() noexcept override {}

    private:
        std::filesystem::path place_, target_;
        std::string generation_;
    };

    std::filesystem::path place_;
};

} // namespace

BOOST_AUTO_TEST_CASE(all_ranks_save_to_a_store_that_renames_nothing) {
    shared_directory const directory;
    auto const store = std::make_shared<objects>(directory.path());
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        held part = rows();
        std::string const path = form == save_form::sharded ? "sharded" : "whole";
        auto const report =
            save(world(), part.tensors(), path, {.form = form, .writing = {.files = store}});
        auto const opened = open_checkpoint(world(), path, {.files = store});
        BOOST_TEST(opened.metadata().save == report.save);
        BOOST_TEST(verify(world(), opened).ok());
        load(world(), opened, part.cleared().tensors());
        BOOST_TEST(part.wrong() == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
