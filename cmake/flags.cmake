# SPDX-License-Identifier: MIT
# Compiler flags that every target shares.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# -ffp-contract=off: a * b + c is two roundings unless the source says fmaf(). Bits are promised to be
# the same on every processor, so the compiler may not choose.
add_compile_options(-Wall -Wextra -ffp-contract=off
  $<$<COMPILE_LANGUAGE:C>:-Wconversion> $<$<COMPILE_LANGUAGE:C>:-Wshadow>)
if(DG_WERROR)
  add_compile_options(-Werror)
endif()
if(DG_SANITIZE)
  add_compile_options(-fsanitize=${DG_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DG_SANITIZE})
endif()
if(DG_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
