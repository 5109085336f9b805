/* shardsim explain collective --hardware - what is asked, of the command line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/explain_links.h"

#include <string.h>

#include "base/units.h"
#include "cmd/explain/links.h"
#include "command/asked.h"
#include "command/canvas.h"
#include "command/cluster.h"
#include "command/command.h"

/* A mesh of named axes, or of sizes alone, "16,16", whose axes are then called 0, 1, ... */
static int parse_mesh(struct shd_mesh **out, const char *text)
{
    struct text named = TEXT_INIT;
    int status;

    if (strpbrk(text, "=:"))
        return asked_mesh(out, text);
    for (int axis = 0; *text; axis++) {
        size_t length = strcspn(text, ",x");

        text_addf(&named, "%s%d=%.*s", axis ? "," : "", axis, (int)length, text);
        text += length + (text[length] != '\0');
    }
    if (named.failed) {
        cmd_error("no memory for a mesh");
        status = CMD_CANNOT;
    } else {
        status = asked_mesh(out, text_get(&named));
    }
    text_fini(&named);
    return status;
}

static int parse_axes(struct links_question *q, const char *text)
{
    if (text)
        return asked_axes(q->axes, &q->naxes, text, q->mesh);
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
        return cmd_failure("bytes", &err);
    if (bytes > UINT64_C(1) << 60)
        return cmd_wrong("bytes", "expected at most 1EiB");
    q->operand_bytes = (double)bytes;
    return CMD_OK;
}

static int check_pair(const struct links_question *q)
{
    if (q->kind == COLL_SEND_RECV && shd_mesh_size_of_axes(q->mesh, q->axes, q->naxes) != 2)
        return cmd_wrong("send-recv", "expected axes of two devices in total");
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
    int status = parse_mesh(&mesh, asked->mesh ? asked->mesh : asked->devices);

    if (status == CMD_OK)
        status = cluster_find(&hardware, asked->hardware, mesh, shd_mesh_size(mesh), asked->slices);
    q.mesh = mesh;
    if (hardware)
        hardware->by_models = true;
    q.hardware = hardware;
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
