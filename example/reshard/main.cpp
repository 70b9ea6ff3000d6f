// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"

/// \file
/// The command-line tool: describes, checks, transforms and redistributes checkpoints.

int main(int argc, char** argv) { return tool::run_tool(argc, argv); }
