/* Options that several subcommands have (common.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/common.h"

#include <string.h>

#include "base/nearest.h"
#include "command/canvas.h"
#include "command/chosen.h"
#include "command/picture.h"

#define NO_SCENARIO "no scenario file given ('-' is standard input)"

/* ---- many strategies ---- */

static const struct args_row work_rows[] = {
    {"quiet", 'q', NULL, args_switch, ARGS_AT(struct work, log.quiet), 0, 0,
     "No progress on stderr"},
    {"set", 's', "KEY=VALUE", args_words, ARGS_LIST(struct work, sets, nsets), 0, 0,
     "Override a scenario key, e.g. --set model.d_ff=4096 or --set 'mesh={dp: 4}'; repeatable"},
    {"strategy", 'S', "NAME", args_words, ARGS_LIST(struct work, strategies, nstrategies), 0, 0,
     "Only this strategy of the file; repeatable"},
    {0}};

static bool begin_work(void *part, int argc)
{
    return work_init(part, argc);
}

const struct args_part common_work = {
    work_rows, {args_words, ARGS_LIST(struct work, names, nnames), NULL, NO_SCENARIO}, begin_work};

static const struct args_row spread_rows[] = {
#ifdef WITH_MPI
    {"spread", 0, "AXIS", args_text, ARGS_AT(struct work, spread_axis), 0, 0,
     "Under mpirun: split the devices over ranks by their coordinate on this mesh axis (default: "
     "by consecutive ids)"},
#endif
    {0}};

const struct args_part common_spread = {.rows = spread_rows};

static const struct args_row trials_rows[] = {
    COMMON_SAVE(struct trials, save),
    COMMON_COLOUR(struct trials, colour),
    {"json", 'j', NULL, args_switch, ARGS_AT(struct trials, json), 0, 0,
     "Print JSON: one object, or an array if there are several strategies"},
    {"verbose", 'v', NULL, args_switch, ARGS_AT(struct trials, verbose), 0, 0,
     "List all kinds of collectives, even if there are many"},
    {0}};

const struct args_part common_trials = {.rows = trials_rows};

static const struct args_row sides_rows[] = {
    {"plan", 0, NULL, args_switch, ARGS_AT(struct sides_request, plan), 0, 0,
     "Analytical: nothing is executed, replayed or verified; times are modelled on the scenario's "
     "cluster"},
    {"output", 'o', "FILE", args_text, ARGS_AT(struct sides_request, path), 0, 0,
     "Write to a file (default: standard output)"},
    {0}};

const struct args_part common_sides = {.rows = sides_rows};

void common_save(const struct args_value *v)
{
    struct save *save = v->at;

    save->wanted = true;
    save->path = v->arg;
}

/* ---- one strategy ---- */

static const struct args_row chosen_rows[] = {
    {"set", 's', "KEY=VALUE", args_list, ARGS_LIST(struct chosen, sets, nsets), 0, CHOSEN_SETS_MAX,
     "Override a scenario key, e.g. --set model.d_ff=4096; repeatable"},
    {"strategy", 'S', "NAME", args_text, ARGS_AT(struct chosen, strategy), 0, 0,
     "The strategy to use, if the file has several"},
    {0}};

const struct args_part common_chosen = {.rows = chosen_rows,
                                        .word = {args_text, ARGS_AT(struct chosen, path),
                                                 "one scenario at a time; '%s' is a second one",
                                                 NO_SCENARIO},
                                        NULL};

/* ---- where a drawing goes ---- */

static void take_output(const struct args_value *v)
{
    size_t length = strlen(v->arg);

    if (!picture_is_name(v->arg) && (length < 4 || strcmp(v->arg + length - 4, ".txt") != 0))
        args_error(v->line, "--output is '%s'; expected a name that ends in .svg, .png or .txt",
                   v->arg);
    args_text(v);
}

/* Whether in colours, of a bool. */
static void take_colour(const struct args_value *v)
{
    const struct args_row row = {.name = v->row->name,
                                 .value = v->row->value,
                                 .size = sizeof(enum screen_colour),
                                 .least = v->row->least};
    enum screen_colour colour;
    struct screen screen;

    args_choice(&(struct args_value){v->line, &row, v->arg, &colour});
    screen_init(&screen, stdout, colour);
    *(bool *)v->at = screen.colour;
}

static const struct args_row canvas_rows[] = {
    {"output", 'o', "FILE", take_output, ARGS_AT(struct canvas, output), 0, 0,
     "Write to a file: a picture (.svg, .png) or text (.txt)"},
    {"ascii", 0, NULL, args_switch, ARGS_AT(struct canvas, style.ascii), 0, 0,
     "Draw with ASCII characters only"},
    {"color", ARGS_BARE, ARGS_COLOUR, take_colour, ARGS_AT(struct canvas, style.colour),
     SCREEN_ALWAYS, 0, COMMON_COLOUR_DOC},
    {0}};

static bool begin_canvas(void *part, int argc)
{
    (void)argc;
    canvas_init(part);
    return true;
}

const struct args_part common_canvas = {.rows = canvas_rows, .begin = begin_canvas};

void common_target(const struct args_value *v)
{
    const struct export_target **target = v->at;
    struct nearest near;

    *target = export_find(v->arg);
    nearest_init(&near, v->arg);
    for (size_t i = 0; export_targets[i]; i++)
        nearest_add(&near, export_targets[i]->name);
    if (!*target)
        args_error(v->line,
                   "no target '%s'; expected deepspeed, jax, megatron, pytorch, sglang, torchtitan "
                   "or vllm%s",
                   v->arg, nearest_hint(&near).text);
}

void common_check_target(const struct args_line *line, const struct export_target *target,
                         bool serve)
{
    if (target && target->serves == EXPORT_SERVES && !serve)
        args_error(line, "--for %s requires --serve: %s is for serving steps", target->name,
                   target->name);
    if (target && target->serves == EXPORT_TRAINS && serve)
        args_error(line, "--for %s cannot be combined with --serve: %s is for training steps",
                   target->name, target->name);
}

void common_picture(const struct args_value *v)
{
    if (!picture_is_name(v->arg))
        args_error(v->line, "--%s is '%s'; expected a name that ends in " PICTURE_NAMES,
                   v->row->name, v->arg);
    args_text(v);
}
