// SPDX-License-Identifier: MIT
//
// Implementation of compile.h. The compiler and its include folders are those of the build
// (EMU_COMPILER, EMU_FOLDERS; emulator/CMakeLists.txt).
#include "compile.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <unistd.h>

namespace emu {

// Every part of the text begins with `#line NUMBER "NAME"`.
static std::string with_emulated_device(const std::string &text) {
    std::istringstream in(text);
    std::string line, out;
    bool skipping = false;
    while (std::getline(in, line)) {
        int number;
        char name[256];
        if (sscanf(line.c_str(), "#line %d \"%255[^\"]\"", &number, name) == 2) {
            skipping = std::string(name).rfind("device/", 0) == 0;
            if (skipping && number == 1) out += "#include \"" + std::string(name) + "\"\n";
        }
        if (!skipping) out += line + "\n";
    }
    return out;
}

static std::string read_all(const std::string &path) {
    std::ifstream in(path);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
}

// Quoted for the shell.
static std::string quoted(const std::string &word) {
    std::string out = "'";
    for (const char c : word)
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    return out + "'";
}

static std::string make_folder() {
    const char *parent = getenv("TMPDIR");
    std::string path = std::string(parent && *parent ? parent : "/tmp") + "/emulated_XXXXXX";
    if (!mkdtemp(path.data())) fail("COMPILE", "no temporary folder like %s", path.c_str());
    return path;
}

static std::string command_for(const std::string &folder, const std::string &kernel,
    const std::string &name, const std::vector<std::string> &macros) {
    std::string command = EMU_COMPILER " -std=c++17 -O1 -fPIC -shared -w " EMU_FOLDERS, values;
    for (const std::string &macro : macros) {
        command += " " + quoted("-D" + macro);
        values += "EMU_VALUE(" + macro.substr(0, macro.find('=')) + ")";
    }
    command += " " + quoted("-DEMU_SOURCE=\"" + folder + "/kernel.cu\"");
    command += " " + quoted("-DEMU_SYMBOL=dg_" + kernel);
    command += " " + quoted("-DEMU_KERNEL=\"" + kernel + "\"");
    command += " " + quoted("-DEMU_NAME=\"" + name + "\"");
    command += " " + quoted("-DEMU_VALUES=" + values);
    command += " " EMU_WRAPPER " -o " + quoted(folder + "/kernel.so");
    return command + " >" + quoted(folder + "/log") + " 2>&1";
}

std::unique_ptr<CompiledKernel> compile(
    const std::string &text, const std::string &kernel, const std::vector<std::string> &macros) {
    std::unique_ptr<CompiledKernel> compiled(new CompiledKernel);
    compiled->name_ = kernel;
    for (const std::string &macro : macros) compiled->name_ += " " + macro;
    const std::string folder = make_folder();
    std::ofstream(folder + "/kernel.cu") << with_emulated_device(text);
    const int status = system(command_for(folder, kernel, compiled->name_, macros).c_str());
    const std::string log = read_all(folder + "/log");
    if (status == 0) compiled->library_ = dlopen((folder + "/kernel.so").c_str(), RTLD_NOW);
    const char *why = status == 0 && !compiled->library_ ? dlerror() : log.c_str();
    const std::string reason = why ? why : "";
    for (const char *file : {"/kernel.cu", "/kernel.so", "/log"}) unlink((folder + file).c_str());
    rmdir(folder.c_str());
    if (!compiled->library_)
        fail("COMPILE", "%s: %s", compiled->name_.c_str(), reason.substr(0, 500).c_str());
    return compiled;
}

CompiledKernel::~CompiledKernel() {
    if (library_) dlclose(library_);
}

const Specialisation &CompiledKernel::specialisation() const {
    return find_specialisation(name_);
}

} // namespace emu
