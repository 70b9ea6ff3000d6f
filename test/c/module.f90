! Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

! The module for Fortran on two ranks: what the example does not call.
program module_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mpi_f08
    use reshard
    implicit none

    character(len=*), parameter :: path = "c_module_saved"
    character(kind=c_char, len=3), target :: key = "up"//c_null_char
    character(kind=c_char, len=40), target :: text = 'up -> v, dtype="float64"'//c_null_char
    real(c_float), target :: up = 3, read_up = 0
    real(c_double), target :: moved = 0
    type(reshard_shard) :: have, want
    type(reshard_tensor) :: tensor
    type(reshard_options) :: options
    character(len=:), allocatable :: json
    integer(c_int64_t) :: saved, number
    integer :: rank

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call check(c_sizeof(have) == have%struct_bytes, "the size of a shard")
    call check(c_sizeof(tensor) == tensor%struct_bytes, "the size of a tensor")
    call check(c_sizeof(options) == options%struct_bytes, "the size of options")
    call check(RESHARD_DEADLINE == 20 .and. RESHARD_FLOAT4_E2M1 == 23, "the last numbers")
    call check(index(reshard_version(), "0.") == 1, "the version")
    call check_names()
    call check(len(reshard_dtype_name(0)) == 0, "the name of none")

    have = scalar(RESHARD_FLOAT32, c_loc(up))
    call check(reshard_open("no such checkpoint  ", saved) == RESHARD_MISSING_FILE, "a missing file")
    call check(index(reshard_error_text(), "no such checkpoint:") > 0, "its sentence")
    options%flags = RESHARD_REPLACE + RESHARD_WHOLE
    call check(reshard_save(MPI_COMM_WORLD%MPI_VAL, [have], path, options) == RESHARD_OK, "save")
    call check(reshard_open(path//"  ", saved) == RESHARD_OK .and. saved > 0, "open")
    call check(reshard_tensor_count(saved, number) == RESHARD_OK .and. number == 1, "the number")
    call check(reshard_tensor_at(saved, 0_c_int64_t, tensor) == RESHARD_OK, "the first tensor")
    call check(tensor%key_bytes == 2 .and. tensor%ndim == 0, "what it is")
    call check(reshard_find_tensor(saved, "up", tensor) == RESHARD_OK, "find")
    call check(reshard_dtype_bits(tensor%dtype) == 32, "its bits")
    call check(reshard_read(saved, scalar(RESHARD_FLOAT32, c_loc(read_up))) == RESHARD_OK, "read")
    call check(abs(read_up - 3) < 0.5, "what was read")

    want = scalar(RESHARD_FLOAT64, c_loc(moved))
    key = "v"//c_null_char
    options = reshard_options(program=c_loc(text))
    call check(reshard_load(RESHARD_ALONE, saved, [want], options) == RESHARD_OK, "load alone")
    call check(abs(moved - 3) < 0.5, "what was loaded")
    call check(len(reshard_warning(0_c_int64_t)) == 0, "no warning")
    have%struct_bytes = merge(64, 63, rank == 0)
    call check(reshard_redistribute(MPI_COMM_WORLD, [have], [want]) == RESHARD_USAGE, "a mistake of rank 1")
    call check(index(reshard_error_text(), "rank 1: have[0]") == 1, "its sentence")
    call check(reshard_close(saved) == RESHARD_OK, "close")
    call check(reshard_command(MPI_COMM_WORLD, [character(len=20) :: "inspect", path], json) == RESHARD_OK, "inspect")
    call check(json(1:1) == "{" .and. index(json, '"up"') > 0, "its output")
    call check(reshard_command(RESHARD_ALONE, [character(len=20) :: "no-such"], json) == RESHARD_USAGE, "no command")
    call check(len(json) == 0, "no output")
    call MPI_Finalize()

contains

    subroutine check_names()
        call check(reshard_status_name(RESHARD_SYNTAX) == "syntax", "the status syntax")
        call check(reshard_status_name(RESHARD_UNKNOWN_KEY) == "unknown_key", "the status unknown_key")
        call check(reshard_status_name(RESHARD_BAD_MACRO) == "bad_macro", "the status bad_macro")
        call check(reshard_status_name(RESHARD_SHAPE_MISMATCH) == "shape_mismatch", "the status shape_mismatch")
        call check(reshard_status_name(RESHARD_DTYPE_MISMATCH) == "dtype_mismatch", "the status dtype_mismatch")
        call check(reshard_status_name(RESHARD_NOT_COVERED) == "not_covered", "the status not_covered")
        call check(reshard_status_name(RESHARD_OVERLAP) == "overlap", "the status overlap")
        call check(reshard_status_name(RESHARD_OVERFLOW) == "overflow", "the status overflow")
        call check(reshard_status_name(RESHARD_LIMIT_EXCEEDED) == "limit_exceeded", "the status limit_exceeded")
        call check(reshard_status_name(RESHARD_BAD_LAYOUT) == "bad_layout", "the status bad_layout")
        call check(reshard_status_name(RESHARD_MEMORY_OVERLAP) == "memory_overlap", "the status memory_overlap")
        call check(reshard_status_name(RESHARD_RANKS_DISAGREE) == "ranks_disagree", "the status ranks_disagree")
        call check(reshard_status_name(RESHARD_UNSUPPORTED) == "unsupported", "the status unsupported")
        call check(reshard_status_name(RESHARD_NOT_INVERTIBLE) == "not_invertible", "the status not_invertible")
        call check(reshard_status_name(RESHARD_USAGE) == "usage", "the status usage")
        call check(reshard_status_name(RESHARD_CORRUPT_FILE) == "corrupt_file", "the status corrupt_file")
        call check(reshard_status_name(RESHARD_MISSING_FILE) == "missing_file", "the status missing_file")
        call check(reshard_status_name(RESHARD_ALREADY_EXISTS) == "already_exists", "the status already_exists")
        call check(reshard_status_name(RESHARD_IO) == "io", "the status io")
        call check(reshard_status_name(RESHARD_DEADLINE) == "deadline", "the status deadline")
        call check(reshard_dtype_name(RESHARD_BOOL) == "bool", "the data type bool")
        call check(reshard_dtype_name(RESHARD_UINT8) == "uint8", "the data type uint8")
        call check(reshard_dtype_name(RESHARD_INT8) == "int8", "the data type int8")
        call check(reshard_dtype_name(RESHARD_UINT16) == "uint16", "the data type uint16")
        call check(reshard_dtype_name(RESHARD_INT16) == "int16", "the data type int16")
        call check(reshard_dtype_name(RESHARD_UINT32) == "uint32", "the data type uint32")
        call check(reshard_dtype_name(RESHARD_INT32) == "int32", "the data type int32")
        call check(reshard_dtype_name(RESHARD_UINT64) == "uint64", "the data type uint64")
        call check(reshard_dtype_name(RESHARD_INT64) == "int64", "the data type int64")
        call check(reshard_dtype_name(RESHARD_FLOAT16) == "float16", "the data type float16")
        call check(reshard_dtype_name(RESHARD_BFLOAT16) == "bfloat16", "the data type bfloat16")
        call check(reshard_dtype_name(RESHARD_FLOAT32) == "float32", "the data type float32")
        call check(reshard_dtype_name(RESHARD_FLOAT64) == "float64", "the data type float64")
        call check(reshard_dtype_name(RESHARD_COMPLEX64) == "complex64", "the data type complex64")
        call check(reshard_dtype_name(RESHARD_COMPLEX128) == "complex128", "the data type complex128")
        call check(reshard_dtype_name(RESHARD_FLOAT8_E4M3FN) == "float8_e4m3fn", "the data type float8_e4m3fn")
        call check(reshard_dtype_name(RESHARD_FLOAT8_E4M3FNUZ) == "float8_e4m3fnuz", "the data type float8_e4m3fnuz")
        call check(reshard_dtype_name(RESHARD_FLOAT8_E5M2) == "float8_e5m2", "the data type float8_e5m2")
        call check(reshard_dtype_name(RESHARD_FLOAT8_E5M2FNUZ) == "float8_e5m2fnuz", "the data type float8_e5m2fnuz")
        call check(reshard_dtype_name(RESHARD_FLOAT8_E8M0) == "float8_e8m0", "the data type float8_e8m0")
        call check(reshard_dtype_name(RESHARD_FLOAT6_E2M3) == "float6_e2m3", "the data type float6_e2m3")
        call check(reshard_dtype_name(RESHARD_FLOAT6_E3M2) == "float6_e3m2", "the data type float6_e3m2")
        call check(reshard_dtype_name(RESHARD_FLOAT4_E2M1) == "float4_e2m1", "the data type float4_e2m1")
    end subroutine

    type(reshard_shard) function scalar(dtype, address)
        integer(c_int32_t), intent(in) :: dtype
        type(c_ptr), intent(in) :: address
        scalar%key = c_loc(key)
        scalar%dtype = dtype
        scalar%data = address
    end function

    subroutine check(is_right, noun)
        logical, intent(in) :: is_right
        character(len=*), intent(in) :: noun
        if (is_right) return
        write (error_unit, "(a)") noun//" is wrong: "//reshard_error_text()
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program
