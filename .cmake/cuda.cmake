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
include("${CMAKE_CURRENT_LIST_DIR}/cuda_language.cmake")
# The GPU's own architecture where there is one, so that the compiler may use all of it. Decided
# before the language is enabled, which would otherwise cache nvcc's default as if it were asked for.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  warpgauge_gpus(capabilities)
  if(capabilities)
    list(TRANSFORM capabilities REPLACE "^90$" "90a") # Hopper's own instructions need the 'a'
    list(TRANSFORM capabilities APPEND "-real")
    set(CMAKE_CUDA_ARCHITECTURES "${capabilities}")
  else()
    # 90 carries PTX, which the driver compiles for anything newer; that of 80 would lack what
    # kernels do from 9.0 on.
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
  endif()
endif()
# nvcc would refuse some of them first, in many lines.
if(DEFINED CMAKE_CUDA_ARCHITECTURES)
  warpgauge_check_architectures(${CMAKE_CUDA_ARCHITECTURES})
else()
  warpgauge_check_architectures($ENV{CUDAARCHS})
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.5)
  message(FATAL_ERROR "warpgauge needs CUDA 12.5 or newer, found ${CMAKE_CUDA_COMPILER_VERSION} "
    "(${CMAKE_CUDA_COMPILER}): install a newer toolkit, or pass -DWARPGAUGE_CUDA=OFF for the host parts")
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  # The project that includes this one compiles .cu files of its own against it.
  foreach(kind IN ITEMS STANDARD EXTENSION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "${CMAKE_CUDA20_${kind}_COMPILE_OPTION}" PARENT_SCOPE)
  endforeach()
endif()
find_package(CUDAToolkit REQUIRED)
if(WARPGAUGE_BENCHMARKS AND NOT TARGET CUDA::cublas)
  message(FATAL_ERROR "the CUDA toolkit in ${CUDAToolkit_LIBRARY_DIR} has no cuBLAS, which the gemm "
    "family needs: install it (libcublas-dev-13-0 and the like), or pass -DWARPGAUGE_CUDA=OFF")
endif()
# A wheel meets whatever CUDA runtime a framework brings, or none: it has one of its own.
set(WARPGAUGE_CUDART CUDA::cudart)
if(SKBUILD AND PROJECT_IS_TOP_LEVEL)
  set(WARPGAUGE_CUDART CUDA::cudart_static)
endif()
set(WARPGAUGE_WITH_CUDA ON)
