// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.h>

int main(void) {
    float source = 7, target = 0;
    reshard_shard have = RESHARD_SHARD_INIT, want = RESHARD_SHARD_INIT;
    have.key = want.key = "w";
    have.dtype = want.dtype = RESHARD_FLOAT32;
    have.data = &source;
    want.data = &target;
    reshard_status const status = reshard_redistribute(MPI_COMM_NULL, &have, 1, &want, 1, NULL);
    return status == RESHARD_OK && target == 7 ? 0 : 1;
}
