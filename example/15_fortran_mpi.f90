! Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

! A matrix that is cut by columns, as Fortran's arrays are in memory, becomes one that is cut by rows; it is saved, and each
! rank loads what it wants of the checkpoint. Run it on any number of ranks.
program fortran_mpi
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mpi_f08
    use reshard
    implicit none

    character(len=*), parameter :: path = "reshard-15-fortran"
    character(kind=c_char, len=7), target :: key = "weight"//c_null_char
    integer(c_int64_t), target :: whole(2), offset(2, 2), extents(2, 2), strides(2, 2)
    real(c_double), allocatable, target :: columns(:, :), rows(:, :), all(:, :)
    type(reshard_shard) :: have, want
    type(reshard_options) :: options
    integer(c_int64_t) :: checkpoint
    integer :: rank, ranks
    logical :: is_right

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)

    ! [move]
    ! Two columns on each rank, of five rows. Element (i, j) of the whole is 100 * i + j; offsets begin with 0.
    whole = [5, 2*ranks]
    offset(:, 1) = [0, 2*rank]
    allocate (columns(5, 2), source=values(offset(:, 1), 5, 2))
    have = shard(columns, 1)

    ! Rows as even as possible: with three ranks one, two and two.
    offset(:, 2) = [5*rank/ranks, 0]
    allocate (rows(5*(rank + 1)/ranks - 5*rank/ranks, 2*ranks), source=0d0)
    want = shard(rows, 2)

    call check(reshard_redistribute(MPI_COMM_WORLD, [have], [want]))
    is_right = .not. any(abs(rows - values(offset(:, 2), size(rows, 1), size(rows, 2))) > 0)
    ! [/move]

    ! [load]
    options%flags = RESHARD_REPLACE
    call check(reshard_save(MPI_COMM_WORLD, [want], path, options))
    call check(reshard_open(path, checkpoint))
    offset(:, 1) = 0
    allocate (all(5, 2*ranks))
    call check(reshard_load(MPI_COMM_WORLD, checkpoint, [shard(all, 1)]))
    call check(reshard_close(checkpoint))
    ! [/load]
    is_right = is_right .and. .not. any(abs(all - values(offset(:, 1), 5, 2*ranks)) > 0)

    if (.not. is_right) error stop "This is wrong."
    if (rank == 0) print "(a)", "The matrix is cut by rows, and has been loaded from a checkpoint."
    call MPI_Finalize()

contains

    ! [shard]
    ! A box of the matrix: an array of Fortran, whose first axis is contiguous.
    type(reshard_shard) function shard(array, i)
        real(c_double), intent(in), target, contiguous :: array(:, :)
        integer, intent(in) :: i
        extents(:, i) = shape(array)
        strides(:, i) = [1, size(array, 1)]
        shard%key = c_loc(key)
        shard%dtype = RESHARD_FLOAT64
        shard%ndim = 2
        shard%data = c_loc(array)
        shard%shape = c_loc(extents(:, i))
        shard%strides = c_loc(strides(:, i))
        shard%global_shape = c_loc(whole)
        shard%offset = c_loc(offset(:, i))
    end function
    ! [/shard]

    subroutine check(status)
        integer(c_int32_t), intent(in) :: status
        if (status == RESHARD_OK) return
        write (error_unit, "(a)") reshard_error_text()
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine

    function values(first, height, width)
        integer(c_int64_t), intent(in) :: first(2)
        integer, intent(in) :: height, width
        real(c_double) :: values(height, width)
        integer :: i, j
        do concurrent(j=1:width, i=1:height)
            values(i, j) = real(100*(first(1) + i - 1) + first(2) + j - 1, c_double)
        end do
    end function
end program
