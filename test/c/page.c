// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// What doc/c.md quotes: page DIRECTORY, on any number of ranks.

// [begin]
#include <reshard.h>

#include <stdio.h>
#include <stdlib.h>

static void check(reshard_status status) {
    if (status == RESHARD_OK)
        return;
    fprintf(stderr, "%s: %s\n", reshard_status_name(status), reshard_error_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
}
// [/begin]

static int is_wrong = 0;

static void expect(float value, int64_t expected) {
    if (value != (float)expected)
        is_wrong = 1;
}

static void save(char const* path, int rank, int ranks) {
    // [save]
    // Each rank has two rows of a matrix of 2 * ranks rows and 4 columns.
    int64_t const whole[] = {2 * ranks, 4}, offset[] = {2 * rank, 0}, shape[] = {2, 4};
    float rows[8];
    for (int i = 0; i < 8; ++i)
        rows[i] = (float)(8 * rank + i);

    reshard_shard shard = RESHARD_SHARD_INIT;
    shard.key = "w";
    shard.dtype = RESHARD_FLOAT32;
    shard.ndim = 2;
    shard.data = rows;
    shard.shape = shape;
    shard.global_shape = whole; // without it and the offset, the box is the tensor
    shard.offset = offset;

    reshard_options options = RESHARD_OPTIONS_INIT;
    options.flags = RESHARD_WHOLE | RESHARD_REPLACE;
    check(reshard_save(MPI_COMM_WORLD, &shard, 1, path, &options));
    // [/save]

    // [redistribute]
    // The same matrix, transposed by a program, whole on each rank.
    int64_t const transposed[] = {4, 2 * ranks};
    float* const columns = malloc(sizeof(float) * 8 * (size_t)ranks);
    reshard_shard target = RESHARD_SHARD_INIT;
    target.key = "t";
    target.dtype = RESHARD_FLOAT32;
    target.ndim = 2;
    target.data = columns;
    target.shape = transposed;
    reshard_options program = RESHARD_OPTIONS_INIT;
    program.program = "w^T -> t";
    check(reshard_redistribute(MPI_COMM_WORLD, &shard, 1, &target, 1, &program));
    for (int64_t i = 0; reshard_warning(i); ++i)
        fprintf(stderr, "warning: %s\n", reshard_warning(i));
    // [/redistribute]
    for (int64_t i = 0; i < 8 * ranks; ++i)
        expect(columns[i], 4 * (i % (2 * ranks)) + i / (2 * ranks));
    free(columns);
}

static void read(char const* path) {
    // [read]
    reshard_checkpoint model;
    int64_t count;
    check(reshard_open(path, &model));
    check(reshard_tensor_count(model, &count));
    for (int64_t i = 0; i < count; ++i) {
        reshard_tensor tensor = RESHARD_TENSOR_INIT;
        check(reshard_tensor_at(model, i, &tensor));
        printf("%s: %s with %d axes\n", tensor.key, reshard_dtype_name(tensor.dtype), tensor.ndim);
    }

    // Rows 0 and 1 of column 3, next to each other in memory.
    float column[2];
    reshard_shard box = RESHARD_SHARD_INIT;
    box.key = "w";
    box.dtype = RESHARD_FLOAT32;
    box.ndim = 2;
    box.data = column;
    box.shape = (int64_t const[]){2, 1};
    box.offset = (int64_t const[]){0, 3};
    check(reshard_read(model, &box)); // on this rank; reshard_load is for all of them
    check(reshard_close(model));
    // [/read]
    expect(column[0], 3);
    expect(column[1], 7);
}

static void verify(char const* path) {
    // [command]
    char const* const words[] = {"verify", path};
    char* json;
    check(reshard_command(MPI_COMM_WORLD, 2, words, &json));
    printf("%s\n", json); // {"ok":true,...
    reshard_free(json);
    // [/command]
}

int main(int argc, char** argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char const* const path = argc > 1 ? argv[1] : "reshard-page";
    save(path, rank, ranks);
    read(path);
    verify(path);
    MPI_Finalize();
    return is_wrong;
}
