/* Pages and elements of SVG pictures (svg.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/svg.h"

#include <math.h>
#include <string.h>

#include "base/literal.h"

#define MARGIN 24          /* around the page */
#define WIDTH_MIN 480      /* of a page: leaves room for titles */
#define TITLE_WIDTH 9.4    /* of a character */
#define TITLE_HEIGHT 20    /* of a line */
#define LEGIBLE_WIDTH 1280 /* widest page on which words have their usual size */
#define KEY_WIDTH 20       /* of a box or marker in a legend */
#define KEY_LINE 36        /* of a line in a legend: long enough to show dashes */
#define KEY_GAP 24         /* to the next entry */

/* ---- elements ---- */

void svg_text(struct text *out, double x, double y, const char *style, const char *anchor,
              const char *s)
{
    if (!*s)
        return;
    text_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"", style, x, y);
    if (strcmp(anchor, "start") != 0)
        text_addf(out, " text-anchor=\"%s\"", anchor);
    text_add_char(out, '>');
    literal_add_xml(out, s);
    text_add(out, "</text>\n");
}

void svg_box(struct text *out, double x, double y, double width, double height, struct colour fill)
{
    text_addf(out,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "fill=\"#%02x%02x%02x\"/>\n",
              x, y, width, height, fill.red, fill.green, fill.blue);
}

void svg_styled_box(struct text *out, double x, double y, double width, double height,
                    const char *style)
{
    text_addf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
              style, x, y, width, height);
}

double svg_length(const char *sentence, double char_width)
{
    return (double)strlen(sentence) * char_width;
}

static void add_line_colour(struct text *out, int32_t number)
{
    text_addf(out, " class=\"k%d\"", (int)(number % COLOURS));
}

void svg_begin_line(struct text *out, int32_t number)
{
    static const char *const dashes[] = {"", "9 4", "2 3", "9 3 2 3", "5 3", "14 4", "4 3 1 3"};
    const char *dash = dashes[(size_t)number % (sizeof dashes / sizeof dashes[0])];

    text_add(out, "<path");
    add_line_colour(out, number);
    text_add(out, " fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"");
    if (*dash)
        text_addf(out, " stroke-dasharray=\"%s\"", dash);
    text_add(out, " d=\"");
}

void svg_end_line(struct text *out)
{
    text_add(out, "\"/>\n");
}

/* Outline of a marker of radius 1 from its centre on, as relative moves. */
static const struct {
    double x, y;
} shapes[][12] = {
    {{-.9, -.9}, {1.8, 0}, {0, 1.8}, {-1.8, 0}},
    {{0, -1.2}, {1.15, 2}, {-2.3, 0}},
    {{0, -1.3}, {1.3, 1.3}, {-1.3, 1.3}, {-1.3, -1.3}},
    {{0, 1.2}, {1.15, -2}, {-2.3, 0}},
    {{-.4, -1.2},
     {.8, 0},
     {0, .8},
     {.8, 0},
     {0, .8},
     {-.8, 0},
     {0, .8},
     {-.8, 0},
     {0, -.8},
     {-.8, 0},
     {0, -.8},
     {.8, 0}},
};
#define NSHAPES (sizeof shapes / sizeof shapes[0])
#define CORNERS (sizeof shapes[0] / sizeof shapes[0][0])

void svg_marker(struct text *out, double x, double y, double radius, int32_t number, double opacity)
{
    size_t shape = (size_t)number % (NSHAPES + 1);

    text_add(out, shape == 0 ? "<circle" : "<path");
    add_line_colour(out, number);
    text_add(out, opacity > 0 ? " fill=\"currentColor\""
                              : " fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"");
    if (opacity > 0 && opacity < 1)
        text_addf(out, " fill-opacity=\"%.2g\"", opacity);
    if (shape == 0) {
        text_addf(out, " cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y, radius);
        return;
    }
    text_addf(out, " d=\"M%.1f %.1f", x, y);
    for (size_t i = 0;
         i < CORNERS && (i == 0 || shapes[shape - 1][i].x != 0 || shapes[shape - 1][i].y != 0); i++)
        text_addf(out, "%c%.1f %.1f", i == 0 ? 'm' : 'l', radius * shapes[shape - 1][i].x,
                  radius * shapes[shape - 1][i].y);
    text_add(out, "z\"/>\n");
}

void svg_pattern(struct text *out, const char *id, int32_t number, const struct colour *colour,
                 double scale)
{
    static const char *const marks[] = {"",       "M0 8L8 0", "M1 2h2M5 6h2",     "M0 0L8 8",
                                        "M0 4h8", "M4 0v8",   "M0 8L8 0M0 0L8 8", "M0 4h8M4 0v8"};

    text_addf(out, "<pattern id=\"%s\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"",
              id);
    if (scale < 1)
        text_addf(out, " patternTransform=\"scale(%.2g 1)\"", scale);
    text_add(out, ">");
    if (colour)
        text_addf(out, "<path fill=\"#%02x%02x%02x\" d=\"M0 0h8v8H0z\"/>", colour->red,
                  colour->green, colour->blue);
    text_addf(
        out,
        "<path stroke=\"#111\" stroke-opacity=\".5\" stroke-width=\"%s\" d=\"%s\"/></pattern>\n",
        number == 2 ? "2" : "1", marks[(size_t)number % (sizeof marks / sizeof marks[0])]);
}

static double key_width(const struct svg_key *key)
{
    return key->kind == SVG_KEY_LINE ? KEY_LINE : KEY_WIDTH;
}

static void add_key(struct text *out, double x, double y, const struct svg_key *key)
{
    double width = key_width(key);

    if (key->kind == SVG_KEY_LINE) {
        svg_begin_line(out, key->number);
        text_addf(out, "M%.1f %.1fh%.1f", x, y - 4, width);
        svg_end_line(out);
    }
    if (key->kind != SVG_KEY_BOX)
        svg_marker(out, x + width / 2, y - 4, 4.5, key->number, 1);
    else if (key->pattern)
        text_addf(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"url(#%s)\"/>\n",
                  x, y - 11, width, key->pattern);
    else if (!strchr(key->styles, 'i'))
        svg_box(out, x, y - 11, width, 14, key->colour);
    for (const char *style = key->styles; *style; style++)
        svg_styled_box(out, x, y - 11, width, 14, (const char[]){*style, '\0'});
    svg_text(out, x + width + 6, y, "n", "start", key->name);
}

double svg_keys(struct text *out, double x, double y, double width, const struct svg_key *keys,
                size_t nkeys)
{
    double at = x;

    y += 13;
    for (size_t k = 0; k < nkeys; k++) {
        double length = key_width(&keys[k]) + 6 + svg_length(keys[k].name, SVG_NOTE_WIDTH);

        if (at > x && at + length > x + width) {
            at = x;
            y += SVG_LINE_HEIGHT;
        }
        add_key(out, at, y, &keys[k]);
        at += length + KEY_GAP;
    }
    return y + 5;
}

/* ---- the page ---- */

/* The bytes of a sentence's first line of at most `room` characters: up to the last space that
 * fits; a word longer than a line is cut. */
static size_t first_line(const char *sentence, size_t room)
{
    size_t length = strlen(sentence), at = room;

    if (length <= room)
        return length;
    while (at > 0 && sentence[at] != ' ')
        at--;
    if (at > 0)
        return at;
    for (at = room;
         at > 1 && ((unsigned char)sentence[at] & 0xc0) == 0x80;) /* inside a character */
        at--;
    return at;
}

/* Write a sentence in lines below y; returns the y of the last line. */
static double add_sentence(struct text *out, double x, double y, double width, const char *style,
                           const char *sentence)
{
    bool title = *style == 't';
    size_t room = (size_t)(width / (title ? TITLE_WIDTH : SVG_NOTE_WIDTH));
    struct text line = TEXT_INIT;

    while (*sentence) {
        size_t n = first_line(sentence, room);

        y += title ? TITLE_HEIGHT : SVG_LINE_HEIGHT;
        text_clear(&line);
        text_add_bytes(&line, sentence, n);
        svg_text(out, x, y, style, "start", text_get(&line));
        sentence += n;
        sentence += strspn(sentence, " ");
    }
    text_drop(out, &line);
    return y;
}

/* Colours of the page and of lines: of a light page, and where the viewer prefers it of a dark
 * one. */
static void add_page_colours(struct text *out, enum colour_page page)
{
    struct colour paper = colour_paper(page);

    text_addf(out, ".p{fill:#%02x%02x%02x}", paper.red, paper.green, paper.blue);
    for (int32_t number = 0; number < COLOURS; number++) {
        struct colour c = colour_line(number, page);

        text_addf(out, ".k%d{color:#%02x%02x%02x}", (int)number, c.red, c.green, c.blue);
    }
    text_add_char(out, '\n');
}

static void add_style(struct text *out)
{
    text_add(out, "<style>\n.t{font:600 15px sans-serif;fill:#1a1a1a}\n"
                  ".h{font:600 12px sans-serif;fill:#1a1a1a}.l{font:12px monospace;fill:#595959}\n"
                  ".c{font:12px monospace;fill:#111}.v{font:12px monospace;fill:#111}\n"
                  ".n{font:12px sans-serif;fill:#444}.b{fill:none;stroke:#444;stroke-width:1}\n"
                  ".e{fill:none;stroke:#555;stroke-width:.7}.s{stroke:#555;stroke-width:.7}"
                  ".i{fill:#f0f0f0}.x{fill:url(#x)}.y{fill:url(#y)}.z{fill:url(#z)}\n"
                  ".g{fill:none;stroke:#ddd}.d{fill:#e8f0fa}.a{fill:#444}\n");
    add_page_colours(out, COLOUR_LIGHT);
    text_add(out, "@media(prefers-color-scheme:dark){.t,.h,.v{fill:#f0f0f0}\n"
                  ".l{fill:#a8adb5}.n{fill:#c4c8ce}.b{stroke:#9aa0a8}.g{stroke:#3a3e45}"
                  ".a{fill:#9aa0a8}\n.i{fill:#2a2d33}.d{fill:#22324a}\n");
    add_page_colours(out, COLOUR_DARK);
    text_add(out, "}\n</style>\n<defs>\n");
    svg_pattern(out, "x", 1, NULL, 1);
    svg_pattern(out, "y", 3, NULL, 1);
    svg_pattern(out, "z", 4, NULL, 1);
    text_add(out, "</defs>\n");
}

/* Begin a page with a slide's proportions, with the contents centred. */
static void begin(struct text *out, double width, double height)
{
    double across = fmax(width, height * SVG_WIDTH / SVG_HEIGHT);
    double down = fmax(height, width * SVG_HEIGHT / SVG_WIDTH);
    double left = (width - across) / 2, top = (height - down) / 2;

    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
              "viewBox=\"%.0f %.0f %.0f %.0f\">\n",
              across, down, floor(left), floor(top), ceil(across), ceil(down));
    add_style(out);
    text_addf(out, "<rect class=\"p\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n",
              floor(left) - 1, floor(top) - 1, ceil(across) + 2, ceil(down) + 2);
}

static void add_group(struct text *out, double x, double y, double scale, const struct text *group)
{
    text_addf(out, "<g transform=\"translate(%.1f %.1f)", x, y);
    if (scale > 1)
        text_addf(out, " scale(%.3f)", scale);
    text_add(out, "\">\n");
    text_add(out, text_get(group));
    text_add(out, "</g>\n");
    out->failed |= group->failed;
}

/* The width available to a drawing: a high one leaves room beside it, which titles use. */
static double place_width(const struct svg_page *page, double width, double height)
{
    double down = height + TITLE_HEIGHT + (double)page->nnotes / 2 * SVG_LINE_HEIGHT + 2 * MARGIN;

    return fmax(fmax(width, WIDTH_MIN), down * SVG_WIDTH / SVG_HEIGHT - 2 * MARGIN);
}

void svg_page(struct text *out, const struct svg_page *page, const struct text *drawing,
              double width, double height)
{
    double across = place_width(page, width, height), top, half, foot = 0;
    double scale = fmax(across / LEGIBLE_WIDTH, 1); /* of words: a large page is shown reduced */
    struct text title = TEXT_INIT, notes = TEXT_INIT;

    top = scale * (add_sentence(&title, 0, -6, across / scale, "t", page->title) + SVG_LINE_HEIGHT);
    half = across / scale / 2;
    for (size_t i = 0; i < page->nnotes; i++) { /* two short ones on a line */
        bool beside =
            i + 1 < page->nnotes && fmax(svg_length(page->notes[i], SVG_NOTE_WIDTH),
                                         svg_length(page->notes[i + 1], SVG_NOTE_WIDTH)) < half;

        if (beside)
            add_sentence(&notes, half, foot, half, "n", page->notes[i + 1]);
        foot = add_sentence(&notes, 0, foot, 2 * half, "n", page->notes[i]);
        i += beside;
    }
    begin(out, across + 2 * MARGIN,
          2 * MARGIN + top + height + (foot > 0 ? scale * foot + SVG_LINE_HEIGHT / 2.0 : 0));
    add_group(out, MARGIN, MARGIN, scale, &title);
    add_group(out, MARGIN + (across - width) / 2, MARGIN + top, 1, drawing);
    add_group(out, MARGIN, MARGIN + top + height + SVG_LINE_HEIGHT / 2.0, scale, &notes);
    text_add(out, "</svg>\n");
    text_fini(&title);
    text_fini(&notes);
}
