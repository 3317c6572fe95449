// SPDX-License-Identifier: MIT
//
// Every line of the catalogue for fp8_gemm_vector, once, race checker on: more tiles than CTAs,
// ragged edges, once round the ring and a bit, an empty group. The kernel's own tests run many
// cases of small tiles.
#include "check.h"
#include "vector_run.h"

#include "args/sm90.h"

TEST(every_line_of_the_catalogue) {
    emu::Config config;
    for (const emu::Specialisation &s : emu::specialisations()) {
        const bool grouped = s.value("SCHEDULE") != DG_SCHEDULE_DENSE;
        dg_vector_shape_t shape{};
        shape.m = s.value("BLOCK_M") + 16;
        shape.n = s.value("BLOCK_N") + 32;
        shape.group_count = grouped ? 3 : 1;
        shape.sizes[0] = s.value("STAGES") * 128 + 112; // with k fastest, groups begin on 16
        shape.sizes[2] = grouped ? 130 : 0;
        shape.gap = grouped && s.value("A_MN") && s.value("B_MN") ? 5 : 0;
        shape.form_a = s.value("A_MN") ? DG_CASE_TOKENS_FIRST : DG_CASE_TOKENS_LAST;
        shape.form_b = s.value("B_MN") ? DG_CASE_TOKENS_FIRST : DG_CASE_TOKENS_LAST;
        shape.out_f32 = s.value("OUT_F32") != 0;
        shape.accumulates = shape.exact = true;
        const std::string wrong = run_vector(s, shape, config, 2);
        if (!wrong.empty()) throw std::runtime_error(std::string(s.name) + ": " + wrong);
        config.seed++;
    }
    REQUIRE(config.seed > 1);
}
