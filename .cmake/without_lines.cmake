# SPDX-License-Identifier: Apache-2.0
# For `warpgauge changed`, as CMAKE_PROJECT_INCLUDE: code without the numbers of its source lines, so
# that a line more above it does not change it; and each datum in a section of its own, so that a
# longer name, which nvcc makes of its process number, does not move the others.
if(PROJECT_IS_TOP_LEVEL)
  set(header "${CMAKE_BINARY_DIR}/without_lines.hpp")
  file(CONFIGURE OUTPUT "${header}" CONTENT "#pragma GCC system_header
#undef __LINE__
#define __LINE__ 0
#define __builtin_source_location() nullptr
")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX,CUDA>:SHELL:-include \"${header}\">"
    "$<$<COMPILE_LANGUAGE:CXX>:-fdata-sections>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fdata-sections>")
endif()
