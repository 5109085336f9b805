/* import/tokenizers.h - how many tokens well-known tokenizers have, for jobs that name one and
 * leave the size of the vocabulary to it.
 *
 * Thread class: the tables are immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_TOKENIZERS_H
#define IMPORT_TOKENIZERS_H

#include <stdint.h>

/* The tokens of a tokenizer that Megatron-LM's --tokenizer-type names; 0: the type does not say.
 * `type` may be NULL. */
int64_t tokenizers_of_type(const char *type);

/* The tokens of a model's tokenizer, by the model's name ("Qwen/Qwen3-8B"): what comes before the
 * last '/' says nothing.  Of several names, with a space between two, all must agree; 0: none is
 * known, or they do not.  `names` may be NULL. */
int64_t tokenizers_of_models(const char *names);

#endif /* IMPORT_TOKENIZERS_H */
