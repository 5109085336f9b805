/* banned.h - C library calls that this project does without; force-included in debug builds.
 *
 * The headers that declare them come first: after the pragma their names cannot be written at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_BANNED_H
#define SHD_BANNED_H

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No bounds, hidden state, or errors that cannot be told from results. */
#pragma GCC poison sprintf vsprintf strcpy strcat strtok gets atoi localtime gmtime rand srand

#endif /* SHD_BANNED_H */
