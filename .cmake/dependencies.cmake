# SPDX-License-Identifier: Apache-2.0
# An installed package where there is one, else these exact sources.
include(FetchContent)
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL ${WARPGAUGE_INSTALL}) # what is exported needs it exported
set(BENCHMARK_ENABLE_WERROR OFF)
set(INSTALL_GTEST OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # the options above reach the fetched projects
# SYSTEM: no warning of theirs may fail this build. CMake 3.25 takes it as part of whatever keyword stands
# before it, so it stands first.
FetchContent_Declare(benchmark SYSTEM
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  URL_HASH SHA256=6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce
  DOWNLOAD_EXTRACT_TIMESTAMP FALSE
  FIND_PACKAGE_ARGS 1.7)
if(NOT TARGET benchmark::benchmark) # the project that includes this one may have it
  FetchContent_MakeAvailable(benchmark)
endif()
FetchContent_Declare(nlohmann_json SYSTEM
  URL https://github.com/nlohmann/json/releases/download/v3.12.0/json.tar.xz
  URL_HASH SHA256=42f6e95cad6ec532fd372391373363b62a14af6d771056dbfc86160e6dfff7aa
  DOWNLOAD_EXTRACT_TIMESTAMP FALSE
  FIND_PACKAGE_ARGS 3.10)
if(NOT TARGET nlohmann_json::nlohmann_json)
  FetchContent_MakeAvailable(nlohmann_json)
endif()
if(WARPGAUGE_TESTS)
  FetchContent_Declare(googletest
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    URL_HASH SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
    DOWNLOAD_EXTRACT_TIMESTAMP FALSE
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
endif()
if(NOT TARGET benchmark::benchmark)
  message(FATAL_ERROR "Google Benchmark was found but has no target benchmark::benchmark: "
    "install libbenchmark-dev, or pass -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER")
endif()
