// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// The C++ half of cross_check.py.
//
//   safetensors_tool rewrite SOURCE TARGET   reads a file and writes its tensors and metadata again
//   safetensors_tool judge FILE              the verdict of the compatible mode on each of a list of files

#include <reshard/format/safetensors.hpp>
#include <reshard/format/text_file.hpp>

#include <fstream>
#include <iostream>

namespace {

using namespace reshard;
using namespace reshard::detail;

safetensors_tensor tensor_of(safetensors_entry const& entry) {
    return {entry.name, entry.dtype, index_vector(entry.shape.begin(), entry.shape.end())};
}

void rewrite(std::string const& source, std::string const& target) {
    auto const header = read_safetensors_header(source);
    std::vector<safetensors_tensor> tensors;
    for (safetensors_entry const& entry : header.tensors)
        tensors.push_back(tensor_of(entry));
    auto const file = plan_safetensors(tensors, header.metadata, target);
    std::string const bytes = read_text_file(source);
    std::ofstream stream(target, std::ios::binary);
    stream << file.header;
    for (std::size_t const i : file.order) {
        safetensors_entry const& entry = header.tensors[i];
        stream << bytes.substr(header.data_offset + entry.begin, entry.end - entry.begin);
    }
}

std::string verdict(std::string const& path) {
    try {
        safetensors_options options;
        options.mode = safetensors_mode::compatible;
        read_safetensors_header(path, options);
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
