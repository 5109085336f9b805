/* shardsim show names - every array of a scenario that a rule or constraint can name: its shape,
 * its sharding, and the origin of the sharding.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include "cmd/common.h"
#include "cmd/show/array_names.h"
#include "command/canvas.h"
#include "command/chosen.h"
#include "command/command.h"

struct options {
    struct canvas canvas;
    struct chosen chosen;
    bool all, json;
};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {{"all", 'a', NULL, args_switch, AT(all), 0, 0,
                                        "Also list arrays that no rule can name: intermediate "
                                        "arrays, and those of the backward and optimizer phases"},
                                       {"json", 'j', NULL, args_switch, AT(json), 0, 0, "As JSON"},
                                       {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)},
              {&common_canvas, offsetof(struct options, canvas)}},
    .operands = "SCENARIO",
    .help =
        "List every array that a rule of `params` or a constraint can name: parameters, inputs and "
        "named activations, each with its shape, sharding, bytes on one device, and the origin of "
        "the sharding: a rule's pattern and line; the options axes, zero or rules: auto; or the "
        "partitioner. Equal layers share a line, with '*' for their number.\vExamples:\n"
        "  The arrays of a model, and the rules that match them:\n"
        "    shardsim show names scenarios/tensor_parallel.yaml\n\n" ARGS_EXIT_STATUS("")};

static int show(const struct options *o)
{
    struct array_names names;
    struct text text = TEXT_INIT;
    int status;

    array_names_init(&names, &o->chosen.trial, o->all);
    if (o->json)
        array_names_json(&names, &text);
    else
        array_names_text(&names, o->canvas.style.width, &text);
    text.failed |= names.failed;
    status = canvas_put(&o->canvas, &text);
    text_fini(&text);
    array_names_fini(&names);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.all = false};
    int status;

    args_parse(&args, argc, argv, &o);
    status = chosen_load(&o.chosen);
    if (status == CMD_OK)
        status = show(&o);
    chosen_fini(&o.chosen);
    return status;
}

const struct cmd show_names = {"names", "names for rules: shape, sharding, matching rule", run};
