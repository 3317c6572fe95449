# SPDX-License-Identifier: MIT
# deepgemm run: right results, numbers that agree with each other, for every family.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

# expect_result(FLOP ARGUMENT...): one line of JSON, result ok; if FLOP > 0, rate * time = FLOP.
function(expect_result FLOP)
  run_cli(run ${ARGN} --repeat 2 --json)
  expect_status(0)
  expect_empty(ERR)
  expect_one_line(OUT)
  json_member(RESULT "${OUT}" result)
  json_member(CHECKED "${OUT}" checked)
  json_member(TIME "${OUT}" time_ms)
  json_member(LEAST "${OUT}" min_time_ms)
  json_member(RATIO "${OUT}" error_to_bound)
  if(NOT RESULT STREQUAL ok OR NOT CHECKED GREATER 0 OR NOT TIME GREATER 0 OR LEAST GREATER TIME OR
      RATIO GREATER 1)
    fail("implausible")
  endif()
  if(FLOP GREATER 0)
    # CMake has no floating point: awk has.
    json_member(RATE "${OUT}" gflop_per_s)
    execute_process(COMMAND awk "BEGIN { q = ${RATE} * ${TIME} * 1e6 / ${FLOP}; \
exit !(q > 0.999 && q < 1.001) }" RESULT_VARIABLE WRONG)
    if(WRONG)
      fail("${RATE} GFLOP/s for ${TIME} ms are not ${FLOP} operations")
    endif()
  endif()
endfunction()

expect_result(64000 gemm --m 10 --n 32 --k 100)
expect_result(1638400 gemm --m 64 --n 128 --k 100 --dtype fp4xfp8 --scale ue8m0 --gran 32 --layout nt)
expect_result(2000000 gemm --m 100 --n 100 --k 100 --dtype bf16 --layout tt --out f32 --accumulate)
expect_result(196000 m_grouped --sizes 5,0,9 --n 70 --k 100 --form index --m 20)
expect_result(1120000 m_grouped --sizes 5,0,9,2 --n 350 --k 100 --form masked --scale e8m0)
expect_result(3000000 k_grouped --sizes 100,0,50 --m 100 --n 100 --accumulate --result list)
expect_result(3000000 k_grouped --sizes 100,0,50 --m 100 --n 100 --dtype fp8xfp4 --operand flat)
expect_result(0 cast --m 100 --n 200 --recipe both --scale ue8m0)
expect_result(0 cast --sizes 100,0,33 --n 64 --recipe channel --dtype fp4 --gran 32)
expect_result(0 scale_layout --m 33 --k 1000 --form pack)
expect_result(0 scale_layout --m 33 --sizes 100,700 --form k_grouped)
expect_result(0 permute --m 33 --n 70 --groups 5 --topk 3 --form psum --align 16 --in f32)
expect_result(0 permute --m 40 --n 264 --groups 3 --form masked)

# The seed decides the values: the same one, the same errors.
run_cli(run gemm --m 33 --n 65 --k 129 --seed 5 --json --out f32)
json_member(FIRST "${OUT}" error_to_bound)
run_cli(run gemm --m 33 --n 65 --k 129 --seed 5 --json --out f32 --threads 1 --isa portable)
json_member(SECOND "${OUT}" error_to_bound)
json_member(ISA "${OUT}" isa)
json_member(THREADS "${OUT}" threads)
if(NOT FIRST STREQUAL SECOND OR NOT ISA STREQUAL portable OR NOT THREADS EQUAL 1)
  fail("seed 5 gives ${FIRST} and ${SECOND}; isa ${ISA}, threads ${THREADS}")
endif()

# For people: one result as a list; several shapes as a table, see test_bench.
run_cli(run gemm --m 20 --n 30 --k 40)
expect_status(0)
expect_match(OUT "\nfamily +gemm\nkind +fp8 nt [^\n]*\nshape +m 20 n 30 k 40\ntime ms +[0-9.]+\n")
expect_match(OUT "\nGFLOP/s +[0-9.e-]+\n.*\nresult +ok\n$")

# What the library refuses is printed with its reason, exit status 1.
run_cli(run gemm --m 20 --n 30 --k 40 --gran 48)
expect_status(1)
expect_empty(OUT)
expect_match(ERR "^deepgemm run: dg_gemm: [^\n]*gran[^\n]*48[^\n]*\n$")
