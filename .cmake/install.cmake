# SPDX-License-Identifier: Apache-2.0
# find_package(warpgauge) works with what `cmake --install` puts into a prefix, and with the build
# folder itself (-Dwarpgauge_DIR=<build folder>).
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

# Google Benchmark lies where it was found, or was fetched and so built and installed with warpgauge.
set(benchmark_hint "${benchmark_DIR}")
if(benchmark_BINARY_DIR)
  set(benchmark_hint "${benchmark_BINARY_DIR}")
endif()
set(helpers_folder "${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/warpgauge-config.cmake.in"
  "${PROJECT_BINARY_DIR}/warpgauge-config.cmake" INSTALL_PREFIX "${PROJECT_BINARY_DIR}"
  INSTALL_DESTINATION . NO_SET_AND_CHECK_MACRO)
set(benchmark_hint "\${PACKAGE_PREFIX_DIR}")
set(helpers_folder "\${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/warpgauge-config.cmake.in"
  "${PROJECT_BINARY_DIR}/installed/warpgauge-config.cmake" INSTALL_DESTINATION "${package}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/warpgauge-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/installed/warpgauge-config.cmake"
  "${PROJECT_BINARY_DIR}/warpgauge-config-version.cmake" DESTINATION "${package}")
