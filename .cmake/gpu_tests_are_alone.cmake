# SPDX-License-Identifier: Apache-2.0
# cmake -DCTEST=ctest -DFOLDER=build/ci -P gpu_tests_are_alone.cmake
# Fails unless every test of that build that runs on a GPU is kept from meeting another one there.
execute_process(COMMAND "${CTEST}" --show-only=json-v1 WORKING_DIRECTORY "${FOLDER}"
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(JSON count LENGTH "${listing}" tests)
math(EXPR last "${count} - 1")
set(seen 0)
set(free)
foreach(index RANGE ${last})
  string(JSON name GET "${listing}" tests ${index} name)
  string(JSON properties ERROR_VARIABLE none GET "${listing}" tests ${index} properties)
  # As text: `[ { "name" : "LABELS", "value" : [ "gpu" ] }, ...`, whatever the white space.
  string(REGEX REPLACE "[ \t\r\n]+" "" properties "${properties}")
  if(NOT properties MATCHES "\"name\":\"LABELS\",\"value\":\\[[^]]*\"(gpu|bench)\"")
    continue()
  endif()
  math(EXPR seen "${seen} + 1")
  if(NOT properties MATCHES "\"name\":\"RESOURCE_LOCK\",\"value\":\\[[^]]*\"gpu\""
     OR NOT properties MATCHES "\"name\":\"RESOURCE_GROUPS\"")
    list(APPEND free "${name}")
  endif()
endforeach()
if(free OR NOT seen)
  list(JOIN free ", " free)
  message(FATAL_ERROR "of ${seen} tests with the label gpu or bench these may meet others on a GPU: "
    "${free}; call warpgauge_one_at_a_time for them")
endif()
message(STATUS "${seen} tests with the label gpu or bench, each of them alone on its GPU")
