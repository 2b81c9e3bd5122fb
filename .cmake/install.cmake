# SPDX-License-Identifier: Apache-2.0
# find_package(warpgauge) works with what `cmake --install` puts into a prefix or a wheel, and with the
# build folder itself (-Dwarpgauge_DIR=<build folder>).
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/warpgauge")

set(libraries)
foreach(name IN ITEMS process peer host host_main cuda gpu gpu_main allocation_watch)
  if(TARGET warpgauge_${name})
    list(APPEND libraries warpgauge_${name})
  endif()
endforeach()
install(TARGETS ${libraries} EXPORT warpgauge)
install(TARGETS warpgauge_drive)
install(EXPORT warpgauge NAMESPACE warpgauge:: FILE warpgauge-targets.cmake DESTINATION "${package}")
export(EXPORT warpgauge NAMESPACE warpgauge:: FILE "${PROJECT_BINARY_DIR}/warpgauge-targets.cmake")

foreach(room IN ITEMS "" core cuda gpu host peer process program)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fixtures/${room}/*.hpp"
    "${PROJECT_SOURCE_DIR}/fixtures/${room}/*.cuh")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/warpgauge/${room}")
endforeach()

set(helpers cuda_language.cmake gpu_tests.cmake program_context.cpp.in warpgauge_add_benchmark.cmake
  write_commit.cmake)
list(TRANSFORM helpers PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
install(FILES ${helpers} DESTINATION "${package}")

# Another version of Google Benchmark has other classes, so what is installed brings its own, by a name
# of its own. For the build folder it lies where it was found or fetched.
set(benchmark_headers "${benchmark_SOURCE_DIR}/include")
set(google_benchmark "find_dependency(benchmark HINTS \"${benchmark_BINARY_DIR}\")")
if(NOT benchmark_SOURCE_DIR)
  get_target_property(benchmark_headers benchmark::benchmark INTERFACE_INCLUDE_DIRECTORIES)
  set(google_benchmark "find_dependency(benchmark HINTS \"${benchmark_DIR}\")")
endif()
get_target_property(kind benchmark::benchmark TYPE)
set(benchmark_file "$<TARGET_FILE_NAME:benchmark::benchmark>")
if(kind STREQUAL "SHARED_LIBRARY")
  set(benchmark_file "$<TARGET_SONAME_FILE_NAME:benchmark::benchmark>")
endif()
install(FILES "$<TARGET_FILE:benchmark::benchmark>" RENAME "${benchmark_file}"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/warpgauge")
list(TRANSFORM benchmark_headers APPEND "/benchmark")
install(DIRECTORY ${benchmark_headers} DESTINATION "${CMAKE_INSTALL_LIBDIR}/warpgauge/include")

# What `warpgauge --version` says of it.
set(SOURCE "${PROJECT_SOURCE_DIR}")
set(HEADER "${PROJECT_BINARY_DIR}/warpgauge_commit.hpp")
include("${CMAKE_CURRENT_LIST_DIR}/write_commit.cmake")
set(built "${PROJECT_BINARY_DIR}/warpgauge-built.txt")
set(engine "with CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
if(NOT WARPGAUGE_WITH_CUDA)
  set(engine "without CUDA")
endif()
file(WRITE "${built}" "${commit}\n${engine}\n")
install(FILES "${built}" DESTINATION "${package}")

set(helpers_folder "${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/warpgauge-config.cmake.in"
  "${PROJECT_BINARY_DIR}/warpgauge-config.cmake" INSTALL_PREFIX "${PROJECT_BINARY_DIR}"
  INSTALL_DESTINATION . NO_SET_AND_CHECK_MACRO)
string(REPLACE "_LIBRARY" "" kind "${kind}")
set(google_benchmark "set(folder \"\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_LIBDIR}/warpgauge\") # others' prefixes follow
find_dependency(Threads)
if(NOT TARGET warpgauge::benchmark)
  file(GLOB library \"\${folder}/libbenchmark*\")
  add_library(warpgauge::benchmark ${kind} IMPORTED)
  set_target_properties(warpgauge::benchmark PROPERTIES IMPORTED_LOCATION \"\${library}\"
    INTERFACE_INCLUDE_DIRECTORIES \"\${folder}/include\" INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()")
set(helpers_folder "\${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/warpgauge-config.cmake.in"
  "${PROJECT_BINARY_DIR}/installed/warpgauge-config.cmake" INSTALL_DESTINATION "${package}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/warpgauge-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/installed/warpgauge-config.cmake"
  "${PROJECT_BINARY_DIR}/warpgauge-config-version.cmake" DESTINATION "${package}")
