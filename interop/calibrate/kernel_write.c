/* Writing models of measured kernels (kernel_write.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/kernel_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "hardware/kernel_model_reader.h"

#define LINE_WIDTH 100
#define KEY KERNEL_MODELS_KEY ":"

static void write_constants(struct text *out, const struct kernel_model *m)
{
    const struct kernel_form *form = &kernel_model_forms[m->kernel];

    text_add(out, "    constants: {");
    for (int c = 0; c < kernel_model_nconstants(form); c++)
        text_addf(out, "%s%s: %.4g", c > 0 ? ", " : "", form->constants[c].name, m->constants[c]);
    text_add(out, "}\n    axes: [");
    for (int a = 0; a < kernel_model_naxes(form); a++)
        text_addf(out, "%s[%g, %" PRId64 "]", a > 0 ? ", " : "", m->grid.first[a],
                  m->grid.points[a]);
    text_add(out, "]\n");
}

/* Numbers over several lines, which YAML folds into a single line. */
static void write_correction(struct text *out, const struct kernel_model *m)
{
    int64_t n = kernel_model_npoints(&m->grid, kernel_model_naxes(&kernel_model_forms[m->kernel]));
    size_t begin = out->length;

    text_add(out, "    correction: ");
    for (int64_t i = 0; i < n; i++) {
        if (out->length - begin > LINE_WIDTH - 6) {
            text_add(out, "\n     ");
            begin = out->length - 5;
        }
        text_addf(out, i > 0 ? " %ld" : "%ld", lround((double)m->correction[i] / KERNEL_HUNDREDTH));
    }
    text_add_char(out, '\n');
}

/* What was measured, and how far the model is off. */
static void write_error(struct text *out, const struct kernel_model *m)
{
    const struct kernel_form *form = &kernel_model_forms[m->kernel];

    text_add(out, "    sizes: {");
    for (int i = 0; i < kernel_model_nmeasures(form); i++)
        text_addf(out, "%s%s: [%.10g, %.10g]", i > 0 ? ", " : "", form->measures[i].name,
                  m->least[i], m->most[i]);
    text_addf(out, "}\n    error: [%" PRId64 ", %.3f, %.3f]\n", m->error.rows, m->error.median,
              m->error.p90);
    if (*m->name)
        return;
    text_add(out, "    by_size: [");
    for (int i = 0; i < KERNEL_CLASSES; i++)
        text_addf(out, "%s[%" PRId64 ", %.3f, %.3f]", i > 0 ? ", " : "", m->by_size[i].rows,
                  m->by_size[i].median, m->by_size[i].p90);
    text_add(out, "]\n");
}

/* The first line from `at` on that begins with a key, or the end. */
static const char *next_key(const char *at)
{
    while (*at && strchr(" #-\n", *at)) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return at;
}

/* Append the text without its list, and end its last line. */
static void keep_rest(struct text *out, const char *text)
{
    const char *list = !strncmp(text, KEY, strlen(KEY)) ? text : strstr(text, "\n" KEY);

    if (list && list > text)
        list++;
    text_add_bytes(out, text, list ? (size_t)(list - text) : strlen(text));
    if (list)
        text_add(out, next_key(list + strcspn(list, "\n") + (strchr(list, '\n') != NULL)));
    if (out->length > 0 && text_get(out)[out->length - 1] != '\n')
        text_add_char(out, '\n');
}

void kernel_write(struct text *out, const char *text, const struct kernel_models *models)
{
    keep_rest(out, text);
    text_add(out, KEY "\n");
    if (models->no_slower_name)
        text_addf(out, "  - " KERNEL_NO_SLOWER_KEY ": %s\n", models->no_slower_name);
    for (size_t i = 0; i < models->n; i++) {
        const struct kernel_model *m = &models->items[i];

        text_addf(out, "  - kernel: %s\n    type: %s\n", kernel_kinds[m->kernel],
                  kernel_model_type(m));
        write_constants(out, m);
        write_correction(out, m);
        write_error(out, m);
    }
}
