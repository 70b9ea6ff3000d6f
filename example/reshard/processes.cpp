// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "processes.hpp"

#include <reshard/mpi/mpi_group.hpp>

#include <boost/mpi/environment.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace tool {

struct processes::started_mpi {
    /// Null if the caller has started MPI: it sets the error handler of all processes.
    std::unique_ptr<boost::mpi::environment> environment;
    reshard::mpi_group world;
};

bool is_launched() {
    constexpr char const* text[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
    return std::any_of(std::begin(text), std::end(text),
                       [](char const* name) { return std::getenv(name) != nullptr; });
}

processes::processes() {
    if (!is_launched())
        return;
    auto environment = std::make_unique<boost::mpi::environment>();
    mpi_.reset(new started_mpi{std::move(environment), boost::mpi::communicator()});
}

processes::processes(reshard::mpi_group const& world) : mpi_(new started_mpi{nullptr, world}) {}

processes::processes(reshard::solo) {}

processes::~processes() = default;

int processes::rank() const { return mpi_ ? mpi_->world.rank() : 0; }

int processes::size() const { return mpi_ ? mpi_->world.size() : 1; }

reshard::vector<std::string> processes::all_gather(std::string const& bytes) const {
    return mpi_ ? mpi_->world.all_gather(bytes) : reshard::vector{bytes};
}

reshard::mpi_group const* processes::mpi() const { return mpi_ ? &mpi_->world : nullptr; }

void processes::abort() const {
    constexpr int status = 70; // EX_SOFTWARE
    if (mpi_)
        boost::mpi::environment::abort(status);
    std::exit(status);
}

} // namespace tool
