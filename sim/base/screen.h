/* base/screen.h - width and colours of the place that text for people is printed to.
 *
 * Only terminals get colours; NO_COLOR (https://no-color.org) or TERM=dumb turns them off, and a
 * command-line option overrides both.
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

#define SCREEN_COLUMNS 80 /* without a terminal, unless COLUMNS is set */

enum screen_colour { SCREEN_AUTO, SCREEN_ALWAYS, SCREEN_NEVER };

struct screen {
    size_t columns;
    bool colour;
};

/* Parse "auto", "always" or "never"; false for other words. */
bool screen_parse_colour(enum screen_colour *out, const char *word);

/* Declare that output goes to a launcher: its pseudo-terminal may be forwarded to a file, so that
 * colours need an explicit request from here on. */
void screen_behind_launcher(void);

void screen_init(struct screen *out, FILE *file, enum screen_colour colour);

#endif /* BASE_SCREEN_H */
