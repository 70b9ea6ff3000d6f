// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "binding.hpp"

#include "command.hpp"

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/version.hpp>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <sstream>

namespace tool {

reshard::mpi_group group_of(int communicator) {
    return reshard::mpi_group(
        boost::mpi::communicator(MPI_Comm_f2c(communicator), boost::mpi::comm_attach));
}

reshard::any_program program_of(std::string const& text, std::string const& file,
                                std::vector<std::string>& warnings, std::string const& left_out) {
    if (text.empty())
        return {};
    return reshard::aoa::with_findings(
        reshard::aoa::parse(text, file),
        [&warnings, left_out](reshard::aoa::program const& expanded,
                              reshard::aoa::finding const& finding) {
            if (finding.level == reshard::aoa::severity::warning && finding.code != left_out)
                warnings.push_back(reshard::aoa::describe_as(expanded, finding, ""));
        });
}

reshard::detail::checkpoint_tensor const* find_tensor(reshard::checkpoint const& files,
                                                      std::string const& key) {
    auto const& tensors = files.metadata().tensors;
    auto const match =
        std::ranges::lower_bound(tensors, key, {}, &reshard::detail::checkpoint_tensor::key);
    return match == tensors.end() || match->key != key ? nullptr : &*match;
}

std::string version_text() {
    return std::to_string(RESHARD_VERSION_MAJOR) + "." + std::to_string(RESHARD_VERSION_MINOR) +
           "." + std::to_string(RESHARD_VERSION_PATCH);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

namespace {

/// The lines of the first process, which prints all messages of a command.
std::vector<kept_lines::line> lines_of_first(processes const& world,
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

/// \throws error as the command, or the `mistake`
std::string output_of(processes const& world, std::vector<std::string>& words,
                      reshard::detail::local_error const& mistake) {
    if (mistake)
        reshard::agree(world, named(world, mistake));
    words.insert(words.begin(), "reshard");
    auto arguments = pointers_to(words);
    auto const match = run_command(world, static_cast<int>(words.size()), arguments.data());
    return world.all_gather(match.text).front(); // the first process has the text
}

} // namespace

answer run_words(processes const& world, std::vector<std::string> words,
                 reshard::detail::local_error const& mistake) {
    kept_lines const kept;
    answer answer{{}, {}, world.rank() == 0, {}};
    answer.problem =
        reshard::detail::attempt([&] { answer.text = output_of(world, words, mistake); });
    std::vector<kept_lines::line> own = kept.lines();
    answer.said = answer.problem ? std::move(own) : lines_of_first(world, own);
    return answer;
}

} // namespace tool
