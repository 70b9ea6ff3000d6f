// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_H
#define RESHARD_H

#include <mpi.h>

#include <stddef.h>
#include <stdint.h>

/// \file
/// Reshard for C, and for languages that call C. doc/c.md is the manual.
///
/// Every function returns a status, unless its comment says otherwise. No function throws. Null
/// pointers, unknown numbers and wrong sizes are errors; other pointers have to be valid, texts end
/// with a NUL, and memory is as large as its shape says.
///
/// A communicator is MPI_COMM_NULL for this process alone, which needs no MPI_Init. Otherwise every
/// rank of it makes the same call, and a mistake of one rank is an error of all. Functions with `_f`
/// take the integer of MPI_Comm_c2f or RESHARD_ALONE, for languages that do not include mpi.h.
///
/// The numbers and the members in this file never change; later versions add to them.

#if defined(__GNUC__)
#define RESHARD_API __attribute__((visibility("default")))
#else
#define RESHARD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call: RESHARD_OK, or the kind of the error.
typedef int32_t reshard_status;
enum {
    RESHARD_OK = 0,
    RESHARD_SYNTAX = 1,          ///< a program or a layout file does not follow its grammar
    RESHARD_UNKNOWN_KEY = 2,     ///< a name that no tensor has
    RESHARD_BAD_MACRO = 3,       ///< a macro that is used in an unsupported form
    RESHARD_SHAPE_MISMATCH = 4,  ///< shapes that do not fit, or an axis that does not exist
    RESHARD_DTYPE_MISMATCH = 5,  ///< data types differ, but the program has no cast
    RESHARD_NOT_COVERED = 6,     ///< elements of a target that nobody holds
    RESHARD_OVERLAP = 7,         ///< shards share elements but are not replicas
    RESHARD_OVERFLOW = 8,        ///< a product of extents that does not fit 64 bits
    RESHARD_LIMIT_EXCEEDED = 9,  ///< a limit of the library, such as 8 axes
    RESHARD_BAD_LAYOUT = 10,     ///< a shard or a layout that contradicts itself
    RESHARD_MEMORY_OVERLAP = 11, ///< source and target tensors share memory
    RESHARD_RANKS_DISAGREE = 12, ///< ranks make different calls, or have different programs
    RESHARD_UNSUPPORTED = 13,    ///< legal, but not possible in this combination
    RESHARD_NOT_INVERTIBLE = 14, ///< a program that cannot be reversed
    RESHARD_USAGE = 15,          ///< an argument that cannot be understood
    RESHARD_CORRUPT_FILE = 16,   ///< a file whose bytes contradict its format
    RESHARD_MISSING_FILE = 17,   ///< a required file does not exist
    RESHARD_ALREADY_EXISTS = 18, ///< the target already exists
    RESHARD_IO = 19,             ///< the system refused to read or write, or has no memory
    RESHARD_DEADLINE = 20        ///< ranks that did not arrive in time
};

/// The type of an element.
typedef int32_t reshard_dtype;
enum {
    RESHARD_BOOL = 1,
    RESHARD_UINT8 = 2,
    RESHARD_INT8 = 3,
    RESHARD_UINT16 = 4,
    RESHARD_INT16 = 5,
    RESHARD_UINT32 = 6,
    RESHARD_INT32 = 7,
    RESHARD_UINT64 = 8,
    RESHARD_INT64 = 9,
    RESHARD_FLOAT16 = 10,
    RESHARD_BFLOAT16 = 11,
    RESHARD_FLOAT32 = 12,
    RESHARD_FLOAT64 = 13,
    RESHARD_COMPLEX64 = 14,
    RESHARD_COMPLEX128 = 15,
    RESHARD_FLOAT8_E4M3FN = 16,
    RESHARD_FLOAT8_E4M3FNUZ = 17,
    RESHARD_FLOAT8_E5M2 = 18,
    RESHARD_FLOAT8_E5M2FNUZ = 19,
    RESHARD_FLOAT8_E8M0 = 20,
    RESHARD_FLOAT6_E2M3 = 21, ///< 6 and 4 bits: packed, lowest bits first
    RESHARD_FLOAT6_E3M2 = 22,
    RESHARD_FLOAT4_E2M1 = 23
};

/// This process alone, for functions with `_f`.
enum { RESHARD_ALONE = -1 };

/// A checkpoint that is open, or 0. The number of a closed checkpoint is not used again.
typedef int64_t reshard_checkpoint;

/// A tensor of a checkpoint.
///
/// `key` ends with a NUL; it has more of them inside if `key_bytes` exceeds its `strlen`. `dtype` is
/// 0 if the library cannot read the tensor; reshard_read says why.
typedef struct reshard_tensor {
    uint32_t struct_bytes; ///< sizeof(reshard_tensor), set by the caller
    reshard_dtype dtype;
    int32_t ndim;
    int32_t reserved; ///< 0
    int64_t key_bytes;
    char const* key;      ///< until reshard_close
    int64_t const* shape; ///< until reshard_close
} reshard_tensor;

/// A box of a tensor, and the memory of its elements: read by redistribute and save, written by read
/// and load. All pointers have to be valid until the call returns.
///
/// Functions take an array of shards, which have the same `struct_bytes`.
typedef struct reshard_shard {
    uint32_t struct_bytes; ///< sizeof(reshard_shard)
    reshard_dtype dtype;
    int32_t ndim;     ///< 0 for a scalar, which needs no extents
    int32_t reserved; ///< 0
    char const* key;
    void* data;                  ///< the element of the box at index 0, 0, ...
    int64_t const* shape;        ///< the extents of the box
    int64_t const* strides;      ///< in elements; null: the last axis is contiguous, as in C
    int64_t const* global_shape; ///< of the tensor; null: the box is the tensor
    int64_t const* offset;       ///< of the box in the tensor; null: zeros
} reshard_shard;

/// Flags of reshard_options.
enum {
    RESHARD_WHOLE = 1,  ///< save a Hugging Face directory of whole tensors
    RESHARD_REPLACE = 2 ///< save may replace a checkpoint, when the new one is complete
};

/// Options of load, save and redistribute. A null pointer instead means none.
typedef struct reshard_options {
    uint32_t struct_bytes; ///< sizeof(reshard_options)
    uint32_t flags;
    char const* program;      ///< AOA text; null: tensors keep their names
    char const* program_name; ///< the name of the program in messages; null: "program"
} reshard_options;

/// Initial values; the other members are to be set.
#define RESHARD_TENSOR_INIT                                                                        \
    { (uint32_t)sizeof(reshard_tensor), 0, 0, 0, 0, NULL, NULL }
#define RESHARD_SHARD_INIT                                                                         \
    { (uint32_t)sizeof(reshard_shard), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
#define RESHARD_OPTIONS_INIT                                                                       \
    { (uint32_t)sizeof(reshard_options), 0, NULL, NULL }

/// Returns the version of the library, such as "0.1.0".
RESHARD_API char const* reshard_version(void);

/// Returns the name of a status, such as "unknown_key"; "ok" for RESHARD_OK; null for others.
RESHARD_API char const* reshard_status_name(reshard_status status);

/// Returns the name of a data type in programs, such as "bfloat16"; null for other numbers.
RESHARD_API char const* reshard_dtype_name(reshard_dtype dtype);

/// Returns the bits of an element; 0 for other numbers.
RESHARD_API int32_t reshard_dtype_bits(reshard_dtype dtype);

/// Returns the sentence of the error of this thread's last call that returned a status; "" if that
/// was RESHARD_OK. It is valid until the next call.
RESHARD_API char const* reshard_error_text(void);

/// Returns the `index`-th warning of this thread's last call that returned a status; null if there
/// are no more. It is valid until the next call. A note begins with "note: ".
RESHARD_API char const* reshard_warning(int64_t index);

/// Opens a checkpoint in any format, on this rank. `*checkpoint` is 0 after an error, and may be
/// given to reshard_load, which then fails on all ranks.
RESHARD_API reshard_status reshard_open(char const* path, reshard_checkpoint* checkpoint);

/// Closes a checkpoint. 0 is allowed.
RESHARD_API reshard_status reshard_close(reshard_checkpoint checkpoint);

/// The number of tensors.
RESHARD_API reshard_status reshard_tensor_count(reshard_checkpoint checkpoint, int64_t* count);

/// The `index`-th tensor, in the order of keys. Set `tensor->struct_bytes` before.
RESHARD_API reshard_status reshard_tensor_at(reshard_checkpoint checkpoint, int64_t index,
                                             reshard_tensor* tensor);

/// The tensor with a key, or RESHARD_UNKNOWN_KEY. Set `tensor->struct_bytes` before.
RESHARD_API reshard_status reshard_find_tensor(reshard_checkpoint checkpoint, char const* key,
                                               reshard_tensor* tensor);

/// Reads a box of one tensor, on this rank. `box->global_shape` may be null: the checkpoint has it.
RESHARD_API reshard_status reshard_read(reshard_checkpoint checkpoint, reshard_shard const* box);

/// Fills the shards of all ranks from a checkpoint; what several ranks want is read once.
RESHARD_API reshard_status reshard_load(MPI_Comm comm, reshard_checkpoint checkpoint,
                                        reshard_shard const* shards, int64_t count,
                                        reshard_options const* options);
RESHARD_API reshard_status reshard_load_f(int32_t comm, reshard_checkpoint checkpoint,
                                          reshard_shard const* shards, int64_t count,
                                          reshard_options const* options);

/// Writes the shards of all ranks as a checkpoint, which appears complete or not at all.
RESHARD_API reshard_status reshard_save(MPI_Comm comm, reshard_shard const* shards, int64_t count,
                                        char const* path, reshard_options const* options);
RESHARD_API reshard_status reshard_save_f(int32_t comm, reshard_shard const* shards, int64_t count,
                                          char const* path, reshard_options const* options);

/// Fills the shards `want` of all ranks from the shards `have` of all ranks.
RESHARD_API reshard_status reshard_redistribute(MPI_Comm comm, reshard_shard const* have,
                                                int64_t have_count, reshard_shard const* want,
                                                int64_t want_count, reshard_options const* options);
RESHARD_API reshard_status reshard_redistribute_f(int32_t comm, reshard_shard const* have,
                                                  int64_t have_count, reshard_shard const* want,
                                                  int64_t want_count,
                                                  reshard_options const* options);

/// Runs a command of the tool, such as {"convert", "model", "sharded", "--layout", "tp4.json"}, with
/// `--json`. All ranks give the same words. `*json` is the output on every rank, for reshard_free;
/// null after an error. What a command finds, as `check` and `verify` do, is in the output.
RESHARD_API reshard_status reshard_command(MPI_Comm comm, int argc, char const* const* argv,
                                           char** json);
RESHARD_API reshard_status reshard_command_f(int32_t comm, int argc, char const* const* argv,
                                             char** json);

/// Frees the output of a command. Null is allowed.
RESHARD_API void reshard_free(char* json);

#ifdef __cplusplus
}
#endif

#endif
