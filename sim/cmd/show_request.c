/* The common parts of the subjects of `show`: meshes, options and messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/args.h"
#include "cmd/show.h"

int show_error(const char *what, const char *message)
{
    cmd_error("%s: %s", what, message);
    return CMD_USAGE;
}

int show_failure(const char *what, const struct shd_error *err)
{
    (void)show_error(what, err->text);
    return err->status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

/* ---- meshes on the command line ---- */

static const char *skip(const char *s, const char *what)
{
    return s + strspn(s, what);
}

/* One "name=size" from *s on; the name is copied. */
static int parse_axis(const char **s, char **name, int32_t *size, struct shd_error *err)
{
    static const char expected[] = "expected axes as 'dp=2,tp=4'";
    size_t length = strcspn(*s, "=:, {}");
    const char *at = skip(*s + length, " ");
    char *end;
    long n;

    if (length == 0 || (*at != '=' && *at != ':'))
        return shd_error_set(err, SHD_EINVAL, expected);
    at = skip(at + 1, " ");
    n = strtol(at, &end, 10);
    if (!isdigit((unsigned char)*at) || n < 1 || n > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL,
                             "the size of an axis is a whole number of at least 1");
    *name = strndup(*s, length);
    if (!*name)
        return shd_error_set(err, SHD_ENOMEM, "no memory");
    *size = (int32_t)n;
    *s = skip(end, " ");
    if (**s && **s != ',' && **s != '}')
        return shd_error_set(err, SHD_EINVAL, expected);
    *s = skip(*s, ", }");
    return SHD_OK;
}

int show_parse_mesh(struct shd_mesh **out, const char *text)
{
    char *names[SHD_MESH_AXES_MAX] = {NULL};
    int32_t sizes[SHD_MESH_AXES_MAX];
    const char *s = skip(text, " {");
    struct shd_error err;
    size_t n = 0;
    int status = SHD_OK;

    while (status == SHD_OK && (*s || n == 0)) {
        if (n == SHD_MESH_AXES_MAX)
            status = shd_error_set(&err, SHD_EINVAL, "too many axes");
        else
            status = parse_axis(&s, &names[n], &sizes[n], &err);
        n++;
    }
    if (status == SHD_OK)
        status = shd_mesh_create(out, (const char *const *)names, sizes, n, &err);
    if (status != SHD_OK)
        cmd_error("mesh '%s': %s", text, err.text);
    for (size_t i = 0; i < SHD_MESH_AXES_MAX; i++)
        free(names[i]);
    return status == SHD_OK ? CMD_OK : status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

const char *show_axis_hint(const struct shd_spec *spec, const struct shd_mesh *mesh, char *buf,
                           size_t size)
{
    struct nearest near = {.best = NULL};

    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        for (size_t i = 0; i < shd_spec_naxes(spec, e); i++) {
            if (shd_mesh_find_axis(mesh, shd_spec_axis(spec, e, i)) >= 0)
                continue;
            nearest_init(&near, shd_spec_axis(spec, e, i));
            for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
                nearest_add(&near, shd_mesh_axis_name(mesh, a));
            return nearest_hint(&near, buf, size);
        }
    return nearest_hint(&near, buf, size);
}

/* ---- options ---- */

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
    return show_parse_mesh(mesh, options->mesh);
}
