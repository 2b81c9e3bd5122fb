# SPDX-License-Identifier: Apache-2.0
# What a project needs to compile .cu files with warpgauge; installed with it.

# CMake 3.25.1 (Debian 12) does not know that nvcc 13 speaks C++20.
foreach(kind IN ITEMS STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
  endif()
endforeach()

# warpgauge_gpus(variable)
# The compute capabilities of this machine's GPUs, as in "80;90"; empty where there is none.
function(warpgauge_gpus variable)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed OR NOT capabilities MATCHES "^[0-9]+\\.[0-9]+")
    set(capabilities)
  endif()
  string(REPLACE "." "" capabilities "${capabilities}")
  string(REPLACE "\n" ";" capabilities "${capabilities}")
  list(REMOVE_DUPLICATES capabilities)
  set(${variable} "${capabilities}" PARENT_SCOPE)
endfunction()

# warpgauge_check_architectures(architecture...)
# Refuses, as entries of CMAKE_CUDA_ARCHITECTURES, what is older than compute capability 8.0.
function(warpgauge_check_architectures)
  foreach(architecture IN LISTS ARGN)
    set(real "${architecture}")
    if(architecture STREQUAL "native")
      warpgauge_gpus(real)
      if(NOT real)
        message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES is native, but this machine shows no GPU: "
          "name the architectures, as in -DCMAKE_CUDA_ARCHITECTURES=90")
      endif()
    endif()
    foreach(one IN LISTS real)
      # "all" and "all-major" hold every architecture that nvcc knows, so older ones, too.
      if(one MATCHES "^all" OR (one MATCHES "^([0-9]+)" AND CMAKE_MATCH_1 LESS 80))
        message(FATAL_ERROR "warpgauge needs GPUs of compute capability 8.0 or newer, which "
          "CMAKE_CUDA_ARCHITECTURES=${architecture} is not: name newer ones only, as in "
          "-DCMAKE_CUDA_ARCHITECTURES=90")
      endif()
    endforeach()
  endforeach()
endfunction()
