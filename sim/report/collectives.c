/* The page's table of a step's collectives, with the reason for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/literal.h"
#include "report/html.h"
#include "report/parts.h"
#include "report/traffic.h"

static void add_word(struct text *out, const char *word)
{
    text_add(out, "<td>");
    literal_add_xml(out, word);
    text_add(out, "</td>");
}

static void add_bytes(struct text *out, uint128 bytes)
{
    text_addf(out, "<td class=n data-v=%s>", UINT128_DIGITS(bytes));
    html_add_bytes(out, bytes);
    text_add(out, "</td>");
}

static const char *algorithm_of(const struct traffic_row *row)
{
    if (row->algorithm)
        return row->algorithm;
    return !strcmp(row->op, coll_kind_name(COLL_SEND_RECV)) ? "one message" : "box by box";
}

static void print_row(const struct traffic_row *row, size_t number, struct text *out)
{
    text_addf(out, "<tr><th scope=row data-v=%zu>%zu</th>", number, number);
    add_word(out, program_phase_name(row->phase));
    add_word(out, row->op);
    add_word(out, row->axes);
    text_addf(out,
              "<td class=n data-v=%" PRIu32 ">%" PRIu32 "\xc3\x97%" PRIu32
              "</td><td class=n data-v=%" PRIu64 ">%" PRIu64 "</td>",
              row->group_size, row->groups, row->group_size, row->count, row->count);
    add_bytes(out, row->operand_bytes);
    add_bytes(out, row->received_bytes);
    add_word(out, algorithm_of(row));
    add_word(out, row->where);
    add_word(out, row->why);
    text_add(out, "</tr>\n");
}

static void print_rows(const struct traffic *t, size_t id, struct text *out)
{
    static const struct {
        const char *name;
        bool number;
    } heads[] = {{"#", true},          {"phase", false},   {"collective", false},
                 {"axes", false},      {"groups", true},   {"count", true},
                 {"operand", true},    {"received", true}, {"algorithm", false},
                 {"asked for", false}, {"why", false}};

    text_addf(
        out,
        "<p class=search hidden><label>Search collectives <input type=search "
        "data-for=c%zu></label> <output></output></p>\n"
        "<div class=wide role=region aria-label=\"Collectives of strategy %zu\" tabindex=0>\n"
        "<table class=\"list sorts\" id=c%zu><caption>Operand: bytes on one device; received: "
        "by all devices, count times; groups: how many of how many devices; those of equal "
        "layers are one row.</caption>\n<thead><tr>",
        id, id, id);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        text_addf(out, "<th scope=col%s><button type=button>%s</button></th>",
                  heads[i].number ? " class=n" : "", heads[i].name);
    text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < t->nrows; i++)
        print_row(&t->rows[i], i + 1, out);
    text_add(out, "</tbody></table></div>\n");
}

int collectives_print(const struct result *result, size_t id, const struct page_room *room,
                      struct text *out, struct shd_error *err)
{
    struct traffic t;
    int status = traffic_init(&t, result->record, err);

    (void)room;
    if (status != SHD_OK)
        return status;
    if (t.nrows > 0)
        print_rows(&t, id, out);
    else
        text_add(out, "<p>No collectives.</p>\n");
    traffic_fini(&t);
    return SHD_OK;
}
