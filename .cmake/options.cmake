# SPDX-License-Identifier: Apache-2.0
# How this project's own targets are compiled. All of it is private to them: whoever links a library
# of ours gets C++20 and its include folder, and nothing else.

# <warpgauge/...> is fixtures/..., in this repository as in an installed copy.
set(WARPGAUGE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${WARPGAUGE_INCLUDE_DIR}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/fixtures" "${WARPGAUGE_INCLUDE_DIR}/warpgauge" SYMBOLIC)

# warpgauge_set_options(target...)
# Warnings as errors (not inside another project, whose compiler may know more of them), the sanitizers
# where asked for, and "kernels/..." and "benchmarks/..." as include paths.
function(warpgauge_set_options)
  foreach(target IN LISTS ARGN)
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    if(PROJECT_IS_TOP_LEVEL)
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror>
        # -Wpedantic would object to the code nvcc generates; -Wshadow and -Wconversion to Thrust's.
        "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:--Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror>")
    endif()
    if(WARPGAUGE_SANITIZE)
      set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
      target_link_options(${target} PRIVATE ${sanitize})
    endif()
  endforeach()
endfunction()

# warpgauge_share_libstdcxx(target)
# A library that a foreign process loads finds the shared libstdc++ there, and a copy of its own beside
# that crashes. A compiler that has the static one alone must link the system's.
function(warpgauge_share_libstdcxx target)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.so
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE shared ERROR_QUIET)
  if(shared STREQUAL "libstdc++.so")  # as it was asked for: there is none
    find_library(WARPGAUGE_LIBSTDCXX libstdc++.so.6 REQUIRED)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/libstdcxx")
    file(CREATE_LINK "${WARPGAUGE_LIBSTDCXX}" "${PROJECT_BINARY_DIR}/libstdcxx/libstdc++.so" SYMBOLIC)
    target_link_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/libstdcxx")
  endif()
endfunction()

# warpgauge_add_library(name alias [STATIC])
# A library that other projects link as warpgauge::alias; its rooms add their sources. STATIC where it
# cannot be a shared one.
function(warpgauge_add_library name alias)
  add_library(${name} ${ARGN})
  add_library(warpgauge::${alias} ALIAS ${name})
  # A project that hides its symbols includes this one: those of a shared library stay visible.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default CUDA_VISIBILITY_PRESET default
    VISIBILITY_INLINES_HIDDEN OFF EXPORT_NAME ${alias} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "\$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${WARPGAUGE_INCLUDE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  warpgauge_set_options(${name})
endfunction()

# A test's own code runs for milliseconds: optimising it takes longer than it can save. nvcc would warn
# of a second -O, and -Xcompiler=-O0 comes before the build type's.
function(warpgauge_set_test_options target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
endfunction()

# warpgauge_add_test(NAME n SOURCES s... LIBRARIES l... LABEL host|gpu)
# A GoogleTest executable run by ctest under its label; GPU tests never share the device. Several
# sources are compiled as one: what they include takes longer than what they say. Each has a folder of
# its own for testing::TempDir(), for other builds of the project may be tested on the machine at the
# same time. The time limit ends what hangs, also on a machine that is busy.
function(warpgauge_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL" "SOURCES;LIBRARIES")
  if(NOT WARPGAUGE_TESTS)
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} warpgauge_test_main)
  warpgauge_set_options(${arg_NAME})
  warpgauge_set_test_options(${arg_NAME})
  set_target_properties(${arg_NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_precompile_headers(${arg_NAME} REUSE_FROM warpgauge_test_header)
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set(scratch "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_files")
  file(MAKE_DIRECTORY "${scratch}")
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 1800 SKIP_RETURN_CODE 77
    ENVIRONMENT "TEST_TMPDIR=${scratch}/")
  if(arg_LABEL STREQUAL "gpu")
    warpgauge_one_at_a_time(${arg_NAME})
  endif()
endfunction()
