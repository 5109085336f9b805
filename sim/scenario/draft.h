/* scenario/draft.h - the text of a scenario, as it is written: options by their paths, in the order
 * of the text, in which the options of a section follow each other.
 *
 * A section is in braces on one line, or a block with a line for each option.  Whatever is no
 * option, such as a list of rules or a comment, goes to the text between sections.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_DRAFT_H
#define SCENARIO_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum draft_style {
    DRAFT_BRACES,
    DRAFT_BLOCK,
    DRAFT_FIT /* in braces if the values are on one line each, and together on one screen's */
};

struct draft {
    struct text *out;
    enum draft_style style;  /* of sections, but for: */
    bool block;              /* the open section, or the next one, is a block */
    const char *indent;      /* of all lines; NULL: none */
    const char *section;     /* start of the open section's name; NULL: none, ... */
    size_t length;           /* ... as many; 0: an option of no section */
    struct text line, lines; /* options of the section: inside braces, and one per line */
    const char *remark;      /* for the end of the line; NULL: none */
};

#define DRAFT_OF(text)                       \
    {                                        \
        .out = (text), .style = DRAFT_BRACES \
    }

/* End the section.  The caller may add whole lines to the text that is returned.  Every draft ends
 * with this call, which frees what it has. */
struct text *draft_text(struct draft *draft);

/* Set an option, as "batch.size".  Paths and remarks must outlive the section. */
void draft_set(struct draft *draft, const char *path, const char *fmt, ...) SHD_PRINTF(3, 4);
void draft_set_string(struct draft *draft, const char *path, const char *value);
void draft_set_count(struct draft *draft, const char *path, int64_t value);
void draft_set_bool(struct draft *draft, const char *path, bool value);

/* With the fewest digits that read back exactly. */
void draft_set_number(struct draft *draft, const char *path, double value);

/* Set an option of a section (NULL: of none) to a text that may be a block, which begins with a new
 * line. */
void draft_put(struct draft *draft, const char *section, const char *key, const char *value);

/* Write the next section as a block. */
void draft_block(struct draft *draft);

/* Add a comment to the line that the last option is in: " # of an expert". */
void draft_remark(struct draft *draft, const char *remark);

#endif /* SCENARIO_DRAFT_H */
