/* SPDX-License-Identifier: MIT
 *
 * See model_shapes.h. A linear layer of n outputs and k inputs over T tokens multiplies
 *
 *     forward          [T, n] = [T, k] w^T          FP8, factors 1 x 128 and 128 x 128
 *     data gradient    [T, k] = [T, n] w            the same with w read the other way
 *     weight gradient  [n, k] += sum over tokens    both operands token by token, factors 1 x 128
 */
#include "model_shapes.h"

#include <stdio.h>

#if defined(CLI_HAVE_CJSON)

#    include <math.h>
#    include <string.h>

#    include "buffer.h"
#    include "json_file.h"

#    define MAX_MEMBER 1e9 /* no extent of a layer is larger */

typedef struct model_t {
    const cJSON *config;
    int64_t tokens;
    bool training;
    cli_layer_t **layers;
    size_t *count;
} model_t;

/* A whole positive number, or `missing`. */
static int64_t member(const model_t *model, const char *name, int64_t missing) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(model->config, name);
    if (!cJSON_IsNumber(value)) return missing;
    const double number = value->valuedouble;
    return number >= 1 && number <= MAX_MEMBER && number == floor(number) ? (int64_t)number
                                                                          : missing;
}

static cli_shape_t *append(const model_t *model, const char *name, const char *part,
    cli_family_t family, int64_t m, int64_t n, int64_t k) {
    cli_layer_t **layers = model->layers;
    *layers = cli_reallocate(*layers, (*model->count + 1) * sizeof **layers);
    cli_layer_t *layer = &(*layers)[(*model->count)++];
    snprintf(layer->name, sizeof layer->name, "%s %s", name, part);
    layer->shape = cli_shape_init(family);
    layer->shape.m = m;
    layer->shape.n = n;
    layer->shape.k = k;
    return &layer->shape;
}

static void add_linear(const model_t *model, const char *name, int64_t n, int64_t k) {
    const int64_t tokens = model->tokens;
    append(model, name, "forward", CLI_GEMM, tokens, n, k);
    if (!model->training) return;
    append(model, name, "dgrad", CLI_GEMM, tokens, k, n)->layout = CLI_NN;
    cli_shape_t *gradient = append(model, name, "wgrad", CLI_GEMM, n, k, tokens);
    gradient->layout = CLI_TN;
    gradient->gran_n = 1;
    gradient->out = CLI_OUT_F32;
    gradient->accumulate = true;
}

/* experts linear layers, each token in `chosen` of them */
static void add_experts(
    const model_t *model, const char *name, int64_t experts, int64_t chosen, int64_t n, int64_t k) {
    const int64_t rows = model->tokens * chosen;
    append(model, name, "forward", CLI_M_GROUPED, rows, n, k)->groups = experts;
    if (!model->training) return;
    cli_shape_t *gradient = append(model, name, "dgrad", CLI_M_GROUPED, rows, k, n);
    gradient->groups = experts;
    gradient->layout = CLI_NN;
    gradient = append(model, name, "wgrad", CLI_K_GROUPED, n, k, rows);
    gradient->groups = experts;
    gradient->accumulate = true;
}

static void add_mlp(const model_t *model, const char *name, int64_t hidden, int64_t inner) {
    char part[32];
    snprintf(part, sizeof part, "%s.gate_up", name);
    add_linear(model, part, 2 * inner, hidden);
    snprintf(part, sizeof part, "%s.down", name);
    add_linear(model, part, hidden, inner);
}

/* Latent attention: queries and keys through low ranks. */
static void add_latent_attention(const model_t *model, int64_t hidden, int64_t heads) {
    const int64_t plain = member(model, "qk_nope_head_dim", 128);
    const int64_t rotated = member(model, "qk_rope_head_dim", 64);
    const int64_t value = member(model, "v_head_dim", 128);
    const int64_t rank = member(model, "kv_lora_rank", 0);
    const int64_t q_rank = member(model, "q_lora_rank", 0);
    if (q_rank > 0) add_linear(model, "attention.q_a", q_rank, hidden);
    add_linear(model, "attention.q", heads * (plain + rotated), q_rank > 0 ? q_rank : hidden);
    add_linear(model, "attention.kv_a", rank + rotated, hidden);
    add_linear(model, "attention.kv", heads * (plain + value), rank);
    add_linear(model, "attention.out", hidden, heads * value);
}

static void add_attention(const model_t *model, int64_t hidden, int64_t heads) {
    const int64_t size = member(model, "head_dim", hidden / heads);
    const int64_t kv_heads = member(model, "num_key_value_heads", heads);
    add_linear(model, "attention.qkv", (heads + 2 * kv_heads) * size, hidden);
    add_linear(model, "attention.out", hidden, heads * size);
}

static bool add_all(const model_t *model, char *error) {
    const int64_t hidden = member(model, "hidden_size", 0);
    const int64_t heads = member(model, "num_attention_heads", 0);
    const int64_t inner = member(model, "intermediate_size", 0);
    int64_t experts = member(model, "n_routed_experts", 0);
    if (experts == 0) experts = member(model, "num_experts", 0);
    if (experts == 0) experts = member(model, "num_local_experts", 0);
    const int64_t expert_inner = member(model, "moe_intermediate_size", inner);
    const int64_t chosen = member(model, "num_experts_per_tok", 1);
    if (hidden == 0 || heads == 0 || heads > hidden || (inner == 0 && experts == 0)) {
        snprintf(
            error, CLI_TEXT, "hidden_size, num_attention_heads and intermediate_size are needed");
        return false;
    }
    if (experts > CLI_MAX_GROUPS || (experts > 0 && (expert_inner == 0 || chosen > experts))) {
        snprintf(error, CLI_TEXT,
            "%lld experts of %lld, %lld for each token: not what this program can plan",
            (long long)experts, (long long)expert_inner, (long long)chosen);
        return false;
    }
    if (member(model, "kv_lora_rank", 0) > 0)
        add_latent_attention(model, hidden, heads);
    else
        add_attention(model, hidden, heads);
    if (experts == 0 || member(model, "first_k_dense_replace", 0) > 0)
        add_mlp(model, "mlp", hidden, inner > 0 ? inner : expert_inner);
    if (experts == 0) return true;
    add_experts(model, "experts.gate_up", experts, chosen, 2 * expert_inner, hidden);
    add_experts(model, "experts.down", experts, chosen, hidden, expert_inner);
    const int64_t shared = member(model, "n_shared_experts", 0);
    if (shared > 0) add_mlp(model, "shared", hidden, shared * expert_inner);
    return true;
}

bool cli_read_model(const char *path, int64_t tokens, bool training, cli_layer_t **layers,
    size_t *count, char *error) {
    char inner[CLI_TEXT] = "not an object";
    cJSON *root = cli_read_json(path, error);
    if (root == NULL) return false;
    const model_t model = {root, tokens, training, layers, count};
    const bool ok = cJSON_IsObject(root) && add_all(&model, inner);
    if (!ok) snprintf(error, CLI_TEXT, "%.80s: %.200s", path, inner);
    cJSON_Delete(root);
    return ok;
}

#else

bool cli_read_model(const char *path, int64_t tokens, bool training, cli_layer_t **layers,
    size_t *count, char *error) {
    (void)tokens, (void)training, (void)layers, (void)count;
    snprintf(error, CLI_TEXT,
        "%.200s: this program was built without cJSON and reads no models; install libcjson-dev and "
        "build again",
        path);
    return false;
}

#endif
