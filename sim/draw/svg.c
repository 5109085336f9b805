/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "draw/svg.h"

#include <string.h>

void svg_begin(struct text *out, double width, double height)
{
    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
              "viewBox=\"0 0 %.0f %.0f\">\n"
              "<style>\n"
              ".t{font:600 15px sans-serif;fill:#1a1a1a}.h{font:600 12px sans-serif;fill:#1a1a1a}\n"
              ".l{font:12px monospace;fill:#666}.c{font:12px monospace;fill:#111}\n"
              ".n{font:12px sans-serif;fill:#444}.b{fill:none;stroke:#444;stroke-width:1}\n"
              "</style>\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
              width, height, width, height);
}

void svg_escape(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            text_add(out, "&amp;");
        else if (*s == '<')
            text_add(out, "&lt;");
        else if (*s == '>')
            text_add(out, "&gt;");
        else if ((unsigned char)*s >= 0x20)
            text_add_char(out, *s);
    }
}

void svg_text(struct text *out, double x, double y, const char *style, const char *anchor,
              const char *s)
{
    if (!*s)
        return;
    text_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", style, x, y,
              anchor);
    svg_escape(out, s);
    text_add(out, "</text>\n");
}

void svg_box(struct text *out, double x, double y, double width, double height, struct colour fill)
{
    text_addf(out,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "fill=\"#%02x%02x%02x\"/>\n",
              x, y, width, height, fill.red, fill.green, fill.blue);
}

void svg_widen(double *width, const char *sentence, double char_width)
{
    double need = (double)strlen(sentence) * char_width + 2 * SVG_MARGIN;

    *width = need > *width ? need : *width;
}
