// expect: static assertion failed.*: a sentence
// facts: number<5
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

template <int N>
struct number {
    static_assert(N == 0, "a sentence");
};

number<4> bad;
