// expect: static assertion failed.*: a sentence
// facts: number<4|4 == 0
// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

template <int N>
struct number {
    static_assert(N == 0, "a sentence");
    static_assert(N == 1, "a second sentence");
    static_assert(N == 2, "a third sentence");
    static_assert(N == 3, "a fourth sentence");
    static_assert(N == 5, "a fifth sentence");
    static_assert(N == 6, "a sixth sentence");
};

template <int N, int Depth>
struct deep {
    static constexpr auto value = sizeof(deep<N, Depth - 1>);
    deep<N, Depth - 1> member;
};

template <int N>
struct deep<N, 0> {
    number<N> member;
};

deep<4, 9> bad;
