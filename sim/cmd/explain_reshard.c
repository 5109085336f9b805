/* shardsim explain reshard - how an array gets from one sharding to another, in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain_reshard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/reshard_figures.h>

#include "base/json_out.h"
#include "base/text.h"
#include "base/units.h"
#include "base/wrap.h"
#include "cmd/common.h"
#include "cmd/show.h"
#include "explain/reshard_picture.h"
#include "explain/reshard_steps.h"
#include "hardware/reshard.h"
#include "jobs/asked.h"
#include "jobs/canvas.h"
#include "jobs/cluster.h"
#include "jobs/command.h"

#define PLAN_TEXT_MAX 16384   /* bytes of a plan in words; a longer one is cut */
#define WAYS_TOLD 12          /* listed plans of those tried: a screenful */
#define DEVICES_MAX (1 << 24) /* takes minutes, as each device is examined by itself */

struct options {
    struct canvas canvas;
    const char *mesh, *shape, *from, *to, *to_mesh, *to_first, *partial, *dtype, *memory;
    const char *links[SHD_LINK_TIERS_MAX];
    size_t nlinks;
    const char *hardware, *slices;
    bool json;
};

/* The request, parsed from the command line. */
struct question {
    struct shd_mesh *mesh, *to_mesh; /* equal if only one was given */
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    enum shd_dtype dtype;
    struct shd_reshard_opts opts;
    struct hardware *hardware; /* laid out for the devices of both meshes; NULL: none is asked */
};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"mesh", 'm', "AXES", args_text, AT(mesh), 0, 0, "The mesh, e.g. dp=2,tp=4"},
    {"shape", 'n', "SIZES", args_text, AT(shape), 0, 0, "The array's extents, e.g. 8,16"},
    {"dtype", 0, "TYPE", args_text, AT(dtype), 0, 0, "Its element type (float32 if not given)"},
    {"from", 0, "SPEC", args_text, AT(from), 0, 0,
     "The sharding before, as in 'shardsim show array' (replicated if not given)"},
    {"partial", 0, "AXES", args_text, AT(partial), 0, 0,
     "Axes over which it is still to be summed, e.g. tp"},
    {"to", 0, "SPEC", args_text, AT(to), 0, 0, "The sharding after (replicated if not given)"},
    {"to-mesh", 0, "AXES", args_text, AT(to_mesh), 0, 0, "On this other mesh"},
    {"to-first", 0, "ID", args_text, AT(to_first), 0, 0,
     "The first device of that mesh (0 if not given)"},
    {"memory", 0, "SIZE", args_text, AT(memory), 0, 0,
     "What a step's operand and result may need on a device, e.g. 64MiB, or 'any'; if not given, "
     "what the array needs before and after"},
    {"link", 0, "N:LATENCY:RATE", args_list, ARGS_LIST(struct options, links, nlinks), 0,
     SHD_LINK_TIERS_MAX,
     "Links that join groups of N devices (or 'all'), e.g. 8:1us:200GB/s; once a tier, the nearest "
     "first.  The plan is then the fastest"},
    {"hardware", 0, "HARDWARE", args_text, AT(hardware), 0, 0,
     "The links of this cluster ('shardsim show hardware') or file.  The plan is then the fastest "
     "there, with the time of each step"},
    {"slices", 0, "N", args_text, AT(slices), 0, 0,
     "The devices form N equal slices of its torus (1)"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "Print the machine form"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->json && canvas_is_picture(&o->canvas))
        args_error(line, "--json is text; expected --output FILE.txt, or no --json");
    if (!o->mesh || !o->shape)
        args_error(line, "expected --mesh and --shape (and --from, --to)");
    if (o->to_first && !o->to_mesh)
        args_error(line, "--to-first is of another mesh; expected --to-mesh too");
    if (o->hardware && o->nlinks > 0)
        args_error(line, "a cluster has its own links; expected --hardware or --link");
    if (o->slices && !o->hardware)
        args_error(line, "--slices are of a cluster's torus; expected --hardware too");
}

/* ---- what is asked ---- */

/* A whole number, or -1. */
static long parse_number(const char *text, long most)
{
    char *end;
    long n = strtol(text, &end, 10);

    return end != text && !*end && n >= 0 && n <= most ? n : -1;
}

/* The mesh again, of the devices from `first` on. */
static struct shd_mesh *mesh_from(struct shd_mesh *mesh, const char *first, struct shd_error *err)
{
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_mesh_naxes(mesh), n = (size_t)shd_mesh_size(mesh);
    long start = parse_number(first, INT32_MAX - (long)n);
    int32_t *ids = start < 0 ? NULL : malloc(n * sizeof *ids);
    struct shd_mesh *moved = NULL;

    if (start < 0)
        shd_error_set(err, SHD_EINVAL, "the first device is '%.40s'; expected an id", first);
    else if (!ids)
        shd_error_set(err, SHD_ENOMEM, "no memory for a mesh");
    for (size_t a = 0; a < naxes; a++) {
        names[a] = shd_mesh_axis_name(mesh, a);
        sizes[a] = shd_mesh_axis_size(mesh, a);
    }
    for (size_t p = 0; ids && p < n; p++)
        ids[p] = (int32_t)start + (int32_t)p;
    if (ids && shd_mesh_create_with_ids(&moved, names, sizes, naxes, ids, err) != SHD_OK)
        moved = NULL;
    free(ids);
    return moved;
}

/* "8:1us:200GB/s", "all:10us:25GB/s". */
static int parse_link(struct shd_link_tier *out, const char *text, struct shd_error *err)
{
    char part[3][32];
    int64_t ns;
    uint64_t rate;
    long n;
    int end = 0;

    if (sscanf(text, "%31[^:]:%31[^:]:%31[^:]%n", part[0], part[1], part[2], &end) != 3 ||
        text[end])
        return shd_error_set(err, SHD_EINVAL, "'%.60s'; expected N:LATENCY:RATE as 8:1us:200GB/s",
                             text);
    n = strcmp(part[0], "all") == 0 ? 0 : parse_number(part[0], INT32_MAX);
    if (n < 0)
        return shd_error_set(err, SHD_EINVAL, "'%.60s' joins '%s'; expected a number or 'all'",
                             text, part[0]);

    int status = units_parse_ns(&ns, part[1], err);

    if (status == SHD_OK)
        status = units_parse_rate(&rate, part[2], err);
    if (status == SHD_OK)
        *out = (struct shd_link_tier){(int32_t)n, (double)ns * 1e-9, (double)rate};
    return status;
}

static int parse_limits(struct question *q, const struct options *o)
{
    struct shd_error err;
    int status = SHD_OK;

    if (o->memory && strcmp(o->memory, "any") == 0)
        q->opts.memory_bytes = UINT64_MAX;
    else if (o->memory)
        status = units_parse_memory(&q->opts.memory_bytes, o->memory, &err);
    if (status != SHD_OK)
        return cmd_failure("memory", &err);
    if (o->memory && q->opts.memory_bytes == 0)
        return cmd_wrong("memory", "0 bytes are room for nothing; expected more, or 'any'");
    q->opts.ntiers = o->nlinks;
    for (size_t t = 0; t < o->nlinks; t++)
        if (parse_link(&q->opts.tiers[t], o->links[t], &err) != SHD_OK)
            return cmd_failure("link", &err);
    return CMD_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One more than the largest id of a mesh with consecutive ids. */
static int64_t end_of(const struct shd_mesh *mesh)
{
    return (int64_t)shd_mesh_device_id(mesh, shd_mesh_size(mesh) - 1) + 1;
}

static int parse_hardware(struct question *q, const struct options *o)
{
    int64_t ndevices = larger(end_of(q->mesh), end_of(q->to_mesh));
    int status;

    if (!o->hardware)
        return CMD_OK;
    status = cluster_find(&q->hardware, o->hardware, q->mesh, ndevices, o->slices);
    if (status == CMD_OK)
        hardware_reshard_tiers(&q->opts, q->hardware, ndevices);
    return status;
}

static int parse_partial(struct question *q, const struct options *o)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;

    if (o->partial && asked_axes(axes, &naxes, o->partial, q->mesh) != CMD_OK)
        return CMD_USAGE;
    for (size_t i = 0; i < naxes; i++)
        q->from.partial |= (uint16_t)(1u << axes[i]);
    return CMD_OK;
}

static int parse_meshes(struct question *q, const struct options *o)
{
    struct shd_mesh *moved;
    struct shd_error err;
    int status;

    status = asked_mesh(&q->mesh, o->mesh);
    q->to_mesh = q->mesh;
    if (status == CMD_OK && o->to_mesh) {
        q->to_mesh = NULL;
        status = asked_mesh(&q->to_mesh, o->to_mesh);
    }
    if (status != CMD_OK)
        return status;
    if (shd_mesh_size(q->mesh) > DEVICES_MAX || shd_mesh_size(q->to_mesh) > DEVICES_MAX) {
        cmd_error("a mesh of %d devices; at most %d are looked at, one after the other",
                  (int)shd_mesh_size(shd_mesh_size(q->mesh) > DEVICES_MAX ? q->mesh : q->to_mesh),
                  DEVICES_MAX);
        return CMD_CANNOT;
    }
    if (!o->to_first)
        return CMD_OK;
    moved = mesh_from(q->to_mesh, o->to_first, &err);
    if (!moved)
        return cmd_failure("to-first", &err);
    shd_mesh_destroy(q->to_mesh);
    q->to_mesh = moved;
    return CMD_OK;
}

static int parse_question(struct question *q, const struct options *o)
{
    struct shd_error err;
    int rank = asked_shape(q->shape, o->shape), status;

    if (rank < 0)
        return cmd_wrong("shape", "expected extents as '8,16', at most 16 of them");
    q->rank = (size_t)rank;
    q->dtype = SHD_F32;
    if (o->dtype && shd_dtype_parse(&q->dtype, o->dtype, &err) != SHD_OK)
        return cmd_failure("dtype", &err);
    status = parse_meshes(q, o);
    if (status != CMD_OK)
        return status;
    if (asked_sharding(&q->from, q->mesh, o->from ? o->from : "[]", q->shape, q->rank, &err))
        return cmd_failure("from", &err);
    if (asked_sharding(&q->to, q->to_mesh, o->to ? o->to : "[]", q->shape, q->rank, &err))
        return cmd_failure("to", &err);
    status = parse_partial(q, o);
    if (status == CMD_OK)
        status = parse_limits(q, o);
    return status == CMD_OK ? parse_hardware(q, o) : status;
}

/* ---- the answer ---- */

static void add_head(const struct question *q, struct text *out, size_t width)
{
    char mesh[2][256], layout[2][256], shape[128];
    struct text t = TEXT_INIT;

    shd_mesh_print(q->mesh, mesh[0], sizeof mesh[0]);
    shd_mesh_print(q->to_mesh, mesh[1], sizeof mesh[1]);
    shd_sharding_print(&q->from, layout[0], sizeof layout[0]);
    shd_sharding_print(&q->to, layout[1], sizeof layout[1]);
    shd_shape_print(shape, sizeof shape, q->shape, q->rank);
    text_addf(&t, "%s of shape %s on mesh %s, %d devices: from %s to %s", shd_dtype_name(q->dtype),
              shape, mesh[0], (int)shd_mesh_size(q->mesh), layout[0], layout[1]);
    if (q->to_mesh != q->mesh)
        text_addf(&t, " on mesh %s, devices %d to %d", mesh[1],
                  (int)shd_mesh_device_id(q->to_mesh, 0),
                  (int)shd_mesh_device_id(q->to_mesh, shd_mesh_size(q->to_mesh) - 1));
    wrap_add(out, width, 0, 0, text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

/* Lines of `text`, wrapped. */
static void add_lines(struct text *out, size_t width, char *text)
{
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        wrap_add(out, width, 0, 4, line);
    }
}

/* Measure the plan, and find the lower bound of any method. */
static int measure(struct shd_reshard_figures *figures, struct shd_reshard_bound *bound,
                   const struct question *q, const struct shd_reshard_plan *plan,
                   struct shd_error *err)
{
    int status = shd_reshard_bound(bound, &q->from, &q->to, q->shape, q->dtype, &q->opts, err);

    if (status == SHD_EUNSUPPORTED) /* links are not supported: compute the bound without them */
        status = shd_reshard_bound(bound, &q->from, &q->to, q->shape, q->dtype, NULL, err);
    return status == SHD_OK ? shd_reshard_measure(figures, plan, q->shape, &q->opts, err) : status;
}

static int add_plan(const struct question *q, const struct shd_reshard_plan *plan, struct text *out,
                    size_t width, struct shd_error *err)
{
    const struct reshard_steps steps = {plan, q->shape, q->hardware};
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    char *text;
    int status = measure(&figures, &bound, q, plan, err);

    if (status != SHD_OK)
        return status;
    text = malloc(PLAN_TEXT_MAX);
    if (!text)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the plan's words");
    shd_reshard_describe(plan, &bound, &figures, text, PLAN_TEXT_MAX);
    add_lines(out, width, text);
    free(text);
    if (q->hardware)
        reshard_steps_text(&steps, out, width);
    return SHD_OK;
}

static bool alike(const struct shd_reshard_plan *a, const struct shd_reshard_plan *b)
{
    if (a->nsteps != b->nsteps)
        return false;
    for (size_t s = 0; s < a->nsteps; s++)
        if (a->steps[s].kind != b->steps[s].kind ||
            !shd_sharding_equal(&a->steps[s].to, &b->steps[s].to))
            return false;
    return true;
}

/* Whether memory ruled a plan out: the plan is better than the chosen one, which is the best that
 * fits the memory allowed, and needs more memory. */
static bool is_ruled_out(const struct shd_reshard_figures *way,
                         const struct shd_reshard_figures *taken)
{
    bool better =
        taken->ntiers ? way->seconds < taken->seconds : way->received_bytes < taken->received_bytes;

    return better && way->peak_bytes > taken->peak_bytes;
}

static void add_way(const struct shd_reshard_plan *way, const struct shd_reshard_figures *figures,
                    const struct shd_reshard_figures *taken, bool chosen, struct text *out,
                    size_t width)
{
    char received[UNITS_TEXT_MAX], peak[UNITS_TEXT_MAX], sent[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
    struct text t = TEXT_INIT;

    text_addf(&t, "%s ", chosen ? "*" : " ");
    for (size_t s = 0; s < way->nsteps; s++)
        text_addf(&t, "%s%s", s ? ", " : "", shd_reshard_kind_name(way->steps[s].kind));
    text_addf(&t, ": %s received, %s sent by the busiest, %s needed",
              units_print_bytes(received, sizeof received, figures->received_bytes),
              units_print_bytes(sent, sizeof sent, figures->largest_sent_bytes),
              units_print_bytes(peak, sizeof peak, figures->peak_bytes));
    if (figures->ntiers)
        text_addf(&t, ", %s", units_print_seconds(time, sizeof time, figures->seconds));
    if (is_ruled_out(figures, taken))
        text_add(&t, "; ruled out by its memory (--memory)");
    wrap_add(out, width, 0, 4, text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

/* The plans that were tried, each once; the chosen one is marked. */
static int add_ways(const struct question *q, const struct shd_reshard_plan *plan, struct text *out,
                    size_t width, struct shd_error *err)
{
    struct shd_reshard_plan *ways = calloc(WAYS_TOLD, sizeof *ways);
    struct shd_reshard_figures taken;
    size_t n = 0;
    int status;

    if (!ways)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the ways");
    status = shd_reshard_measure(&taken, plan, q->shape, &q->opts, err);
    text_add(out, "ways tried (* is taken):\n");
    for (size_t i = 0; n < WAYS_TOLD && status == SHD_OK; i++) {
        struct shd_reshard_figures figures;
        bool told = false;

        status =
            shd_reshard_candidate(&ways[n], i, &q->from, &q->to, q->shape, q->dtype, &q->opts, err);
        for (size_t k = 0; k < n && status == SHD_OK; k++)
            told |= alike(&ways[k], &ways[n]);
        if (told || status != SHD_OK)
            continue;
        status = shd_reshard_measure(&figures, &ways[n], q->shape, &q->opts, err);
        if (status == SHD_OK)
            add_way(&ways[n], &figures, &taken, alike(&ways[n], plan), out, width);
        n++;
    }
    free(ways);
    return status == SHD_ENOTFOUND ? SHD_OK : status;
}

static int in_words(const struct question *q, const struct shd_reshard_plan *plan, struct text *out,
                    size_t width, struct shd_error *err)
{
    int status;

    add_head(q, out, width);
    status = add_plan(q, plan, out, width, err);
    if (status == SHD_OK && plan->nsteps > 0)
        status = add_ways(q, plan, out, width, err);
    return status;
}

static void write_number(struct json_out *out, const char *key, uint64_t n)
{
    json_out_key(out, key);
    json_out_uint(out, n);
}

static int in_json(const struct question *q, const struct shd_reshard_plan *plan, struct text *text,
                   struct shd_error *err)
{
    const struct reshard_steps steps = {plan, q->shape, q->hardware};
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    struct json_out out;
    int status = measure(&figures, &bound, q, plan, err);

    if (status != SHD_OK)
        return status;
    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    if (q->hardware) {
        json_out_key(&out, "hardware");
        json_out_string(&out, q->hardware->name);
    }
    json_out_key(&out, "steps");
    reshard_steps_json(&steps, &out);
    write_number(&out, "received_bytes", figures.received_bytes);
    write_number(&out, "bound_bytes", bound.received_bytes);
    write_number(&out, "largest_received_bytes", figures.largest_received_bytes);
    write_number(&out, "largest_sent_bytes", figures.largest_sent_bytes);
    write_number(&out, "peak_bytes", figures.peak_bytes);
    write_number(&out, "messages", figures.nmessages);
    if (figures.ntiers > 0) {
        json_out_key(&out, "seconds");
        json_out_double(&out, figures.seconds);
    }
    json_out_end_object(&out);
    json_out_newline(&out);
    return json_out_fini(&out) == SHD_OK ? SHD_OK
                                         : shd_error_set(err, SHD_ENOMEM, "no memory for JSON");
}

static int draw(const struct question *q, const struct shd_reshard_plan *plan,
                const struct canvas *canvas)
{
    struct figure figure;
    struct shd_error err;
    int status;

    figure_init(&figure);
    if (reshard_picture(&figure, plan, &q->from, &q->to, q->shape, &err) == SHD_OK)
        status = canvas_draw(canvas, &figure);
    else
        status = cmd_failure("cannot draw", &err);
    figure_fini(&figure);
    return status;
}

static int answer(const struct question *q, const struct options *o)
{
    size_t width = o->canvas.style.width;
    struct shd_reshard_plan plan;
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status =
        shd_reshard_build_with(&plan, &q->from, &q->to, q->shape, q->dtype, &q->opts, &err);

    if (status == SHD_OK && canvas_is_picture(&o->canvas))
        return draw(q, &plan, &o->canvas);
    if (status == SHD_OK)
        status = o->json ? in_json(q, &plan, &text, &err) : in_words(q, &plan, &text, width, &err);
    if (status == SHD_OK)
        status = canvas_put(&o->canvas, &text);
    else
        status = cmd_failure("cannot plan", &err);
    text_fini(&text);
    return status;
}

static const struct args args = {
    .own = {rows, {.again = "'%s' is too much; everything is given by options"}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
    .check = check,
    .help =
        "Plan how an array gets from one sharding to another: the steps, what they move and what "
        "no method can do without, and the other ways that were tried.\v"
        "Examples:\n"
        "  Rows over dp and columns over tp, and then the other way round:\n"
        "    shardsim explain reshard -m dp=2,tp=4 -n 64,64 --from dp,tp --to tp,dp\n"
        "  Partial sums over tp, to be reduced with rows sharded over tp:\n"
        "    shardsim explain reshard -m tp=4 -n 64,64 --partial tp --to tp\n"
        "  The fastest way on a cluster, and the time of its steps:\n"
        "    shardsim explain reshard -m x=4,y=4 -n 512,512 --partial x --hardware "
        "b200\n"
        "  A slide: the blocks before and after, and who sends how much to whom:\n"
        "    shardsim explain reshard -m x=2,y=4 -n 64,64 --from x,y --to y,x -o "
        "a.svg\n\n" ARGS_EXIT_STATUS("")};

int explain_reshard(int argc, char **argv)
{
    struct options o = {.mesh = NULL};
    struct question q = {.mesh = NULL};
    int status;

    canvas_init(&o.canvas);
    args_parse(&args, argc, argv, &o);
    status = parse_question(&q, &o);
    if (status == CMD_OK)
        status = answer(&q, &o);
    hardware_destroy(q.hardware);
    if (q.to_mesh != q.mesh)
        shd_mesh_destroy(q.to_mesh);
    shd_mesh_destroy(q.mesh);
    return status;
}
