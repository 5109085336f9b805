/* scenario/published_config.h - reading a config.json as a model of a published kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_PUBLISHED_CONFIG_H
#define SCENARIO_PUBLISHED_CONFIG_H

#include "scenario/value_reader.h"

/* Read the config that the scenario's `from` names.  False after an error, which is reported at its
 * place in the config, or at `from` if the file cannot be read. */
bool published_read_config(struct scenario_model *out, struct reader *r);

/* Read a config's text, for sequences of `seq` tokens; `name` is that of its places.  False after
 * an error, which is reported. */
bool published_parse_config(struct scenario_model *out, const char *name, const char *text,
                            size_t length, int64_t seq, struct diag *diag);

#endif /* SCENARIO_PUBLISHED_CONFIG_H */
