/* The mesh as a table: device ids by coordinates, coloured as in `show mesh`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/literal.h"
#include "draw/colour.h"
#include "draw/layouts.h"
#include "report/html.h"
#include "report/parts.h"

static void print_cell(const struct figure *f, const struct figure_cell *cell, struct text *out)
{
    const struct figure_part *part = &f->parts[cell->first];

    if (cell->nparts > 0 && part->colour != FIGURE_PLAIN) {
        struct colour c = colour_of(part->colour);

        text_addf(out, "<td style=\"background:#%02x%02x%02x\">", c.red, c.green, c.blue);
    } else {
        text_add(out, "<td>");
    }
    for (uint32_t p = 0; p < cell->nparts; p++)
        html_addf(out, "%s%s", p ? ", " : "", f->parts[cell->first + p].text);
    text_add(out, "</td>");
}

static void print_label(const char *scope, const char *label, struct text *out)
{
    text_addf(out, "<th scope=%s>", scope);
    literal_add_xml(out, label && label[0] ? label : "devices");
    text_add(out, "</th>");
}

static void print_grid(const struct figure *f, const struct figure_grid *g, struct text *out)
{
    bool has_rows = g->row_title && g->row_title[0];

    text_add(out, "<table class=mesh><caption>");
    literal_add_xml(out, g->title && g->title[0] ? g->title : f->title);
    text_add(out, "</caption>\n<thead><tr><th scope=col>");
    html_addf(out, "%s%s%s", has_rows ? g->row_title : "", has_rows ? " \\ " : "",
              g->column_title ? g->column_title : "");
    text_add(out, "</th>");
    for (uint32_t c = 0; c < g->ncolumns; c++)
        print_label("col", g->column_labels[c], out);
    text_add(out, "</tr></thead>\n<tbody>\n");
    for (uint32_t r = 0; r < g->nrows; r++) {
        text_add(out, "<tr>");
        print_label("row", g->row_labels[r], out);
        for (uint32_t c = 0; c < g->ncolumns; c++)
            print_cell(f, &g->cells[(size_t)r * g->ncolumns + c], out);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table>\n");
}

int mesh_print(const struct result *result, size_t id, const struct page_room *room,
               struct text *out, struct shd_error *err)
{
    const struct shd_mesh *mesh = result->record->program->asked_mesh;
    struct figure f;
    char axes[256];
    int status;

    shd_mesh_print(mesh, axes, sizeof axes);
    text_add(out, "<p>");
    html_addf(out, "%s: %d device%s", axes, (int)shd_mesh_size(mesh),
              shd_mesh_size(mesh) == 1 ? "" : "s");
    text_add(out,
             shd_mesh_size(mesh) > room->mesh_devices ? ", too many to draw.</p>\n" : ".</p>\n");
    if (shd_mesh_size(mesh) > room->mesh_devices)
        return SHD_OK;
    figure_init(&f);
    status = layouts_mesh(&f, mesh, err);
    if (status == SHD_OK)
        text_addf(out,
                  "<div class=wide role=region aria-label=\"Mesh of strategy %zu\" "
                  "tabindex=0>\n",
                  id);
    for (size_t g = 0; status == SHD_OK && g < f.ngrids; g++)
        print_grid(&f, &f.grids[g], out);
    if (status == SHD_OK)
        text_add(out, "</div>\n");
    for (size_t i = 0; status == SHD_OK && i < f.nnotes; i++) {
        text_add(out, "<p>");
        literal_add_xml(out, f.notes[i]);
        text_add(out, "</p>\n");
    }
    out->failed |= f.failed;
    figure_fini(&f);
    return status;
}
