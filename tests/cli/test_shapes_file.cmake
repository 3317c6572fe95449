# SPDX-License-Identifier: MIT
# deepgemm run --file: a line for each shape; a wrong file is refused by the place of the fault.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
set(FILE ${WORK_DIR}/shapes.json)

function(expect_refusal TEXT REGEX)
  file(WRITE ${FILE} "${TEXT}")
  run_cli(run --file ${FILE})
  expect_status(2)
  expect_empty(OUT)
  expect_one_line(ERR)
  expect_match(ERR "${REGEX}")
endfunction()

if(NOT HAVE_CJSON)
  expect_refusal("[]" "built without cJSON")
  return()
endif()

file(WRITE ${FILE} [[
[ {"family": "gemm", "m": 10, "n": 20, "k": 30, "gran_n": 1, "source": "made up"},
  {"family": "k_grouped", "m": 8, "n": 8, "sizes": [3, 0, 5], "accumulate": true, "repeat": 1} ]
]])
run_cli(run --file ${FILE})
expect_status(2)
expect_match(ERR "shape 1: unknown member \"repeat\"")

file(WRITE ${FILE} [[
[ {"family": "gemm", "m": 10, "n": 20, "k": 30, "gran_n": 1, "source": "made up"},
  {"family": "k_grouped", "m": 8, "n": 8, "sizes": [3, 0, 5], "accumulate": true},
  {"m": 4, "n": 4, "k": 4, "accumulate": false} ]
]])
run_cli(run gemm --file ${FILE} --json)
expect_status(0)
split_lines(LINES)
list(LENGTH LINES COUNT)
if(NOT COUNT EQUAL 3)
  fail("${COUNT} lines")
endif()
set(FAMILIES "")
foreach(LINE IN LISTS LINES)
  restore_line(LINE "${LINE}")
  json_member(FAMILY "${LINE}" family)
  json_member(RESULT "${LINE}" result)
  list(APPEND FAMILIES ${FAMILY})
  if(NOT RESULT STREQUAL ok)
    fail("${LINE}")
  endif()
endforeach()
if(NOT FAMILIES STREQUAL "gemm;k_grouped;gemm")
  fail("families ${FAMILIES}")
endif()

expect_refusal("[{\"family\": \"gemm\",\n \"m\": }]" "line 2 is not JSON")
expect_refusal("3" "neither an array nor an object")
expect_refusal("[1]" "shape 0: not an object")
expect_refusal("[{\"m\": 1}]" "shape 0: \"family\" is missing")
expect_refusal("{\"family\": \"gem\"}" "the nearest is gemm")
expect_refusal("{\"family\": \"gemm\", \"m\": 1.5}" "\"m\" 1.5: not a whole number")
expect_refusal("{\"family\": \"gemm\", \"m\": {}}" "\"m\" is neither")
expect_refusal("{\"family\": \"gemm\", \"dtyp\": \"fp8\"}" "the nearest is \"dtype\"")
run_cli(run --file ${WORK_DIR}/missing.json)
expect_status(2)
expect_match(ERR "missing.json: cannot be read")
