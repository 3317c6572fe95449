/* SPDX-License-Identifier: MIT
 *
 * The router: each token goes to the TOP experts with the largest logits, weighted by a softmax
 * over those. Tokens are copied into rows sorted by expert, which is what grouped products want,
 * and the experts' answers are added up again. model.c calls everything here.
 *
 * So that no expert stays idle, a load-balancing loss is added for each token t (Fedus, Zoph and
 * Shazeer, 2021):
 *
 *     BALANCE * EXPERTS * sum over e of  share[e] * probability[t][e]
 *
 * where share[e] is the fraction of this micro-batch's rows that expert e got, a constant to the
 * gradient.
 */
#include "moe.h"

#include <math.h>
#include <string.h>

static const float BALANCE = 0.01f;

/* The index of the largest logit, `taken` left out. */
static int find_best(const float *logits, int taken) {
    int best = -1;
    for (int e = 0; e < EXPERTS; e++) {
        if (e != taken && (best < 0 || logits[e] > logits[best])) best = e;
    }
    return best;
}

void route(routing_t *routing, const float *logits, int tokens) {
    memset(&routing->groups, 0, sizeof routing->groups);
    for (int t = 0; t < tokens; t++) {
        const float *z = logits + t * EXPERTS;
        const int first = find_best(z, -1), second = find_best(z, first);

        float sum = 0.0f, *p = routing->probability[t];
        for (int e = 0; e < EXPERTS; e++) sum += p[e] = expf(z[e] - z[first]);
        for (int e = 0; e < EXPERTS; e++) p[e] /= sum;

        routing->expert[t][0] = first;
        routing->expert[t][1] = second;
        routing->gate[t][0] = p[first] / (p[first] + p[second]);
        routing->gate[t][1] = 1.0f - routing->gate[t][0];
        routing->groups.sizes[first]++;
        routing->groups.sizes[second]++;
    }
    routing->groups.rows = tokens * TOP;

    /* A counting sort: next[e] is the first free row of expert e. */
    int64_t next[EXPERTS] = {0};
    for (int e = 1; e < EXPERTS; e++) next[e] = next[e - 1] + routing->groups.sizes[e - 1];
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < TOP; i++) routing->row[t][i] = (int)next[routing->expert[t][i]]++;
    }
}

void dispatch(const routing_t *routing, const float *h, float *rows, int tokens) {
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < TOP; i++) {
            memcpy(rows + routing->row[t][i] * WIDTH, h + t * WIDTH, WIDTH * sizeof *rows);
        }
    }
}

void combine(const routing_t *routing, const float *rows, float *y, int tokens) {
    memset(y, 0, (size_t)tokens * WIDTH * sizeof *y);
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < TOP; i++) {
            const float gate = routing->gate[t][i], *from = rows + routing->row[t][i] * WIDTH;
            for (int j = 0; j < WIDTH; j++) y[t * WIDTH + j] += gate * from[j];
        }
    }
}

void combine_backward(const routing_t *routing, const float *rows, const float *dy, float *drows,
    float *dlogits, int tokens) {
    for (int t = 0; t < tokens; t++) {
        const float *p = routing->probability[t], *gate = routing->gate[t];
        const float *dyt = dy + t * WIDTH;
        float dgate[TOP] = {0};
        for (int i = 0; i < TOP; i++) {
            const float *row = rows + routing->row[t][i] * WIDTH;
            float *drow = drows + routing->row[t][i] * WIDTH;
            for (int j = 0; j < WIDTH; j++) {
                drow[j] = gate[i] * dyt[j];
                dgate[i] += dyt[j] * row[j];
            }
        }

        /* Both softmaxes: dz = p (dp - sum of p dp), over all experts and over the chosen ones. */
        float dp[EXPERTS], mean = 0.0f, *dz = dlogits + t * EXPERTS;
        for (int e = 0; e < EXPERTS; e++) {
            const float share = (float)routing->groups.sizes[e] / (float)routing->groups.rows;
            dp[e] = BALANCE * EXPERTS * share;
            mean += p[e] * dp[e];
        }
        for (int e = 0; e < EXPERTS; e++) dz[e] = p[e] * (dp[e] - mean);
        const float dchoice = gate[0] * gate[1] * (dgate[0] - dgate[1]);
        dz[routing->expert[t][0]] += dchoice;
        dz[routing->expert[t][1]] -= dchoice;
    }
}

void dispatch_backward(const routing_t *routing, const float *drows, float *dh, int tokens) {
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < TOP; i++) {
            const float *from = drows + routing->row[t][i] * WIDTH;
            for (int j = 0; j < WIDTH; j++) dh[t * WIDTH + j] += from[j];
        }
    }
}
