// expect: a message that no compiler prints
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

int const other_reason = no_such_name;
