/* picture.h - picture files: SVG as drawn, PNG converted by an installed program.
 *
 * Thread class: pure functions of the file system; a PNG runs another program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_PICTURE_H
#define COMMAND_PICTURE_H

#include <shd/error.h>

#include <stdbool.h>

#include "base/text.h"

/* File name endings of pictures, for messages. */
#define PICTURE_NAMES ".svg or .png"

/* Whether a file's name has the ending of a picture. */
bool picture_is_name(const char *path);

/* Write a picture, an SVG document, to a file: as it is, or if the name ends in .png as drawn by
 * the first of rsvg-convert, inkscape, ImageMagick and Chromium that is found, twice as large in
 * pixels.  The file is written whole or not at all.  SHD_ENOMEM (also if the text failed),
 * SHD_ESYSTEM (cannot be written; no such program, or all installed ones failed; stopped). */
SHD_MUST_CHECK int picture_write(const char *path, const struct text *svg, struct shd_error *err);

/* Write a picture and free its text; an error is printed.  Returns the exit status. */
int picture_put(const char *path, struct text *svg);

#endif /* COMMAND_PICTURE_H */
