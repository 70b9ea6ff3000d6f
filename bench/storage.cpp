// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures how long it takes to write, read and open checkpoints, beside `write` and `read` of the
/// same bytes by the same number of processes, and beside formats of other libraries. Run it under
/// mpiexec.

#include "gguf_file.hpp"
#include "json_list.hpp"
#include "mapped_copy.hpp"
#include "peak_memory.hpp"
#include "stopwatch.hpp"

#include <reshard/expr/permute.hpp>
#include <reshard/storage.hpp>

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/mpi/collectives/scan.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/operations.hpp>

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

namespace {

using namespace reshard;

struct bench_options {
    std::vector<std::string> cases;
    std::vector<std::string> where{"memory", "disk"};
    std::string memory = "/dev/shm";
    std::string disk = std::filesystem::temp_directory_path().string();
    index_t mebibytes = 1024;
    std::string keys = "many";
    int repeat = 7;
    std::string clock = "wall";
    std::string json;
    std::vector<std::string> checkpoints; ///< NAME=PATH
};

/// A model whose tensors are equal matrices.
struct matrices {
    index_t count = 0;
    index_vector shape;
    data_type dtype{};

    index_t bytes() const { return count * byte_count(element_count(shape), dtype); }
};

/// 291 tensors of bf16, as in a model of 8 billion parameters, or 16 tensors of f32.
matrices model_of(std::string const& keys, index_t mebibytes) {
    if (keys == "few")
        return {16, {mebibytes * 4, 4096}, data_type::f32};
    return {291, {std::max<index_t>(8, mebibytes * 448 / 1024), 4096}, data_type::bf16};
}

/// How a matrix is spread over the ranks.
enum class spread { rows, columns, transposed, whole };

shard_descriptor shard_of(matrices const& model, index_t i, spread spread, index_t rank,
                          index_t size) {
    index_vector global = model.shape;
    if (spread == spread::transposed)
        std::swap(global[0], global[1]);
    box region = whole(global);
    if (spread != spread::whole) {
        std::size_t const axis = spread == spread::columns ? 1 : 0;
        region.offset[axis] = global[axis] * rank / size;
        region.shape[axis] = global[axis] * (rank + 1) / size - region.offset[axis];
    }
    return {"layers." + std::to_string(1000 + i) + ".weight", model.dtype, global, region, {}};
}

/// The tensors of one rank, in one block of memory that was written to before.
class tensors {
public:
    tensors(matrices const& model, spread spread, index_t rank, index_t size)
        : tensors(shards_of(model, spread, rank, size)) {}

    explicit tensors(std::vector<shard_descriptor> shards) : shards_(std::move(shards)) {
        std::size_t total = 0;
        for (shard_descriptor const& shard : shards_)
            total += bytes_of(shard);
        memory_.resize(total);
        for (std::size_t i = 0; i < total; ++i)
            memory_[i] = static_cast<std::byte>(i * 2654435761u >> 24 & 0x3F);
    }

    state_dict views() {
        state_dict state;
        std::size_t at = 0;
        for (shard_descriptor const& shard : shards_) {
            index_vector const shape = shard.region.shape;
            state.add(shard, tensor_view{memory_.data() + at, shard.dtype, shape,
                                         row_major_strides(shape)});
            at += bytes_of(shard);
        }
        return state;
    }

    std::vector<std::byte>& memory() { return memory_; }
    std::vector<shard_descriptor> const& shards() const { return shards_; }

private:
    static std::vector<shard_descriptor> shards_of(matrices const& model, spread spread,
                                                   index_t rank, index_t size) {
        std::vector<shard_descriptor> shards;
        for (index_t i = 0; i < model.count; ++i)
            shards.push_back(shard_of(model, i, spread, rank, size));
        return shards;
    }

    static std::size_t bytes_of(shard_descriptor const& shard) {
        return static_cast<std::size_t>(byte_count(element_count(shard.region.shape), shard.dtype));
    }

    std::vector<shard_descriptor> shards_;
    std::vector<std::byte> memory_;
};

/// The shards of a rank: for each tensor of a checkpoint, a share along the first axis.
std::vector<shard_descriptor> rows_of(catalog const& stored, index_t rank, index_t size) {
    std::vector<shard_descriptor> shards;
    for (catalog_entry const& entry : stored) {
        box region = whole(entry.shape);
        if (region.ndim() > 0) {
            region.offset[0] = entry.shape[0] * rank / size;
            region.shape[0] = entry.shape[0] * (rank + 1) / size - region.offset[0];
        }
        shards.push_back({entry.key, entry.dtype, entry.shape, region, {}});
    }
    return shards;
}

void require(bool is_good, char const* noun) {
    if (!is_good)
        throw std::runtime_error(noun);
}

/// Calls `write` on a new file.
void write_plain(std::string const& path, std::vector<std::byte> const& bytes) {
    int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    require(file >= 0, "a file of the reference cannot be created");
    for (std::size_t done = 0; done < bytes.size();) {
        auto const count = ::write(file, bytes.data() + done, bytes.size() - done);
        require(count > 0, "a file of the reference cannot be written");
        done += static_cast<std::size_t>(count);
    }
    ::close(file);
}

/// Calls `read` on a file, into memory that was written to before.
void read_plain(std::string const& path, std::vector<std::byte>& bytes) {
    int const file = ::open(path.c_str(), O_RDONLY);
    require(file >= 0, "a file of the reference cannot be opened");
    for (std::size_t done = 0; done < bytes.size();) {
        auto const count = ::read(file, bytes.data() + done, bytes.size() - done);
        require(count > 0, "a file of the reference cannot be read");
        done += static_cast<std::size_t>(count);
    }
    ::close(file);
}

/// Copies a file, or all files of a directory, by large writes, as savers do. The size of the
/// writes decides the size of the file's pages in memory.
void copy_all(std::filesystem::path const& from, std::filesystem::path const& to) {
    if (std::filesystem::is_directory(from))
        std::filesystem::create_directory(to);
    for (std::filesystem::path const& file : ::bench::files_at(from)) {
        std::vector<std::byte> bytes(std::filesystem::file_size(file));
        read_plain(file, bytes);
        write_plain(file == from ? to : to / std::filesystem::relative(file, from), bytes);
    }
}

using action = std::function<void()>;

/// One of two actions that are measured in turn.
struct contestant {
    action work;
    action before = [] {}; ///< an action before each run, which is not measured
};

struct contest {
    std::string name;
    std::string against;
    contestant ours;
    contestant reference;
};

class storage_bench {
public:
    storage_bench(mpi_group const& world, boost::mpi::communicator const& ranks,
                  bench_options const& chosen)
        : world_(world), ranks_(ranks), chosen_(chosen) {}

    void run() {
        if (ranks_.rank() == 0)
            std::printf(
                "case              ranks  where   median ms   ratio  against      extra MiB\n");
        for (std::string const& where : chosen_.where)
            run_in(where,
                   (where == "memory" ? chosen_.memory : chosen_.disk) + "/reshard-bench-storage");
        if (ranks_.rank() == 0 && !chosen_.json.empty())
            ::bench::write_json_list(chosen_.json, lines_);
    }

private:
    bool is_asked(std::string const& name) const {
        auto const& cases = chosen_.cases;
        return cases.empty() || std::count(cases.begin(), cases.end(), name) > 0;
    }

    void run_in(std::string const& where, std::string const& directory) {
        directory_ = directory;
        on_first([&] {
            std::filesystem::remove_all(directory_);
            std::filesystem::create_directory(directory_);
        });
        saves(where);
        asynchronous(where);
        huggingface(where);
        saves_of_others(where);
        loads(where);
        others(where);
        if (where == "memory")
            opens(where);
        on_first([&] { std::filesystem::remove_all(directory_); });
    }

    void on_first(action const& work) {
        ranks_.barrier();
        if (ranks_.rank() == 0)
            work();
        ranks_.barrier();
    }

    std::string path(std::string const& name) const { return directory_ + "/" + name; }
    std::string own_path(std::string const& name) const {
        return path(name + std::to_string(ranks_.rank()));
    }
    matrices model() const { return model_of(chosen_.keys, chosen_.mebibytes); }
    tensors part(spread spread) const { return {model(), spread, ranks_.rank(), ranks_.size()}; }

    action removing(std::string const& name) {
        return [this, name] { on_first([&] { std::filesystem::remove_all(path(name)); }); };
    }

    void saves(std::string const& where) {
        if (!is_asked("save") && !is_asked("save_digests"))
            return;
        tensors have = part(spread::rows);
        for (bool const digests : {false, true}) {
            save_options options;
            options.writing.sync = false;
            options.writing.digests = digests;
            compare(where, {digests ? "save_digests" : "save",
                            "write",
                            {[&] { save(world_, have.views(), path("saved"), options); },
                             removing("saved")},
                            {[&] { write_plain(own_path("plain"), have.memory()); },
                             [&] { std::filesystem::remove(own_path("plain")); }}});
            std::filesystem::remove(own_path("plain"));
            removing("saved")();
        }
    }

    /// Measures how long the job waits for a save in the background, beside a copy of its tensors.
    void asynchronous(std::string const& where) {
        if (!is_asked("async"))
            return;
        save_options options;
        options.writing.sync = false;
        tensors have = part(spread::rows);
        tensors copy = part(spread::rows);
        async_saver saver;
        std::shared_future<save_report> last;
        auto const end_last = [&] {
            if (last.valid())
                last.get();
            removing("saved")();
        };
        compare(where,
                {"async",
                 "copy",
                 {[&] { last = save_async(world_, have.views(), path("saved"), saver, options); },
                  end_last},
                 {[&] {
                     std::memcpy(copy.memory().data(), have.memory().data(), copy.memory().size());
                 }}});
        end_last();
    }

    void huggingface(std::string const& where) {
        if (!is_asked("save_huggingface") || ranks_.size() == 1)
            return;
        save_options options{.form = save_form::huggingface};
        options.writing.sync = false;
        options.writing.most_file_bytes =
            model().bytes() / 8; // one process writes a file at a time
        tensors have = part(spread::rows);
        tensors tensors(model(), spread::whole, 0, ranks_.rank() == 0 ? 1 : 0);
        compare(where,
                {"save_huggingface",
                 "1 rank",
                 {[&] { save(world_, have.views(), path("saved"), options); }, removing("saved")},
                 {[&] {
                      if (ranks_.rank() == 0)
                          save(solo(), tensors.views(), path("alone"), options);
                  },
                  removing("alone")}});
        removing("saved")();
        removing("alone")();
    }

    /// Measures saves in the formats of other libraries, beside a save in our format without
    /// digests.
    void saves_of_others(std::string const& where) {
        for (std::string const format : {"torch_dcp", "megatron_torch_dist", "paddle_flex"}) {
            if (!is_asked("save_" + format))
                continue;
            save_options ours;
            ours.writing.sync = ours.writing.digests = false;
            save_options options = ours;
            options.writing.format = format;
            tensors have = part(spread::rows);
            compare(
                where,
                {"save_" + format,
                 "save",
                 {[&] { save(world_, have.views(), path("saved"), options); }, removing("saved")},
                 {[&] { save(world_, have.views(), path("ours"), ours); }, removing("ours")}});
            removing("saved")();
            removing("ours")();
        }
    }

    void loads(std::string const& where) {
        struct load_case {
            char const* name;
            spread spreading;
            bool verify;
            bool mapped;
            file_reads reads = file_reads::chosen;
        };
        load_case const full_case[] = {
            {"load", spread::rows, false, false},
            {"load_verified", spread::rows, true, false},
            {"load_mapped", spread::rows, false, true},
            {"load_columns", spread::columns, false, false},
            {"load_columns_once", spread::columns, false, false, file_reads::once},
            {"load_columns_verified", spread::columns, true, false},
            {"load_transposed", spread::transposed, true, false}};
        if (std::none_of(
                std::begin(full_case), std::end(full_case),
                [&](load_case const& current_case) { return is_asked(current_case.name); }))
            return;
        {
            tensors have = part(spread::rows);
            save_options options;
            options.writing.sync = false;
            save(world_, have.views(), path("saved"), options);
        }
        for (load_case const& element : full_case)
            if (is_asked(element.name))
                load_as(where, element.name, element.spreading, element.verify, element.mapped,
                        element.reads);
        removing("saved")();
    }

    /// The file that this rank has saved.
    std::string own_file() const {
        char name[64];
        std::snprintf(name, sizeof name, "saved/shard-%05d-model-00001-of-00001.safetensors",
                      ranks_.rank() + 1);
        return path(name);
    }

    void load_as(std::string const& where, std::string const& name, spread spread, bool verify,
                 bool mapped, file_reads reads) {
        tensors want = part(spread);
        tensors plain = part(spread::rows);
        options asked;
        asked.verify = verify;
        asked.reads = reads;
        if (spread == spread::transposed)
            asked.program = [](catalog const& source, catalog const*) {
                mapping turned(source);
                for (catalog_entry const& entry : source)
                    turned.define(entry.key,
                                  transpose(turned.source(entry.key, entry.shape, entry.dtype)));
                return turned;
            };
        checkpoint const opened = open_checkpoint(world_, path("saved"), {.mapped = mapped});
        compare(where, {name,
                        "read",
                        {[&] {
                            load(world_,
                                 mapped ? opened
                                        : static_cast<checkpoint const&>(
                                              open_checkpoint(world_, path("saved"))),
                                 want.views(), asked);
                        }},
                        {[&] { read_plain(own_file(), plain.memory()); }}});
    }

    /// Measures loads of checkpoints in the formats of other libraries.
    void others(std::string const& where) {
        matrices many = model();
        if (many.dtype == data_type::bf16) // NumPy has no bf16
            many.dtype = data_type::f16;
        matrices const matrices{1, {many.count * many.shape[0], many.shape[1]}, many.dtype};
        for (char const* const format :
             {"torch_dcp", "megatron_torch_dist", "paddle_flex", "torch_save", "npz", "npy"})
            if (is_asked(format))
                write_other(where, format, format == std::string("npy") ? matrices : many);
        if (is_asked("gguf"))
            write_gguf(where, many);
        for (std::string const& named : chosen_.checkpoints)
            bring_other(where, named.substr(0, named.find('=')), named.substr(named.find('=') + 1));
    }

    void write_other(std::string const& where, std::string const& format,
                     matrices const& matrices) {
        std::string const ending = format.starts_with("np") ? "." + format
                                   : format == "torch_save" ? ".pt"
                                                            : "";
        tensors have(matrices, spread::rows, ranks_.rank(), ranks_.size());
        save_options options;
        options.writing.sync = false;
        options.writing.format = format;
        options.form =
            ending.empty() ? save_form::sharded : save_form::huggingface; // whole tensors
        save(world_, have.views(), path("other" + ending), options);
        load_other(where, format, path("other" + ending), &have);
    }

    void write_gguf(std::string const& where, matrices const& matrices) {
        on_first([&] {
            tensors tensors(matrices, spread::whole, 0, 1);
            ::bench::gguf_file(path("other.gguf")).write(tensors.shards(), tensors.memory());
        });
        load_other(where, "gguf", path("other.gguf"));
    }

    /// Measures loads of an existing checkpoint, from a copy of it in the same directory as ours.
    void bring_other(std::string const& where, std::string const& name,
                     std::filesystem::path const& from) {
        if (!is_asked(name))
            return;
        std::string const copy = path("other" + from.extension().string());
        on_first([&] { copy_all(from, copy); });
        load_other(where, name, copy);
    }

    /// Loads the checkpoint `other` by rows, beside the same tensors in our format, and beside a
    /// copy of its files.
    ///
    /// \param had the tensors in the checkpoint, if they are known; else null
    void load_other(std::string const& where, std::string const& name, std::string const& other,
                    tensors* had = nullptr) {
        tensors want(
            rows_of(catalog_of(open_checkpoint(world_, other)), ranks_.rank(), ranks_.size()));
        contestant const their_contestant{
            [&] { load(world_, open_checkpoint(world_, other), want.views()); }};
        their_contestant.work();
        require(!had || want.memory() == had->memory(), "a load returned wrong elements");
        save_options save_options;
        save_options.writing.sync = false;
        save(world_, want.views(), path("saved"), save_options);
        for (bool const verify : {false, true}) {
            options asked;
            asked.verify = verify;
            compare(where, {name, verify ? "verified" : "load", their_contestant, {[&] {
                                load(world_, open_checkpoint(world_, path("saved")), want.views(),
                                     asked);
                            }}});
        }
        removing("saved")();
        std::uint64_t const size = want.memory().size();
        std::uint64_t const before = boost::mpi::scan(ranks_, size, std::plus<>()) - size;
        contestant const copy{[&] { ::bench::copy_mapped(other, before, want.memory()); }};
        contestant const mapped{
            [&] { load(world_, open_checkpoint(world_, other, {.mapped = true}), want.views()); }};
        compare(where, {name, "mmap", their_contestant, copy});
        compare(where, {name, "mmap", mapped, copy}, "_mapped");
        require(!had || want.memory() == had->memory(), "a load returned wrong elements");
        on_first([&] { std::filesystem::remove_all(other); });
    }

    void opens(std::string const& where) {
        for (index_t const count : {50'000, 1'000'000}) {
            std::string const name = "open_" + std::to_string(count);
            if (!is_asked(name))
                continue;
            on_first([&] {
                matrices const small{count, {1}, data_type::bf16};
                tensors have(small, spread::whole, 0, 1);
                save_options options{.form = save_form::huggingface};
                options.writing.digests = false;
                save(solo(), have.views(), path("keys"), options);
            });
            std::string const file = path("keys/model.safetensors");
            std::vector<std::byte> plain(std::filesystem::file_size(file));
            compare(where, {name,
                            "read",
                            {[&] {
                                if (ranks_.rank() == 0)
                                    checkpoint const opened(path("keys"));
                            }},
                            {[&] { read_plain(file, plain); }}});
            removing("keys")();
        }
    }

    double seconds(contestant const& contestant) {
        contestant.before();
        ranks_.barrier();
        ::bench::stopwatch const watch;
        ::bench::processor_stopwatch const processor;
        contestant.work();
        double const took = chosen_.clock == "processor" ? processor.seconds() : watch.seconds();
        return boost::mpi::all_reduce(ranks_, took, boost::mpi::maximum<double>());
    }

    static double median(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }

    /// \param ending what follows the name of the case in its lines
    void compare(std::string const& where, contest both, char const* ending = "") {
        if (!is_asked(both.name))
            return;
        both.name += ending;
        std::vector<double> ours, reference;
        seconds(both.reference);
        both.ours.before();
        ::bench::peak_memory const memory;
        both.ours.work();
        auto const extra = boost::mpi::all_reduce(ranks_, memory.bytes() - memory.shared_bytes(),
                                                  boost::mpi::maximum<std::int64_t>());
        for (int i = 0; i < chosen_.repeat; ++i) {
            reference.push_back(seconds(both.reference));
            ours.push_back(seconds(both.ours));
        }
        if (ranks_.rank() == 0)
            report(where, both, median(ours), median(reference), extra);
    }

    void report(std::string const& where, contest const& both, double ours, double reference,
                std::int64_t extra) {
        std::printf("%-22s %d  %-6s  %9.2f  %6.3f  %-8s  %9.1f\n", both.name.c_str(), ranks_.size(),
                    where.c_str(), ours * 1e3, reference / ours, both.against.c_str(),
                    static_cast<double>(extra) / (1 << 20));
        std::fflush(stdout);
        lines_.push_back(::bench::json_object()
                             .add("case", both.name)
                             .add("ranks", ranks_.size())
                             .add("where", where)
                             .add("keys", chosen_.keys)
                             .add("median_s", ours)
                             .add("ratio", reference / ours)
                             .add("against", both.against)
                             .add("peak_extra_bytes", extra)
                             .text());
    }

    mpi_group const& world_;
    boost::mpi::communicator const& ranks_;
    bench_options const& chosen_;
    std::string directory_;
    std::vector<std::string> lines_;
};

} // namespace

int main(int count, char** words) {
    boost::mpi::environment const environment(count, words);
    boost::mpi::communicator const ranks;
    bench_options chosen;
    CLI::App app("Measures how long checkpoints take, compared with write and read of the same "
                 "bytes.",
                 "storage");
    app.add_option("--case", chosen.cases, "Which cases; all, if not given")->delimiter(',');
    app.add_option("--where", chosen.where, "memory, disk, or both")
        ->delimiter(',')
        ->check(CLI::IsMember({"memory", "disk"}));
    app.add_option("--memory", chosen.memory, "A directory in memory");
    app.add_option("--disk", chosen.disk, "A directory on a disk");
    app.add_option("--mebibytes", chosen.mebibytes, "The size of the model");
    app.add_option("--keys", chosen.keys, "many: 291 of bf16; few: 16 of f32");
    app.add_option("--checkpoint", chosen.checkpoints,
                   "NAME=PATH, a checkpoint of any format: a case of that name loads it");
    app.add_option("--repeat", chosen.repeat, "Repetitions");
    app.add_option("--clock", chosen.clock, "wall, or processor: the processor time of a rank")
        ->check(CLI::IsMember({"wall", "processor"}));
    app.add_option("--json", chosen.json, "Write the numbers to this file, too");
    app.footer("Example:\n  mpiexec -n 2 storage --case save,load --mebibytes 256");
    CLI11_PARSE(app, count, words);
    try {
        storage_bench(mpi_group(ranks), ranks, chosen).run();
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "storage: %s\n", problem.what());
        boost::mpi::environment::abort(1);
    }
}
