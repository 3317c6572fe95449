# SPDX-License-Identifier: MIT
# --help and --version print to standard output and succeed; each verb documents its options.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

run_cli(--help)
expect_status(0)
expect_empty(ERR)
foreach(VERB info run verify bench plan tune compile cache)
  expect_match(OUT "\n    ${VERB} ")
endforeach()

run_cli(--version)
expect_status(0)
expect_one_line(OUT)
expect_match(OUT "^deepgemm [0-9]+\\.[0-9]+\\.[0-9]+\n$")

foreach(VERB info run verify bench plan tune compile cache)
  run_cli(${VERB} --help)
  expect_status(0)
  expect_empty(ERR)
  foreach(PART "Synopsis\n    deepgemm ${VERB}" "Description\n" "Options\n" "--json" "Exit status\n")
    expect_match(OUT "${PART}")
  endforeach()
  # No line may be wider than a terminal.
  split_lines(LINES)
  foreach(LINE IN LISTS LINES)
    string(LENGTH "${LINE}" WIDTH)
    if(WIDTH GREATER 80)
      fail("a line of ${WIDTH} columns: ${LINE}")
    endif()
  endforeach()
endforeach()

run_cli(run --help)
foreach(OPTION m n k groups sizes form dtype layout scale gran out accumulate threads isa repeat seed
    file)
  expect_match(OUT "\n    --${OPTION}")
endforeach()
