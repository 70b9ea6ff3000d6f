// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// The C library, alone and under mpiexec: calls DIRECTORY. The directory is made anew.

#define _POSIX_C_SOURCE 200809L

#include <reshard.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank = 0, ranks = 1;
static char directory[512];

static void check(int is_right, char const* condition, int line) {
    if (is_right)
        return;
    fprintf(stderr, "calls.c:%d: rank %d: %s\n  error: %s\n", line, rank, condition,
            reshard_error_text());
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_OK(call) check((call) == RESHARD_OK && *reshard_error_text() == '\0', #call, __LINE__)

// The call fails with this status, and its sentence has this text.
#define CHECK_REFUSED(call, status, text)                                                          \
    do {                                                                                           \
        CHECK((call) == (status));                                                                 \
        CHECK(strstr(reshard_error_text(), (text)) != NULL);                                       \
    } while (0)

static char const* in_directory(char const* name) {
    static char path[8][600];
    static int next = 0;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", directory, name);
    return path[next];
}

// A Hugging Face directory: gate is 0 to 11, up is 100 to 111, step is 7, empty has no rows.
static void write_model(char const* path) {
    char const header[] = "{\"empty\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[0,0]},"
                          "\"gate\":{\"dtype\":\"F32\",\"shape\":[6,2],\"data_offsets\":[0,48]},"
                          "\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[48,56]},"
                          "\"up\":{\"dtype\":\"F32\",\"shape\":[6,2],\"data_offsets\":[56,104]}}";
    const uint64_t header_bytes = sizeof header - 1;
    const int64_t step = 7;
    float gate[12], up[12];
    for (int i = 0; i < 12; ++i) {
        gate[i] = (float)i;
        up[i] = (float)(100 + i);
    }
    FILE* file = fopen(path, "wb");
    CHECK(file != NULL);
    fwrite(&header_bytes, 8, 1, file);
    fwrite(header, 1, sizeof header - 1, file);
    fwrite(gate, sizeof gate, 1, file);
    fwrite(&step, sizeof step, 1, file);
    fwrite(up, sizeof up, 1, file);
    CHECK(fclose(file) == 0);
}

static reshard_shard matrix(char const* key, float* data, int64_t const* shape) {
    reshard_shard shard = RESHARD_SHARD_INIT;
    shard.key = key;
    shard.dtype = RESHARD_FLOAT32;
    shard.ndim = 2;
    shard.data = data;
    shard.shape = shape;
    return shard;
}

static void names_of_statuses(void) {
    static char const* const statuses[] = {"ok",
                                           "syntax",
                                           "unknown_key",
                                           "bad_macro",
                                           "shape_mismatch",
                                           "dtype_mismatch",
                                           "not_covered",
                                           "overlap",
                                           "overflow",
                                           "limit_exceeded",
                                           "bad_layout",
                                           "memory_overlap",
                                           "ranks_disagree",
                                           "unsupported",
                                           "not_invertible",
                                           "usage",
                                           "corrupt_file",
                                           "missing_file",
                                           "already_exists",
                                           "io",
                                           "deadline"};
    for (int32_t i = 0; i <= 20; ++i)
        CHECK(strcmp(reshard_status_name(i), statuses[i]) == 0);
    CHECK(!reshard_status_name(-1) && !reshard_status_name(21));
}

static void names_of_data_types(void) {
    static const struct {
        char const* name;
        int32_t bits;
    } types[] = {{"bool", 8},
                 {"uint8", 8},
                 {"int8", 8},
                 {"uint16", 16},
                 {"int16", 16},
                 {"uint32", 32},
                 {"int32", 32},
                 {"uint64", 64},
                 {"int64", 64},
                 {"float16", 16},
                 {"bfloat16", 16},
                 {"float32", 32},
                 {"float64", 64},
                 {"complex64", 64},
                 {"complex128", 128},
                 {"float8_e4m3fn", 8},
                 {"float8_e4m3fnuz", 8},
                 {"float8_e5m2", 8},
                 {"float8_e5m2fnuz", 8},
                 {"float8_e8m0", 8},
                 {"float6_e2m3", 6},
                 {"float6_e3m2", 6},
                 {"float4_e2m1", 4}};
    for (int32_t i = 1; i <= 23; ++i) {
        CHECK(strcmp(reshard_dtype_name(i), types[i - 1].name) == 0);
        CHECK(reshard_dtype_bits(i) == types[i - 1].bits);
    }
    CHECK(!reshard_dtype_name(0) && !reshard_dtype_name(24) && reshard_dtype_bits(-1) == 0);
}

// One process moves tensors without MPI, and cannot use a communicator.
static void without_mpi(char const* why) {
    char const* words[] = {"inspect", "model"};
    char* json = (char*)words; // not null: a failed command changes it
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, words, &json), RESHARD_USAGE, why);
    CHECK(json == NULL);
    float source[4] = {0, 1, 2, 3}, target[4] = {0};
    const int64_t shape[] = {2, 2}, by_columns[] = {1, 2};
    const reshard_shard have = matrix("w", source, shape);
    reshard_shard want = matrix("w", target, shape);
    want.strides = by_columns;
    CHECK_OK(reshard_redistribute(MPI_COMM_NULL, &have, 1, &want, 1, NULL));
    CHECK(target[0] == 0 && target[1] == 2 && target[2] == 1 && target[3] == 3);
    target[1] = 9;
    CHECK_OK(reshard_redistribute_f(RESHARD_ALONE, &have, 1, &want, 1, NULL));
    CHECK(target[1] == 2);
    CHECK_REFUSED(reshard_redistribute(MPI_COMM_WORLD, &have, 1, &want, 1, NULL), RESHARD_USAGE,
                  why);
    CHECK_REFUSED(reshard_redistribute_f(0, &have, 1, &want, 1, NULL), RESHARD_USAGE, why);
}

static void listed(reshard_checkpoint model) {
    static const struct {
        char const* key;
        reshard_dtype dtype;
        int32_t ndim;
        int64_t shape[2];
    } tensors[] = {{"empty", RESHARD_FLOAT32, 2, {0, 3}},
                   {"gate", RESHARD_FLOAT32, 2, {6, 2}},
                   {"step", RESHARD_INT64, 0, {0, 0}},
                   {"up", RESHARD_FLOAT32, 2, {6, 2}}};
    int64_t count = 0;
    CHECK_OK(reshard_tensor_count(model, &count));
    CHECK(count == 4);
    for (int i = 0; i < 8; ++i) {
        reshard_tensor tensor = RESHARD_TENSOR_INIT;
        if (i < 4)
            CHECK_OK(reshard_tensor_at(model, i, &tensor));
        else
            CHECK_OK(reshard_find_tensor(model, tensors[i - 4].key, &tensor));
        CHECK(strcmp(tensor.key, tensors[i % 4].key) == 0);
        CHECK(tensor.key_bytes == (int64_t)strlen(tensor.key));
        CHECK(tensor.dtype == tensors[i % 4].dtype && tensor.ndim == tensors[i % 4].ndim);
        for (int axis = 0; axis < tensor.ndim; ++axis)
            CHECK(tensor.shape[axis] == tensors[i % 4].shape[axis]);
    }
    reshard_tensor tensor = RESHARD_TENSOR_INIT;
    CHECK_REFUSED(reshard_tensor_at(model, 4, &tensor), RESHARD_USAGE, "index 4");
    CHECK_REFUSED(reshard_tensor_at(model, -1, &tensor), RESHARD_USAGE, "4 tensors");
    CHECK_REFUSED(reshard_find_tensor(model, "down", &tensor), RESHARD_UNKNOWN_KEY, "'down'");
    CHECK_REFUSED(reshard_find_tensor(model, NULL, &tensor), RESHARD_USAGE, "key is a null");
    tensor.struct_bytes = sizeof tensor - 8;
    CHECK_REFUSED(reshard_tensor_at(model, 0, &tensor), RESHARD_USAGE, "struct_bytes 32");
    CHECK_REFUSED(reshard_find_tensor(model, "up", NULL), RESHARD_USAGE, "tensor is a null");
    CHECK_REFUSED(reshard_tensor_count(model, NULL), RESHARD_USAGE, "count is a null");
}

// Boxes of gate, whose element at (i, j) is 2 * i + j.
static void boxes(reshard_checkpoint model) {
    static const struct {
        int64_t offset[2], shape[2], strides[2];
        int first; // index of the first element in `memory`
        float memory[6];
    } rows[] = {
        {{1, 0}, {3, 2}, {2, 1}, 0, {2, 3, 4, 5, 6, 7}},
        {{4, 1}, {2, 1}, {1, 1}, 0, {9, 11, -1, -1, -1, -1}},
        {{0, 0}, {3, 2}, {1, 3}, 0, {0, 2, 4, 1, 3, 5}},       // by columns
        {{3, 1}, {3, 1}, {2, 1}, 0, {7, -1, 9, -1, 11, -1}},   // gaps stay
        {{0, 0}, {3, 1}, {-1, 1}, 2, {4, 2, 0, -1, -1, -1}},   // backwards
        {{6, 0}, {0, 2}, {2, 1}, 0, {-1, -1, -1, -1, -1, -1}}, // empty
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        float memory[6] = {-1, -1, -1, -1, -1, -1};
        reshard_shard box = matrix("gate", memory + rows[i].first, rows[i].shape);
        box.offset = rows[i].offset;
        box.strides = rows[i].strides;
        CHECK_OK(reshard_read(model, &box));
        CHECK(memcmp(memory, rows[i].memory, sizeof memory) == 0);
    }
    int64_t step = 0;
    reshard_shard scalar = RESHARD_SHARD_INIT;
    scalar.key = "step";
    scalar.dtype = RESHARD_INT64;
    scalar.data = &step;
    CHECK_OK(reshard_read(model, &scalar));
    CHECK(step == 7);
}

static void refused_boxes(reshard_checkpoint model) {
    static const int64_t shape[9] = {2, 2}, negative[] = {2, -2}, much[] = {7, 2}, back[] = {-1, 0},
                         huge[] = {INT64_MAX, INT64_MAX}, none[] = {0, 0};
    static float data[4];
    const uint32_t bytes = sizeof(reshard_shard);
#define BOX(key, dtype, ndim, data, shape, strides, global, offset)                                \
    { bytes, dtype, ndim, 0, key, data, shape, strides, global, offset }
    const struct {
        reshard_status status;
        char const* text;
        reshard_shard box;
    } rows[] = {
        {RESHARD_USAGE, "key is a null", BOX(NULL, 12, 2, data, shape, NULL, NULL, NULL)},
        {RESHARD_UNKNOWN_KEY, "'down'", BOX("down", 12, 2, data, shape, NULL, NULL, NULL)},
        {RESHARD_USAGE, "dtype 0", BOX("gate", 0, 2, data, shape, NULL, NULL, NULL)},
        {RESHARD_USAGE, "dtype 24", BOX("gate", 24, 2, data, shape, NULL, NULL, NULL)},
        {RESHARD_DTYPE_MISMATCH, "'gate'", BOX("gate", 13, 2, data, shape, NULL, NULL, NULL)},
        {RESHARD_LIMIT_EXCEEDED, "ndim is -1", BOX("gate", 12, -1, data, shape, NULL, NULL, NULL)},
        {RESHARD_LIMIT_EXCEEDED, "ndim is 9", BOX("gate", 12, 9, data, shape, NULL, NULL, NULL)},
        {RESHARD_SHAPE_MISMATCH, "'gate'", BOX("gate", 12, 1, data, shape, NULL, NULL, NULL)},
        {RESHARD_USAGE, "shape is a null", BOX("gate", 12, 2, data, NULL, NULL, NULL, NULL)},
        {RESHARD_USAGE, "'gate'", BOX("gate", 12, 2, NULL, shape, NULL, NULL, NULL)},
        {RESHARD_BAD_LAYOUT, "-2", BOX("gate", 12, 2, data, negative, NULL, NULL, NULL)},
        {RESHARD_BAD_LAYOUT, "7", BOX("gate", 12, 2, data, much, NULL, NULL, NULL)},
        {RESHARD_BAD_LAYOUT, "-1", BOX("gate", 12, 2, data, shape, NULL, NULL, back)},
        {RESHARD_BAD_LAYOUT, "'gate'", BOX("gate", 12, 2, data, huge, NULL, NULL, NULL)},
        {RESHARD_OVERFLOW, "'gate'", BOX("gate", 12, 2, data, huge, NULL, huge, NULL)},
        {RESHARD_OVERFLOW, "stride", BOX("gate", 12, 2, data, shape, huge, NULL, NULL)},
        {RESHARD_MEMORY_OVERLAP, "'gate'", BOX("gate", 12, 2, data, shape, none, NULL, NULL)},
        {RESHARD_SHAPE_MISMATCH, "'gate'", BOX("gate", 12, 2, data, shape, NULL, much, NULL)},
    };
#undef BOX
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (reshard_read(model, &rows[i].box) != rows[i].status ||
            !strstr(reshard_error_text(), rows[i].text))
            fprintf(stderr, "row %d: %s\n", (int)i, rows[i].text);
        CHECK_REFUSED(reshard_read(model, &rows[i].box), rows[i].status, rows[i].text);
    }
    CHECK(data[0] == 0 && data[3] == 0);
    CHECK_REFUSED(reshard_read(model, NULL), RESHARD_USAGE, "box is a null");
    reshard_shard box = matrix("gate", data, shape);
    box.reserved = 1;
    CHECK_REFUSED(reshard_read(model, &box), RESHARD_USAGE, "reserved is 1");
    static const uint32_t sizes[] = {0, 4, sizeof(reshard_shard) - 8, sizeof(reshard_shard) + 8,
                                     UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        box.struct_bytes = sizes[i];
        CHECK_REFUSED(reshard_read(model, &box), RESHARD_USAGE, "knows 64 bytes");
    }
}

// A number that is not, or no longer, of a checkpoint is an error everywhere.
static void closed(void) {
    reshard_checkpoint first = -1, second = -1;
    int64_t count = 0;
    reshard_tensor tensor = RESHARD_TENSOR_INIT;
    const reshard_shard box = RESHARD_SHARD_INIT;
    CHECK_OK(reshard_open(in_directory("model"), &first));
    CHECK_OK(reshard_open(in_directory("model"), &second));
    CHECK(first > 0 && second > 0 && first != second);
    CHECK_OK(reshard_close(first));
    const reshard_checkpoint numbers[] = {first, 0, -1, second + 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        CHECK_REFUSED(reshard_tensor_count(numbers[i], &count), RESHARD_USAGE, "is not open");
        CHECK_REFUSED(reshard_tensor_at(numbers[i], 0, &tensor), RESHARD_USAGE, "is not open");
        CHECK_REFUSED(reshard_find_tensor(numbers[i], "up", &tensor), RESHARD_USAGE, "is not open");
        CHECK_REFUSED(reshard_read(numbers[i], &box), RESHARD_USAGE, "is not open");
    }
    CHECK_REFUSED(reshard_close(first), RESHARD_USAGE, "is not open");
    CHECK_OK(reshard_close(0));
    CHECK_OK(reshard_tensor_count(second, &count));
    CHECK_OK(reshard_close(second));
    CHECK_REFUSED(reshard_open(in_directory("no"), &first), RESHARD_MISSING_FILE, "/no");
    CHECK(first == 0);
    CHECK_REFUSED(reshard_open(NULL, &first), RESHARD_USAGE, "path is a null");
    CHECK_REFUSED(reshard_open("model", NULL), RESHARD_USAGE, "checkpoint is a null");
}

// Rows of gate in unequal numbers, up whole, the scalar, and of the last rank no row of gate.
static void loaded(reshard_checkpoint model) {
    const int64_t whole[] = {6, 2};
    const int64_t offset[] = {rank == 0 ? 0 : rank == 1 ? 4 : 6, 0};
    const int64_t shape[] = {ranks == 1 ? 6 : rank == 0 ? 4 : rank == 1 ? 2 : 0, 2};
    float gate[12] = {0}, up[12] = {0};
    int64_t step = 0;
    reshard_shard shards[3] = {matrix("gate", gate, shape), matrix("up", up, whole),
                               RESHARD_SHARD_INIT};
    shards[0].global_shape = whole;
    shards[0].offset = offset;
    shards[2].key = "step";
    shards[2].dtype = RESHARD_INT64;
    shards[2].data = &step;
    CHECK_OK(reshard_load(MPI_COMM_WORLD, model, shards, 3, NULL));
    for (int i = 0; i < 2 * shape[0]; ++i)
        CHECK(gate[i] == (float)(2 * offset[0] + i));
    for (int i = 0; i < 12; ++i)
        CHECK(up[i] == (float)(100 + i));
    CHECK(step == 7);
    CHECK_OK(reshard_load_f((int32_t)MPI_Comm_c2f(MPI_COMM_SELF), model, shards + 1, 1, NULL));
    CHECK_OK(reshard_load(MPI_COMM_WORLD, model, NULL, 0, NULL));
}

// A program fuses gate and up, and casts: of the fused [12, 2] each rank wants four rows.
static void loaded_by_program(reshard_checkpoint model) {
    double rows[8] = {0};
    const int64_t whole[] = {12, 2}, offset[] = {4 * rank, 0}, shape[] = {4, 2};
    reshard_shard shard = matrix("w", NULL, shape);
    shard.dtype = RESHARD_FLOAT64;
    shard.data = rows;
    shard.global_shape = whole;
    shard.offset = offset;
    reshard_options options = RESHARD_OPTIONS_INIT;
    options.program = "gate, up -> both, axis=0\nboth -> w, dtype=\"float64\"\n"
                      "no.such.$LAYER_ID -> x.$LAYER_ID\n";
    options.program_name = "fuse.aoa";
    CHECK_OK(reshard_load(MPI_COMM_WORLD, model, &shard, 1, &options));
    for (int i = 0; i < 8; ++i) {
        int const at = 8 * rank + i;
        CHECK(rows[i] == (at < 12 ? at : 88 + at));
    }
    CHECK(strncmp(reshard_warning(0), "fuse.aoa:3:1: no key", 20) == 0);
    CHECK(reshard_warning(1) == NULL && reshard_warning(-1) == NULL);

    options.program = "gate -> ";
    options.program_name = NULL;
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, &shard, 1, &options), RESHARD_SYNTAX,
                  "program:1:");
    CHECK(reshard_warning(0) == NULL);
    options.program = NULL;
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, &shard, 1, &options), RESHARD_UNKNOWN_KEY,
                  "'w'");
    options.flags = RESHARD_REPLACE;
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, &shard, 1, &options), RESHARD_USAGE,
                  "flags 2");
    options.struct_bytes = 8;
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, &shard, 1, &options), RESHARD_USAGE,
                  "options has struct_bytes 8");
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, NULL, 1, NULL), RESHARD_USAGE,
                  "shards is a null");
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, model, &shard, -1, NULL), RESHARD_USAGE, "is -1");
    CHECK_REFUSED(reshard_load(MPI_COMM_WORLD, 0, &shard, 1, NULL), RESHARD_USAGE,
                  "checkpoint 0 is not open");
}

// Columns become rows and a transposed copy; the source has the element 100 * i + j at (i, j).
static void redistributed(void) {
    const int64_t whole[] = {4, 2 * ranks}, columns[] = {4, 2}, first_column[] = {0, 2 * rank};
    const int64_t rows[] = {rank == 0 ? 4 : 0, 2 * ranks}, first_row[] = {rank == 0 ? 0 : 4, 0};
    const int64_t turned_shape[] = {2 * ranks, 4};
    float source[8], target[4 * 6] = {0}, everywhere = 0, one = 1;
    double turned[6 * 4] = {0};
    for (int i = 0; i < 8; ++i)
        source[i] = (float)(100 * (i / 2) + 2 * rank + i % 2);
    reshard_shard have[2] = {matrix("w", source, columns), RESHARD_SHARD_INIT};
    have[0].global_shape = whole;
    have[0].offset = first_column;
    have[1].key = "one"; // a scalar, which each rank has
    have[1].dtype = RESHARD_FLOAT32;
    have[1].data = &one;
    reshard_shard want[2] = {matrix("w", target, rows), have[1]};
    want[0].global_shape = whole;
    want[0].offset = first_row;
    want[1].data = &everywhere;
    CHECK_OK(reshard_redistribute(MPI_COMM_WORLD, have, 2, want, 2, NULL));
    for (int i = 0; i < (rank == 0 ? 8 * ranks : 0); ++i)
        CHECK(target[i] == (float)(100 * (i / (2 * ranks)) + i % (2 * ranks)));
    CHECK(everywhere == 1);

    reshard_shard result = matrix("t", NULL, turned_shape);
    result.dtype = RESHARD_FLOAT64;
    result.data = turned;
    reshard_options options = RESHARD_OPTIONS_INIT;
    options.program = "w^T -> t, dtype=\"float64\"";
    CHECK_OK(reshard_redistribute_f((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), have, 1, &result, 1,
                                    &options));
    for (int i = 0; i < 8 * ranks; ++i)
        CHECK(turned[i] == 100 * (i % 4) + i / 4);
    result.data = source;
    result.dtype = RESHARD_FLOAT32;
    options.program = "w^T -> t";
    CHECK_REFUSED(reshard_redistribute(MPI_COMM_WORLD, have, 1, &result, 1, &options),
                  RESHARD_MEMORY_OVERLAP, "memory");
}

// What the last rank gives wrongly is the same error on all ranks, before anything moves.
static void mistakes(void) {
    const int64_t shape[] = {1, 2};
    float source[2] = {1, 2}, target[2] = {0};
    const struct {
        reshard_status status;
        char const* text;
        reshard_shard shard;
    } rows[] = {
        {RESHARD_LIMIT_EXCEEDED, "'w': ndim is 9", {64, 12, 9, 0, "w", source, shape, 0, 0, 0}},
        {RESHARD_USAGE, "have[0] has struct_bytes 63", {63, 12, 2, 0, "w", source, shape, 0, 0, 0}},
        {RESHARD_USAGE, "key is a null", {64, 12, 2, 0, NULL, source, shape, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        reshard_shard have = matrix("w", source, shape);
        const reshard_shard want = matrix("w", target, shape);
        if (rank == ranks - 1)
            have = rows[i].shard;
        CHECK_REFUSED(reshard_redistribute(MPI_COMM_WORLD, &have, 1, &want, 1, NULL),
                      rows[i].status, rows[i].text);
        if (ranks == 3)
            CHECK(strncmp(reshard_error_text(), "rank 2: ", 8) == 0);
        CHECK(target[0] == 0);
    }
}

// Ranks that make different calls all get an error, and go on together.
static void different_calls(reshard_checkpoint model) {
    if (ranks == 1)
        return;
    char const* const inspect[] = {"inspect", in_directory("model")};
    char* json = NULL;
    reshard_status status = RESHARD_OK;
    for (int first = 0; first < 4; ++first)
        for (int second = 0; second < 4; ++second) {
            int const call = rank == 0 ? first : second;
            if (call == 0)
                status = reshard_load(MPI_COMM_WORLD, model, NULL, 0, NULL);
            else if (call == 1)
                status = reshard_save(MPI_COMM_WORLD, NULL, 0, in_directory("never"), NULL);
            else if (call == 2)
                status = reshard_redistribute(MPI_COMM_WORLD, NULL, 0, NULL, 0, NULL);
            else
                status = reshard_command(MPI_COMM_WORLD, 2, inspect, &json);
            reshard_free(json);
            json = NULL;
            if (first != second)
                CHECK(status == RESHARD_RANKS_DISAGREE);
        }
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &both);
    CHECK_REFUSED(reshard_load(both, model, NULL, 0, NULL), RESHARD_USAGE, "inter-communicator");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void saved(void) {
    const int64_t whole[] = {6, 2};
    const int64_t offset[] = {6 / ranks * rank, 0}, shape[] = {6 / ranks, 2};
    float rows[12], all[12] = {0};
    for (int i = 0; i < 12; ++i)
        rows[i] = (float)(2 * offset[0] + i);
    reshard_shard shard = matrix("gate", rows, shape);
    shard.global_shape = whole;
    shard.offset = offset;
    char const* const path = in_directory("saved");
    reshard_options options = RESHARD_OPTIONS_INIT;
    CHECK_OK(reshard_save(MPI_COMM_WORLD, &shard, 1, path, NULL));
    CHECK_REFUSED(reshard_save(MPI_COMM_WORLD, &shard, 1, path, NULL), RESHARD_ALREADY_EXISTS,
                  "/saved");
    options.flags = RESHARD_WHOLE | RESHARD_REPLACE;
    options.program = "gate -> turned, permute=\"[1, 0]\"";
    CHECK_OK(reshard_save_f((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), &shard, 1, path, &options));
    MPI_Barrier(MPI_COMM_WORLD);
    reshard_checkpoint again = 0;
    CHECK_OK(reshard_open(path, &again));
    const int64_t turned[] = {2, 6};
    const reshard_shard box = matrix("turned", all, turned);
    CHECK_OK(reshard_read(again, &box));
    for (int i = 0; i < 12; ++i)
        CHECK(all[i] == (float)(2 * (i % 6) + i / 6));
    CHECK_OK(reshard_close(again));
    CHECK_REFUSED(reshard_save(MPI_COMM_WORLD, &shard, 1, NULL, NULL), RESHARD_USAGE,
                  "path is a null");
    options.flags = 4;
    CHECK_REFUSED(reshard_save(MPI_COMM_WORLD, &shard, 1, path, &options), RESHARD_USAGE,
                  "flags 4");
    MPI_Barrier(MPI_COMM_WORLD); // all have read it
}

static void commands(void) {
    char const* const model = in_directory("model");
    char const* const target = in_directory("converted");
    char* json = NULL;
    char const* inspect[] = {"inspect", model};
    CHECK_OK(reshard_command(MPI_COMM_WORLD, 2, inspect, &json));
    CHECK(*json == '{' && strstr(json, "\"gate\"") && strstr(json, "\"up\""));
    reshard_free(json);
    char const* convert[] = {"convert", model, target, "--program", in_directory("fuse.aoa")};
    CHECK_OK(reshard_command(MPI_COMM_WORLD, 5, convert, &json));
    CHECK(strstr(json, "\"keys\":3") != NULL);
    CHECK(strstr(reshard_warning(0), "'empty' has no elements") != NULL);
    CHECK(strstr(reshard_warning(1), "no key of the source") != NULL);
    CHECK(strcmp(reshard_warning(2), "note: copied beside the tensors: 'config.json'") == 0);
    CHECK(reshard_warning(3) == NULL);
    reshard_free(json);
    char const* verify[] = {"verify", target};
    CHECK_OK(reshard_command_f((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), 2, verify, &json));
    CHECK(strstr(json, "\"ok\":true") != NULL);
    reshard_free(json);
    char const* judge[] = {"check", "--source", model, "--program", in_directory("wrong.aoa")};
    CHECK_OK(reshard_command(MPI_COMM_NULL, 5, judge, &json));
    CHECK(strstr(json, "\"ok\":false") != NULL);
    reshard_free(json);
    char const* plan[] = {"plan", "--source", model, "--target", in_directory("tp3.json")};
    CHECK_OK(reshard_command(MPI_COMM_WORLD, 5, plan, &json));
    CHECK(strstr(json, "\"bytes\":104") != NULL);
    reshard_free(json);
    reshard_free(NULL);
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL); // commands leave it as it is
}

static void refused_commands(void) {
    char* json = NULL;
    char const* inspect[] = {"inspect", in_directory("model")};
    char const* missing[] = {"inspect", in_directory("no")};
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, missing, &json), RESHARD_MISSING_FILE, "/no");
    CHECK(json == NULL);
    char const* words[] = {"inspect", NULL, "--help"};
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, words, &json), RESHARD_USAGE, "argv[1]");
    words[1] = "--no-such";
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, words, &json), RESHARD_USAGE, "--no-such");
    words[1] = "--help";
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, words, &json), RESHARD_USAGE, "not JSON");
    words[0] = "no-such";
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 1, words, &json), RESHARD_USAGE, "no-such");
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 0, words, &json), RESHARD_USAGE, "argc is 0");
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 1, NULL, &json), RESHARD_USAGE, "argv is a null");
    char const* const* const wrong = rank == ranks - 1 ? NULL : inspect;
    CHECK_REFUSED(reshard_command(MPI_COMM_WORLD, 2, wrong, &json), RESHARD_USAGE,
                  ranks == 3 ? "rank 2: argv" : "argv");
    CHECK_REFUSED(reshard_command(MPI_COMM_NULL, 2, inspect, NULL), RESHARD_USAGE,
                  "json is a null");
    CHECK_REFUSED(reshard_command_f((int32_t)MPI_Comm_c2f(MPI_COMM_NULL), 2, inspect, &json),
                  RESHARD_USAGE, "RESHARD_ALONE");
}

struct given_model {
    char const* path; // made before the threads: in_directory is for one
    reshard_checkpoint shared;
};

// Each thread reads with a checkpoint of its own or a shared one, and has errors of its own.
static void* read_rows(void* given) {
    struct given_model const* const model = given;
    const int64_t shape[] = {6, 2};
    for (int i = 0; i < 50; ++i) {
        float gate[12] = {0};
        reshard_checkpoint own = 0;
        const reshard_shard box = matrix("gate", gate, shape), missing = matrix("no", gate, shape);
        CHECK_OK(reshard_open(model->path, &own));
        CHECK_OK(reshard_read(i % 2 ? own : model->shared, &box));
        CHECK(gate[0] == 0 && gate[11] == 11);
        CHECK_REFUSED(reshard_read(own, &missing), RESHARD_UNKNOWN_KEY, "'no'");
        CHECK_OK(reshard_close(own));
    }
    return NULL;
}

static void threads(reshard_checkpoint model) {
    pthread_t others[3];
    struct given_model given = {in_directory("model"), model};
    CHECK_REFUSED(reshard_open(NULL, NULL), RESHARD_USAGE, "null");
    for (int i = 0; i < 3; ++i)
        CHECK(pthread_create(&others[i], NULL, read_rows, &given) == 0);
    for (int i = 0; i < 3; ++i)
        CHECK(pthread_join(others[i], NULL) == 0);
    CHECK(strstr(reshard_error_text(), "null") != NULL);
}

static void write_text(char const* name, char const* text) {
    FILE* file = fopen(in_directory(name), "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_directory(void) {
    char command[1300];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s/model'", directory, directory);
    CHECK(system(command) == 0);
    write_model(in_directory("model/model.safetensors"));
    write_text("model/config.json", "{}");
    write_text("fuse.aoa", "gate, up -> w, axis=0\nno.such.$LAYER_ID -> x.$LAYER_ID\n");
    write_text("wrong.aoa", "down -> w\n");
    write_text("tp3.json", "{\"mesh\": [[\"tp\", 3]], \"rules\": [{\"match\": \"up\", \"shard\": "
                           "{\"tp\": 0}}, {\"match\": \"**\", \"shard\": {}}]}");
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(directory, sizeof directory, "%s", argv[1]);
    CHECK(strcmp(reshard_version(), RESHARD_TEST_VERSION) == 0);
    names_of_statuses();
    names_of_data_types();
    without_mpi("not initialized");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        make_directory();
    MPI_Barrier(MPI_COMM_WORLD);
    reshard_checkpoint model = 0;
    CHECK_OK(reshard_open(in_directory("model"), &model));
    CHECK(strstr(reshard_warning(0), "'empty' has no elements") && !reshard_warning(1));
    listed(model);
    boxes(model);
    refused_boxes(model);
    closed();
    loaded(model);
    if (ranks == 3)
        loaded_by_program(model);
    redistributed();
    mistakes();
    different_calls(model);
    saved();
    commands();
    refused_commands();
    threads(model);
    CHECK_OK(reshard_close(model));
    MPI_Finalize();
    without_mpi("has ended");
    if (rank == 0)
        puts("all calls are right");
    return 0;
}
