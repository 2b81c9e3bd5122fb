# SPDX-License-Identifier: Apache-2.0
# How every target is compiled: one interface target, nothing global.
add_library(warpgauge_options INTERFACE)
target_compile_features(warpgauge_options INTERFACE cxx_std_20)
target_include_directories(warpgauge_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(warpgauge_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror>
  # -Wpedantic would object to the code nvcc generates; -Wshadow and -Wconversion to Thrust's.
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:--Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror>")
if(WARPGAUGE_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(warpgauge_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
  target_link_options(warpgauge_options INTERFACE ${sanitize})
endif()

# warpgauge_add_test(NAME n SOURCES s... LIBRARIES l... LABEL host|gpu)
# A GoogleTest executable run by ctest under its label; GPU tests never share the device.
function(warpgauge_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL" "SOURCES;LIBRARIES")
  if(NOT WARPGAUGE_TESTS)
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} warpgauge_options
    warpgauge_test_main)
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300
    SKIP_RETURN_CODE 77)
  if(arg_LABEL STREQUAL "gpu")
    warpgauge_one_at_a_time(${arg_NAME})
  endif()
endfunction()
