/* flavors.h - torchtitan's names for models with published sizes, and for their modules.
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
    const char *config; /* function of the model's module, since 2026, that configures a whole job
                           of this size or, if there is none or it needs other packages, of
                           another */
};

extern const struct family_flavor family_flavors[]; /* ended by a row of NULLs */

struct family_module {
    const char *module;  /* the module's name in options: "attention.wq" */
    const char *pattern; /* found in the names of the module's matmuls: "attn/q$" */
};

/* Of the modules with the same products, the first is the present name. */
extern const struct family_module family_modules[]; /* ended by a row of NULLs */

#endif /* SCENARIO_FLAVORS_H */
