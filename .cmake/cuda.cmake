# SPDX-License-Identifier: Apache-2.0
# Finds the CUDA toolkit, or leaves it out; sets WARPGAUGE_WITH_CUDA.
set(WARPGAUGE_WITH_CUDA OFF)
set(WARPGAUGE_WHY_NO_CUDA "WARPGAUGE_CUDA is off")
if(NOT WARPGAUGE_CUDA)
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  set(WARPGAUGE_WHY_NO_CUDA "no nvcc was found that works with ${CMAKE_CXX_COMPILER}")
  return()
endif()
# The GPU's own architecture where there is one, so that the compiler may use all of it. Decided
# before the language is enabled, which would otherwise cache nvcc's default as if it were asked for.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND capabilities MATCHES "^[0-9]+\\.[0-9]+")
    string(REPLACE "." "" capabilities "${capabilities}")
    string(REPLACE "\n" ";" capabilities "${capabilities}")
    list(REMOVE_DUPLICATES capabilities)
    list(TRANSFORM capabilities REPLACE "^90$" "90a") # Hopper's own instructions need the 'a'
    list(TRANSFORM capabilities APPEND "-real")
    set(CMAKE_CUDA_ARCHITECTURES "${capabilities}")
  else()
    # 90 carries PTX, which the driver compiles for anything newer; that of 80 would lack what
    # kernels do from 9.0 on.
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
  endif()
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.5)
  message(FATAL_ERROR "warpgauge needs CUDA 12.5 or newer, found ${CMAKE_CUDA_COMPILER_VERSION} "
    "(${CMAKE_CUDA_COMPILER}): install a newer toolkit, or pass -DWARPGAUGE_CUDA=OFF for the host parts")
endif()
# CMake 3.25.1 (Debian 12) does not know that nvcc 13 speaks C++20.
foreach(kind IN ITEMS STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
  endif()
endforeach()
find_package(CUDAToolkit REQUIRED)
if(NOT TARGET CUDA::cublas)
  message(FATAL_ERROR "the CUDA toolkit in ${CUDAToolkit_LIBRARY_DIR} has no cuBLAS, which the gemm "
    "family needs: install it (libcublas-dev-13-0 and the like), or pass -DWARPGAUGE_CUDA=OFF")
endif()
set(WARPGAUGE_WITH_CUDA ON)
