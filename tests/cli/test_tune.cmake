# SPDX-License-Identifier: MIT
# deepgemm tune on a GPU of the fake driver, where each call takes as long as any other: which candidates
# run, that the planner's is among them, what the file holds, and refusals.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
set(READINGS ${WORK_DIR}/readings.jsonl)
set(QUICK --rounds 1 --calls 1 --flush 1 --json ${READINGS})

set(ENV{DG_CUDA_DRIVER} /nowhere/libcuda.so.1)
run_cli(tune gemm --m 64 --n 64 --k 64)
expect_status(1)
expect_one_line(ERR)
expect_match(ERR "no CUDA driver")
run_cli(tune cast --m 64)
expect_status(1)
run_cli(tune)
expect_status(2)
expect_match(ERR "FAMILY is missing")

set(ENV{DG_CUDA_DRIVER} ${FAKE_DRIVER})
run_cli(tune cast --m 64 --n 64)
expect_status(2)
expect_match(ERR "cast has no plan")

run_cli(info --json)
json_member(EMBEDDED "${OUT}" kernels embedded)
if(EMBEDDED EQUAL 0)
  return() # nothing that the fake driver could load
endif()

# Every candidate that deepgemm plan knows, with its prediction, and the same choice.
foreach(SHAPE "gemm;--m;256;--n;512;--k;1024" "gemm;--dtype;bf16;--m;100;--n;304;--k;512;--layout;tt"
    "m_grouped;--groups;4;--m;64;--n;256;--k;256;--form;masked"
    "m_grouped;--sizes;3,0,70;--n;256;--k;256;--form;index;--gather"
    "k_grouped;--groups;3;--m;256;--n;256;--k;1152;--operand;flat;--form;host;--accumulate"
    "k_grouped;--groups;3;--m;256;--n;256;--k;1K;--result;list;--form;psum;--accumulate")
  run_cli(plan ${SHAPE} --machine H200 --json)
  expect_status(0)
  json_member(CHOSEN "${OUT}" specialisation)
  run_cli(plan ${SHAPE} --machine H200 --explain)
  string(REGEX MATCHALL "BLOCK_M=" CANDIDATES "${OUT}")
  list(LENGTH CANDIDATES COUNT)
  run_cli(tune ${SHAPE} ${QUICK})
  expect_status(0)
  expect_empty(ERR)
  expect_match(OUT "loss")
  file(READ ${READINGS} LINE)
  json_member(TUNED "${LINE}" chosen)
  string(JSON LENGTH LENGTH "${LINE}" candidates)
  if(NOT TUNED STREQUAL CHOSEN OR NOT LENGTH EQUAL COUNT OR COUNT LESS 2)
    fail("${LENGTH} candidates of ${COUNT}; chosen ${TUNED}, by plan ${CHOSEN}")
  endif()
  math(EXPR LAST "${LENGTH} - 1")
  foreach(I RANGE ${LAST})
    json_member(US "${LINE}" candidates ${I} us)
    json_member(DIFFERS "${LINE}" candidates ${I} differs)
    if(NOT US GREATER 0 OR NOT DIFFERS EQUAL 0)
      fail("candidate ${I}: ${US} us, differs ${DIFFERS}")
    endif()
  endforeach()
endforeach()

# One alone, in the table and in the file.
set(ONLY "any_gemm BLOCK_M=64 BLOCK_N=64 WIDE=0")
run_cli(tune gemm --m 256 --n 512 --k 1024 ${QUICK} --only ${ONLY} --explain)
expect_status(0)
expect_match(OUT "\\*!.*${ONLY}")
file(READ ${READINGS} LINE)
string(JSON LENGTH LENGTH "${LINE}" candidates)
if(NOT LENGTH EQUAL 1)
  fail("${LENGTH} candidates")
endif()
run_cli(tune gemm --m 256 --n 512 --k 1024 ${QUICK} --only "any_gemm BLOCK_M=64 BLOCK_N=64 WIDE=1")
expect_status(1)
expect_one_line(ERR)
expect_match(ERR "any_gemm: another candidate is asked for")
