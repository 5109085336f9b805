/* shardsim explain collective --hardware - what is asked, of the command line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/show.h"
#include "explain/links.h"

#define DEVICES_MAX (1 << 30)

/* A whole number of at least 1, or -1. */
static long parse_count(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    return end != text && !*end && n >= 1 && n <= DEVICES_MAX ? n : -1;
}

/* A mesh of named axes, or of sizes alone, "16,16", whose axes are then called 0, 1, ... */
static int parse_mesh(struct shd_mesh **out, const char *text)
{
    struct text named = TEXT_INIT;
    int status;

    if (strpbrk(text, "=:"))
        return show_parse_mesh(out, text);
    for (int axis = 0; *text; axis++) {
        size_t length = strcspn(text, ",x");

        text_addf(&named, "%s%d=%.*s", axis ? "," : "", axis, (int)length, text);
        text += length + (text[length] != '\0');
    }
    if (named.failed) {
        cmd_error("no memory for a mesh");
        status = CMD_CANNOT;
    } else {
        status = show_parse_mesh(out, text_get(&named));
    }
    text_fini(&named);
    return status;
}

static int parse_axes(struct links_question *q, const char *text)
{
    if (text)
        return show_parse_axes(q->axes, &q->naxes, text, q->mesh);
    q->naxes = shd_mesh_naxes(q->mesh);
    for (size_t a = 0; a < q->naxes; a++)
        q->axes[a] = (uint8_t)a;
    return CMD_OK;
}

static int parse_bytes(struct links_question *q, const char *text)
{
    struct shd_error err;
    uint64_t bytes;

    if (units_parse_bytes(&bytes, text, &err) != SHD_OK)
        return show_failure("bytes", &err);
    if (bytes > UINT64_C(1) << 60)
        return show_error("bytes", "expected at most 1EiB");
    q->operand_bytes = (double)bytes;
    return CMD_OK;
}

static int find_hardware(struct hardware **out, const char *name)
{
    struct diag diag = DIAG_INIT;
    int status = CMD_OK;

    if (hardware_find(out, name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK) {
        diag_write(&diag, stderr);
        status = cmd_exit_of_input(&diag);
    }
    diag_fini(&diag);
    return status;
}

/* The slice is of the mesh's own shape where it has an axis for each of the torus; slices are then
 * cut from the first. */
static int lay_out(struct hardware *hardware, const struct shd_mesh *mesh, const char *text)
{
    int64_t shape[HARDWARE_TORUS_MAX] = {1, 1, 1};
    long slices = text ? parse_count(text) : 1;
    size_t ndims = (size_t)hardware->tiers[0].ndims, naxes = shd_mesh_naxes(mesh);
    struct shd_error err;

    if (slices < 0)
        return show_error("slices", "expected a whole number of at least 1");
    for (size_t a = 0; naxes <= ndims && a < naxes; a++)
        shape[ndims - naxes + a] = shd_mesh_axis_size(mesh, a);
    if (naxes > 0 && naxes <= ndims && shape[ndims - naxes] % slices == 0)
        shape[ndims - naxes] /= slices;
    if (hardware_lay_out(hardware, shd_mesh_size(mesh), slices, shape, &err) != SHD_OK)
        return show_failure("mesh", &err);
    return CMD_OK;
}

static int check_pair(const struct links_question *q)
{
    int64_t members = 1;

    for (size_t a = 0; a < q->naxes; a++)
        members *= shd_mesh_axis_size(q->mesh, q->axes[a]);
    if (q->kind == COLL_SEND_RECV && members != 2)
        return show_error("send-recv", "expected axes of two devices in all");
    return CMD_OK;
}

static int answer(const struct links_question *q, const struct explain_links *asked,
                  const struct canvas *canvas)
{
    struct text text = TEXT_INIT;
    struct links_answer a;
    struct json_out json;
    int status = SHD_OK;

    links_answer(&a, q);
    if (asked->json) {
        json_out_init_text(&json, &text, JSON_OUT_PRETTY);
        links_json(&a, q, &json);
        json_out_newline(&json);
        status = json_out_fini(&json);
    } else {
        links_text(&a, q, &text, canvas->style.width);
    }
    if (status != SHD_OK || text.failed) {
        cmd_error("no memory for the answer");
        status = CMD_CANNOT;
    } else {
        status = canvas_put(canvas, &text);
    }
    text_fini(&text);
    return status;
}

int explain_links(const struct explain_links *asked, const struct canvas *canvas)
{
    struct links_question q = {.kind = asked->kind};
    struct shd_mesh *mesh = NULL;
    struct hardware *hardware = NULL;
    int status = find_hardware(&hardware, asked->hardware);

    if (status == CMD_OK)
        status = parse_mesh(&mesh, asked->mesh ? asked->mesh : asked->devices);
    q.mesh = mesh;
    q.hardware = hardware;
    if (status == CMD_OK)
        status = lay_out(hardware, mesh, asked->slices);
    if (status == CMD_OK)
        status = parse_axes(&q, asked->axes);
    if (status == CMD_OK)
        status = parse_bytes(&q, asked->bytes);
    if (status == CMD_OK)
        status = check_pair(&q);
    if (status == CMD_OK)
        status = answer(&q, asked, canvas);
    shd_mesh_destroy(mesh);
    hardware_destroy(hardware);
    return status;
}
