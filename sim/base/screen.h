/* base/screen.h - where text for people ends up: how wide it is, and whether it has colours.
 *
 * Colours are for terminals; NO_COLOR (https://no-color.org) or TERM=dumb turns them off, and what
 * the user asks for by an option goes before both.
 *
 * Thread class: screens are immutable once initialised; screen_behind_launcher() comes before any.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SCREEN_H
#define BASE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_COLUMNS 80 /* of what is no terminal, unless COLUMNS says otherwise */

enum screen_colour { SCREEN_AUTO, SCREEN_ALWAYS, SCREEN_NEVER };

struct screen {
    size_t columns;
    bool colour;
};

/* "auto", "always", "never"; false for other words. */
bool screen_parse_colour(enum screen_colour *out, const char *word);

/* What looks like a terminal is a launcher's, which hands all on to its own output, be that a file:
 * from here on there are no colours unless they are asked for. */
void screen_behind_launcher(void);

void screen_init(struct screen *out, FILE *file, enum screen_colour colour);

#endif /* BASE_SCREEN_H */
