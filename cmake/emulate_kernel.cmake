# SPDX-License-Identifier: MIT
# Specialisations of kernels that run on the emulator, each a translation unit of its own.
#
# dg_emulate_kernel(NAME SOURCE file.cu DEFINES MACRO=value ... [KERNEL name] [CALLED name]
#   [BUGGY])
#
# Makes the object library NAME. A program that links it finds emu::find_specialisation("NAME"): the
# values, THREADS, CLUSTER and SHARED_BYTES of the kernel's text, and the entry. SOURCE is inside kernels/
# or absolute. KERNEL is the kernel's name if SOURCE does not tell: sm90/fp8_gemm_block.cu is
# sm90_fp8_gemm_block. CALLED: another name for tests to find it by. BUGGY: without warnings, for texts that were made wrong on purpose.
#
# dg_emulate_catalogue(KERNEL)
#
# The same for every line of kernels/catalogue.txt that begins with KERNEL; the libraries' names are put
# into the variable EMULATED_CATALOGUE. A specialisation's name is then its line.
get_filename_component(DG_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# -O1: a launch spends its time in the emulator itself, and there are hundreds of specialisations to compile.
set(DG_EMULATED_OPTIONS -O1 -Wno-psabi) # arguments are aligned to 64 bytes

# Precompiled: the headers that kernels include and that none of their macros changes.
function(dg_precompile_vocabulary)
  if(TARGET dg_emulated_text)
    return()
  endif()
  set(HEADERS <iterator> "\"specialisation.h\"")
  foreach(NAME barrier convert descriptor fence global mbarrier shared swizzle tensormap tma warp)
    list(APPEND HEADERS "\"device/${NAME}.cuh\"")
  endforeach()
  add_library(dg_emulated_text OBJECT ${DG_ROOT}/emulator/emulated_text.cpp)
  target_link_libraries(dg_emulated_text PUBLIC dg_emulator)
  target_compile_options(dg_emulated_text PRIVATE ${DG_EMULATED_OPTIONS})
  target_precompile_headers(dg_emulated_text PRIVATE ${HEADERS})
endfunction()

function(dg_emulate_kernel NAME)
  cmake_parse_arguments(EMU "BUGGY" "SOURCE;KERNEL;CALLED" "DEFINES" ${ARGN})
  if(NOT EMU_KERNEL)
    string(REGEX REPLACE "\\.cu$" "" EMU_KERNEL ${EMU_SOURCE})
    string(REPLACE "/" "_" EMU_KERNEL ${EMU_KERNEL})
  endif()
  if(NOT EMU_CALLED)
    set(EMU_CALLED ${NAME})
  endif()
  set(VALUES "")
  foreach(DEFINE ${EMU_DEFINES})
    string(REGEX REPLACE "=.*" "" MACRO ${DEFINE})
    string(APPEND VALUES "EMU_VALUE(${MACRO})")
  endforeach()
  add_library(${NAME} OBJECT ${DG_ROOT}/emulator/emulated_kernel.cpp)
  target_link_libraries(${NAME} PUBLIC dg_emulator)
  target_compile_definitions(${NAME} PRIVATE ${EMU_DEFINES} "EMU_SOURCE=\"${EMU_SOURCE}\""
    EMU_SYMBOL=dg_${EMU_KERNEL} "EMU_KERNEL=\"${EMU_KERNEL}\"" "EMU_NAME=\"${EMU_CALLED}\""
    "EMU_VALUES=${VALUES}")
  set_target_properties(${NAME} PROPERTIES DG_DEFINES "${EMU_DEFINES}"
    DG_KERNEL ${EMU_KERNEL})
  get_filename_component(FOLDER ${EMU_SOURCE} DIRECTORY)
  if(IS_ABSOLUTE ${EMU_SOURCE})
    target_include_directories(${NAME} PRIVATE ${FOLDER} ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  dg_precompile_vocabulary()
  target_compile_options(${NAME} PRIVATE ${DG_EMULATED_OPTIONS})
  target_precompile_headers(${NAME} REUSE_FROM dg_emulated_text)
  if(EMU_BUGGY)
    target_compile_options(${NAME} PRIVATE -w)
  endif()
endfunction()

function(dg_emulate_catalogue KERNEL)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${DG_ROOT}/kernels/catalogue.txt)
  file(STRINGS ${DG_ROOT}/kernels/catalogue.txt LINES REGEX "^${KERNEL} ")
  string(REGEX REPLACE "^([a-z0-9]+)_(.*)$" "\\1/\\2.cu" SOURCE ${KERNEL})
  set(LIBRARIES)
  foreach(LINE ${LINES})
    list(LENGTH LIBRARIES INDEX)
    separate_arguments(WORDS UNIX_COMMAND ${LINE})
    list(REMOVE_AT WORDS 0)
    dg_emulate_kernel(emulated_${KERNEL}_${INDEX} SOURCE ${SOURCE} KERNEL ${KERNEL} CALLED ${LINE}
      DEFINES ${WORDS})
    list(APPEND LIBRARIES emulated_${KERNEL}_${INDEX})
  endforeach()
  set(EMULATED_CATALOGUE ${LIBRARIES} PARENT_SCOPE)
endfunction()
