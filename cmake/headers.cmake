# Makes the headers that programs include as <lacuna/...>, in the folder include/ of the build. Inside the tree, includes
# begin at its top ("runtime/values/status.hpp"), but a program finds only files of its own under such names. Programs
# include the headers in the same way from a build tree and from an installed tree.
set(lacuna_includes ${PROJECT_BINARY_DIR}/include)

# These folders have only headers that a program may include, and three that the sparse phases need for themselves.
set(patterns)
foreach(folder IN ITEMS runtime/values runtime/graph runtime/method algorithms/topology algorithms/phases bindings/cpp)
  list(APPEND patterns ${folder}/*.hpp ${folder}/*.def)
endforeach()
list(APPEND patterns bindings/c/lacuna*.h bindings/mpi/lacuna_mpi.h* bindings/kokkos/lacuna_kokkos.hpp
                     bindings/checkpoint/checkpoint.hpp bindings/checkpoint/lacuna_checkpoint.h algorithms/registry/registry.hpp
                     algorithms/registry/method_options.hpp algorithms/registry/plugins.hpp)
# A program's own kernels compute on elements of each type by themselves, or by the backend that they are given.
foreach(header IN ITEMS elements backend block_grid entries levels matrices sketches)
  list(APPEND patterns kernels/${header}.hpp)
endforeach()
# Each method has a header of its own, with its options beside it.
list(APPEND patterns algorithms/skip/importance.hpp)
file(GLOB method_options RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS algorithms/*/options.def)
foreach(options IN LISTS method_options)
  get_filename_component(folder ${options} DIRECTORY)
  get_filename_component(method ${folder} NAME)
  list(APPEND patterns ${options} ${folder}/${method}.hpp)
endforeach()
file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
list(FILTER headers EXCLUDE REGEX "/sparse_(kernels|accumulator|histogram)\\.hpp$")

# Headers of bindings/ have the shortest names: bindings/cpp/lacuna.hpp is <lacuna/lacuna.hpp>.
list(TRANSFORM headers REPLACE "^bindings/[a-z]+/" "" OUTPUT_VARIABLE written)
list(TRANSFORM written PREPEND ${lacuna_includes}/lacuna/)
list(JOIN headers "\n" lines)
file(CONFIGURE OUTPUT headers.txt CONTENT "${lines}\n" @ONLY)
add_custom_command(OUTPUT headers.stamp BYPRODUCTS ${written}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADERS=${PROJECT_BINARY_DIR}/headers.txt
          -DOUTPUT=${lacuna_includes}/lacuna -P ${PROJECT_SOURCE_DIR}/cmake/write_headers.cmake
  COMMAND ${CMAKE_COMMAND} -E touch headers.stamp
  DEPENDS ${headers} ${PROJECT_BINARY_DIR}/headers.txt cmake/write_headers.cmake
  COMMENT "Writing the headers for programs")
add_custom_target(lacuna_headers DEPENDS headers.stamp)

# Gives these headers to all that link a library.
function(lacuna_give_headers library)
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${lacuna_includes}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  add_dependencies(${library} lacuna_headers)
endfunction()
