/* The common parts of the subjects of `show`: meshes, options and messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/args.h"
#include "cmd/common.h"
#include "cmd/show.h"
#include "jobs/asked.h"

error_t show_parse_option(int key, char *arg, struct argp_state *state)
{
    struct show_request *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->canvas;
        return 0;
    case 'm':
        o->mesh = arg;
        return 0;
    case 'a':
        o->axes = arg;
        return 0;
    case 'n':
        o->shape = arg;
        return 0;
    case 'p':
        o->spec = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp_child show_children[] = {{&canvas_output_argp, 0, NULL, 0}, {0}};

int show_parse(struct shd_mesh **mesh, struct show_request *options, const struct argp *argp,
               int argc, char **argv)
{
    *options = (struct show_request){.mesh = NULL};
    canvas_init(&options->canvas);
    args_parse(argp, argc, argv, options);
    return asked_mesh(mesh, options->mesh);
}
