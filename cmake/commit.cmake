# Writes the commit that the sources are at: cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P commit.cmake
# The build runs this each time. The output changes only if the commit does, so that nothing else is built anew.
# Sources that are no checkout of git, such as a tarball, have the commit in commit.txt if `git archive` has made them.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
file(REAL_PATH ${SOURCE} source)
if(top STREQUAL source)  # another project may have the sources inside its own checkout
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --match= OUTPUT_VARIABLE commit
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit REGEX "^[0-9a-f]+$" LIMIT_COUNT 1)
  string(SUBSTRING "${commit}" 0 12 commit)
endif()
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define LACUNA_COMMIT \"@commit@\"\n" @ONLY)
