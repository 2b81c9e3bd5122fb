# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=folder -DHEADER=file -P write_commit.cmake
# Writes the folder's commit into the header, if it is not there already. Where there is no git, it is
# the one in the folder's file .commit.
cmake_minimum_required(VERSION 3.25)
set(commit)
# A folder in somebody else's repository, whose commits do not have it, is of no commit.
execute_process(COMMAND git rev-parse --verify --quiet HEAD:./ WORKING_DIRECTORY "${SOURCE}"
  RESULT_VARIABLE unknown OUTPUT_QUIET ERROR_QUIET)
if(unknown EQUAL 0)
  execute_process(COMMAND git --no-optional-locks describe --always --dirty
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
elseif(EXISTS "${SOURCE}/.commit")
  file(STRINGS "${SOURCE}/.commit" commit LIMIT_COUNT 1)
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define WARPGAUGE_COMMIT R\"~(@commit@)~\"\n" @ONLY)
