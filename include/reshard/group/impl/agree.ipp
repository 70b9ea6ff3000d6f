// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_IMPL_AGREE_IPP
#define RESHARD_GROUP_IMPL_AGREE_IPP

#include <reshard/group/agree.hpp>

#include <algorithm>
#include <exception>
#include <new>

namespace reshard::detail {

RESHARD_DECL error current_error() {
    try {
        throw;
    } catch (error const& problem) {
        return problem;
    } catch (std::bad_alloc const&) {
        return error(errc::io, "out of memory");
    } catch (std::exception const& problem) {
        return error(errc::io, problem.what());
    } catch (...) {
        return error(errc::io, "a non-standard exception was thrown");
    }
}

RESHARD_DECL std::string encode(local_error const& problem) {
    return problem ? static_cast<char>(1 + static_cast<int>(problem->code())) +
                         std::string(problem->what())
                   : std::string(1, '\0');
}

RESHARD_DECL local_error decode(std::string const& bytes) {
    if (bytes.empty() || bytes.front() == '\0')
        return std::nullopt;
    return error(static_cast<errc>(bytes.front() - 1), bytes.substr(1));
}

RESHARD_DECL std::string named_call(std::string const& bytes) {
    auto const end = bytes.rfind('#');
    return end == std::string::npos ? "something else" : bytes.substr(1, end - 1);
}

RESHARD_DECL std::size_t first_other(std::vector<std::string> const& all) {
    auto const other = std::find_if(all.begin(), all.end(),
                                    [&](std::string const& bytes) { return bytes != all[0]; });
    return other == all.end() ? 0 : static_cast<std::size_t>(other - all.begin());
}

RESHARD_DECL void fail_with_other(std::string const& call, std::size_t rank,
                                  std::string const& name, std::string const& here,
                                  std::string const& there) {
    std::string const mine = here.substr(here.find(' ') + 1);
    std::string const other = there.substr(there.find(' ') + 1);
    std::string const end = "; every rank must make the same call";
    if (mine.empty() || other.empty())
        fail(errc::ranks_disagree, "rank 0 runs ", call, " and rank ", rank,
             " runs it with a different ", name, end);
    fail(errc::ranks_disagree, "rank 0 runs ", call, " with ", name, " ", mine, " and rank ", rank,
         " with ", other, end);
}

} // namespace reshard::detail

#endif
