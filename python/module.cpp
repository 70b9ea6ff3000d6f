// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/dlpack.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/cuda.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/target_files.hpp>

#include "binding.hpp"
#include "command.hpp"
#include "cuda/calls.hpp"

#include <mpi.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The Python module: commands of the tool, `redistribute`, and checkpoints as tensors.

namespace {

namespace nb = nanobind;
using namespace reshard;

/// The processes of the job, from the first call until `close`: MPI starts only once.
std::unique_ptr<tool::processes>& processes() {
    static std::unique_ptr<tool::processes> started;
    return started;
}

using tool::answer;
using tool::given_communicator;

/// A mistake that Python found, if any.
detail::local_error mistake_of(std::string const& text) {
    if (text.empty())
        return std::nullopt;
    return error(errc::usage, text);
}

/// Runs a command on all processes of the job.
answer run_everywhere(std::vector<std::string> const& words, std::string const& mistake) {
    if (!processes()) // by one thread: the interpreter is locked
        processes() = std::make_unique<tool::processes>();
    nb::gil_scoped_release const others_may_run;
    return tool::run_words(*processes(), words, mistake_of(mistake));
}

/// Runs a command on the processes of a communicator, or on this process alone.
answer run(given_communicator const& communicator, std::vector<std::string> const& words,
           std::string const& mistake) {
    nb::gil_scoped_release const others_may_run;
    return tool::run_words(communicator ? tool::processes(tool::group_of(*communicator))
                                        : tool::processes(solo()),
                           words, mistake_of(mistake));
}

/// The command-line tool; returns its exit status.
int run_tool(std::vector<nb::bytes> const& given) {
    std::vector<std::string> words;
    for (nb::bytes const& word : given)
        words.emplace_back(word.c_str(), word.size());
    nb::gil_scoped_release const others_may_run;
    auto arguments = tool::pointers_to(words);
    return tool::run_tool(static_cast<int>(words.size()), arguments.data());
}

/// For each option of a command: its name, whether it is a flag, and its description.
std::vector<std::tuple<std::string, bool, std::string>> options_of(std::string const& command) {
    std::vector<std::tuple<std::string, bool, std::string>> tuples;
    for (tool::option_text const& text : tool::options_of(command))
        tuples.emplace_back(text.name, text.is_flag, text.description);
    return tuples;
}

/// An array as Python describes it: address, shape, strides in bytes, bytes of an element, name of
/// the data type, whether it is read-only, and the array, which lives as long.
using given_array = std::tuple<std::uintptr_t, std::vector<index_t>, std::vector<index_t>, index_t,
                               std::string, bool, nb::object>;

/// A shard as Python passes it: key, shape of the global tensor, offset, and a `given_array` or a
/// DLPack capsule. Without shape and offset the shard is the global tensor.
using given_shard = std::tuple<std::string, std::optional<std::vector<index_t>>,
                               std::optional<std::vector<index_t>>, nb::object>;

index_vector vector_of(std::vector<index_t> const& numbers) {
    return index_vector(numbers.begin(), numbers.end());
}

/// The data type that NumPy, or the package ml_dtypes, calls `name`.
data_type dtype_of_numpy(std::string const& name) {
    auto const data_type = data_type_from_name(name == "float8_e8m0fnu" ? "float8_e8m0" : name);
    if (!data_type || bits(*data_type) < 8)
        fail(errc::unsupported, "a NumPy array of '", name,
             "' matches no data type of this library; convert it with astype");
    return *data_type;
}

/// The elements of an array, which the caller keeps until the call returns.
tensor_view view_of(given_array const& array) {
    auto const& [address, shape, byte_strides, item_bytes, type, is_read_only, owner] = array;
    data_type const dtype = dtype_of_numpy(type);
    index_vector strides;
    for (index_t const stride : byte_strides) {
        if (stride % item_bytes != 0)
            fail(errc::unsupported, "axis ", strides.size(), " of an array has a stride of ",
                 stride, " bytes, not a multiple of its element size of ", item_bytes, "; copy it");
        strides.push_back(stride / item_bytes);
    }
    return {reinterpret_cast<void*>(address), dtype, vector_of(shape), strides};
}

template <class Managed>
adapt::dlpack_tensor taken_from(nb::capsule const& lent, char const* used_name) {
    auto* const managed = static_cast<Managed*>(lent.data());
    PyCapsule_SetName(lent.ptr(), used_name);
    return adapt::dlpack_tensor(managed);
}

/// A tensor of another framework, from the capsule that the tensor's `__dlpack__` returns.
///
/// \throws error for a capsule that was already consumed, or does not contain a tensor
adapt::dlpack_tensor tensor_of(nb::capsule const& lent) {
    std::string const name = lent.name() ? lent.name() : "";
    if (name == "dltensor_versioned")
        return taken_from<adapt::dlpack::managed_versioned>(lent, "used_dltensor_versioned");
    if (name != "dltensor")
        fail(errc::usage, "__dlpack__ returned a capsule named '", name,
             "', not 'dltensor' or 'dltensor_versioned'");
    return taken_from<adapt::dlpack::managed>(lent, "used_dltensor");
}

/// Whether a DLPack capsule lends the memory of a GPU of NVIDIA; std::nullopt for another object.
std::optional<bool> is_on_gpu(nb::object const& given) {
    if (!nb::isinstance<nb::capsule>(given))
        return std::nullopt;
    auto const lent = nb::cast<nb::capsule>(given);
    std::string const name = lent.name() ? lent.name() : "";
    auto const is_cuda = [](auto const* managed) {
        return adapt::dlpack::memory_of_device(managed->dl_tensor.device.device_type).kind ==
               memory_space::cuda;
    };
    return name == "dltensor_versioned"
               ? is_cuda(static_cast<adapt::dlpack::managed_versioned const*>(lent.data()))
               : name == "dltensor" &&
                     is_cuda(static_cast<adapt::dlpack::managed const*>(lent.data()));
}

/// The descriptor of a shard with the elements `view`.
shard_descriptor descriptor_of(given_shard const& shard, const_tensor_view const& view) {
    auto const& [key, shape, offset, elements] = shard;
    index_vector const whole_shape = shape ? vector_of(*shape) : view.shape;
    index_vector const first = vector_of(offset.value_or(std::vector<index_t>(whole_shape.size())));
    return {key, view.dtype, whole_shape, box{first, view.shape}, {}};
}

template <class StateDict>
void check_writable(const_tensor_view const& view, bool is_read_only) {
    if (std::same_as<StateDict, state_dict> && is_read_only)
        fail(errc::usage, "a tensor of ", view.dtype, " ", view.shape,
             " is read-only, but the tensors of `want` are written to");
}

/// \throws error that names the key
template <class StateDict>
void add(StateDict& tensors, given_shard const& shard) try {
    nb::object const& elements = std::get<3>(shard);
    if (nb::isinstance<nb::capsule>(elements)) {
        auto const tensor = tensor_of(nb::cast<nb::capsule>(elements));
        check_writable<StateDict>(tensor.elements(), tensor.is_read_only());
        tensors.add(descriptor_of(shard, tensor.elements()), adapt::dlpack_tensor(tensor));
        return;
    }
    auto const array = nb::cast<given_array>(elements);
    tensor_view const view = view_of(array);
    check_writable<StateDict>(view, std::get<5>(array));
    tensors.add(descriptor_of(shard, view), view);
} catch (error const& problem) {
    throw error(problem.code(), detail::words("'", std::get<0>(shard), "': ", problem.what()));
}

template <class StateDict>
StateDict state_of(std::vector<given_shard> const& shards) {
    StateDict tensors;
    for (given_shard const& shard : shards)
        add(tensors, shard);
    return tensors;
}

/// The GPUs of a call. Calls use them one after the other, since a device keeps pinned memory.
class used_gpus {
public:
    /// Checks tensors, and returns a device for each GPU that they are on.
    ///
    /// \throws error for a tensor that `add` refused; with errc::unsupported, naming a key, for
    ///         tensors on other devices, and for GPUs that the machine lacks
    detail::device_list of(auto const&... tensors) {
        for (auto const& problem : {tensors.first_error()...})
            if (problem)
                throw error(*problem);
        (add(tensors), ...);
        (tensors.check(detail::spaces_of(devices_)), ...);
        return devices_;
    }

    /// Leaves the devices to later calls. Devices of a call that fails are freed.
    void leave() { std::ranges::move(devices_, std::back_inserter(idle())); }

private:
    /// Never freed: CUDA may end before this module.
    static detail::device_list& idle() {
        static auto& devices = *new detail::device_list();
        return devices;
    }

    static std::shared_ptr<device> take(memory_space memory) {
        auto const match = std::ranges::find(idle(), memory, &device::space);
        if (match == idle().end())
            return cuda(memory.number);
        std::shared_ptr<device> const taken = *match;
        idle().erase(match);
        return taken;
    }

    void add(auto const& tensors);

    detail::device_list devices_;
};

void used_gpus::add(auto const& tensors) {
    for (auto const& [memory, key, elements] : tensors.devices()) {
        if (memory.kind != memory_space::cuda)
            fail(errc::unsupported, "'", key, "': ", detail::counted(elements, "element"),
                 " in the memory of ", memory,
                 ", which Python does not reach; give the tensor in the memory of the processor");
        if (detail::find_device(devices_, memory))
            continue;
        try {
            devices_.push_back(take(memory));
        } catch (error const& problem) {
            throw error(problem.code(), detail::words("'", key, "': ", problem.what()));
        }
    }
}

/// A program that fails if it has added to `warnings`, which all ranks do alike.
any_program without_warnings(any_program const& program, std::vector<std::string> const& warnings) {
    return [&warnings, lower = *program.made()](catalog const& source, catalog const* target) {
        mapping mapping = lower(source, target);
        if (warnings.empty())
            return mapping;
        std::string text;
        for (std::string const& warning : warnings)
            text += "\n" + warning;
        fail(errc::unsupported, "the program has ", detail::counted(warnings.size(), "warning"),
             ", which strict_warnings=True refuses:", text);
    };
}

/// Text and name of a program, and whether its warnings are errors; without text, tensors keep
/// their names.
using given_program = std::tuple<std::string, std::string, bool>;

/// A program that adds its warnings to `warnings`, but for those with the code `left_out`.
any_program program_of(given_program const& given, std::vector<std::string>& warnings,
                       std::string const& left_out = {}) {
    auto const& [text, file, is_strict] = given;
    any_program const program = tool::program_of(text, file, warnings, left_out);
    return is_strict && !text.empty() ? without_warnings(program, warnings) : program;
}

/// Calls `run` with the group of a communicator after all its ranks have agreed that none has made a
/// mistake. Other threads of Python run meanwhile.
void run_agreed(given_communicator const& communicator, detail::local_error const& mistake,
                auto const& run) {
    nb::gil_scoped_release const others_may_run;
    tool::run_agreed(communicator, mistake, run);
}

/// Key, data type and shape of a tensor, and why it cannot be read: empty if it can.
using listed_tensor = std::tuple<std::string, std::string, std::vector<index_t>, std::string>;

std::vector<index_t> list_of(index_vector const& numbers) {
    return std::vector<index_t>(numbers.begin(), numbers.end());
}

std::vector<listed_tensor> tensors_of(checkpoint const& files) {
    std::vector<listed_tensor> tensors;
    for (detail::checkpoint_tensor const& tensor : files.metadata().tensors)
        tensors.emplace_back(tensor.key, tensor.is_read() ? name(tensor.dtype) : "",
                             list_of(tensor.shape), tensor.unread);
    return tensors;
}

/// The tensors that a program makes of a checkpoint; without a program, the tensors of the checkpoint.
catalog results_of(checkpoint const& files, given_program const& program,
                   std::vector<std::string>& warnings) {
    catalog stored = catalog_of(files);
    if (std::get<0>(program).empty())
        return stored;
    return catalog_of((*program_of(program, warnings).made())(stored, nullptr));
}

/// The results of a program, and its warnings.
std::pair<std::vector<listed_tensor>, std::vector<std::string>>
results_listed(checkpoint const& files, given_program const& program) {
    std::vector<listed_tensor> tensors;
    std::vector<std::string> warnings;
    for (catalog_entry const& entry : results_of(files, program, warnings))
        tensors.emplace_back(entry.key, name(entry.dtype), list_of(entry.shape), "");
    return {tensors, warnings};
}

/// A box that a rank has in a layout: key, data type and shape of the tensor, offset, extents.
using listed_box = std::tuple<std::string, std::string, std::vector<index_t>, std::vector<index_t>,
                              std::vector<index_t>>;

/// The boxes of one rank in a layout.
struct boxes_of_rank {
    index_t ranks = 0;
    std::vector<listed_box> boxes;
    std::vector<std::string> notes;
};

void add_blocks(std::vector<listed_box>& boxes, shard_descriptor const& shard) {
    if (shard.flat)
        fail(errc::unsupported, "'", shard.key, "': the layout gives this rank elements ",
             to_string(*shard.flat),
             " of a box in row-major order, which are not a box; convert the "
             "checkpoint to this layout instead");
    for_each_block(shard.region, shard.cycles, [&](box const& block) {
        boxes.emplace_back(shard.key, name(shard.dtype), list_of(shard.global_shape),
                           list_of(block.offset), list_of(block.shape));
    });
}

/// \param text the text of a layout file, and its name
boxes_of_rank boxes_of(checkpoint const& files, given_program const& program,
                       std::pair<std::string, std::string> const& text, index_t rank) {
    std::vector<std::string> repeated_by_load;
    catalog const results = results_of(files, program, repeated_by_load);
    auto const table =
        detail::table_of(detail::parse_layout_file(text.first, text.second), results);
    auto const completed = detail::target_layout(
        table, results, std::get<0>(program).empty() ? "the checkpoint has" : "the program yields");
    boxes_of_rank listed{.ranks = static_cast<index_t>(table.ranks), .boxes = {}, .notes = {}};
    listed.notes.assign(completed.notes.begin(), completed.notes.end());
    for (shard_descriptor const& shard : shards_of(completed.target, rank))
        add_blocks(listed.boxes, shard);
    return listed;
}

/// The address of a tensor's elements in a mapped file, if they are there row by row.
std::optional<std::uintptr_t> address_of(checkpoint const& files, std::string const& key) {
    detail::checkpoint_tensor const* const found = tool::find_tensor(files, key);
    if (!found || !found->is_read() || found->shards.size() != 1)
        return std::nullopt;
    detail::checkpoint_shard const& shard = found->shards.front();
    if (shard.flat || !shard.cycles.empty() || box(shard.region).shape != found->shape)
        return std::nullopt;
    std::byte const* const first = files.mapped(shard);
    return first ? std::optional(reinterpret_cast<std::uintptr_t>(first)) : std::nullopt;
}

/// The code and the sentence of a rank's mistake; no sentence if there is none.
using given_mistake = std::pair<std::string, std::string>;

/// The code with that name; errc::usage for any other text.
errc code_named(std::string const& text) {
    for (int code = 0; code <= static_cast<int>(errc::deadline); ++code)
        if (name(static_cast<errc>(code)) == text)
            return static_cast<errc>(code);
    return errc::usage;
}

/// The mistake that Python found, or else the error of `work`.
detail::local_error first_of(given_mistake const& mistake, auto const& work) {
    if (mistake.second.empty())
        return detail::attempt(work);
    return error(code_named(mistake.first), mistake.second);
}

/// Moves the tensors, and returns the warnings of the program. Ranks on several nodes relay bytes if
/// that is faster.
std::vector<std::string> move_tensors(given_communicator const& communicator,
                                      std::vector<given_shard> const& have,
                                      std::vector<given_shard> const& want,
                                      given_program const& program, given_mistake const& mistake) {
    std::vector<std::string> warnings;
    const_state_dict source;
    state_dict target;
    options chosen{.between_nodes = relays()};
    used_gpus gpus;
    detail::local_error const problem = first_of(mistake, [&] {
        source = state_of<const_state_dict>(have);
        target = state_of<state_dict>(want);
        chosen.devices = gpus.of(source, target);
        chosen.program = program_of(program, warnings);
    });
    run_agreed(communicator, problem,
               [&](auto const& world) { redistribute(world, source, target, chosen); });
    gpus.leave();
    return warnings;
}

/// Fills tensors of this rank from a checkpoint, which only a rank with a mistake lacks. Returns the
/// warnings of the program.
std::vector<std::string> load_tensors(given_communicator const& communicator,
                                      checkpoint const* files,
                                      std::vector<given_shard> const& wanted,
                                      given_program const& program, given_mistake const& mistake) {
    std::vector<std::string> warnings;
    state_dict want;
    options chosen;
    used_gpus gpus;
    detail::local_error const problem = first_of(mistake, [&] {
        want = state_of<state_dict>(wanted);
        chosen.devices = gpus.of(want);
        if (!files->is_mapped()) // mapped files are not read, and cannot be passed on
            chosen.between_nodes = relays();
        chosen.program = program_of(program, warnings, "not_used"); // others may be read later
    });
    run_agreed(communicator, problem,
               [&](auto const& world) { load(world, *files, want, chosen); });
    gpus.leave();
    return warnings;
}

/// Writes tensors of this rank as a part of a checkpoint. Returns the warnings of the program.
std::vector<std::string> save_tensors(given_communicator const& communicator,
                                      std::string const& target,
                                      std::vector<given_shard> const& tensors,
                                      given_program const& program, bool whole, bool force,
                                      given_mistake const& mistake) {
    std::vector<std::string> warnings;
    const_state_dict have;
    save_options chosen;
    used_gpus gpus;
    chosen.form = whole ? save_form::huggingface : save_form::chosen;
    chosen.writing.replace = force;
    detail::local_error const problem = first_of(mistake, [&] {
        have = state_of<const_state_dict>(tensors);
        chosen.devices = gpus.of(have);
        chosen.program = program_of(program, warnings);
    });
    run_agreed(communicator, problem, [&](auto const& world) {
        auto const& notes = save(world, have, target, chosen).notes;
        warnings.insert(warnings.end(), notes.begin(), notes.end());
    });
    gpus.leave();
    return warnings;
}

/// Raises errors of the library as the `Error` of the package.
void translate_errors() {
    nb::object const raised = nb::module_::import_("reshard._error").attr("Error");
    nb::register_exception_translator(
        [](std::exception_ptr const& thrown, void* type) {
            try {
                std::rethrow_exception(thrown);
            } catch (error const& problem) {
                nb::object const value = nb::borrow(static_cast<PyObject*>(type))(
                    problem.what(), std::string(name(problem.code())));
                PyErr_SetObject(static_cast<PyObject*>(type), value.ptr());
            }
        },
        raised.inc_ref().ptr()); // as long as the module
}

} // namespace

NB_MODULE(_reshard, module) {
    nb::set_leak_warnings(false); // threads that run until the end keep objects
    module.attr("version") = tool::version_text();
#ifdef RESHARD_MPI_AT_RUN_TIME
    module.attr("mpi") = nb::none(); // until `use_mpi`
    module.def("use_mpi", [](std::uintptr_t table) {
        portable_mpi::use(*reinterpret_cast<portable_mpi::calls const*>(table));
    });
#elif defined OPEN_MPI
    module.attr("mpi") = "Open MPI";
#elif defined MPICH_VERSION
    module.attr("mpi") = "MPICH";
#else
    module.attr("mpi") = "another MPI";
#endif
    module.def("is_on_gpu", &is_on_gpu);
    module.def("has_cuda", &portable_cuda::has_functions);
    module.def("use_cuda", [](std::uintptr_t table) {
        portable_cuda::use(*reinterpret_cast<portable_cuda::calls const*>(table));
    });
    translate_errors();
    nb::class_<answer>(module, "Answer")
        .def_ro("text", &answer::text)
        .def_ro("said", &answer::said)
        .def_ro("is_first", &answer::is_first)
        .def("check", &answer::check);
    module.def("is_launched", &tool::is_launched);
    module.def("main", &run_tool);
    module.def("run", &run, nb::arg("communicator").none(), nb::arg("words"), nb::arg("mistake"));
    module.def("run_everywhere", &run_everywhere);
    module.def("options_of", &options_of);
    module.def("redistribute", &move_tensors, nb::arg("communicator").none(), nb::arg("have"),
               nb::arg("want"), nb::arg("program"), nb::arg("mistake"));
    nb::class_<checkpoint>(module, "Files")
        .def("__init__",
             [](checkpoint* made, std::string const& path, bool is_mapped) {
                 nb::gil_scoped_release const others_may_run;
                 new (made) checkpoint(path, {.mapped = is_mapped});
             })
        .def("tensors", &tensors_of)
        .def("warnings",
             [](checkpoint const& files) {
                 auto const& texts = files.metadata().warnings;
                 return std::vector<std::string>(texts.begin(), texts.end());
             })
        .def("results", &results_listed, nb::call_guard<nb::gil_scoped_release>())
        .def("boxes", &boxes_of, nb::call_guard<nb::gil_scoped_release>())
        .def("address", &address_of);
    nb::class_<boxes_of_rank>(module, "Boxes")
        .def_ro("ranks", &boxes_of_rank::ranks)
        .def_ro("boxes", &boxes_of_rank::boxes)
        .def_ro("notes", &boxes_of_rank::notes);
    module.def("load", &load_tensors, nb::arg("communicator").none(), nb::arg("files").none(),
               nb::arg("wanted"), nb::arg("program"), nb::arg("mistake"));
    module.def("save", &save_tensors, nb::arg("communicator").none(), nb::arg("target"),
               nb::arg("tensors"), nb::arg("program"), nb::arg("whole"), nb::arg("force"),
               nb::arg("mistake"));
    module.def("close", [] { processes().reset(); });
}
