// SPDX-License-Identifier: MIT
//
// Emulated kernels compiled while a program runs: the text that NVRTC would get and the same macros
// go through the C++ compiler of the build into a shared object, which is loaded. For
// specialisations that nobody listed when the program was built. The program must export its
// symbols (ENABLE_EXPORTS).
#pragma once
#include "specialisation.h"

#include <memory>
#include <string>
#include <vector>

namespace emu {

// Lives as long as its specialisation may be launched.
class CompiledKernel {
  public:
    CompiledKernel(const CompiledKernel &) = delete;
    CompiledKernel &operator=(const CompiledKernel &) = delete;
    ~CompiledKernel();
    const Specialisation &specialisation() const; // its name is the kernel's and the macros

  private:
    friend std::unique_ptr<CompiledKernel> compile(
        const std::string &, const std::string &, const std::vector<std::string> &);
    CompiledKernel() = default;
    std::string name_;
    void *library_ = nullptr;
};

// text: a kernel with all includes in their places (tools/kernel_text.py). Parts that come from
// device/, marked by #line, are replaced by their emulated twins. kernel: "sm90_fp8_gemm_block".
// macros: "BLOCK_M=128". An Error with the compiler's words if it does not compile.
std::unique_ptr<CompiledKernel> compile(
    const std::string &text, const std::string &kernel, const std::vector<std::string> &macros);

} // namespace emu
