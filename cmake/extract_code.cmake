# SPDX-License-Identifier: MIT
# Writes the first C example of a page to a file: cmake -DPAGE=.. -DOUTPUT=.. -P extract_code.cmake
file(READ ${PAGE} TEXT)
string(FIND "${TEXT}" "```c\n" BEGIN)
if(BEGIN LESS 0)
  message(FATAL_ERROR "${PAGE} has no C example")
endif()
math(EXPR BEGIN "${BEGIN} + 5")
string(SUBSTRING "${TEXT}" ${BEGIN} -1 TEXT)
string(FIND "${TEXT}" "\n```" END)
string(SUBSTRING "${TEXT}" 0 ${END} TEXT)
file(WRITE ${OUTPUT} "${TEXT}\n")
