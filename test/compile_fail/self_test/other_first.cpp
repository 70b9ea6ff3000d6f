// expect first: another_name
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

int const first = no_such_name;
int const second = another_name;
