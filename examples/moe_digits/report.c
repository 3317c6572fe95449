/* SPDX-License-Identifier: MIT
 *
 * The table at the end, and the curves as CSV: one line for each seed, model and epoch.
 */
#include "moe.h"

#include <stdio.h>

const char *const model_name[MODELS] = {[MODEL_FP8] = "FP8", [MODEL_TWIN] = "FP32 twin"};

static const char *const pass_name[PASSES] = {
    [PASS_DENSE] = "embedding, head, loss",
    [PASS_ROUTER] = "router",
    [PASS_FORWARD] = "experts forward",
    [PASS_DGRAD] = "experts data gradient",
    [PASS_WGRAD] = "experts weight gradient",
    [PASS_QUANTIZE] = "quantise",
    [PASS_OPTIMIZER] = "optimizer",
};

static const char *const call_name[CALLS] = {
    [CALL_QUANTIZE] = "dg_quantize",
    [CALL_M_GROUPED] = "dg_m_grouped_gemm",
    [CALL_K_GROUPED] = "dg_k_grouped_gemm",
};

static void print_heading(const char *text) {
    printf("%-30s%16s%16s\n", text, model_name[MODEL_FP8], model_name[MODEL_TWIN]);
    printf("--------------------------------------------------------------\n");
}

static void print_values(const char *text, const double values[MODELS], const char *unit) {
    printf(
        "%-30s%14.3f %-2s%13.3f %-2s\n", text, values[MODEL_FP8], unit, values[MODEL_TWIN], unit);
}

static void print_counts(const char *text, long fp8, long twin) {
    printf("%-30s%14ld   %13ld\n", text, fp8, twin);
}

void print_table(const run_t *runs, int count) {
    double accuracy[MODELS] = {0}, test[MODELS] = {0}, learnt[MODELS] = {0};
    stats_t sum[MODELS] = {0};
    for (int i = 0; i < count; i++) {
        for (int m = 0; m < MODELS; m++) {
            accuracy[m] += 100.0 * runs[i].curve[m].accuracy[EPOCHS - 1] / count;
            test[m] += runs[i].curve[m].test_loss[EPOCHS - 1] / count;
            learnt[m] += runs[i].curve[m].train_loss[EPOCHS - 1] / count;
            add_stats(&sum[m], &runs[i].stats[m]);
        }
    }

    print_heading("after the last epoch");
    for (int i = 0; count > 1 && i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "test accuracy, seed %llu", (unsigned long long)runs[i].seed);
        const double percent[MODELS] = {100.0 * runs[i].curve[MODEL_FP8].accuracy[EPOCHS - 1],
            100.0 * runs[i].curve[MODEL_TWIN].accuracy[EPOCHS - 1]};
        print_values(text, percent, "%");
    }
    print_values(count > 1 ? "test accuracy, mean" : "test accuracy", accuracy, "%");
    print_values("test loss", test, "");
    print_values("training loss", learnt, "");

    printf("\n");
    print_heading("time");
    double total[MODELS] = {0};
    for (int pass = 0; pass < PASSES; pass++) {
        const double seconds[MODELS] = {
            sum[MODEL_FP8].seconds[pass], sum[MODEL_TWIN].seconds[pass]};
        for (int m = 0; m < MODELS; m++) total[m] += seconds[m];
        print_values(pass_name[pass], seconds, "s");
    }
    print_values("all", total, "s");

    printf("\n");
    print_heading("library calls");
    for (int call = 0; call < CALLS; call++) {
        print_counts(call_name[call], sum[MODEL_FP8].calls[call], sum[MODEL_TWIN].calls[call]);
    }
    printf("\n");
    print_heading("experts x micro-batches");
    print_counts("trained", sum[MODEL_FP8].groups, sum[MODEL_TWIN].groups);
    print_counts(
        "of these without a token", sum[MODEL_FP8].empty_groups, sum[MODEL_TWIN].empty_groups);
}

bool write_csv(const char *path, const run_t *runs, int count) {
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return false;
    }
    fprintf(file, "seed,model,epoch,training_loss,test_loss,test_accuracy\n");
    for (int i = 0; i < count; i++) {
        for (int m = 0; m < MODELS; m++) {
            const curve_t *curve = &runs[i].curve[m];
            for (int epoch = 0; epoch < EPOCHS; epoch++) {
                fprintf(file, "%llu,%s,%d,%.6f,%.6f,%.6f\n", (unsigned long long)runs[i].seed,
                    model_name[m], epoch + 1, curve->train_loss[epoch], curve->test_loss[epoch],
                    curve->accuracy[epoch]);
            }
        }
    }
    if (fclose(file) == 0) return true;
    perror(path);
    return false;
}
