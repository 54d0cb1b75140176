# LACUNA_UNITY compiles all files of a folder at once. This takes less than half of the time, but a change of one file
# compiles its neighbours too. So it is on for those who build once, and not for those who build tests. What stands in an
# unnamed namespace must have a name of its own in its folder, which no local name may be.
set(LACUNA_UNITY AUTO CACHE STRING "Compile all files of a folder at once: ON, OFF, or AUTO, which is ON without tests")
set_property(CACHE LACUNA_UNITY PROPERTY STRINGS AUTO ON OFF)

function(lacuna_unite)
  if(NOT LACUNA_UNITY OR (LACUNA_UNITY STREQUAL AUTO AND LACUNA_TESTS))
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources EXCLUDE REGEX "^\\$<")
    foreach(source IN LISTS sources)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endforeach()
endfunction()
