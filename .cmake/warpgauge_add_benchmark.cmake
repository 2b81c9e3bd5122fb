# SPDX-License-Identifier: Apache-2.0
# Benchmark programs, in this repository and in projects that use warpgauge; installed with it.
cmake_policy(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/gpu_tests.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/cuda_language.cmake")

# warpgauge_add_benchmark(NAME program SOURCES s... [LIBRARIES l...] [GPU] [GPUS n] [NO_TEST])
# A program of benchmarks, with warpgauge's main(). It measures a GPU when one of its sources is a .cu
# file, or with GPU. GPUS says how many its benchmarks need, where that is several. The manifest
# warpgauge_benchmarks.json in the top build folder lists it, the target warpgauge_benchmarks builds
# it, and ctest -L bench runs it, unless NO_TEST is given.
function(warpgauge_add_benchmark)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GPU;NO_TEST" "NAME;GPUS" "SOURCES;LIBRARIES")
  _warpgauge_check_call()
  set(main warpgauge::host_main)
  if(arg_GPU)
    set(main warpgauge::gpu_main)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${main} ${arg_LIBRARIES})
  # Where warpgauge is a shared library, hidden registrations would not reach it.
  set_target_properties(${arg_NAME} PROPERTIES CXX_VISIBILITY_PRESET default
    CUDA_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  warpgauge_add_context(${arg_NAME})
  _warpgauge_list_program()
  if(NOT arg_NO_TEST)
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
    warpgauge_one_at_a_time(${arg_NAME})
    # 3: the machine has nothing that the program can measure.
    set_tests_properties(${arg_NAME} PROPERTIES LABELS bench SKIP_RETURN_CODE 3 TIMEOUT 900)
  endif()
endfunction()

# warpgauge_add_context(program)
# What a run of the program says of its own making: compilers, flags, build type, commit, sources.
# Part of warpgauge_add_benchmark; for programs that are made in another way.
function(warpgauge_add_context program)
  set(host_compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" flags)
  set(nvcc_version)
  if(CMAKE_CUDA_COMPILER_LOADED)
    list(JOIN CMAKE_CUDA_ARCHITECTURES "," architectures)
    string(APPEND flags " nvcc:${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${type}} -arch=${architectures}")
    set(nvcc_version "${CMAKE_CUDA_COMPILER_VERSION}")
  endif()
  get_target_property(sources ${program} SOURCES)
  _warpgauge_relative_sources(sources ${sources})
  list(JOIN sources "," sources)
  set(commit_header "${CMAKE_BINARY_DIR}/warpgauge_commit.hpp")
  if(NOT TARGET warpgauge_commit)
    # At each build; what includes the header is compiled again only when the commit is another one.
    add_custom_target(warpgauge_commit BYPRODUCTS "${commit_header}"
      COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_SOURCE_DIR}" "-DHEADER=${commit_header}"
        -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_commit.cmake" VERBATIM)
  endif()
  add_dependencies(${program} warpgauge_commit)
  set(context "${CMAKE_CURRENT_BINARY_DIR}/${program}_context.cpp")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/program_context.cpp.in" "${context}" @ONLY)
  target_sources(${program} PRIVATE "${context}")
endfunction()

# Of the caller's arguments: refuses what is wrong, and sets arg_GPU where a source is a .cu file.
macro(_warpgauge_check_call)
  set(call "warpgauge_add_benchmark(NAME ${arg_NAME})")
  if(NOT arg_NAME)
    message(FATAL_ERROR "warpgauge_add_benchmark needs NAME and the program's name")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    list(JOIN arg_UNPARSED_ARGUMENTS " " unknown)
    message(FATAL_ERROR "${call} does not know the arguments: ${unknown}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${call} needs SOURCES and at least one file")
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_property(generated SOURCE "${source}" PROPERTY GENERATED)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE file)
    if(NOT generated AND NOT EXISTS "${file}")
      message(FATAL_ERROR "${call} has the source ${source}, which does not exist: ${file}")
    endif()
    if(source MATCHES "\\.cu$")
      set(arg_GPU TRUE)
      if(NOT CMAKE_CUDA_COMPILER_LOADED)
        message(FATAL_ERROR "${call} has the source ${source}, but this project does not compile "
          "CUDA: add CUDA to the LANGUAGES of project()")
      endif()
      warpgauge_check_architectures(${CMAKE_CUDA_ARCHITECTURES})
    endif()
  endforeach()
  if(arg_GPU AND NOT TARGET warpgauge::gpu_main)
    message(FATAL_ERROR "${call} measures a GPU, but this warpgauge was built without CUDA")
  endif()
  if(NOT DEFINED arg_GPUS)
    set(arg_GPUS 1)
  elseif(NOT arg_GPUS MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "${call} needs a number of GPUs from 1 on, and not GPUS ${arg_GPUS}")
  endif()
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(several)
    message(FATAL_ERROR "${call} needs a generator of one build type, as in cmake -G Ninja: a run "
      "and the manifest are of one build type")
  endif()
endmacro()

# Enters the caller's program in the manifest, which is written when all are known.
macro(_warpgauge_list_program)
  if(NOT TARGET warpgauge_benchmarks)
    add_custom_target(warpgauge_benchmarks)
    set(programs "$<TARGET_PROPERTY:warpgauge_benchmarks,WARPGAUGE_PROGRAMS>")
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/warpgauge_benchmarks.json" CONTENT
"{\"version\": 1, \"source_dir\": \"${CMAKE_SOURCE_DIR}\", \"programs\": [
$<JOIN:$<GENEX_EVAL:${programs}>,,\n>
]}
")
  endif()
  add_dependencies(warpgauge_benchmarks ${arg_NAME})
  set(device false)
  if(arg_GPU)
    set(device true)
  endif()
  set(path "$<PATH:RELATIVE_PATH,$<TARGET_FILE:${arg_NAME}>,${CMAKE_BINARY_DIR}>")
  _warpgauge_relative_sources(sources ${arg_SOURCES})
  list(JOIN sources "\", \"" sources)
  set_property(TARGET warpgauge_benchmarks APPEND PROPERTY WARPGAUGE_PROGRAMS
    "{\"name\": \"${arg_NAME}\", \"path\": \"${path}\", \"sources\": [\"${sources}\"], \"device\": ${device}, \"gpus\": ${arg_GPUS}}")
endmacro()

# The sources as seen from the top source folder.
function(_warpgauge_relative_sources variable)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    list(APPEND relative "${source}")
  endforeach()
  set(${variable} "${relative}" PARENT_SCOPE)
endfunction()
