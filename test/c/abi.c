// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Prints the sizes, the offsets and the numbers that programs have compiled in, for abi.py.

#include <reshard.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf(#type " %d\n", (int)sizeof(type))
#define MEMBER(type, member)                                                                       \
    printf(#type "." #member " %d %d\n", (int)offsetof(type, member),                              \
           (int)sizeof(((type*)0)->member))
#define NUMBER(name) printf(#name " %d\n", (int)name)

static void structs(void) {
    SIZE(reshard_tensor);
    MEMBER(reshard_tensor, struct_bytes);
    MEMBER(reshard_tensor, dtype);
    MEMBER(reshard_tensor, ndim);
    MEMBER(reshard_tensor, reserved);
    MEMBER(reshard_tensor, key_bytes);
    MEMBER(reshard_tensor, key);
    MEMBER(reshard_tensor, shape);
    SIZE(reshard_shard);
    MEMBER(reshard_shard, struct_bytes);
    MEMBER(reshard_shard, dtype);
    MEMBER(reshard_shard, ndim);
    MEMBER(reshard_shard, reserved);
    MEMBER(reshard_shard, key);
    MEMBER(reshard_shard, data);
    MEMBER(reshard_shard, shape);
    MEMBER(reshard_shard, strides);
    MEMBER(reshard_shard, global_shape);
    MEMBER(reshard_shard, offset);
    SIZE(reshard_options);
    MEMBER(reshard_options, struct_bytes);
    MEMBER(reshard_options, flags);
    MEMBER(reshard_options, program);
    MEMBER(reshard_options, program_name);
    SIZE(reshard_status);
    SIZE(reshard_dtype);
    SIZE(reshard_checkpoint);
}

int main(void) {
    structs();
    NUMBER(RESHARD_WHOLE);
    NUMBER(RESHARD_REPLACE);
    NUMBER(RESHARD_ALONE);
    // The test of calls compares the names of statuses and data types by number.
    return 0;
}
