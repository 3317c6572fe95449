# SPDX-License-Identifier: MIT
# Checks for the scripts of this folder. Each stops the test with the command and what it printed.
cmake_minimum_required(VERSION 3.25)

# run_cli(ARGUMENT...): runs the program; sets RC, OUT and ERR.
function(run_cli)
  execute_process(COMMAND ${DEEPGEMM} ${ARGN} RESULT_VARIABLE RC OUTPUT_VARIABLE OUT
    ERROR_VARIABLE ERR TIMEOUT 250)
  list(JOIN ARGN " " COMMAND_LINE)
  set(COMMAND_LINE "deepgemm ${COMMAND_LINE}" PARENT_SCOPE)
  set(RC "${RC}" PARENT_SCOPE)
  set(OUT "${OUT}" PARENT_SCOPE)
  set(ERR "${ERR}" PARENT_SCOPE)
endfunction()

function(fail TEXT)
  message(FATAL_ERROR "${COMMAND_LINE}: ${TEXT}\n--- stdout\n${OUT}\n--- stderr\n${ERR}")
endfunction()

function(expect_status WANTED)
  if(NOT RC STREQUAL WANTED)
    fail("exit status ${RC}, expected ${WANTED}")
  endif()
endfunction()

# expect_match(OUT|ERR REGEX)
function(expect_match STREAM REGEX)
  if(NOT "${${STREAM}}" MATCHES "${REGEX}")
    fail("${STREAM} does not match ${REGEX}")
  endif()
endfunction()

function(expect_empty STREAM)
  if(NOT "${${STREAM}}" STREQUAL "")
    fail("${STREAM} is not empty")
  endif()
endfunction()

# expect_one_line(STREAM): exactly one line, with its newline.
function(expect_one_line STREAM)
  if(NOT "${${STREAM}}" MATCHES "^[^\n]+\n$")
    fail("${STREAM} is not one line")
  endif()
endfunction()

# json_member(VARIABLE TEXT MEMBER...): the member's value; stops if TEXT is no JSON or lacks it.
function(json_member VARIABLE TEXT)
  string(JSON VALUE ERROR_VARIABLE PROBLEM GET "${TEXT}" ${ARGN})
  if(PROBLEM)
    fail("JSON: ${PROBLEM}\n${TEXT}")
  endif()
  set(${VARIABLE} "${VALUE}" PARENT_SCOPE)
endfunction()

# split_lines(VARIABLE): OUT as a list of lines. Brackets and semicolons would split or join
# elements of a CMake list, so they travel as control characters; restore_line brings them back.
string(ASCII 1 OPENING)
string(ASCII 2 CLOSING)
string(ASCII 3 SEMICOLON)

function(split_lines VARIABLE)
  string(REPLACE "[" "${OPENING}" TEXT "${OUT}")
  string(REPLACE "]" "${CLOSING}" TEXT "${TEXT}")
  string(REPLACE ";" "${SEMICOLON}" TEXT "${TEXT}")
  string(REGEX REPLACE "\n$" "" TEXT "${TEXT}")
  string(REPLACE "\n" ";" TEXT "${TEXT}")
  set(${VARIABLE} "${TEXT}" PARENT_SCOPE)
endfunction()

function(restore_line VARIABLE LINE)
  string(REPLACE "${OPENING}" "[" TEXT "${LINE}")
  string(REPLACE "${CLOSING}" "]" TEXT "${TEXT}")
  string(REPLACE "${SEMICOLON}" ";" TEXT "${TEXT}")
  set(${VARIABLE} "${TEXT}" PARENT_SCOPE)
endfunction()
