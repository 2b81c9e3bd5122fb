# SPDX-License-Identifier: Apache-2.0
# warpgauge_one_at_a_time(test...)
# Tests that run on a GPU: never two of them at once, however many jobs ctest has. Without a resource
# specification ctest knows no resource groups, and the lock alone does it; with one they also say
# that each takes a GPU.
function(warpgauge_one_at_a_time)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_LOCK gpu RESOURCE_GROUPS "gpus:1")
endfunction()
