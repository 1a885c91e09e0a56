! Module procedures, an internal procedure, and array expressions that are compiled to loops.
module shapes
  implicit none
  type :: grid
    real, allocatable :: cells(:, :)
  end type grid
contains
  subroutine fill(g, n)
    type(grid), intent(inout) :: g
    integer, intent(in) :: n
    integer :: i, j
    allocate(g%cells(n, n))
    do j = 1, n
      do i = 1, n
        g%cells(i, j) = weight(i, j)
      end do
    end do
  contains
    real function weight(a, b)
      integer, intent(in) :: a, b
      weight = sqrt(real(a * b)) + real(a) / real(b + n)
    end function weight
  end subroutine fill

  pure real function total(g)
    type(grid), intent(in) :: g
    total = sum(g%cells * 2.0 + 1.0)
  end function total
end module shapes

program main
  use shapes
  implicit none
  type(grid) :: g
  integer :: i
  call fill(g, 12)
  do i = 1, 3
    g%cells = matmul(g%cells, transpose(g%cells)) / maxval(g%cells)
  end do
  print *, total(g)
end program main
