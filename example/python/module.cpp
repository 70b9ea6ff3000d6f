// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/dlpack.hpp>
#include <reshard/adapt/pybind11.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/version.hpp>

#include "command.hpp"

#include <boost/mpi/communicator.hpp>

#include <pybind11/stl.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The Python module: commands of the tool, and `redistribute`.

namespace {

namespace py = pybind11;
using namespace reshard;

/// The processes of the job, from the first call until `close`: MPI starts only once.
std::unique_ptr<tool::processes>& processes() {
    static std::unique_ptr<tool::processes> started;
    return started;
}

using tool::kept_lines;

/// A mistake of this rank, in words for the other ranks.
std::string named(group auto const& world, std::string const& mistake) {
    return world.size() > 1 ? detail::words("rank ", world.rank(), ": ", mistake) : mistake;
}

/// The answer of a command, and its other output. Both are the same on all processes, except that
/// before an error only the first process knows the output.
struct answer {
    std::string text;
    std::vector<kept_lines::line> said;
    bool is_first = false;
    detail::local_error problem;

    void check() const {
        if (problem)
            throw error(*problem);
    }
};

/// The lines of the first process, which prints all messages of a command.
std::vector<kept_lines::line> lines_of_first(tool::processes const& world,
                                             std::vector<kept_lines::line> const& own_lines) {
    std::string text;
    for (auto const& [own_line, line] : own_lines)
        text += own_line + '\0' + line + '\0';
    std::istringstream istringstream(world.all_gather(text).front());
    std::vector<kept_lines::line> lines;
    for (std::string noun, line;
         std::getline(istringstream, noun, '\0') && std::getline(istringstream, line, '\0');)
        lines.emplace_back(noun, line);
    return lines;
}

/// \throws error as the command, or with `mistake` if that is not empty
std::string output_of(tool::processes const& world, std::vector<std::string> words,
                      std::string const& mistake) {
    if (!mistake.empty())
        agree(world, error(errc::usage, named(world, mistake)));
    words.insert(words.begin(), "reshard");
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    auto const match = tool::run_command(world, static_cast<int>(words.size()), arguments.data());
    return world.all_gather(match.text).front(); // the first process has the text
}

answer run_in(tool::processes const& world, std::vector<std::string> const& words,
              std::string const& mistake) {
    kept_lines const kept;
    answer answer{{}, {}, world.rank() == 0, {}};
    answer.problem = detail::attempt([&] { answer.text = output_of(world, words, mistake); });
    std::vector<kept_lines::line> own = kept.lines();
    answer.said = answer.problem ? std::move(own) : lines_of_first(world, own);
    return answer;
}

/// Runs a command on all processes of the job.
answer run_everywhere(std::vector<std::string> const& words, std::string const& mistake) {
    py::gil_scoped_release const others_may_run;
    if (!processes())
        processes() = std::make_unique<tool::processes>();
    return run_in(*processes(), words, mistake);
}

/// The group of a communicator; the caller keeps ownership of the communicator.
mpi_group group_at(std::uintptr_t communicator) {
    MPI_Comm const value = *reinterpret_cast<MPI_Comm const*>(communicator);
    return mpi_group(boost::mpi::communicator(value, boost::mpi::comm_attach));
}

/// Runs a command on the processes of a communicator, or on this process alone.
answer run(std::optional<std::uintptr_t> communicator, std::vector<std::string> const& words,
           std::string const& mistake) {
    py::gil_scoped_release const others_may_run;
    return run_in(communicator ? tool::processes(group_at(*communicator)) : tool::processes(solo()),
                  words, mistake);
}

/// For each option of a command: its name, whether it is a flag, and its description.
std::vector<std::tuple<std::string, bool, std::string>> options_of(std::string const& command) {
    std::vector<std::tuple<std::string, bool, std::string>> tuples;
    for (tool::option_text const& text : tool::options_of(command))
        tuples.emplace_back(text.name, text.is_flag, text.description);
    return tuples;
}

/// A tensor of another framework, from the capsule that the tensor's `__dlpack__` returns.
///
/// \throws error for a capsule that was already consumed, or does not contain a tensor
adapt::dlpack_tensor tensor_of(py::capsule lent) {
    std::string const name = lent.name() ? lent.name() : "";
    if (name == "dltensor_versioned") {
        auto* const managed = lent.get_pointer<adapt::dlpack::managed_versioned>();
        lent.set_name("used_dltensor_versioned");
        return adapt::dlpack_tensor(managed);
    }
    if (name != "dltensor")
        fail(errc::usage, "__dlpack__ returned a capsule named '", name,
             "', not 'dltensor' or 'dltensor_versioned'");
    auto* const managed = lent.get_pointer<adapt::dlpack::managed>();
    lent.set_name("used_dltensor");
    return adapt::dlpack_tensor(managed);
}

/// A shard as Python passes it: key, shape of the global tensor, offset, and a NumPy array or a
/// DLPack capsule. Without shape and offset the shard is the global tensor.
using given_shard = std::tuple<std::string, std::optional<std::vector<index_t>>,
                               std::optional<std::vector<index_t>>, py::object>;

index_vector vector_of(std::vector<index_t> const& numbers) {
    return index_vector(numbers.begin(), numbers.end());
}

bool is_read_only(py::array const& tensor) { return !tensor.writeable(); }
bool is_read_only(adapt::dlpack_tensor const& tensor) { return tensor.is_read_only(); }

template <class StateDict, class Tensor>
void add(StateDict& tensors, given_shard const& shard, Tensor tensor) {
    auto const& [key, shape, offset, elements] = shard;
    auto const view = reshard::view(std::as_const(tensor));
    if (std::same_as<StateDict, state_dict> && is_read_only(tensor))
        fail(errc::usage, "a tensor of ", view.dtype, " ", view.shape,
             " is read-only, but the tensors of `want` are written to");
    index_vector const whole_shape = shape ? vector_of(*shape) : view.shape;
    index_vector const first = vector_of(offset.value_or(std::vector<index_t>(whole_shape.size())));
    box const region{first, view.shape};
    tensors.add(shard_descriptor{key, view.dtype, whole_shape, region, {}}, tensor);
}

/// \throws error that names the key
template <class StateDict>
void add(StateDict& tensors, given_shard const& shard) try {
    py::object const& elements = std::get<3>(shard);
    if (py::isinstance<py::array>(elements))
        add(tensors, shard, elements.cast<py::array>());
    else
        add(tensors, shard, tensor_of(elements.cast<py::capsule>()));
} catch (error const& problem) {
    throw error(problem.code(), detail::words("'", std::get<0>(shard), "': ", problem.what()));
}

template <class StateDict>
StateDict state_of(std::vector<given_shard> const& shards) {
    StateDict tensors;
    for (given_shard const& shard : shards)
        add(tensors, shard);
    tensors.check();
    return tensors;
}

/// Tensors and a program as the library takes them, and the warnings of the program. Ranks on
/// several nodes relay bytes if that is faster.
struct request {
    const_state_dict have;
    state_dict want;
    options call_options{.between_nodes = relays()};
    std::vector<std::string> warnings;
};

/// The local work of one rank before the first collective: its errors are agreed.
detail::local_error understand(request& asked, std::vector<given_shard> const& have,
                               std::vector<given_shard> const& want,
                               std::pair<std::string, std::string> const& program) {
    return detail::attempt([&] {
        asked.have = state_of<const_state_dict>(have);
        asked.want = state_of<state_dict>(want);
        if (program.first.empty())
            return;
        asked.call_options.program = aoa::with_findings(
            aoa::parse(program.first, program.second),
            [&asked](aoa::program const& expanded, aoa::finding const& finding) {
                if (finding.level == aoa::severity::warning)
                    asked.warnings.push_back(aoa::describe_as(expanded, finding, ""));
            });
    });
}

/// Treats the program's warnings, which occur on all ranks, as errors.
void refuse_warnings(request& asked) {
    if (asked.call_options.program.is_by_name())
        return;
    asked.call_options.program = [&asked, lower = *asked.call_options.program.made()](
                                     catalog const& source, catalog const* target) {
        mapping mapping = lower(source, target);
        if (asked.warnings.empty())
            return mapping;
        std::string text;
        for (std::string const& warning : asked.warnings)
            text += "\n" + warning;
        fail(errc::unsupported, "the program has ",
             detail::counted(asked.warnings.size(), "warning"),
             ", which strict_warnings=True refuses:", text);
    };
}

/// Moves the tensors; a mistake of this rank is thrown on all ranks.
///
/// Other threads of Python run meanwhile. The caller frees the references to Python objects.
template <class Group>
void run_together(Group const& world, request const& asked, detail::local_error const& problem) {
    py::gil_scoped_release const others_may_run;
    if (!problem)
        return reshard::redistribute(world, asked.have, asked.want, asked.call_options);
    error const received_error(problem->code(), named(world, problem->what()));
    const_state_dict mistaken;
    mistaken.add([&]() -> shard_descriptor { throw error(received_error); }, const_tensor_view{});
    reshard::redistribute(world, mistaken, state_dict(), {.between_nodes = relays()});
}

/// \param communicator the address of an MPI_Comm; if it is missing, this process is the group
void run_together(std::optional<std::uintptr_t> communicator, request const& asked,
                  detail::local_error const& problem) {
    if (!communicator)
        return run_together(solo(), asked, problem);
    run_together(group_at(*communicator), asked, problem);
}

/// Moves the tensors, and returns the warnings of the program.
std::vector<std::string> move_tensors(std::optional<std::uintptr_t> communicator,
                                      std::vector<given_shard> const& have,
                                      std::vector<given_shard> const& want,
                                      std::pair<std::string, std::string> const& program,
                                      bool strict_warnings) {
    request asked;
    detail::local_error const problem = understand(asked, have, want, program);
    if (strict_warnings)
        refuse_warnings(asked);
    run_together(communicator, asked, problem);
    return asked.warnings;
}

/// Takes the place of `redistribute` on a rank whose arguments are wrong, and reports the mistake.
void refuse(std::optional<std::uintptr_t> communicator, std::string const& text) {
    run_together(communicator, {}, error(errc::usage, text));
}

} // namespace

PYBIND11_MODULE(_reshard, module) {
#if PYBIND11_VERSION_HEX < 0x020C0000
    // NumPy 2 changed the memory layout of array objects; older pybind11 does not know it.
    if (py::module_::import("numpy").attr("__version__").cast<std::string>()[0] != '1')
        throw py::import_error(
            "this module was built with a pybind11 older than 2.12, which cannot read arrays "
            "of NumPy 2; build it with a newer pybind11, or use NumPy 1");
#endif
    module.attr("version") = std::to_string(RESHARD_VERSION_MAJOR) + "." +
                             std::to_string(RESHARD_VERSION_MINOR) + "." +
                             std::to_string(RESHARD_VERSION_PATCH);
#ifdef OPEN_MPI
    module.attr("mpi") = "Open MPI";
#else
    module.attr("mpi") = py::none();
#endif
    static py::exception<error> const refused(module, "Error", PyExc_RuntimeError);
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (error const& problem) {
            py::object const raised = py::reinterpret_borrow<py::object>(refused)(problem.what());
            raised.attr("code") = std::string(name(problem.code()));
            PyErr_SetObject(refused.ptr(), raised.ptr());
        }
    });
    py::class_<answer>(module, "Answer")
        .def_readonly("text", &answer::text)
        .def_readonly("said", &answer::said)
        .def_readonly("is_first", &answer::is_first)
        .def("check", &answer::check);
    module.def("run", &run);
    module.def("run_everywhere", &run_everywhere);
    module.def("options_of", &options_of);
    module.def("redistribute", &move_tensors);
    module.def("refuse", &refuse);
    module.def("close", [] { processes().reset(); });
}
