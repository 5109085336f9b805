/* Reading measured kernels (kernel_rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/kernel_rows.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "hardware/kernel_work.h"

#define LINE_MAX_BYTES 1024
#define COLUMNS_MAX 32
#define MICRO 1e-6

/* A table that is being read, and its line. */
struct table {
    struct kernel_tables *to;
    struct diag *diag;
    struct kernel_peaks peaks; /* of copies */
    const char *file;
    int line;
    size_t ncolumns;
    char heads[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
    const char *head[COLUMNS_MAX];
    const char *word[COLUMNS_MAX]; /* of the line */
    bool wrong;
};

static struct place here(const struct table *t)
{
    return (struct place){t->file, t->line, 1};
}

/* ---- columns ---- */

/* Cut a line at its commas; too many columns are counted on. */
static size_t split(const char **words, char *line)
{
    size_t n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at; n++) {
        char *comma = strchr(at, ',');

        if (comma)
            *comma = '\0';
        if (n < COLUMNS_MAX)
            words[n] = at;
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

/* The word of a column; "" if there is none, which is told once a table. */
static const char *word_of(struct table *t, const char *column)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        if (!strcmp(t->head[c], column))
            return t->word[c];
    if (!t->wrong)
        diag_error(t->diag, here(t), "the table has no column '%s'", column);
    t->wrong = true;
    return "";
}

/* A number of at least 0. */
static double number_of(struct table *t, const char *column)
{
    const char *word = word_of(t, column);
    char *end;
    double value = strtod(word, &end);

    if (!t->wrong && (end == word || *end || !isfinite(value) || value < 0)) {
        diag_error(t->diag, here(t), "%s is '%.40s'; expected a number of at least 0", column,
                   word);
        t->wrong = true;
    }
    return value;
}

/* ---- rows ---- */

static void add(struct table *t, enum kernel_kind kernel, int type,
                const struct kernel_sample *sample)
{
    struct kernel_samples *s;

    if (t->wrong)
        return;
    if (type >= KERNEL_NTYPES || !(sample->seconds > 0)) {
        t->to->left_out++;
        return;
    }
    s = &t->to->of[kernel][type];
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        struct kernel_sample *items = realloc(s->items, room * sizeof *items);

        if (!items) {
            diag_no_memory(t->diag);
            return;
        }
        s->items = items;
        s->room = room;
    }
    if (s->n == 0) {
        s->kernel = kernel;
        s->type = (enum kernel_type)type;
        s->peaks = kernel_work_peaks(t->to->hardware, s->type);
    }
    s->items[s->n++] = *sample;
}

static int type_of(struct table *t, const char *column)
{
    const char *word = word_of(t, column);
    int type = 0;

    while (type < KERNEL_NTYPES && strcmp(word, kernel_types[type]) != 0)
        type++;
    return type;
}

static uint64_t shape_of(const double *sizes, size_t n)
{
    return hash_bytes(HASH_BEGIN, (const char *)sizes, n * sizeof *sizes) >> 8;
}

static struct kernel_sample sample_of(struct table *t, const char *column)
{
    return (struct kernel_sample){.seconds = number_of(t, column) * MICRO, .count = 1};
}

/* By the constants of engines that serve. */
static double served_copy_s(const struct hardware *hardware, double bytes)
{
    struct hardware served = hardware_as_served(hardware);
    struct hardware_work work = {.kind = HARDWARE_MEMORY, .dtype = SHD_BF16, .bytes = bytes};

    served.by_models = false;
    return hardware_kernel_seconds(&served, &work);
}

/* Of a kernel that only moves bytes: by its model, if copies were measured. */
static double copy_s(const struct table *t, double bytes)
{
    const struct kernel_sizes sizes = {.bytes = bytes, .devices = 1};
    struct kernel_parts parts;

    return t->to->copy ? kernel_model_seconds(t->to->copy, &sizes, &t->peaks, &parts)
                       : served_copy_s(t->to->hardware, bytes);
}

/* A row is a layer from 16 bits to 16 bits: where it multiplies codes, those of its input are made,
 * too. */
static void read_gemm(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    int type = type_of(t, "type");
    double m = number_of(t, "m"), n = number_of(t, "n"), k = number_of(t, "k");

    if (type > KERNEL_NVFP4)
        type = KERNEL_NTYPES;
    kernel_work_set_product(&s.sizes, (enum kernel_type)type, 1, m, n, k);
    if (type != KERNEL_BF16)
        s.others_s = copy_s(t, m * k * (16 + s.sizes.a_bits) / 8);
    s.shape = shape_of((double[]){n, k}, 2);
    add(t, KERNEL_PRODUCT, type, &s);
}

/* Keys that the queries of a causal head see, behind a window (0: none). */
static double pairs_of(double queries, double window)
{
    double most = window > 0 ? fmin(window, queries) : queries;

    return queries * most - most * (most - 1) / 2;
}

/* Set what prompts and decodes have alike; returns the bytes of an element of the cache. */
static double set_attention(struct kernel_sizes *out, struct table *t, int type)
{
    out->batch = number_of(t, "batch");
    out->heads = number_of(t, "heads");
    out->kv_heads = number_of(t, "kv_heads");
    out->head_dim = number_of(t, "head_dim");
    return type == KERNEL_BF16_BF16 ? 2 : 1;
}

static void read_prefill(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    double length = number_of(t, "length");
    int type = type_of(t, "type");
    double cache = set_attention(&s.sizes, t, type);

    s.sizes.queries = length;
    s.sizes.pairs = pairs_of(length, number_of(t, "window"));
    s.sizes.bytes = 2 * s.sizes.batch * length * s.sizes.head_dim *
                    (2 * s.sizes.heads + cache * s.sizes.kv_heads);
    s.shape = shape_of((double[]){s.sizes.heads, s.sizes.kv_heads, s.sizes.head_dim, length}, 4);
    add(t, KERNEL_PREFILL, type, &s);
}

static void read_decode(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    double length = number_of(t, "length"), window = number_of(t, "window");
    int type = type_of(t, "type");
    double cache = set_attention(&s.sizes, t, type);

    s.sizes.queries = 1;
    s.sizes.pairs = window > 0 ? fmin(window, length) : length;
    s.sizes.bytes = 2 * s.sizes.batch * s.sizes.head_dim *
                    (2 * s.sizes.heads + cache * s.sizes.kv_heads * s.sizes.pairs);
    s.shape = shape_of((double[]){s.sizes.heads, s.sizes.kv_heads, s.sizes.head_dim, length}, 4);
    add(t, KERNEL_DECODE, type, &s);
}

/* DeepSeek's: a latent vector of 512 and 64 rotated elements a token, which all heads share; in a
 * prefill each head has keys of 192 and values of 128 elements. */
#define LATENT 576.0
#define LATENT_VALUES 512.0

static void read_mla_prefill(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    double length = number_of(t, "length");

    s.sizes.batch = number_of(t, "batch");
    s.sizes.heads = s.sizes.kv_heads = number_of(t, "heads");
    s.sizes.head_dim = (192 + 128) / 2.0;
    s.sizes.queries = length;
    s.sizes.pairs = pairs_of(length, 0);
    s.sizes.bytes = 2 * s.sizes.batch * length * s.sizes.heads * 2 * (192 + 128);
    s.shape = shape_of((double[]){s.sizes.heads, length}, 2);
    add(t, KERNEL_LATENT_PREFILL, type_of(t, "type"), &s);
}

static void read_mla_decode(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    int type = type_of(t, "type");

    s.sizes.batch = number_of(t, "batch");
    s.sizes.heads = number_of(t, "heads");
    s.sizes.kv_heads = 1;
    s.sizes.head_dim = (LATENT + LATENT_VALUES) / 2;
    s.sizes.queries = 1;
    s.sizes.pairs = number_of(t, "length");
    s.sizes.bytes =
        s.sizes.batch * (2 * s.sizes.heads * (LATENT + LATENT_VALUES) +
                         (type == KERNEL_BF16_BF16 ? 2 : 1) * LATENT * s.sizes.pairs);
    s.shape = shape_of((double[]){s.sizes.heads, s.sizes.pairs}, 2);
    add(t, KERNEL_LATENT_DECODE, type, &s);
}

/* What an engine's experts take besides their products, as a step of serving has it: choosing,
 * gathering rows, activating, rows in the tokens' order, and their sums.  Codes of the rows are made
 * on their own, and those of activations where these are. */
static double around_experts(const struct table *t, double a_bytes, double hidden, double inter,
                             double tokens, double rows, double choices)
{
    double codes = a_bytes < 2 ? copy_s(t, rows * hidden * (2 + a_bytes)) : 0;

    return copy_s(t, tokens * choices * 4) + copy_s(t, 2 * rows * hidden * 2) + codes +
           copy_s(t, rows * inter * (2 * 2 + a_bytes)) + copy_s(t, 2 * rows * hidden * 2) +
           copy_s(t, (rows + 2 * tokens) * hidden * 2);
}

/* Of all devices' experts on one, evenly chosen: with experts on several devices, engines differ by
 * more than what a model would be good for. */
static void read_moe(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    int type = type_of(t, "type");
    double tokens = number_of(t, "tokens"), experts = number_of(t, "experts");
    double rows = tokens * number_of(t, "topk"), hidden = number_of(t, "hidden");
    double inter = number_of(t, "inter") / number_of(t, "tp");
    double chosen = fmin(experts, rows);

    if (strcmp(word_of(t, "distribution"), "even") != 0 || number_of(t, "ep") != 1 ||
        number_of(t, "gated") != 1 || type > KERNEL_MXFP4_WEIGHTS)
        type = KERNEL_NTYPES;
    kernel_work_set_experts(&s.sizes, (enum kernel_type)type, chosen, rows / chosen, inter, hidden);
    s.count = 3;
    s.others_s = around_experts(t, s.sizes.a_bits / 8, hidden, inter, tokens, rows, experts);
    s.shape = shape_of((double[]){hidden, number_of(t, "inter"), number_of(t, "topk"), experts}, 4);
    add(t, KERNEL_EXPERTS, type, &s);
}

static void read_collective(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us");
    const char *op = word_of(t, "op");
    bool nccl = !strcmp(word_of(t, "library"), "nccl");
    int kernel = KERNEL_ALL_REDUCE;

    while (kernel < KERNEL_ENGINE_ALL_REDUCE && strcmp(op, kernel_kinds[kernel]) != 0)
        kernel++;
    s.sizes.devices = number_of(t, "devices");
    s.sizes.bytes = number_of(t, "bytes");
    s.shape = shape_of(&s.sizes.bytes, 1);
    if (nccl ? strcmp(word_of(t, "type"), "float16") != 0
             : strcmp(word_of(t, "graph"), "yes") != 0 || kernel != KERNEL_ALL_REDUCE)
        kernel = KERNEL_NKERNELS;
    else if (!nccl)
        kernel = KERNEL_ENGINE_ALL_REDUCE;
    if (kernel < KERNEL_NKERNELS && s.sizes.devices >= 2)
        add(t, (enum kernel_kind)kernel, KERNEL_ANY_TYPE, &s);
    else
        t->to->left_out++;
}

static void read_quantize(struct table *t)
{
    struct kernel_sample s = sample_of(t, "us_median");
    double m = number_of(t, "m"), k = number_of(t, "k");

    s.sizes.bytes = 3 * m * k;
    s.sizes.devices = 1;
    s.shape = shape_of(&k, 1);
    if (!strcmp(word_of(t, "op"), "scale_matrix") && !strcmp(word_of(t, "type"), "fp8"))
        add(t, KERNEL_COPY, KERNEL_ANY_TYPE, &s);
    else
        t->to->left_out++;
}

static const struct kind {
    const char *name;
    bool copies;
    void (*read)(struct table *t);
} kinds[] = {{"quantize", true, read_quantize},        {"gemm", false, read_gemm},
             {"prefill", false, read_prefill},         {"decode", false, read_decode},
             {"mla_prefill", false, read_mla_prefill}, {"mla_decode", false, read_mla_decode},
             {"moe", false, read_moe},                 {"collectives", false, read_collective}};
#define NKINDS (sizeof kinds / sizeof *kinds)

/* ---- files ---- */

static bool next_line(struct table *t, char *out, gzFile file)
{
    if (!gzgets(file, out, LINE_MAX_BYTES))
        return false;
    t->line++;
    if (strchr(out, '\n') || gzeof(file))
        return true;
    diag_error(t->diag, here(t), "a line of more than %d bytes; expected a table with commas",
               LINE_MAX_BYTES - 1);
    return false;
}

static void read_lines(struct table *t, const struct kind *kind, gzFile file)
{
    if (!next_line(t, t->heads, file))
        return;
    t->ncolumns = split(t->head, t->heads);
    if (t->ncolumns > COLUMNS_MAX) {
        diag_error(t->diag, here(t), "%zu columns; expected at most %d", t->ncolumns, COLUMNS_MAX);
        return;
    }
    while (!t->wrong && !t->diag->no_memory && next_line(t, t->text, file)) {
        size_t n = split(t->word, t->text);

        if (n == t->ncolumns)
            kind->read(t);
        else
            diag_error(t->diag, here(t), "%zu columns; expected %zu as in the first line", n,
                       t->ncolumns);
        t->wrong |= n != t->ncolumns;
    }
}

static void read_file(struct kernel_tables *to, const char *path, const struct kind *kind,
                      struct diag *diag)
{
    struct table *t = calloc(1, sizeof *t);
    gzFile file = gzopen(path, "rb");
    int fault = Z_OK;

    if (t && file) {
        t->to = to;
        t->peaks = kernel_work_peaks(to->hardware, KERNEL_ANY_TYPE);
        t->diag = diag;
        t->file = path;
        read_lines(t, kind, file);
        (void)gzerror(file, &fault);
        to->files++;
    }
    if (!t)
        diag_no_memory(diag);
    else if (!file || fault < 0)
        diag_error(diag, (struct place){path, 1, 1}, "cannot be read: %s",
                   file ? "it is damaged" : strerror(errno));
    if (file)
        gzclose(file);
    free(t);
}

/* Whether a table of a device is one of a cluster: "b200_sxm" is of "b200". */
static bool is_of(const char *cluster, const char *device, size_t length)
{
    size_t i = 0;

    while (i < length && cluster[i] && (cluster[i] == device[i] ||
                                        (cluster[i] == '-' && device[i] == '_')))
        i++;
    return i > 0 && (i == length || device[i] == '_' || device[i] == '-') &&
           (!cluster[i] || cluster[i] == '-');
}

/* The kind of the table with a file's name, if it is of the cluster's device. */
static const struct kind *kind_of(const char *name, const char *cluster)
{
    for (size_t k = 0; k < NKINDS; k++) {
        size_t length = strlen(kinds[k].name);
        const char *dash = strrchr(name, '-');

        if (dash && !strncmp(dash + 1, kinds[k].name, length) &&
            (!strcmp(dash + 1 + length, ".csv") || !strcmp(dash + 1 + length, ".csv.gz")) &&
            is_of(cluster, name, (size_t)(dash - name)))
            return &kinds[k];
    }
    return NULL;
}

int kernel_tables_read(struct kernel_tables *tables, const char *folder, bool copies,
                       struct diag *diag)
{
    size_t before = diag->nerrors;
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);

    if (n < 0)
        diag_error(diag, (struct place){folder, 1, 1}, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        const struct kind *kind = kind_of(names[i]->d_name, tables->hardware->name);
        struct text path = TEXT_INIT;

        text_addf(&path, "%s/%s", folder, names[i]->d_name);
        if (path.failed)
            diag_no_memory(diag);
        else if (kind && kind->copies == copies)
            read_file(tables, text_get(&path), kind, diag);
        text_fini(&path);
        free(names[i]);
    }
    free(names);
    return diag_status(diag, before);
}

void kernel_tables_fini(struct kernel_tables *tables)
{
    for (int k = 0; k < KERNEL_NKERNELS; k++)
        for (int t = 0; t < KERNEL_NTYPES; t++)
            free(tables->of[k][t].items);
}
