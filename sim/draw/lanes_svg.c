/* Timelines as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/lanes.h"

#include <math.h>
#include <string.h>

#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define LANE_MIN 7 /* least height of a lane; labels need the height of a line */
#define LANE_MAX 48
#define LANE_GAP 0.15    /* fraction of its height */
#define CHART_HEIGHT 380 /* target height of all lanes in a picture as wide as a page */
#define CHART_MIN 480
#define CHART_MAX 2400  /* bars that are still too narrow then have no labels */
#define LABEL_HEIGHT 11 /* least height of a bar with a label */
#define LABEL_ROOM 6    /* around and between the lines of a two-line label */
#define HEAD_HEIGHT 24  /* of a heading */
#define TICK_WIDTH 60   /* least distance of ticks */
#define KEYS_MAX 16

struct layout {
    const struct lanes *lanes;
    double left;   /* left edge of the lanes */
    double height; /* of a lane, with the gap to the next */
    double scale;  /* pixels for a unit of time */
    double end;    /* end of time */
};

/* A label of one line, or in high lanes of two: the part after the point is below. */
struct label {
    char text[LANES_LABEL_MAX];
    char *below; /* in text; NULL: one line */
    double width;
};

/* The height that lanes should fill: more if there are headings. */
static double chart_height(const struct lanes *lanes)
{
    return CHART_HEIGHT + (double)lanes->nheads * HEAD_HEIGHT;
}

static void label_of(struct label *out, const struct lanes *lanes, const struct lanes_bar *bar)
{
    bool high = bar->part == LANES_WHOLE && chart_height(lanes) * (1 - LANE_GAP) / lanes->nlanes >=
                                                2 * LABEL_HEIGHT + LABEL_ROOM;
    size_t longest;

    lanes_label(out->text, bar);
    out->below = high ? strchr(out->text, '.') : NULL;
    longest = strlen(out->text);
    if (out->below) {
        *out->below++ = '\0';
        longest = strlen(out->text) > strlen(out->below) ? strlen(out->text) : strlen(out->below);
    }
    out->width = (double)longest * SVG_CHAR_WIDTH + 4;
}

static void lay_out(struct layout *l, const struct lanes *lanes)
{
    size_t longest = 0;

    *l = (struct layout){.lanes = lanes, .end = lanes_end(lanes)};
    for (uint32_t i = 0; i < lanes->nlanes; i++)
        longest = strlen(lanes->names[i]) > longest ? strlen(lanes->names[i]) : longest;
    l->left = (double)longest * SVG_CHAR_WIDTH + 8;
    for (size_t i = 0; i < lanes->nbars; i++) {
        const struct lanes_bar *bar = &lanes->bars[i];
        struct label label;

        label_of(&label, lanes, bar);
        if (bar->end > bar->start)
            l->scale = fmax(l->scale, label.width / (bar->end - bar->start));
    }
    if (l->end > 0)
        l->scale = fmin(fmax(l->scale, CHART_MIN / l->end), CHART_MAX / l->end);
    /* high lanes if there are few, low lanes if many, for a slide's proportions */
    l->height = chart_height(lanes) * fmax(l->left + l->end * l->scale, SVG_ROOM) / SVG_ROOM /
                (lanes->nlanes > 0 ? lanes->nlanes : 1);
    l->height = fmin(fmax(l->height, LANE_MIN), LANE_MAX);
}

static double lane_y(const struct layout *l, uint32_t lane)
{
    size_t above = 0;

    while (above < l->lanes->nheads && l->lanes->heads[above].lane <= lane)
        above++;
    return lane * l->height + (double)above * HEAD_HEIGHT;
}

static double bar_height(const struct layout *l)
{
    return l->height * (1 - LANE_GAP);
}

/* ---- bars ---- */

/* How much lighter than the number's colour a tone is, its pattern, and that with an edge for
 * the legend. */
static const struct {
    double part;
    const char *style, *key_styles;
} tones[] = {[LANES_LIGHT] = {0.6, "", "e"},
             [LANES_MIDDLE] = {0.3, "z", "ze"},
             [LANES_DARK] = {0, "x", "xe"},
             [LANES_HATCHED] = {0.3, "y", "ye"}};

/* Draw a bar's box, in the colour of its number and the tone of its kind. */
static void add_box(struct text *out, double x, double y, double width, double height,
                    uint32_t number, enum lanes_tone tone)
{
    struct colour c = colour_lighter(colour_of((int32_t)number), tones[tone].part);

    text_addf(out,
              "<rect class=\"s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "fill=\"#%02x%02x%02x\"/>\n",
              x, y, width, height, c.red, c.green, c.blue);
}

static double width_of(const struct layout *l, const struct lanes_bar *bar)
{
    return (bar->end - bar->start) * l->scale;
}

static double height_of(const struct layout *l, const struct lanes_bar *bar)
{
    return bar_height(l) / (bar->part == LANES_WHOLE ? 1 : 2);
}

/* Whether a bar has room for its label, which is filled in; otherwise it has its tone's pattern. */
static bool has_room(const struct layout *l, const struct lanes_bar *bar, struct label *label)
{
    label_of(label, l->lanes, bar);
    return label->width <= width_of(l, bar) + 0.5 && height_of(l, bar) >= LABEL_HEIGHT;
}

static void add_bar(struct text *out, const struct layout *l, const struct lanes_bar *bar)
{
    double x = l->left + bar->start * l->scale, y = lane_y(l, bar->lane);
    double width = width_of(l, bar), height = height_of(l, bar);
    struct label label;

    if (bar->part == LANES_LOWER)
        y += height;
    add_box(out, x, y, width, height, bar->number, bar->tone);
    if (!has_room(l, bar, &label)) {
        if (*tones[bar->tone].style)
            svg_styled_box(out, x, y, width, height, tones[bar->tone].style);
        return;
    }
    y += height / 2 + 4 - (label.below ? (LABEL_HEIGHT + 2) / 2.0 : 0);
    svg_text(out, x + width / 2, y, "c", "middle", label.text);
    if (label.below)
        svg_text(out, x + width / 2, y + LABEL_HEIGHT + 2, "c", "middle", label.below);
}

/* ---- the page ---- */

/* Draw lanes and their names; of lanes lower than a line of text only some are named. */
static void add_lanes(struct text *out, const struct layout *l)
{
    uint32_t every = (uint32_t)ceil((LABEL_HEIGHT + 1) / l->height);
    double end = l->end;

    for (uint32_t i = 0; i < l->lanes->nlanes; i++) {
        const char *head = lanes_head_of(l->lanes, i);

        if (head) {
            end = lanes_end_beside(l->lanes, i);
            svg_text(out, 0, lane_y(l, i) - (HEAD_HEIGHT - LABEL_HEIGHT) / 2.0, "h", "start", head);
        }
        if (i % every == 0)
            svg_text(out, l->left - 8, lane_y(l, i) + bar_height(l) / 2 + 4, "l", "end",
                     l->lanes->names[i]);
        svg_styled_box(out, l->left, lane_y(l, i), end * l->scale, bar_height(l), "i");
    }
    for (size_t i = 0; i < l->lanes->nbars; i++)
        add_bar(out, l, &l->lanes->bars[i]);
}

static void add_axis(struct text *out, const struct layout *l, double y)
{
    double tick = lanes_tick(l->end, l->end * l->scale / TICK_WIDTH);
    struct text time = TEXT_INIT;

    for (double k = 0; k * tick <= l->end * (1 + 1e-9); k++) {
        double x = l->left + k * tick * l->scale;

        text_clear(&time);
        text_addf(&time, "%.6g", k * tick);
        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fv5\"/>\n", x, y);
        svg_text(out, x, y + SVG_LINE_HEIGHT, "l", "middle", text_get(&time));
    }
    text_drop(out, &time);
}

/* Whether the pattern of a mark's tone is anywhere in the picture. */
static bool is_patterned(const struct layout *l, char mark)
{
    struct label label;

    for (size_t i = 0; i < l->lanes->nbars; i++) {
        const struct lanes_bar *bar = &l->lanes->bars[i];

        if (bar->mark == mark && bar->end > bar->start && !has_room(l, bar, &label))
            return true;
    }
    return false;
}

/* Draw the legend of tones and marks, in a neutral colour; returns where it ends.  A pattern that
 * no bar has is left out: it would be looked for in vain. */
static double add_keys(struct text *out, const struct layout *l, double y, double width)
{
    const struct colour grey = {150, 150, 150};
    struct svg_key keys[KEYS_MAX + 1];
    struct text names[KEYS_MAX];
    size_t n = l->lanes->nkeys < KEYS_MAX ? l->lanes->nkeys : KEYS_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct lanes_key *key = &l->lanes->keys[i];

        text_init(&names[i]);
        text_addf(&names[i], "%c %s", key->mark, key->desc);
        keys[i] = (struct svg_key){
            .name = text_get(&names[i]),
            .colour = colour_lighter(grey, tones[key->tone].part),
            .styles = is_patterned(l, key->mark) ? tones[key->tone].key_styles : "e"};
    }
    keys[n] = (struct svg_key){.name = "idle", .styles = "i"};
    y = svg_keys(out, l->left, y, width - l->left, keys, n + 1);
    for (size_t i = 0; i < n; i++) {
        text_drop(out, &names[i]);
    }
    return y;
}

void lanes_draw_svg(const struct lanes *lanes, struct text *out)
{
    const struct svg_page page = {lanes->title, lanes->notes, lanes->nnotes};
    struct text body = TEXT_INIT;
    struct layout l;
    double width, y;

    lay_out(&l, lanes);
    y = lane_y(&l, lanes->nlanes);
    width = l.left + l.end * l.scale;
    add_lanes(&body, &l);
    add_axis(&body, &l, y);
    y = add_keys(&body, &l, y + 1.8 * SVG_LINE_HEIGHT, width);
    svg_page(out, &page, &body, width, y);
    text_fini(&body);
}
