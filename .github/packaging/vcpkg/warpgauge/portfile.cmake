# SPDX-License-Identifier: Apache-2.0
cmake_path(SET SOURCE_PATH NORMALIZE "${CURRENT_PORT_DIR}/../../../..") # the clone that this lies in
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES cuda WARPGAUGE_CUDA)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DWARPGAUGE_BENCHMARKS=OFF -DWARPGAUGE_TESTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/warpgauge)
vcpkg_copy_tools(TOOL_NAMES warpgauge_drive AUTO_CLEAN)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
