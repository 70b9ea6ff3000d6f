! Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

!> Reshard for Fortran 2008: the functions of reshard.h. doc/c.md is the manual.
!!
!! A communicator is a type(MPI_Comm) of mpi_f08, or an integer; RESHARD_ALONE is this process alone. Texts need no NUL at
!! their end, except those of shards and options, which are addresses.
module reshard
    use, intrinsic :: iso_c_binding
    use mpi_f08, only: MPI_Comm
    implicit none
    private

    public :: reshard_shard, reshard_tensor, reshard_options
    public :: reshard_version, reshard_error_text, reshard_warning, reshard_status_name, reshard_dtype_name
    public :: reshard_open, reshard_close, reshard_tensor_count, reshard_tensor_at, reshard_find_tensor, reshard_read
    public :: reshard_load, reshard_save, reshard_redistribute, reshard_command, reshard_dtype_bits

    !> Statuses.
    enum, bind(c)
        enumerator :: RESHARD_OK = 0
        enumerator :: RESHARD_SYNTAX, RESHARD_UNKNOWN_KEY, RESHARD_BAD_MACRO, RESHARD_SHAPE_MISMATCH
        enumerator :: RESHARD_DTYPE_MISMATCH, RESHARD_NOT_COVERED, RESHARD_OVERLAP, RESHARD_OVERFLOW
        enumerator :: RESHARD_LIMIT_EXCEEDED, RESHARD_BAD_LAYOUT, RESHARD_MEMORY_OVERLAP, RESHARD_RANKS_DISAGREE
        enumerator :: RESHARD_UNSUPPORTED, RESHARD_NOT_INVERTIBLE, RESHARD_USAGE, RESHARD_CORRUPT_FILE
        enumerator :: RESHARD_MISSING_FILE, RESHARD_ALREADY_EXISTS, RESHARD_IO, RESHARD_DEADLINE
    end enum
    public :: RESHARD_OK, RESHARD_SYNTAX, RESHARD_UNKNOWN_KEY, RESHARD_BAD_MACRO, RESHARD_SHAPE_MISMATCH
    public :: RESHARD_DTYPE_MISMATCH, RESHARD_NOT_COVERED, RESHARD_OVERLAP, RESHARD_OVERFLOW
    public :: RESHARD_LIMIT_EXCEEDED, RESHARD_BAD_LAYOUT, RESHARD_MEMORY_OVERLAP, RESHARD_RANKS_DISAGREE
    public :: RESHARD_UNSUPPORTED, RESHARD_NOT_INVERTIBLE, RESHARD_USAGE, RESHARD_CORRUPT_FILE
    public :: RESHARD_MISSING_FILE, RESHARD_ALREADY_EXISTS, RESHARD_IO, RESHARD_DEADLINE

    !> Data types.
    enum, bind(c)
        enumerator :: RESHARD_BOOL = 1, RESHARD_UINT8, RESHARD_INT8, RESHARD_UINT16, RESHARD_INT16, RESHARD_UINT32
        enumerator :: RESHARD_INT32, RESHARD_UINT64, RESHARD_INT64, RESHARD_FLOAT16, RESHARD_BFLOAT16, RESHARD_FLOAT32
        enumerator :: RESHARD_FLOAT64, RESHARD_COMPLEX64, RESHARD_COMPLEX128, RESHARD_FLOAT8_E4M3FN
        enumerator :: RESHARD_FLOAT8_E4M3FNUZ, RESHARD_FLOAT8_E5M2, RESHARD_FLOAT8_E5M2FNUZ, RESHARD_FLOAT8_E8M0
        enumerator :: RESHARD_FLOAT6_E2M3, RESHARD_FLOAT6_E3M2, RESHARD_FLOAT4_E2M1
    end enum
    public :: RESHARD_BOOL, RESHARD_UINT8, RESHARD_INT8, RESHARD_UINT16, RESHARD_INT16, RESHARD_UINT32
    public :: RESHARD_INT32, RESHARD_UINT64, RESHARD_INT64, RESHARD_FLOAT16, RESHARD_BFLOAT16, RESHARD_FLOAT32
    public :: RESHARD_FLOAT64, RESHARD_COMPLEX64, RESHARD_COMPLEX128, RESHARD_FLOAT8_E4M3FN
    public :: RESHARD_FLOAT8_E4M3FNUZ, RESHARD_FLOAT8_E5M2, RESHARD_FLOAT8_E5M2FNUZ, RESHARD_FLOAT8_E8M0
    public :: RESHARD_FLOAT6_E2M3, RESHARD_FLOAT6_E3M2, RESHARD_FLOAT4_E2M1

    integer(c_int32_t), parameter, public :: RESHARD_WHOLE = 1, RESHARD_REPLACE = 2
    integer(c_int32_t), parameter, public :: RESHARD_ALONE = -1

    !> A box of a tensor, and the memory of its elements. Without strides the last axis is contiguous, as in C: an array of
    !! Fortran gives its strides, [1, extent of axis 1, ...]. All addresses are of variables with `target`.
    type, bind(c) :: reshard_shard
        integer(c_int32_t) :: struct_bytes = 64
        integer(c_int32_t) :: dtype = 0
        integer(c_int32_t) :: ndim = 0
        integer(c_int32_t) :: reserved = 0
        type(c_ptr) :: key = c_null_ptr !< characters that end with c_null_char
        type(c_ptr) :: data = c_null_ptr
        type(c_ptr) :: shape = c_null_ptr !< integers of kind c_int64_t, as are those below
        type(c_ptr) :: strides = c_null_ptr
        type(c_ptr) :: global_shape = c_null_ptr
        type(c_ptr) :: offset = c_null_ptr !< begins with 0
    end type

    !> A tensor of a checkpoint.
    type, bind(c) :: reshard_tensor
        integer(c_int32_t) :: struct_bytes = 40
        integer(c_int32_t) :: dtype = 0
        integer(c_int32_t) :: ndim = 0
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: key_bytes = 0
        type(c_ptr) :: key = c_null_ptr
        type(c_ptr) :: shape = c_null_ptr
    end type

    type, bind(c) :: reshard_options
        integer(c_int32_t) :: struct_bytes = 24
        integer(c_int32_t) :: flags = 0
        type(c_ptr) :: program = c_null_ptr !< characters that end with c_null_char
        type(c_ptr) :: program_name = c_null_ptr
    end type

    interface reshard_load
        procedure :: load, load_f08
    end interface

    interface reshard_save
        procedure :: save, save_f08
    end interface

    interface reshard_redistribute
        procedure :: redistribute, redistribute_f08
    end interface

    interface reshard_command
        procedure :: command, command_f08
    end interface

    interface
        integer(c_int32_t) function reshard_close(checkpoint) bind(c)
            import :: c_int32_t, c_int64_t
            integer(c_int64_t), value :: checkpoint
        end function

        integer(c_int32_t) function reshard_tensor_count(checkpoint, count) bind(c)
            import :: c_int32_t, c_int64_t
            integer(c_int64_t), value :: checkpoint
            integer(c_int64_t), intent(out) :: count
        end function

        !> `index` begins with 0, as in C.
        integer(c_int32_t) function reshard_tensor_at(checkpoint, index, tensor) bind(c)
            import :: c_int32_t, c_int64_t, reshard_tensor
            integer(c_int64_t), value :: checkpoint, index
            type(reshard_tensor), intent(inout) :: tensor
        end function

        integer(c_int32_t) function reshard_read(checkpoint, box) bind(c)
            import :: c_int32_t, c_int64_t, reshard_shard
            integer(c_int64_t), value :: checkpoint
            type(reshard_shard), intent(in) :: box
        end function

        integer(c_int32_t) function reshard_dtype_bits(dtype) bind(c)
            import :: c_int32_t
            integer(c_int32_t), value :: dtype
        end function

        type(c_ptr) function c_version() bind(c, name="reshard_version")
            import :: c_ptr
        end function

        type(c_ptr) function c_status_name(status) bind(c, name="reshard_status_name")
            import :: c_int32_t, c_ptr
            integer(c_int32_t), value :: status
        end function

        type(c_ptr) function c_dtype_name(dtype) bind(c, name="reshard_dtype_name")
            import :: c_int32_t, c_ptr
            integer(c_int32_t), value :: dtype
        end function

        type(c_ptr) function c_error_text() bind(c, name="reshard_error_text")
            import :: c_ptr
        end function

        type(c_ptr) function c_warning(index) bind(c, name="reshard_warning")
            import :: c_ptr, c_int64_t
            integer(c_int64_t), value :: index
        end function

        integer(c_int32_t) function c_open(path, checkpoint) bind(c, name="reshard_open")
            import :: c_int32_t, c_int64_t, c_char
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int64_t), intent(out) :: checkpoint
        end function

        integer(c_int32_t) function c_find_tensor(checkpoint, key, tensor) bind(c, name="reshard_find_tensor")
            import :: c_int32_t, c_int64_t, c_char, reshard_tensor
            integer(c_int64_t), value :: checkpoint
            character(kind=c_char), intent(in) :: key(*)
            type(reshard_tensor), intent(inout) :: tensor
        end function

        integer(c_int32_t) function c_load(comm, checkpoint, shards, count, options) bind(c, name="reshard_load_f")
            import :: c_int32_t, c_int64_t, c_ptr, reshard_shard
            integer(c_int32_t), value :: comm
            integer(c_int64_t), value :: checkpoint, count
            type(reshard_shard), intent(in) :: shards(*)
            type(c_ptr), value :: options
        end function

        integer(c_int32_t) function c_save(comm, shards, count, path, options) bind(c, name="reshard_save_f")
            import :: c_int32_t, c_int64_t, c_char, c_ptr, reshard_shard
            integer(c_int32_t), value :: comm
            integer(c_int64_t), value :: count
            type(reshard_shard), intent(in) :: shards(*)
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), value :: options
        end function

        integer(c_int32_t) function c_redistribute(comm, have, have_count, want, want_count, options) &
            bind(c, name="reshard_redistribute_f")
            import :: c_int32_t, c_int64_t, c_ptr, reshard_shard
            integer(c_int32_t), value :: comm
            integer(c_int64_t), value :: have_count, want_count
            type(reshard_shard), intent(in) :: have(*), want(*)
            type(c_ptr), value :: options
        end function

        integer(c_int32_t) function c_command(comm, argc, argv, json) bind(c, name="reshard_command_f")
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: comm
            integer(c_int), value :: argc
            type(c_ptr), intent(in) :: argv(*)
            type(c_ptr), intent(out) :: json
        end function

        subroutine c_free(json) bind(c, name="reshard_free")
            import :: c_ptr
            type(c_ptr), value :: json
        end subroutine

        integer(c_size_t) function c_length(text) bind(c, name="strlen")
            import :: c_size_t, c_ptr
            type(c_ptr), value :: text
        end function
    end interface

contains

    function reshard_version() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_version())
    end function

    !> Such as "unknown_key"; empty for a number that is not a status.
    function reshard_status_name(status) result(text)
        integer(c_int32_t), intent(in) :: status
        character(len=:), allocatable :: text
        text = text_at(c_status_name(status))
    end function

    !> Such as "bfloat16"; empty for a number that is not a data type.
    function reshard_dtype_name(dtype) result(text)
        integer(c_int32_t), intent(in) :: dtype
        character(len=:), allocatable :: text
        text = text_at(c_dtype_name(dtype))
    end function

    !> The sentence of the error of the last call; empty after a success.
    function reshard_error_text() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_error_text())
    end function

    !> A warning of the last call, from 0 on; empty if there are no more.
    function reshard_warning(index) result(text)
        integer(c_int64_t), intent(in) :: index
        character(len=:), allocatable :: text
        text = text_at(c_warning(index))
    end function

    integer(c_int32_t) function reshard_open(path, checkpoint) result(status)
        character(len=*), intent(in) :: path
        integer(c_int64_t), intent(out) :: checkpoint
        status = c_open(trim(path)//c_null_char, checkpoint)
    end function

    integer(c_int32_t) function reshard_find_tensor(checkpoint, key, tensor) result(status)
        integer(c_int64_t), intent(in) :: checkpoint
        character(len=*), intent(in) :: key
        type(reshard_tensor), intent(inout) :: tensor
        status = c_find_tensor(checkpoint, trim(key)//c_null_char, tensor)
    end function

    integer(c_int32_t) function load(comm, checkpoint, shards, options) result(status)
        integer, intent(in) :: comm
        integer(c_int64_t), intent(in) :: checkpoint
        type(reshard_shard), intent(in) :: shards(:)
        type(reshard_options), intent(in), optional, target :: options
        status = c_load(comm, checkpoint, shards, size(shards, kind=c_int64_t), address_of(options))
    end function

    integer(c_int32_t) function load_f08(comm, checkpoint, shards, options) result(status)
        type(MPI_Comm), intent(in) :: comm
        integer(c_int64_t), intent(in) :: checkpoint
        type(reshard_shard), intent(in) :: shards(:)
        type(reshard_options), intent(in), optional, target :: options
        status = load(comm%MPI_VAL, checkpoint, shards, options)
    end function

    integer(c_int32_t) function save(comm, shards, path, options) result(status)
        integer, intent(in) :: comm
        type(reshard_shard), intent(in) :: shards(:)
        character(len=*), intent(in) :: path
        type(reshard_options), intent(in), optional, target :: options
        status = c_save(comm, shards, size(shards, kind=c_int64_t), trim(path)//c_null_char, address_of(options))
    end function

    integer(c_int32_t) function save_f08(comm, shards, path, options) result(status)
        type(MPI_Comm), intent(in) :: comm
        type(reshard_shard), intent(in) :: shards(:)
        character(len=*), intent(in) :: path
        type(reshard_options), intent(in), optional, target :: options
        status = save(comm%MPI_VAL, shards, path, options)
    end function

    integer(c_int32_t) function redistribute(comm, have, want, options) result(status)
        integer, intent(in) :: comm
        type(reshard_shard), intent(in) :: have(:), want(:)
        type(reshard_options), intent(in), optional, target :: options
        status = c_redistribute(comm, have, size(have, kind=c_int64_t), want, size(want, kind=c_int64_t), &
                                address_of(options))
    end function

    integer(c_int32_t) function redistribute_f08(comm, have, want, options) result(status)
        type(MPI_Comm), intent(in) :: comm
        type(reshard_shard), intent(in) :: have(:), want(:)
        type(reshard_options), intent(in), optional, target :: options
        status = redistribute(comm%MPI_VAL, have, want, options)
    end function

    !> Runs a command of the tool: its words, without the spaces at their ends.
    integer(c_int32_t) function command(comm, words, json) result(status)
        integer, intent(in) :: comm
        character(len=*), intent(in) :: words(:)
        character(len=:), allocatable, intent(out) :: json
        character(kind=c_char, len=len(words) + 1), target :: texts(size(words))
        type(c_ptr) :: argv(size(words)), output
        integer :: i
        do i = 1, size(words)
            texts(i) = trim(words(i))//c_null_char
            argv(i) = c_loc(texts(i))
        end do
        output = c_null_ptr
        status = c_command(comm, size(words, kind=c_int), argv, output)
        json = text_at(output)
        call c_free(output)
    end function

    integer(c_int32_t) function command_f08(comm, words, json) result(status)
        type(MPI_Comm), intent(in) :: comm
        character(len=*), intent(in) :: words(:)
        character(len=:), allocatable, intent(out) :: json
        status = command(comm%MPI_VAL, words, json)
    end function

    type(c_ptr) function address_of(options)
        type(reshard_options), intent(in), optional, target :: options
        address_of = c_null_ptr
        if (present(options)) address_of = c_loc(options)
    end function

    !> A copy of a text of C; empty for a null pointer.
    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: characters(:)
        integer(c_size_t) :: length, i
        length = 0
        if (c_associated(address)) length = c_length(address)
        allocate (character(len=length) :: text)
        if (length > 0) call c_f_pointer(address, characters, [length])
        do i = 1, length
            text(i:i) = characters(i)
        end do
    end function
end module
