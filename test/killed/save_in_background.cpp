// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>
#include <reshard/storage/save_async.hpp>

#include <boost/mpi/environment.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Loads a checkpoint, saves it in the background, and changes its tensors as soon as that returns:
/// `save_in_background MODEL TARGET [--form huggingface] [--force] [--trace FIFO FIFO]`.
///
/// Each of several ranks holds some rows. Ends with 0 or, if each rank has said on standard error
/// why not, with 4; with 5 if only some have. With `--trace` each rank first writes `RANK THREAD
/// THREAD` into the first fifo, the threads being the main one and the writing one, and waits until
/// somebody writes to the second.

namespace {

using namespace reshard;

struct request {
    std::filesystem::path model, target;
    save_options how;
    std::string ready, go;
};

request read_words(std::vector<std::string> const& words) {
    request wanted{words.at(0), words.at(1), {}, {}, {}};
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (words[i] == "--force")
            wanted.how.writing.replace = true;
        else if (words[i] == "--form" && words.at(++i) == "huggingface")
            wanted.how.form = save_form::huggingface;
        else if (words[i] == "--base")
            wanted.how.writing.base = words.at(++i);
        else if (words[i] == "--trace") {
            wanted.ready = words.at(++i);
            wanted.go = words.at(++i);
        }
    }
    wanted.how.writing.most_file_bytes = 1'000'000; // the model of faults.py becomes three files
    wanted.how.deadline = 30;
    return wanted;
}

/// The rows of each tensor of a checkpoint that one of `size` ranks holds, and their memory.
class rows {
public:
    rows(checkpoint const& saved, index_t rank, index_t size) {
        for (detail::checkpoint_tensor const& tensor : saved.metadata().tensors) {
            index_vector const global = tensor.shape;
            box region = whole(global);
            region.offset[0] = global[0] * rank / size;
            region.shape[0] = global[0] * (rank + 1) / size - region.offset[0];
            auto const bytes = byte_count(element_count(region.shape), tensor.dtype);
            shards_.push_back({tensor.key, tensor.dtype, global, region, {}});
            memory_.emplace_back(static_cast<std::size_t>(bytes));
        }
    }

    state_dict tensors() {
        state_dict state;
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            index_vector const shape = shards_[i].region.shape;
            state.add(shards_[i], tensor_view{memory_[i].data(), shards_[i].dtype, shape,
                                              row_major_strides(shape)});
        }
        return state;
    }

    void change() {
        for (auto& bytes : memory_)
            bytes.assign(bytes.size(), std::byte{0xEE});
    }

private:
    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<std::byte>> memory_;
};

std::set<std::string> threads() {
    std::set<std::string> all;
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(entry.path().filename().string());
    return all;
}

/// Lets somebody attach to this rank's threads.
void meet_tracer(request const& wanted, int rank, std::set<std::string> const& before) {
    if (wanted.ready.empty())
        return;
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    std::string line = std::to_string(rank) + " " + std::to_string(::getpid());
    for (std::string const& thread : threads())
        if (!before.count(thread))
            line += " " + thread;
    line += "\n";
    auto const go =
        detail::file_descriptor::open(wanted.go, O_RDONLY); // before anybody traces that
    auto const ready = detail::file_descriptor::open(wanted.ready, O_WRONLY);
    static_cast<void>(!::write(ready.number(), line.data(), line.size()));
    char character = 0;
    static_cast<void>(!::read(go.number(), &character, 1));
}

void load_and_save(group auto const& world, request const& wanted, async_saver& saver) {
    auto const saved = [&] {
        if constexpr (requires { world.base(); })
            return open_checkpoint(world, wanted.model);
        else
            return checkpoint(wanted.model);
    }();
    rows held_rows(saved, world.rank(), world.size());
    load(world, saved, held_rows.tensors());
    auto const result = save_async(world, held_rows.tensors(), wanted.target, saver, wanted.how);
    held_rows.change();
    result.get();
}

int run(group auto const& world, request const& wanted) {
    auto const before = threads();
    std::optional<std::string> problem;
    {
        async_saver saver;
        meet_tracer(wanted, world.rank(), before);
        try {
            load_and_save(world, wanted, saver);
        } catch (error const& failed) {
            problem = failed.what();
        }
        auto const failed = world.all_gather(problem ? "x" : "");
        std::size_t count = 0;
        for (std::string const& element : failed)
            count += element.size();
        if (problem)
            std::fprintf(stderr, "%s\n", problem->c_str());
        return count == 0 ? 0 : count == failed.size() ? 4 : 5;
    }
}

} // namespace

int main(int count, char** words) {
    std::signal(SIGXFSZ, SIG_IGN);
    request const wanted = read_words({words + 1, words + count});
    if (!std::getenv("OMPI_COMM_WORLD_SIZE") && !std::getenv("PMI_SIZE"))
        return run(solo(), wanted);
    boost::mpi::environment const environment(count, words);
    return run(mpi_group(boost::mpi::communicator()), wanted);
}
