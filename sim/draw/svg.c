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
#define WIDTH_MIN 480      /* of a page, so that titles have room */
#define TITLE_WIDTH 9.4    /* of a character */
#define TITLE_HEIGHT 20    /* of a line */
#define LEGIBLE_WIDTH 1280 /* widest page on which words have their usual size */
#define KEY_WIDTH 20       /* of a box or line in a legend */
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

static void add_key(struct text *out, double x, double y, const struct svg_key *key)
{
    if (key->line)
        text_addf(out,
                  "<path class=\"k\" d=\"M%.1f %.1fh%d\" stroke=\"#%02x%02x%02x\" "
                  "stroke-width=\"3\"/>\n",
                  x, y - 4, KEY_WIDTH, key->colour.red, key->colour.green, key->colour.blue);
    else if (!strchr(key->styles, 'i'))
        svg_box(out, x, y - 11, KEY_WIDTH, 14, key->colour);
    for (const char *style = key->styles; *style; style++)
        svg_styled_box(out, x, y - 11, KEY_WIDTH, 14, (const char[]){*style, '\0'});
    svg_text(out, x + KEY_WIDTH + 6, y, "n", "start", key->name);
}

double svg_keys(struct text *out, double x, double y, double width, const struct svg_key *keys,
                size_t nkeys)
{
    double at = x;

    y += 13;
    for (size_t k = 0; k < nkeys; k++) {
        double length = KEY_WIDTH + 6 + svg_length(keys[k].name, SVG_NOTE_WIDTH);

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

/* Begin a page with a slide's proportions, with the contents centred. */
static void begin(struct text *out, double width, double height)
{
    double across = fmax(width, height * SVG_WIDTH / SVG_HEIGHT);
    double down = fmax(height, width * SVG_HEIGHT / SVG_WIDTH);
    double left = (width - across) / 2, top = (height - down) / 2;

    text_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"%.0f %.0f %.0f %.0f\">\n"
        "<style>\n"
        ".p{fill:#fff}.t{font:600 15px sans-serif;fill:#1a1a1a}\n"
        ".h{font:600 12px sans-serif;fill:#1a1a1a}.l{font:12px monospace;fill:#666}\n"
        ".c{font:12px monospace;fill:#111}.v{font:12px monospace;fill:#111}\n"
        ".n{font:12px sans-serif;fill:#444}.b{fill:none;stroke:#444;stroke-width:1}\n"
        ".e{fill:none;stroke:#555;stroke-width:.7}.s{stroke:#555;stroke-width:.7}.i{fill:#f0f0f0}."
        "x{fill:url(#hatch)}\n"
        ".g{fill:none;stroke:#ddd}.d{fill:#e8f0fa}.a{fill:#444}\n"
        "@media(prefers-color-scheme:dark){.p{fill:#16181c}.t,.h,.v{fill:#f0f0f0}\n"
        ".l{fill:#a8adb5}.n{fill:#c4c8ce}.b{stroke:#9aa0a8}.g{stroke:#3a3e45}.a{fill:#9aa0a8}\n"
        ".i{fill:#2a2d33}.d{fill:#22324a}.k{filter:brightness(2)}}\n"
        "</style>\n"
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\" stroke=\"#fff\" "
        "stroke-width=\"1.5\"/></pattern></defs>\n"
        "<rect class=\"p\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n",
        across, down, floor(left), floor(top), ceil(across), ceil(down), floor(left) - 1,
        floor(top) - 1, ceil(across) + 2, ceil(down) + 2);
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
    double down = height + TITLE_HEIGHT + (double)page->nnotes * SVG_LINE_HEIGHT + 2 * MARGIN;

    return fmax(fmax(width, WIDTH_MIN), down * SVG_WIDTH / SVG_HEIGHT - 2 * MARGIN);
}

void svg_page(struct text *out, const struct svg_page *page, const struct text *drawing,
              double width, double height)
{
    double across = place_width(page, width, height), top, foot = 0;
    double scale = fmax(across / LEGIBLE_WIDTH, 1); /* of words: a large page is shown reduced */
    struct text title = TEXT_INIT, notes = TEXT_INIT;

    top = scale * (add_sentence(&title, 0, -6, across / scale, "t", page->title) + SVG_LINE_HEIGHT);
    for (size_t i = 0; i < page->nnotes; i++)
        foot = add_sentence(&notes, 0, foot, across / scale, "n", page->notes[i]);
    begin(out, across + 2 * MARGIN,
          2 * MARGIN + top + height + (foot > 0 ? scale * foot + SVG_LINE_HEIGHT / 2.0 : 0));
    add_group(out, MARGIN, MARGIN, scale, &title);
    add_group(out, MARGIN + (across - width) / 2, MARGIN + top, 1, drawing);
    add_group(out, MARGIN, MARGIN + top + height + SVG_LINE_HEIGHT / 2.0, scale, &notes);
    text_add(out, "</svg>\n");
    text_fini(&title);
    text_fini(&notes);
}
