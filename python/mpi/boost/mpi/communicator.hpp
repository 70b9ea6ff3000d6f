// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PYTHON_MPI_BOOST_MPI_COMMUNICATOR_HPP
#define RESHARD_PYTHON_MPI_BOOST_MPI_COMMUNICATOR_HPP

#include <mpi.h>

#include <memory>

/// \file
/// Stands in for Boost.MPI, of which the library uses communicators only.

namespace boost::mpi {

enum comm_create_kind { comm_take_ownership, comm_attach };

/// A communicator. Copies share it; the last one frees it if it was to take ownership.
class communicator {
public:
    communicator() : communicator(MPI_COMM_WORLD, comm_attach) {}
    communicator(MPI_Comm value, comm_create_kind kind)
        : value_(new MPI_Comm(value), kind == comm_attach ? discard : free) {}

    int rank() const {
        int number = 0;
        MPI_Comm_rank(*value_, &number);
        return number;
    }
    int size() const {
        int number = 0;
        MPI_Comm_size(*value_, &number);
        return number;
    }

    communicator split(int color, int key) const {
        MPI_Comm value = MPI_COMM_NULL;
        MPI_Comm_split(*value_, color, key, &value);
        return {value, comm_take_ownership};
    }
    communicator split(int color) const { return split(color, rank()); }

    operator MPI_Comm() const { return *value_; }

private:
    static void discard(MPI_Comm* value) { delete value; }
    static void free(MPI_Comm* value) {
        int is_over = 0;
        MPI_Finalized(&is_over);
        if (!is_over && *value != MPI_COMM_NULL)
            MPI_Comm_free(value);
        delete value;
    }

    std::shared_ptr<MPI_Comm> value_;
};

} // namespace boost::mpi

#endif
