/* SPDX-License-Identifier: MIT
 *
 * The curves as a picture: two panels of SVG, loss (logarithmic) and test accuracy over epochs,
 * a line for the mean over seeds in a band from the lowest to the highest.
 */
#include "moe.h"

#include <math.h>
#include <stdio.h>

static const char *const color[MODELS] = {[MODEL_FP8] = "#c8382f", [MODEL_TWIN] = "#1f5f99"};

typedef struct panel_t {
    const char *title;
    double left, top, width, height; /* pixels */
    double low, high;                /* values at the lower and the upper edge */
    bool logarithmic;
    double tick[5]; /* values with a label ... */
    double factor;  /* ... that says value * factor, unit */
    const char *unit;
} panel_t;

typedef struct plot_t {
    FILE *file;
    const run_t *runs;
    int count;
} plot_t;

static double place_epoch(const panel_t *panel, int epoch) {
    return panel->left + panel->width * epoch / (EPOCHS - 1);
}

static double place_value(const panel_t *panel, double value) {
    double low = panel->low, high = panel->high;
    if (value < low) value = low;
    if (value > high) value = high;
    if (panel->logarithmic) low = log(low), high = log(high), value = log(value);
    return panel->top + panel->height * (high - value) / (high - low);
}

/* One of the arrays of a curve_t, named by its offset there. */
static double read_curve(const plot_t *plot, int run, int model, size_t offset, int epoch) {
    const char *curve = (const char *)&plot->runs[run].curve[model];
    return ((const double *)(const void *)(curve + offset))[epoch];
}

static void find_range(const plot_t *plot, int model, size_t offset, int epoch, double *low,
    double *mean, double *high) {
    *low = INFINITY, *mean = 0.0, *high = -INFINITY;
    for (int run = 0; run < plot->count; run++) {
        const double value = read_curve(plot, run, model, offset, epoch);
        *low = fmin(*low, value), *high = fmax(*high, value);
        *mean += value / plot->count;
    }
}

static void draw_curves(const plot_t *plot, const panel_t *panel, size_t offset, const char *dash) {
    double low, mean, high;
    for (int m = MODELS - 1; m >= 0; m--) { /* FP8 on top */
        fprintf(plot->file, "<polygon fill='%s' fill-opacity='0.12' points='", color[m]);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            find_range(plot, m, offset, epoch, &low, &mean, &high);
            fprintf(plot->file, "%.1f,%.1f ", place_epoch(panel, epoch), place_value(panel, high));
        }
        for (int epoch = EPOCHS - 1; epoch >= 0; epoch--) {
            find_range(plot, m, offset, epoch, &low, &mean, &high);
            fprintf(plot->file, "%.1f,%.1f ", place_epoch(panel, epoch), place_value(panel, low));
        }
        fprintf(plot->file,
            "'/>\n<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='",
            color[m], dash);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            find_range(plot, m, offset, epoch, &low, &mean, &high);
            fprintf(plot->file, "%.1f,%.1f ", place_epoch(panel, epoch), place_value(panel, mean));
        }
        fprintf(plot->file, "'/>\n");
    }
}

static void draw_axes(const plot_t *plot, const panel_t *panel) {
    const double right = panel->left + panel->width, bottom = panel->top + panel->height;
    fprintf(plot->file, "<text x='%.0f' y='%.0f' font-size='16'>%s</text>\n", panel->left,
        panel->top - 16, panel->title);
    for (int i = 0; i < 5; i++) {
        const double y = place_value(panel, panel->tick[i]);
        fprintf(plot->file, "<path stroke='#ddd' d='M%.1f %.1fH%.1f'/>\n", panel->left, y, right);
        fprintf(plot->file, "<text x='%.1f' y='%.1f' text-anchor='end'>%g%s</text>\n",
            panel->left - 8, y + 4, panel->tick[i] * panel->factor, panel->unit);
    }
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        if (epoch != 0 && (epoch + 1) % 5 != 0) continue;
        const double x = place_epoch(panel, epoch);
        fprintf(plot->file, "<path stroke='#444' d='M%.1f %.1fv5'/>\n", x, bottom);
        fprintf(plot->file, "<text x='%.1f' y='%.1f' text-anchor='middle'>%d</text>\n", x,
            bottom + 20, epoch + 1);
    }
    fprintf(plot->file, "<path stroke='#444' fill='none' d='M%.1f %.1fV%.1fH%.1f'/>\n", panel->left,
        panel->top, bottom, right);
    fprintf(plot->file, "<text x='%.1f' y='%.1f' text-anchor='middle'>epoch</text>\n",
        panel->left + panel->width / 2, bottom + 40);
}

static void draw_legend(
    const plot_t *plot, double x, double y, int model, const char *dash, const char *text) {
    fprintf(plot->file,
        "<path stroke='%s' stroke-width='2' stroke-dasharray='%s' d='M%.0f %.0fh32'/>\n",
        color[model], dash, x, y);
    fprintf(plot->file, "<text x='%.0f' y='%.0f'>%s, %s</text>\n", x + 40, y + 4, model_name[model],
        text);
}

bool write_svg(const char *path, const run_t *runs, int count) {
    const plot_t plot = {fopen(path, "w"), runs, count};
    if (!plot.file) {
        perror(path);
        return false;
    }
    const panel_t loss = {"Cross entropy", 70, 60, 370, 300, 0.001, 10.0, true,
        {0.001, 0.01, 0.1, 1.0, 10.0}, 1.0, ""};
    const panel_t accuracy = {"Test accuracy", 530, 60, 370, 300, 0.8, 1.0, false,
        {0.8, 0.85, 0.9, 0.95, 1.0}, 100.0, " %"};
    static const char solid[] = "none", dashed[] = "5 4";

    fprintf(plot.file, "<svg xmlns='http://www.w3.org/2000/svg' width='940' height='420' "
                       "font-family='sans-serif' font-size='12' fill='#222'>\n"
                       "<rect width='940' height='420' fill='#fff'/>\n");
    draw_axes(&plot, &loss);
    draw_curves(&plot, &loss, offsetof(curve_t, test_loss), dashed);
    draw_curves(&plot, &loss, offsetof(curve_t, train_loss), solid);
    draw_axes(&plot, &accuracy);
    draw_curves(&plot, &accuracy, offsetof(curve_t, accuracy), solid);
    for (int m = 0; m < MODELS; m++) {
        draw_legend(&plot, 270, 76 + 20 * m, m, solid, "training");
        draw_legend(&plot, 270, 116 + 20 * m, m, dashed, "test");
        draw_legend(&plot, 710, 310 + 20 * m, m, solid, count > 1 ? "mean of seeds" : "one seed");
    }
    fprintf(plot.file, "</svg>\n");
    if (fclose(plot.file) == 0) return true;
    perror(path);
    return false;
}
