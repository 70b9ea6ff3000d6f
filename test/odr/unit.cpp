// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "everything.hpp"
