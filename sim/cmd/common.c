/* Options that several subcommands have (common.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/common.h"

#include <string.h>

#include "base/screen.h"
#include "cmd/args.h"
#include "jobs/picture.h"

/* ---- a work: many strategies ---- */

static const struct argp_option work_table[] = {
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {"set", 's', "KEY=VALUE", 0,
     "Override a value of the scenario, e.g. --set model.d_ff=4096 or --set 'mesh={dp: 4}'; may be "
     "given several times",
     0},
    {"strategy", 'S', "NAME", 0, "Only this strategy of the file; may be given several times", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_work(int key, char *arg, struct argp_state *state)
{
    struct work *w = state->input;

    switch (key) {
    case 'q':
        w->log.quiet = true;
        return 0;
    case 's':
        w->sets[w->nsets++] = arg;
        return 0;
    case 'S':
        w->strategies[w->nstrategies++] = arg;
        return 0;
    case ARGP_KEY_ARG:
        w->names[w->nnames++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        args_error(state, "no scenario file given ('-' is standard input)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp work_argp = {work_table, parse_work, NULL, NULL, NULL, NULL, NULL};

enum { KEY_SPREAD = 2000 }; /* no short form */

static const struct argp_option spread_table[] = {
#ifdef WITH_MPI
    {"spread", KEY_SPREAD, "AXIS", 0,
     "Under mpirun: give each rank the devices of some coordinates on this axis of the mesh; if "
     "not "
     "given, devices that follow each other",
     0},
#endif
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_spread(int key, char *arg, struct argp_state *state)
{
    struct work *w = state->input;

    if (key != KEY_SPREAD)
        return ARGP_ERR_UNKNOWN;
    w->spread_axis = arg;
    return 0;
}

const struct argp work_spread_argp = {spread_table, parse_spread, NULL, NULL, NULL, NULL, NULL};

/* ---- one strategy ---- */

static const struct argp_option chosen_table[] = {
    {"set", 's', "KEY=VALUE", 0,
     "Override a value of the scenario, e.g. --set model.d_ff=4096; may be given several times", 0},
    {"strategy", 'S', "NAME", 0, "The strategy of the file, where it has several", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_chosen(int key, char *arg, struct argp_state *state)
{
    struct chosen *c = state->input;

    switch (key) {
    case 's':
        if (c->nsets == CHOSEN_SETS_MAX)
            args_error(state, "--set more than %d times", CHOSEN_SETS_MAX);
        else
            c->sets[c->nsets++] = arg;
        return 0;
    case 'S':
        c->strategy = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (c->path)
            args_error(state, "one scenario at a time; '%s' is too much", arg);
        c->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        args_error(state, "no scenario file given ('-' is standard input)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp chosen_argp = {chosen_table, parse_chosen, NULL, NULL, NULL, NULL, NULL};

/* ---- where a drawing goes ---- */

enum { KEY_ASCII = 2000, KEY_COLOR };

static const struct argp_option canvas_table[] = {
    {"output", 'o', "FILE", 0,
     "Write to a file: FILE.svg or FILE.png as a picture, FILE.txt as text", 0},
    {"ascii", KEY_ASCII, NULL, 0, "Draw with ASCII characters only", 0},
    {"color", KEY_COLOR, ARGS_COLOUR, OPTION_ARG_OPTIONAL,
     "Whether in colours; auto, the default: on a terminal, unless NO_COLOR is set", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static error_t parse_canvas(int key, char *arg, struct argp_state *state)
{
    struct canvas *s = state->input;
    enum screen_colour colour = SCREEN_AUTO;
    struct screen screen;

    switch (key) {
    case 'o':
        if (!picture_is_name(arg) && !ends_with(arg, ".txt"))
            args_error(state, "--output is '%s'; expected a name that ends in .svg, .png or .txt",
                       arg);
        s->output = arg;
        return 0;
    case KEY_ASCII:
        s->style.ascii = true;
        return 0;
    case KEY_COLOR:
        if (!screen_parse_colour(&colour, arg ? arg : "always"))
            args_error(state, "--color is '%s'; expected auto, always or never", arg);
        screen_init(&screen, stdout, colour);
        s->style.colour = screen.colour;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp canvas_output_argp = {canvas_table, parse_canvas, NULL, NULL, NULL, NULL, NULL};
const struct argp canvas_argp = {canvas_table + 1, parse_canvas, NULL, NULL, NULL, NULL, NULL};

/* ---- strategies side by side ---- */

enum { KEY_PLAN = 1000 };

static const struct argp_option sides_table[] = {
    {"plan", KEY_PLAN, NULL, 0,
     "On paper: nothing is executed, replayed or verified; times are those of the cluster that the "
     "scenario names",
     0},
    {"output", 'o', "FILE", 0, "Write to a file; standard output if not given", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse_sides(int key, char *arg, struct argp_state *state)
{
    struct sides_request *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->work;
        return 0;
    case KEY_PLAN:
        o->plan = true;
        return 0;
    case 'o':
        o->path = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child sides_children[] = {{&work_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
const struct argp sides_argp = {sides_table, parse_sides, NULL, NULL, sides_children, NULL, NULL};
