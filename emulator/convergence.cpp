// SPDX-License-Identifier: MIT
//
// Implementation of convergence.h. A lane's n-th collective is compared with the n-th of the lane that
// came first; nobody waits, so that a warp's lanes may run one after the other.
#include "convergence.h"
#include "machine.h"

#include <algorithm>
#include <cstring>

namespace emu {

static bool same(const char *a, const char *b) {
    return a == b || strcmp(a, b) == 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void check_same(const WarpPath::Step &step, const char *operation, Site site) {
    if (step.site.line == site.line && same(step.operation, operation) &&
        same(step.site.file, site.file))
        return;
    fail("DIVERGED", "%s at %s:%d, while other lanes of the warp are at %s at %s:%d", operation,
        base_name(site.file), site.line, step.operation, base_name(step.site.file), step.site.line);
}

void warp_together(const char *operation, Site site) {
    Thread *t = current;
    WarpPath &path = t->cta->paths[t->warp];
    const uint64_t index = t->collectives++;
    if (index >= path.shortest)
        fail("DIVERGED", "%s at %s:%d without lanes of the warp that have ended", operation,
            base_name(site.file), site.line);
    if (index == path.passed + path.steps.size()) path.steps.push_back({operation, site, 0});
    WarpPath::Step &step = path.steps[index - path.passed];
    check_same(step, operation, site);
    if (++step.lanes < 32) return;
    path.steps.pop_front();
    path.passed++;
}

void check_path_end(const Thread *t) {
    WarpPath &path = t->cta->paths[t->warp];
    path.shortest = std::min(path.shortest, t->collectives);
    if (t->collectives == path.passed + path.steps.size()) return;
    const WarpPath::Step &step = path.steps[t->collectives - path.passed];
    fail("DIVERGED", "lane %u ends, while other lanes of the warp are at %s at %s:%d", t->lane,
        step.operation, base_name(step.site.file), step.site.line);
}

} // namespace emu
