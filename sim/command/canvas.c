/* Writing drawings to a terminal or a file (canvas.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/canvas.h"

#include <string.h>

#include "base/screen.h"
#include "command/command.h"
#include "command/picture.h"
#include "command/write.h"

void canvas_init(struct canvas *canvas)
{
    struct screen screen;

    screen_init(&screen, stdout, SCREEN_AUTO);
    *canvas = (struct canvas){{.width = screen.columns, .colour = screen.colour}, NULL};
}

static int put_file(const char *path, const struct text *text, bool picture)
{
    struct shd_error err;

    if (cmd_stop_request)
        return CMD_INTERRUPTED;
    if ((picture ? picture_write : store_write)(path, text, &err) == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return cmd_stop_request ? CMD_INTERRUPTED : CMD_CANNOT;
}

bool canvas_is_picture(const struct canvas *canvas)
{
    return canvas->output && picture_is_name(canvas->output);
}

int canvas_put(const struct canvas *canvas, const struct text *text)
{
    bool picture = canvas_is_picture(canvas);

    if (!canvas->output)
        return cmd_put(text);
    if (picture && !text->failed && strncmp(text_get(text), "<svg ", 5) != 0) {
        cmd_error("'%s' is a picture; this drawing is text only: expected a name that ends in .txt",
                  canvas->output);
        return CMD_USAGE;
    }
    return put_file(canvas->output, text, picture);
}

/* The style of text: without colours in a file. */
static struct figure_style style_of(const struct canvas *canvas)
{
    struct figure_style style = canvas->style;

    style.colour &= !canvas->output;
    return style;
}

/* Write a drawing to the canvas's output and free it. */
static int put_drawing(const struct canvas *canvas, struct text *text)
{
    int status = canvas_put(canvas, text);

    text_fini(text);
    return status;
}

int canvas_draw(const struct canvas *canvas, const struct figure *figure)
{
    const struct figure_style style = style_of(canvas);
    struct text text = TEXT_INIT;

    if (canvas_is_picture(canvas))
        figure_draw_svg(figure, &text);
    else
        figure_draw_text(figure, &style, &text);
    return put_drawing(canvas, &text);
}

int canvas_end(const struct canvas *canvas, struct figure *figure, int status,
               const struct shd_error *err)
{
    int exit = status == SHD_OK ? canvas_draw(canvas, figure) : cmd_failure("cannot draw", err);

    figure_fini(figure);
    return exit;
}

int canvas_draw_lanes(const struct canvas *canvas, const struct lanes *lanes)
{
    const struct figure_style style = style_of(canvas);
    struct text text = TEXT_INIT;

    if (canvas_is_picture(canvas))
        lanes_draw_svg(lanes, &text);
    else
        lanes_draw_text(lanes, &style, &text);
    return put_drawing(canvas, &text);
}

int canvas_draw_curves(const struct canvas *canvas, const struct curves *curves)
{
    struct text text = TEXT_INIT;

    if (canvas_is_picture(canvas))
        curves_draw_svg(curves, &text);
    else
        curves_draw_text(curves, &text);
    return put_drawing(canvas, &text);
}

int canvas_draw_stack(const struct canvas *canvas, const struct stack *stack)
{
    const struct figure_style style = style_of(canvas);
    struct text text = TEXT_INIT;

    if (canvas_is_picture(canvas))
        stack_draw_svg(stack, &text);
    else
        stack_draw_text(stack, &style, &text);
    return put_drawing(canvas, &text);
}
