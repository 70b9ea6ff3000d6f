// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_STORAGE_SHARED_DIRECTORY_HPP
#define RESHARD_TEST_STORAGE_SHARED_DIRECTORY_HPP

#include <reshard/mpi/mpi_group.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

/// \file
/// A directory that all ranks of a test see.

namespace reshard::test {

inline mpi_group world() { return boost::mpi::communicator(); }

/// Waits until every rank is here.
inline void meet() { world().all_gather(""); }

/// Does something on the first rank, and lets the others wait for it.
template <class Work>
void on_first_rank(Work&& work) {
    if (world().rank() == 0)
        work();
    meet();
}

/// A directory of a new name, which goes away when every rank is done with it.
class shared_directory {
public:
    shared_directory() {
        std::random_device random;
        std::string const own = std::to_string(random()) + std::to_string(random());
        path_ =
            std::filesystem::temp_directory_path() / ("reshard-" + world().all_gather(own).front());
        on_first_rank([&] { std::filesystem::create_directory(path_); });
    }
    shared_directory(shared_directory const&) = delete;
    shared_directory& operator=(shared_directory const&) = delete;
    ~shared_directory() {
        if (std::uncaught_exceptions() > 0)
            return;
        meet();
        std::error_code ignored;
        if (world().rank() == 0)
            std::filesystem::remove_all(path_, ignored);
    }

    std::filesystem::path const& path() const { return path_; }
    std::filesystem::path operator/(std::string const& name) const { return path_ / name; }

    /// The names in it or in a directory of it, sorted; looked up when every rank is here.
    std::vector<std::string> names(std::string const& below = {}) const {
        meet();
        std::vector<std::string> all;
        for (auto const& entry : std::filesystem::directory_iterator(path_ / below))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        meet();
        return all;
    }

private:
    std::filesystem::path path_;
};

inline std::string read_file(std::filesystem::path const& path) {
    std::ifstream stream(path, std::ios::binary);
    BOOST_TEST_REQUIRE(!!stream, path.string());
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The bytes of a file of a save, of its record without the lines that depend on when the save was
/// completed.
inline std::string lasting_bytes(std::filesystem::path const& path) {
    std::string bytes = read_file(path);
    if (path.filename() == "reshard.json")
        for (char const* const member : {"\n  \"completed\": ", "\n  \"digest\": "}) {
            std::size_t const begin = bytes.find(member);
            BOOST_TEST_REQUIRE(begin != std::string::npos, path.string() + " has no" + member);
            bytes.erase(begin, bytes.find('\n', begin + 1) - begin);
        }
    return bytes;
}

inline void write_file(std::filesystem::path const& path, std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// One tensor of a file written by hand.
struct tensor_of_file {
    std::string name;
    std::string dtype;
    std::string shape; ///< JSON
    std::string data;
    std::string offsets = {}; ///< JSON; if the tensor is a shard
    std::string global = {};  ///< JSON; if the file says of which tensor it is a shard
    std::string more = {};    ///< JSON members; what else the file says of the shard
};

/// Writes a safetensors file without the library's own writer.
inline void write_safetensors(std::filesystem::path const& path,
                              std::vector<tensor_of_file> const& tensors) {
    std::string entries, sharding, own, data;
    for (tensor_of_file const& tensor : tensors) {
        std::string const key = R"(\")" + tensor.name + R"(\":)";
        entries += ",\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":)" +
                   tensor.shape + R"(,"data_offsets":[)" + std::to_string(data.size()) + "," +
                   std::to_string(data.size() + tensor.data.size()) + "]}";
        data += tensor.data;
        if (!tensor.offsets.empty())
            sharding += (sharding.empty() ? "" : ",") + key + R"({\"saved_offsets\":)" +
                        tensor.offsets + "}";
        if (!tensor.global.empty())
            own += (own.empty() ? "" : ",") + key + R"({\"shape\":)" + tensor.global +
                   (tensor.more.empty() ? "" : "," + tensor.more) + "}";
    }
    std::string json = R"({"__metadata__":{"format":"pt")";
    if (!sharding.empty())
        json += R"(,"DCP_SHARDING_INFO":"{)" + sharding + R"(}")";
    if (!own.empty())
        json += R"(,"RESHARD":"{)" + own + R"(}")";
    json += "}" + entries + "}";
    std::string length;
    for (std::size_t i = 0; i < 8; ++i)
        length += static_cast<char>(json.size() >> 8 * i & 0xFF);
    write_file(path, length + json + data);
}

} // namespace reshard::test

#endif
