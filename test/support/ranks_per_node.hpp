// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_RANKS_PER_NODE_HPP
#define RESHARD_TEST_SUPPORT_RANKS_PER_NODE_HPP

#include <cstdlib>
#include <string>

/// \file
/// The environment says how many ranks are a node.

namespace reshard::test {

/// Sets the variable to a text, or removes it if that is empty, for as long as it lives.
class ranks_per_node_variable {
public:
    explicit ranks_per_node_variable(std::string const& text) {
        if (char const* const before = std::getenv(name))
            before_ = before;
        set(text);
    }
    ~ranks_per_node_variable() { set(before_); }

    ranks_per_node_variable(ranks_per_node_variable const&) = delete;
    ranks_per_node_variable& operator=(ranks_per_node_variable const&) = delete;

private:
    static constexpr char const* name = "RESHARD_RANKS_PER_NODE";

    static void set(std::string const& text) {
        if (text.empty())
            ::unsetenv(name);
        else
            ::setenv(name, text.c_str(), 1);
    }

    std::string before_;
};

} // namespace reshard::test

#endif
