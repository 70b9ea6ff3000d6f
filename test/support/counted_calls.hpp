// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_COUNTED_CALLS_HPP
#define RESHARD_TEST_SUPPORT_COUNTED_CALLS_HPP

#include <map>
#include <string>
#include <string_view>

/// \file
/// The counts of calls of MPI, seen from below: mpi/counted_calls.cpp is between them and MPI.

namespace reshard::test {

/// Watches the calls of MPI of this process for as long as it lives; one at a time.
class counted_calls {
public:
    explicit counted_calls(long long limit) : limit_(limit) { watching = this; }
    ~counted_calls() { watching = nullptr; }

    counted_calls(counted_calls const&) = delete;
    counted_calls& operator=(counted_calls const&) = delete;

    /// A call was made that counts `count` elements or requests.
    static void note(char const* call, long long count) {
        if (!watching)
            return;
        ++watching->seen_[call];
        if (count > watching->limit_)
            watching->above_ += std::string(call) + " of " + std::to_string(count) + "\n";
    }

    /// How often a function was called.
    int of(std::string_view call) const {
        auto const position = seen_.find(call);
        return position == seen_.end() ? 0 : position->second;
    }

    /// How many steps there were that every rank must enter before one may go on.
    int collectives() const {
        int sum = 0;
        for (char const* const call :
             {"MPI_Iallgather", "MPI_Iallgatherv", "MPI_Allgather", "MPI_Allgatherv",
              "MPI_Allreduce", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Barrier", "MPI_Ibarrier",
              "MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Comm_idup",
              "MPI_Comm_split", "MPI_Comm_split_type"})
            sum += of(call);
        return sum;
    }

    /// The calls that counted more than the limit.
    std::string const& above() const { return above_; }

private:
    static inline counted_calls* watching = nullptr;

    long long limit_;
    std::map<std::string, int, std::less<>> seen_;
    std::string above_;
};

} // namespace reshard::test

#endif
