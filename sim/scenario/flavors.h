/* flavors.h - torchtitan's names for models with published sizes.
 *
 * Thread class: immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_FLAVORS_H
#define SCENARIO_FLAVORS_H

struct family_flavor {
    const char *size; /* model.size of a scenario */
    const char *model, *flavor;
};

extern const struct family_flavor family_flavors[]; /* ended by a row of NULLs */

#endif /* SCENARIO_FLAVORS_H */
