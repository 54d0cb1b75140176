!> lacuna: collectives that send only what matters. docs/fortran.md explains the module.
module lacuna
  use lacuna_collectives
  use lacuna_communicators
  use lacuna_completions
  use lacuna_exchanges
  use lacuna_memory
  use lacuna_messages
  use lacuna_methods
  use lacuna_requests
  use lacuna_states
  use lacuna_texts
  use lacuna_types
  implicit none

  !> Ends a handle: waits for an unfinished request, or leaves the communicator. An empty handle is allowed. Calls that
  !> use a method may go on. Arrays of lacuna_alloc() are given back.
  interface lacuna_free
    subroutine lacuna_free_communicator(communicator) bind(C, name="lacuna_fortran_free_communicator")
      import
      type(lacuna_communicator), intent(inout) :: communicator
    end subroutine
    subroutine lacuna_free_method(method) bind(C, name="lacuna_fortran_free_method")
      import
      type(lacuna_method), intent(inout) :: method
    end subroutine
    subroutine lacuna_free_request(request) bind(C, name="lacuna_fortran_free_request")
      import
      type(lacuna_request), intent(inout) :: request
    end subroutine
    subroutine lacuna_free_state(state) bind(C, name="lacuna_fortran_free_state")
      import
      type(lacuna_state), intent(inout) :: state
    end subroutine
  end interface
end module
