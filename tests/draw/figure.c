/* Tests draw/figure.h and draw/colour.h: figures as text and SVG, fitted to a width, and their
 * colours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "base/wrap.h"
#include "draw/colour.h"
#include "draw/figure.h"
#include "../support/tap.h"

static void fill(struct figure *f, uint32_t nrows, uint32_t ncolumns, uint32_t nparts)
{
    struct figure_grid *grid = figure_add_grid(f, nrows, ncolumns);

    for (uint32_t r = 0; grid && r < nrows; r++)
        for (uint32_t c = 0; c < ncolumns; c++) {
            struct figure_cell *cell = figure_cell(f, grid, r, c);

            for (uint32_t p = 0; p < nparts; p++)
                figure_add_part(f, cell, (int32_t)p, figure_print(f, "%u", r * ncolumns + c + p));
        }
}

static void test_text(void)
{
    struct figure_style style = {80, true, false};
    struct text out = TEXT_INIT;
    struct figure f;

    figure_init(&f);
    f.title = "two";
    fill(&f, 1, 2, 1);
    figure_draw_text(&f, &style, &out);
    ok(!strcmp(text_get(&out), "two\n\n+---+---+\n| 0 | 1 |\n+---+---+\n"), "text: a row");
    text_clear(&out);
    style.colour = true;
    figure_draw_text(&f, &style, &out);
    ok(strstr(text_get(&out), "m 0 \033[0m") != NULL, "text: a coloured cell is filled");
    figure_fini(&f);
    text_fini(&out);
}

static size_t widest_line(const char *s)
{
    size_t most = 0;

    while (*s) {
        size_t n = strcspn(s, "\n");

        most = n > most ? n : most;
        s += n + (s[n] != '\0');
    }
    return most;
}

static void test_fits(void)
{
    struct text out = TEXT_INIT;

    for (size_t width = 40; width <= 160; width += 40)
        for (uint32_t nparts = 1; nparts <= 9; nparts += 4) {
            struct figure_style style = {width, true, false};
            struct figure f;

            figure_init(&f);
            fill(&f, 2, 30, nparts);
            fill(&f, 3, 2, nparts);
            figure_draw_text(&f, &style, &out);
            ok(widest_line(text_get(&out)) <= width && out.length > 0,
               "text: %u parts fit %zu columns", nparts, width);
            text_clear(&out);
            figure_fini(&f);
        }
    text_fini(&out);
}

static void test_svg(void)
{
    struct text out = TEXT_INIT;
    struct figure f;

    figure_init(&f);
    f.title = "a<b & \"c\"";
    fill(&f, 2, 2, 3);
    figure_add_note(&f, "x > y");
    figure_draw_svg(&f, &out);
    ok(!strncmp(text_get(&out), "<svg ", 5) && strstr(text_get(&out), "</svg>\n"),
       "svg: one element");
    ok(strstr(text_get(&out), "a&lt;b &amp; ") && strstr(text_get(&out), "x &gt; y"),
       "svg: escaped");
    figure_fini(&f);
    text_fini(&out);
}

static bool is_same(struct colour a, struct colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

static void test_colours(void)
{
    int equal = 0;

    for (int32_t i = 0; i < 64; i++)
        equal += is_same(colour_of(i), colour_of(i + 1));
    ok(equal == 0, "colours: neighbours differ");
    ok(is_same(colour_of(COLOURS), colour_lighter(colour_of(0), 0.45)) &&
           is_same(colour_of(2 * COLOURS), colour_of(0)),
       "colours: of a palette, lighter ones, and the palette again");
    ok(colour_shade(0).red == 255 && colour_shade(1).red < 100, "shades: white to full");
    ok(colour_terminal((struct colour){255, 255, 255}) == 231 &&
           colour_terminal((struct colour){0, 0, 0}) == 16 &&
           colour_terminal((struct colour){95, 135, 255}) == 69,
       "terminal: corners and steps of the cube");
}

static void test_wrap(void)
{
    static const struct {
        size_t width, used, indent;
        const char *sentence, *want;
    } cases[] = {
        {10, 0, 0, "one two three", "one two\nthree\n"},
        {10, 4, 4, "one two", "one\n    two\n"},
        {10, 0, 2, "", "\n"},
        {5, 0, 0, "longerthan it", "longerthan\nit\n"},
        {7, 0, 0, "\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text out = TEXT_INIT;

        wrap_add(&out, cases[i].width, cases[i].used, cases[i].indent, cases[i].sentence);
        ok(!strcmp(text_get(&out), cases[i].want), "wrap: '%s'", cases[i].sentence);
        text_fini(&out);
    }
}

int main(void)
{
    plan(0);
    test_text();
    test_fits();
    test_svg();
    test_colours();
    test_wrap();
    return done();
}
