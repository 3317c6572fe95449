# SPDX-License-Identifier: MIT
# dg_add_test(NAME SOURCES file... [LABELS label...] [LIBRARIES target...] [TIMEOUT seconds] [INTERNAL])
#
# Adds a cmocka test program. It links the shared library and sees the public headers; INTERNAL links
# the static twin instead and sees the headers of src/ too. Exit status 77 counts as skipped.
function(dg_add_test NAME)
  cmake_parse_arguments(TEST "INTERNAL" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${NAME} ${TEST_SOURCES})
  if(TEST_INTERNAL)
    target_link_libraries(${NAME} PRIVATE deep_gemm_static)
    target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  else()
    target_link_libraries(${NAME} PRIVATE deep_gemm)
  endif()
  target_link_libraries(${NAME} PRIVATE cmocka m Threads::Threads ${TEST_LIBRARIES})
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
    SKIP_RETURN_CODE 77)
endfunction()
