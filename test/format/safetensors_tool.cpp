// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// The C++ half of cross_check.py.
//
//   safetensors_tool rewrite SOURCE TARGET   reads a file and writes its tensors and metadata again
//   safetensors_tool judge FILE              the verdict of the compatible mode on each of a list of files

#include <reshard/format/safetensors.hpp>
#include <reshard/safetensors.hpp>

#include <fstream>
#include <iostream>

namespace {

using namespace reshard;
using namespace reshard::detail;

void rewrite(std::string const& source, std::string const& target) {
    auto const file = safetensors::open(source);
    safetensors::write(target, file.tensors, {.metadata = file.metadata, .replace = true});
}

std::string verdict(std::string const& path) {
    try {
        safetensors::open(path, {.compatible = true});
        return "ok";
    } catch (error const& thrown) {
        auto const fault = safetensors_fault_of(thrown);
        return fault ? std::string(name(*fault)) : thrown.what();
    }
}

void judge(std::string const& list) {
    std::ifstream stream(list);
    for (std::string path; std::getline(stream, path);)
        std::cout << verdict(path) << '\n';
}

} // namespace

int main(int count, char** arguments) {
    std::vector<std::string> const words(arguments + 1, arguments + count);
    try {
        if (words.size() == 3 && words[0] == "rewrite")
            return rewrite(words[1], words[2]), 0;
        if (words.size() == 2 && words[0] == "judge")
            return judge(words[1]), 0;
    } catch (error const& thrown) {
        std::cerr << thrown.what() << '\n';
        return 1;
    }
    std::cerr << "usage: safetensors_tool rewrite SOURCE TARGET | judge LIST\n";
    return 2;
}
