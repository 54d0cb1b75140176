# Writes what the Fortran module has from the headers of the C interface:
# cmake -DHEADER=lacuna.h "-DMETHODS=HEADERS OF METHODS" -DOUTPUT=FOLDER -P write_module.cmake
# lacuna_types.f90 gets constants and structures. lacuna_collectives.f90 and lacuna_collectives.c get the two sides of
# each collective whose function lacuna.h declares. lacuna_memory.f90 gets lacuna_alloc() and lacuna_free() for each type
# of array.
cmake_minimum_required(VERSION 3.22)

set(enums lacuna_status lacuna_dtype lacuna_reduction lacuna_priority lacuna_progress_mode lacuna_counters_format)
set(structs lacuna_sampler lacuna_report lacuna_counters lacuna_neighbour lacuna_state_values lacuna_gap
            lacuna_unique_id lacuna_located_f32 lacuna_located_f64 lacuna_located_i32 lacuna_located_i64)
set(type_size_t "integer(c_size_t)")
set(type_int32_t "integer(c_int32_t)")
set(type_int64_t "integer(c_int64_t)")
set(type_uint64_t "integer(c_int64_t)")
set(type_float "real(c_float)")
set(type_double "real(c_double)")
set(type_unsigned_char "integer(c_int8_t)")
set(type_lacuna_sampler "type(lacuna_sampler)")

# The collectives that take lists of entries.
set(with_lists allreduce reduce_scatter allgather)
# A structure with initial values cannot be in an array that C allocates.
set(plain lacuna_gap)

# Lists of CMake end elements at semicolons, and hold brackets together.
function(read_header file output)
  file(READ ${file} text)
  string(REPLACE ";" "@" text "${text}")
  string(REPLACE "[" "<" text "${text}")
  string(REPLACE "]" ">" text "${text}")
  set(${output} "${text}" PARENT_SCOPE)
endfunction()
read_header(${HEADER} header)

# Of the header of a method, all enumerations and structures are taken.
separate_arguments(METHODS UNIX_COMMAND "${METHODS}")
foreach(file IN LISTS METHODS)
  read_header(${file} text)
  string(REGEX MATCHALL "typedef (enum|struct) [a-z_]+ {" found "${text}")
  foreach(type IN LISTS found)
    string(REGEX MATCH "(enum|struct) ([a-z_]+)" all "${type}")
    list(APPEND ${CMAKE_MATCH_1}s ${CMAKE_MATCH_2})
    list(APPEND plain ${CMAKE_MATCH_2})
  endforeach()
  string(APPEND header "${text}")
endforeach()

# The text from the first place that matches `from` to the next `to`.
function(text_between from to output)
  string(FIND "${header}" "${from}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${HEADER} has no '${from}'")
  endif()
  string(SUBSTRING "${header}" ${begin} -1 text)
  string(FIND "${text}" "${to}" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# A file is written only if its text changes, so that nothing else is built anew.
function(write name text)
  file(CONFIGURE OUTPUT ${OUTPUT}/${name} CONTENT "${text}" @ONLY)
endfunction()

function(constants output)
  set(lines)
  foreach(enum IN LISTS enums)
    text_between("typedef enum ${enum} {" "} ${enum}@" text)
    string(REGEX MATCHALL "\n  LACUNA_[A-Z0-9_]+ = [0-9]+" values "${text}")
    foreach(value IN LISTS values)
      string(STRIP "${value}" value)
      string(TOLOWER "${value}" value)
      string(APPEND lines "  integer(c_int32_t), parameter :: ${value}\n")
    endforeach()
  endforeach()
  string(REGEX MATCHALL "\n#define LACUNA_[A-Z_]+ \\(?-?[0-9]+" defines "${header}")
  foreach(define IN LISTS defines)
    string(REGEX REPLACE "\n#define (LACUNA_[A-Z_]+) \\(?(-?[0-9]+)" "\\1 = \\2" value "${define}")
    string(TOLOWER "${value}" value)
    string(APPEND lines "  integer(c_int32_t), parameter :: ${value}\n")
  endforeach()
  set(${output} "${lines}" PARENT_SCOPE)
endfunction()

function(structures output)
  set(lines)
  foreach(struct IN LISTS structs)
    text_between("typedef struct ${struct} {" "} ${struct}@" text)
    string(REGEX MATCHALL "\n  [a-z0-9_ ]+ [a-z_]+(<[0-9]+>)?@" members "${text}")
    set(type ${struct})
    if(struct MATCHES "located")
      string(APPEND type _type)  # the dtype has this name already
    endif()
    string(APPEND lines "\n  type, bind(C) :: ${type}\n")
    foreach(member IN LISTS members)
      string(REGEX MATCH "\n  ([a-z0-9_ ]+) ([a-z_]+)(<([0-9]+)>)?@" all "${member}")
      string(REPLACE " " "_" type "${CMAKE_MATCH_1}")
      if(NOT DEFINED type_${type})
        message(FATAL_ERROR "${struct} has a member of type ${CMAKE_MATCH_1}, for which Fortran's type is not known")
      endif()
      set(line "${type_${type}} :: ${CMAKE_MATCH_2}")
      if(CMAKE_MATCH_4)
        string(APPEND line "(${CMAKE_MATCH_4})")
      endif()
      if(NOT type STREQUAL "lacuna_sampler" AND NOT struct IN_LIST plain)
        string(APPEND line " = 0")
      endif()
      string(APPEND lines "    ${line}\n")
    endforeach()
    string(APPEND lines "  end type\n")
  endforeach()
  set(${output} "${lines}" PARENT_SCOPE)
endfunction()

# Makes the two sides of a collective of its comment and its function in C. Buffers are arrays, which have their counts
# and types themselves.
function(collective declaration)
  string(REGEX MATCH "/\\*\\*(.*)\\*/\nLACUNA_EXPORT lacuna_status (lacuna_([a-z_]+))\\((.*)\\)" all "${declaration}")
  set(comment "${CMAKE_MATCH_1}")
  set(procedure ${CMAKE_MATCH_2})
  set(name ${CMAKE_MATCH_3})
  string(REPLACE "," ";" parameters "${CMAKE_MATCH_4}")
  string(REGEX REPLACE "\n \\* ?" " " comment "${comment}")
  string(REGEX REPLACE "([^ .])\\. .*$" "\\1." comment "${comment}")  # the first sentence
  string(STRIP "${comment}" comment)
  string(TOUPPER "${procedure}" enumerator)

  set(arguments communicator)
  set(declarations)
  set(in_c "lacuna_communicator* const* communicator")
  set(members)
  set(tables_of input)
  set(tables)
  set(receives FALSE)
  foreach(parameter IN LISTS parameters)
    string(REGEX MATCH "[a-z_]+$" parameter "${parameter}")
    if(parameter MATCHES "^(input|output|data)$")
      list(APPEND arguments ${parameter})
      string(APPEND in_c ", const CFI_cdesc_t* ${parameter}")
      string(APPEND declarations "      type(*), dimension(..), asynchronous, optional :: ${parameter}\n")
    endif()
    if(parameter STREQUAL "output")
      set(tables_of output)
    endif()
    if(parameter STREQUAL "data")
      string(APPEND members "      .input = data,\n      .output = data,\n")
    elseif(parameter MATCHES "^(input|output)$")
      string(APPEND members "      .${parameter} = ${parameter},\n")
    elseif(parameter MATCHES "counts$|offsets$")
      string(REGEX MATCH "[a-z]+$" member ${parameter})
      list(APPEND tables ${parameter})
      string(APPEND members "      .${tables_of}_tables.${member} = ${parameter},\n")
    endif()
    if(tables_of STREQUAL "output" AND (parameter STREQUAL "output_counts" OR (tables AND parameter STREQUAL "root" AND
       members MATCHES "output_tables")))
      set(receives TRUE)  # the receiver need not know the lengths
    endif()
  endforeach()
  foreach(table IN LISTS tables)
    list(APPEND arguments ${table})
    string(APPEND in_c ", const CFI_cdesc_t* ${table}")
    string(APPEND declarations "      type(*), dimension(..), intent(in), optional :: ${table}\n")
  endforeach()
  if(receives)
    list(APPEND arguments received)
    string(APPEND in_c ", size_t* received")
    string(APPEND declarations "      integer(c_size_t), intent(inout), asynchronous, optional :: received(*)\n")
    string(APPEND members "      .output_tables.received = received,\n")
  endif()
  if(name IN_LIST with_lists)
    list(APPEND arguments places length output_places found)
    string(APPEND in_c ", const CFI_cdesc_t* places, const int64_t* length, const CFI_cdesc_t* output_places, "
                       "size_t* found")
    string(APPEND declarations
           "      type(*), dimension(..), asynchronous, intent(in), optional :: places\n"
           "      integer(c_int64_t), intent(in), optional :: length\n"
           "      type(*), dimension(..), asynchronous, optional :: output_places\n"
           "      integer(c_size_t), intent(inout), asynchronous, optional :: found\n")
    string(APPEND members "      .lists = {places, output_places, length, found},\n")
  endif()
  if(parameters MATCHES "reduction")
    list(APPEND arguments op own own_id)
    string(APPEND in_c ", const int32_t* op, const lacuna_own_function* own, const uint64_t* own_id")
    string(APPEND declarations "      integer(c_int32_t), intent(in), optional :: op\n"
                               "      type(c_funptr), intent(in), optional :: own\n"
                               "      integer(c_int64_t), intent(in), optional :: own_id\n")
    string(APPEND members "      .op = op,\n      .own = own,\n      .own_id = own_id,\n")
  endif()
  if(parameters MATCHES " root")
    list(APPEND arguments root)
    string(APPEND in_c ", const int32_t* root")
    string(APPEND declarations "      integer(c_int32_t), intent(in), optional :: root\n")
    string(APPEND members "      .root = root ? root : &rank_0,\n")
  endif()
  list(JOIN arguments ", " arguments)
  string(REPLACE " input_counts" " &\n        input_counts" arguments "${arguments}")
  string(APPEND fortran_collectives "
    !> ${comment}
    subroutine ${procedure}(${arguments}, &
        method, algorithm, state, sampler, priority, deadline, dtype, token, report, request, prepared, status, &
        errmsg) bind(C, name=\"lacuna_fortran_${name}\")
      import
      type(lacuna_communicator), intent(in) :: communicator
${declarations}@how@    end subroutine
")
  string(APPEND c_collectives "
void lacuna_fortran_${name}(${in_c}, LACUNA_FORTRAN_HOW) {
  const lacuna_fortran_collective call = {
${members}      .collective = ${enumerator},
  };
  const lacuna_fortran_how how = LACUNA_FORTRAN_HOW_OF(\"${procedure}\");
  lacuna_fortran_perform(communicator, &call, &how);
}
")
  set(fortran_collectives "${fortran_collectives}" PARENT_SCOPE)
  set(c_collectives "${c_collectives}" PARENT_SCOPE)
endfunction()

# How a collective is carried out; LACUNA_FORTRAN_HOW of shim.h has the same arguments. The texts are arrays of any
# type, because gfortran 12 cannot pass an optional text on to an optional text of an interface with bind(C).
set(how "      type(*), dimension(..), intent(in), optional :: method, algorithm
      type(lacuna_state), intent(in), optional :: state
      type(lacuna_sampler), intent(inout), optional, target :: sampler
      integer(c_int32_t), intent(in), optional :: priority, dtype
      real(c_double), intent(in), optional :: deadline
      integer(c_int64_t), intent(in), optional :: token
      type(lacuna_report), intent(inout), optional :: report
      type(lacuna_request), intent(inout), optional :: request, prepared
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
")

set(halo_words 80)  # room for what exchange.c keeps in a lacuna_halo
set(method_mark 7813871450152985955)  # tells a lacuna_method from other arguments of any type
constants(constants)
structures(structures)
write(lacuna_types.f90 "!> Constants and structures of the C interface, written by write_module.cmake, and the handles.
module lacuna_types
  use, intrinsic :: iso_c_binding, only: &
    c_double, c_float, c_int8_t, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  private :: c_double, c_float, c_int8_t, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t

${constants}${structures}
  !> The ranks that call together.
  type, bind(C) :: lacuna_communicator
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  !> A call in flight, prepared, or ended.
  type, bind(C) :: lacuna_request
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  !> What calls may give up; see lacuna_method_create().
  type, bind(C) :: lacuna_method
    private
    integer(c_int64_t) :: mark = ${method_mark}_c_int64_t
    type(c_ptr) :: handle = c_null_ptr
  end type
  !> What a method remembers of one array from call to call.
  type, bind(C) :: lacuna_state
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  !> What is exchanged with one neighbour; see lacuna_set_halo().
  type, bind(C) :: lacuna_halo
    private
    integer(c_int64_t) :: words(${halo_words}) = 0
  end type
end module
")

text_between("@defgroup collectives" "lacuna_execute(lacuna" text)
string(REGEX MATCHALL "/\\*\\*[^/]*\\*/\nLACUNA_EXPORT lacuna_status lacuna_[a-z_]+\\([^)]*\\)" functions "${text}")
set(fortran_collectives)
set(c_collectives)
foreach(function IN LISTS functions)
  collective("${function}")
endforeach()
write(lacuna_collectives.f90 "!> The collectives of lacuna.h, written by write_module.cmake.
module lacuna_collectives
  use, intrinsic :: iso_c_binding, only: c_double, c_funptr, c_int32_t, c_int64_t, c_size_t
  use lacuna_types
  implicit none
  private :: c_double, c_funptr, c_int32_t, c_int64_t, c_size_t

  interface${fortran_collectives}  end interface
end module
")
set(alloc)
set(free)
foreach(type IN ITEMS "real(c_float)" "real(c_double)" "complex(c_float_complex)" "complex(c_double_complex)"
                      "integer(c_int8_t)" "integer(c_int16_t)" "integer(c_int32_t)" "integer(c_int64_t)")
  string(REGEX REPLACE "^.*\\(c_(.*)\\)$" "\\1" name ${type})
  string(APPEND alloc "    subroutine lacuna_alloc_${name}(array, extents, status, errmsg) bind(C, name=\"lacuna_fortran_alloc\")
      import
      ${type}, pointer, intent(out) :: array(..)
      type(*), dimension(..), intent(in) :: extents
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
")
  string(APPEND free "    subroutine lacuna_free_${name}(array) bind(C, name=\"lacuna_fortran_free_array\")
      import
      ${type}, pointer, intent(inout) :: array(..)
    end subroutine
")
endforeach()
write(lacuna_memory.f90 "!> Memory that other ranks of the host can map, written by write_module.cmake.
module lacuna_memory
  use, intrinsic :: iso_c_binding, only: c_double, c_double_complex, c_float, c_float_complex, &
    c_int8_t, c_int16_t, c_int32_t, c_int64_t
  implicit none
  private :: c_double, c_double_complex, c_float, c_float_complex, c_int8_t, c_int16_t, c_int32_t, c_int64_t

  !> Makes the pointer point to a new array of these extents, as lacuna_alloc() of lacuna.h does. What it holds is
  !> undefined. After an error the pointer is null.
  interface lacuna_alloc
${alloc}  end interface

  !> Gives back what lacuna_alloc() has made, once no call uses it any more, and makes the pointer null. A null pointer
  !> is allowed.
  interface lacuna_free
${free}  end interface
end module
")
math(EXPR halo_bytes "8 * ${halo_words}")
write(layouts.h "/* Written by write_module.cmake: what C knows of Fortran's lacuna_halo and lacuna_method. */
#define LACUNA_FORTRAN_HALO_BYTES ${halo_bytes}
#define LACUNA_FORTRAN_METHOD_MARK INT64_C(${method_mark})
")
write(lacuna_collectives.c "/* The collectives of lacuna.h, written by write_module.cmake. */
#include \"shim.h\"

static const int32_t rank_0 = 0;
${c_collectives}")
