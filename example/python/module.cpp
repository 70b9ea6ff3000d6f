// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/dlpack.hpp>
#include <reshard/adapt/pybind11.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/version.hpp>

#include "command.hpp"

#include <boost/mpi/communicator.hpp>

#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// What Python sees of the library: commands of the tool, and `redistribute`.

namespace {

namespace py = pybind11;
using namespace reshard;

/// The processes of the job, from the first call on until `close`: MPI starts once.
std::unique_ptr<tool::processes>& processes() {
    static std::unique_ptr<tool::processes> started;
    return started;
}

/// Exit status, and what the command prints.
std::pair<int, std::string> run(std::vector<std::string> words) {
    py::gil_scoped_release const others_may_run;
    if (!processes())
        processes() = std::make_unique<tool::processes>();
    words.insert(words.begin(), "reshard");
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    tool::outcome const found =
        tool::run_command(*processes(), static_cast<int>(words.size()), arguments.data());
    return {found.status, processes()->all_gather(found.text).front()}; // the first one has it
}

/// A tensor of another framework, from the capsule that its `__dlpack__` gives.
adapt::dlpack_tensor tensor_of(py::capsule lent) {
    std::string const name = lent.name();
    if (name == "dltensor_versioned") {
        auto* const managed = lent.get_pointer<adapt::dlpack::managed_versioned>();
        lent.set_name("used_dltensor_versioned");
        return adapt::dlpack_tensor(managed);
    }
    auto* const managed = lent.get_pointer<adapt::dlpack::managed>();
    lent.set_name("used_dltensor");
    return adapt::dlpack_tensor(managed);
}

/// A shard as Python gives it: key, whole shape, offset, and a NumPy array or a DLPack capsule.
using given_shard = std::tuple<std::string, std::vector<index_t>, std::vector<index_t>, py::object>;

index_vector vector_of(std::vector<index_t> const& numbers) {
    return index_vector(numbers.begin(), numbers.end());
}

/// A tensor that one rank cannot use is an error of `redistribute`, on all ranks.
template <class StateDict, class Tensor>
void add(StateDict& tensors, given_shard const& given, Tensor tensor) {
    auto const describe = [&] {
        auto const& [key, shape, offset, elements] = given;
        auto const seen = reshard::view(std::as_const(tensor));
        box const region{vector_of(offset), seen.shape};
        return shard_descriptor{key, seen.dtype, vector_of(shape), region, {}};
    };
    tensors.add(describe, tensor);
}

template <class StateDict>
StateDict state_of(std::vector<given_shard> const& given) {
    StateDict tensors;
    for (given_shard const& one : given) {
        py::object const& elements = std::get<3>(one);
        if (py::isinstance<py::array>(elements))
            add(tensors, one, elements.cast<py::array>());
        else
            add(tensors, one, tensor_of(elements.cast<py::capsule>()));
    }
    return tensors;
}

/// \param communicator the address of an MPI_Comm, or nothing: this process alone
void move_tensors(std::optional<std::uintptr_t> communicator, std::vector<given_shard> const& have,
                  std::vector<given_shard> const& want, std::string const& program,
                  std::string const& file) {
    auto const source = state_of<const_state_dict>(have);
    auto const target = state_of<state_dict>(want);
    options how;
    if (!program.empty())
        how.program = aoa::parse(program, file);
    if (!communicator)
        return reshard::redistribute(solo(), source, target, how);
    MPI_Comm const given = *reinterpret_cast<MPI_Comm const*>(*communicator);
    reshard::redistribute(mpi_group(boost::mpi::communicator(given, boost::mpi::comm_attach)),
                          source, target, how);
}

} // namespace

PYBIND11_MODULE(_reshard, module) {
#if PYBIND11_VERSION_HEX < 0x020C0000
    // Since version 2 NumPy lays out its array objects otherwise, which older ones do not know.
    if (py::module_::import("numpy").attr("__version__").cast<std::string>()[0] != '1')
        throw py::import_error(
            "this module was built with a pybind11 before 2.12, which cannot read "
            "arrays of NumPy 2; build it with a newer one, or use NumPy 1");
#endif
    module.attr("version") = std::to_string(RESHARD_VERSION_MAJOR) + "." +
                             std::to_string(RESHARD_VERSION_MINOR) + "." +
                             std::to_string(RESHARD_VERSION_PATCH);
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
    module.def("run", &run);
    module.def("redistribute", &move_tensors);
    module.def("close", [] { processes().reset(); });
}
