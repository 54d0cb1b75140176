!> What the Fortran tests share: checks that name what has failed, and the end of a test.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  use lacuna
  implicit none
  private
  public :: check, check_refused, finish
  integer :: failures = 0, made = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    made = made + 1
    if (holds) return
    failures = failures + 1
    write (error_unit, '(2a)') 'does not hold: ', what
  end subroutine

  !> A call was refused with this status and a text that has these words.
  subroutine check_refused(status, expected, errmsg, words)
    integer, intent(in) :: status, expected
    character(*), intent(in) :: errmsg, words

    call check(status == expected, 'the status is "' // lacuna_status_text(expected) // '", not "' // &
      lacuna_status_text(status) // '"')
    call check(index(errmsg, words) > 0, '"' // trim(errmsg) // '" has "' // words // '"')
  end subroutine

  !> Ends the test. One that has checked nothing fails.
  subroutine finish(world)
    type(lacuna_communicator), intent(inout) :: world

    write (*, '(a, i0, a, i0, a)') 'rank ', lacuna_rank(world), ': ', made, ' checks'
    if (failures > 0 .or. made == 0) error stop 1
    call lacuna_free(world)
  end subroutine
end module
