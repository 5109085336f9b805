/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/canvas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/screen.h"
#include "cmd/args.h"
#include "cmd/cmd.h"

enum { KEY_ASCII = 2000, KEY_COLOR };

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write to a file: FILE.svg as a picture, FILE.txt as text", 0},
    {"ascii", KEY_ASCII, NULL, 0, "Draw with ASCII characters only", 0},
    {"color", KEY_COLOR, ARGS_COLOUR, OPTION_ARG_OPTIONAL,
     "Whether in colours; auto, the default: on a terminal, unless NO_COLOR is set", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct canvas *s = state->input;
    enum screen_colour colour = SCREEN_AUTO;
    struct screen screen;

    switch (key) {
    case 'o':
        if (!ends_with(arg, ".svg") && !ends_with(arg, ".txt"))
            args_error(state, "--output is '%s'; expected a name that ends in .svg or .txt", arg);
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

const struct argp canvas_output_argp = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};
const struct argp canvas_argp = {option_table + 1, parse_option, NULL, NULL, NULL, NULL, NULL};

void canvas_init(struct canvas *canvas)
{
    struct screen screen;

    screen_init(&screen, stdout, SCREEN_AUTO);
    *canvas = (struct canvas){{.width = screen.columns, .colour = screen.colour}, NULL};
}

static int file_error(const char *path)
{
    cmd_error("%s: %s", path, strerror(errno));
    return CMD_CANNOT;
}

/* Into a file beside it first, so that the name never stands for half a drawing. */
static int put_file(const char *path, const struct text *text)
{
    struct text part = TEXT_INIT;
    FILE *file;
    int status = CMD_OK;

    text_addf(&part, "%s.%ld.part", path, (long)getpid());
    if (part.failed || text->failed) {
        cmd_error("no memory for the output");
        text_fini(&part);
        return CMD_CANNOT;
    }
    file = fopen(text_get(&part), "w");
    if (!file) {
        status = file_error(path);
    } else {
        bool whole = fwrite(text_get(text), 1, text->length, file) == text->length;

        if (fclose(file) != 0 || !whole || rename(text_get(&part), path) != 0) {
            status = file_error(path);
            unlink(text_get(&part));
        }
    }
    text_fini(&part);
    return status;
}

int canvas_draw(const struct canvas *canvas, const struct figure *figure)
{
    struct figure_style style = canvas->style;
    struct text text = TEXT_INIT;
    int status;

    if (canvas->output && ends_with(canvas->output, ".svg")) {
        figure_draw_svg(figure, &text);
    } else {
        style.colour &= !canvas->output;
        figure_draw_text(figure, &style, &text);
    }
    status = canvas->output ? put_file(canvas->output, &text) : cmd_put(&text);
    text_fini(&text);
    return status;
}
