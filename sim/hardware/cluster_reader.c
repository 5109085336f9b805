/* cluster_reader.c - reading a cluster's file into a struct: keys come from keys.c, and all faults
 * are reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_kind.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/supposed.h"
#include "base/text.h"
#include "base/yaml.h"
#include "hardware/constant.h"
#include "hardware/kernel_model_reader.h"
#include "hardware/key_values.h"
#include "hardware/software.h"
#include "hardware/traits.h"

struct section {
    const char *name; /* in messages: "kernels" */
    const struct key *keys;
};

/* ---- sections ---- */

static void tell_unknown(const struct section *section, const struct yaml_node *key,
                         struct diag *diag)
{
    struct nearest nearest;

    nearest_init(&nearest, key->text);
    for (const struct key *k = section->keys; k->name; k++)
        nearest_add(&nearest, k->name);
    diag_error(diag, key->place, "%s has no key %s%s", section->name, yaml_describe(key).text,
               nearest_hint(&nearest).text);
}

/* Read a section's keys into `base`, except those with separate code. */
static bool read_section(void *base, const struct section *section, const struct yaml_node *map,
                         struct diag *diag)
{
    if (map->kind != YAML_MAP) {
        diag_error(diag, map->place, "%s is %s; expected a map", section->name,
                   yaml_describe(map).text);
        return false;
    }
    for (size_t i = 0; i < map->nitems && !diag_is_full(diag); i++) {
        const struct key *key = key_find(section->keys, map->keys[i]->text);
        const struct yaml_node *value = map->items[i];

        if (!key)
            tell_unknown(section, map->keys[i], diag);
        else if (!key_store(base, key, value, diag) && key->type != KEY_OTHER)
            diag_error(diag, value->place, "%s of %s is %s; expected %s", key->name, section->name,
                       yaml_describe(value).text, key_expected(key->type));
    }
    for (const struct key *key = section->keys; key->name; key++)
        if (key->required && !yaml_find(map, key->name))
            diag_error(diag, map->place, "%s has no '%s': %s", section->name, key->name, key->help);
    return true;
}

static const struct yaml_node *find_list(const struct yaml_node *root, const char *key,
                                         size_t least, size_t most, struct diag *diag)
{
    const struct yaml_node *list = yaml_find(root, key);

    if (!list || (list->kind == YAML_LIST && list->nitems >= least && list->nitems <= most))
        return list;
    if (list->kind == YAML_LIST)
        diag_error(diag, list->place, "%s has %zu entries; expected %zu to %zu", key, list->nitems,
                   least, most);
    else
        diag_error(diag, list->place, "%s is %s; expected a list", key, yaml_describe(list).text);
    return NULL;
}

/* Read an entry of a map from types to rates; false: it only names a source. */
static bool read_flops(double *flops_per_s, const struct yaml_node *key,
                       const struct yaml_node *value, struct diag *diag)
{
    enum shd_dtype dtype;

    if (!strcmp(key->text, "source"))
        return false;
    if (shd_dtype_parse(&dtype, key->text, NULL) != SHD_OK)
        diag_error(diag, key->place, "%s is not a valid type; expected for example bfloat16",
                   yaml_describe(key).text);
    else if (value->kind != YAML_TEXT ||
             !key_read_quantity(&flops_per_s[dtype], KEY_FLOPS, value->text))
        diag_error(diag, value->place, "rate of %s is %s; expected %s", key->text,
                   yaml_describe(value).text, key_expected(KEY_FLOPS));
    return true;
}

static void read_rates(double *flops_per_s, const char *name, const struct yaml_node *root,
                       struct diag *diag)
{
    const struct yaml_node *rates = yaml_find(root, name);
    size_t n = 0;

    for (size_t i = 0; rates && rates->kind == YAML_MAP && i < rates->nitems; i++)
        n += read_flops(flops_per_s, rates->keys[i], rates->items[i], diag);
    if (rates && n == 0)
        diag_error(diag, rates->place, "%s is %s; expected a map of types to rates, at least one",
                   name, yaml_describe(rates).text);
}

/* ---- tiers ---- */

static void read_torus(struct hardware_tier *tier, const struct yaml_node *map, struct diag *diag)
{
    const struct yaml_node *torus = find_list(map, "torus", 1, HARDWARE_TORUS_MAX, diag);

    if (!torus)
        return;
    tier->torus = true;
    tier->ndims = (int)torus->nitems;
    tier->devices = 1;
    for (size_t d = 0; d < torus->nitems; d++) {
        int64_t length;

        if (yaml_read_int(torus->items[d], &length) && length >= 1 && length <= 4096) {
            tier->dims[d] = length;
            tier->wrap[d] = tier->wrap_multiple > 0 && length % tier->wrap_multiple == 0;
            tier->devices *= length;
        } else {
            diag_error(diag, torus->items[d]->place,
                       "length of a torus is %s; expected a whole number from 1 to 4096",
                       yaml_describe(torus->items[d]).text);
        }
    }
}

/* A domain must consist of whole domains of the next inner tier, and only the last tier may
 * comprise all devices. */
static void check_domain(const struct hardware *out, const struct yaml_node *map, bool last,
                         struct diag *diag)
{
    const struct hardware_tier *tier = &out->tiers[out->ntiers];
    const struct yaml_node *devices = yaml_find(map, "devices"), *torus = yaml_find(map, "torus");
    int64_t inner = out->ntiers > 0 ? tier[-1].devices : 1;
    struct place place = devices ? devices->place : map->place;

    if (torus && devices)
        diag_error(diag, devices->place,
                   "devices of a torus is the product of its axes; expected one of both keys");
    if (torus && out->ntiers > 0)
        diag_error(diag, torus->place, "tier %d is a torus; expected only the first to be one",
                   out->ntiers + 1);
    if (tier->devices == 0 && !last)
        diag_error(diag, place,
                   "devices of %s is 0 (all devices); expected 0 in the last tier only",
                   tier->name ? tier->name : "a tier");
    else if (tier->devices > 0 && inner > 0 && tier->devices % inner)
        diag_error(diag, place,
                   "devices is %" PRId64 "; expected a multiple of the %" PRId64
                   " of the tier before",
                   tier->devices, inner);
    if (last && tier->devices > 0 && !torus)
        diag_error(diag, place, "devices of the last tier is %" PRId64 "; expected 0 (all devices)",
                   tier->devices);
}

static void read_tiers(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *list = find_list(root, "tiers", 1, HARDWARE_TIERS_MAX, diag);
    const struct section section = {"a tier", tier_keys};

    for (size_t i = 0; list && i < list->nitems; i++) {
        struct hardware_tier *tier = &out->tiers[i];

        tier->efficiency = 1;
        tier->oversubscription = 1;
        out->ntiers = (int)i;
        if (read_section(tier, &section, list->items[i], diag)) {
            read_torus(tier, list->items[i], diag);
            check_domain(out, list->items[i], i + 1 == list->nitems, diag);
        }
        out->ntiers = (int)i + 1;
    }
}

/* ---- the rest ---- */

static void read_trait(uint32_t *traits, const struct yaml_node *word, struct diag *diag)
{
    struct nearest nearest;

    nearest_init(&nearest, word->kind == YAML_TEXT ? word->text : "");
    for (int t = 0; t < TRAIT_NFILE; t++) {
        if (word->kind == YAML_TEXT && !strcmp(word->text, hardware_traits[t].word)) {
            *traits |= UINT32_C(1) << t;
            return;
        }
        nearest_add(&nearest, hardware_traits[t].word);
    }
    diag_error(diag, word->place, "%s is not a feature of steps%s", yaml_describe(word).text,
               nearest_hint(&nearest).text);
}

/* Read what a validation's rows had, and the claims of those that are alike. */
static void read_rows(struct hardware_validation *out, const struct yaml_node *map,
                      struct diag *diag)
{
    const struct section section = {"near", near_keys};
    const struct yaml_node *with, *near;

    if (map->kind != YAML_MAP)
        return;
    with = find_list(map, "with", 0, TRAIT_NFILE, diag);
    near = find_list(map, "near", 0, HARDWARE_NEAR_MAX, diag);
    for (size_t i = 0; with && i < with->nitems; i++)
        read_trait(&out->traits, with->items[i], diag);
    for (size_t i = 0; near && i < near->nitems; i++)
        (void)read_section(&out->near[out->nnear++], &section, near->items[i], diag);
}

static void read_validation(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *list = find_list(root, "validation", 0, HARDWARE_VALIDATIONS_MAX, diag);
    const struct section section = {"a validation", validation_keys};

    for (size_t i = 0; list && i < list->nitems; i++) {
        out->nvalidations = (int)i + 1;
        (void)read_section(&out->validations[i], &section, list->items[i], diag);
        read_rows(&out->validations[i], list->items[i], diag);
    }
}

static void read_fitted(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    struct hardware_constant constant;
    const struct yaml_node *list = find_list(root, "fitted", 0, 100, diag);
    size_t n = 0;

    out->fitted = calloc((list ? list->nitems : 0) + 1, sizeof *out->fitted);
    for (size_t i = 0; list && out->fitted && i < list->nitems; i++) {
        const struct yaml_node *path = list->items[i];

        if (path->kind != YAML_TEXT || !hardware_constant_find(&constant, out, path->text)) {
            diag_error(
                diag, path->place,
                "fitted is %s; expected the path of a constant (kernels.launch, tiers.0.step)",
                yaml_describe(path).text);
            continue;
        }
        out->fitted[n] = strdup(path->text);
        if (out->fitted[n])
            n++; /* the list ends at the first NULL */
        else
            diag_no_memory(diag);
    }
    if (!out->fitted)
        diag_no_memory(diag);
}

static void read_version(const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *version = yaml_find(root, "version");
    int64_t number;

    if (version && (!yaml_read_int(version, &number) || number != 1))
        diag_error(diag, version->place, "version is %s; expected 1", yaml_describe(version).text);
}

static void read_part(void *base, const struct yaml_node *root, const struct section *section,
                      struct diag *diag)
{
    const struct yaml_node *map = yaml_find(root, section->name);

    if (map)
        (void)read_section(base, section, map, diag);
}

static void read_host(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *map = yaml_find(root, "host"), *devices;
    size_t before = diag->nerrors;

    out->host.memory_efficiency = 1;
    read_part(&out->host, root, &(struct section){"host", host_keys}, diag);
    devices = map && map->kind == YAML_MAP ? yaml_find(map, "devices") : NULL;
    if (devices && devices->kind == YAML_TEXT && out->host.devices == 0 && diag->nerrors == before)
        diag_error(diag, devices->place,
                   "devices of host is 0; expected those of a node, at least 1");
}

/* Set the software to that of a name. */
static void read_software_name(struct hardware *out, const struct yaml_node *name,
                               struct diag *diag)
{
    const struct hardware_software *found = NULL;
    struct nearest nearest;
    struct text names = TEXT_INIT;

    nearest_init(&nearest, name->kind == YAML_TEXT ? name->text : "");
    if (name->kind == YAML_TEXT)
        found = software_find(name->text, &nearest);
    if (found) {
        software_run(out, found);
        return;
    }
    for (int i = 0; software_name(i); i++)
        text_addf(&names, "%s%s", i > 0 ? ", " : "", software_name(i));
    diag_error(diag, name->place, "software is %s; expected one of %s, or a map%s",
               yaml_describe(name).text, text_get(&names), nearest_hint(&nearest).text);
    text_fini(&names);
}

/* `software: megatron`, or a map of software keys, optionally with the name of the software that
 * sets the defaults. */
static void read_software(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *node = yaml_find(root, "software"), *name = node;

    if (node && node->kind == YAML_MAP)
        name = yaml_find(node, "name");
    if (name)
        read_software_name(out, name, diag);
    if (node && node->kind == YAML_MAP)
        read_part(&out->software, root, &(struct section){"software", software_keys}, diag);
}

static void read_all(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct section whole = {"the file", hardware_keys};

    if (!read_section(out, &whole, root, diag))
        return;
    read_version(root, diag);
    read_rates(out->flops_per_s, "rates", root, diag);
    read_rates(out->elementwise_per_s, "elementwise", root, diag);
    read_part(out, root, &(struct section){"memory", memory_keys}, diag);
    read_part(&out->kernels, root, &(struct section){"kernels", kernel_keys}, diag);
    read_part(&out->fsdp, root, &(struct section){"fsdp", fsdp_keys}, diag);
    read_host(out, root, diag);
    read_software(out, root, diag);
    read_part(&out->serving, root, &(struct section){"serving", serving_keys}, diag);
    read_part(&out->sustained, root, &(struct section){"sustained", sustained_keys}, diag);
    read_tiers(out, root, diag);
    read_validation(out, root, diag);
    read_fitted(out, root, diag);
    kernel_models_read(out, root, diag);
}

int hardware_parse(struct hardware **out, const char *file, const char *text, size_t length,
                   struct diag *diag)
{
    size_t before = diag->nerrors;
    struct hardware *hardware = NULL;
    struct yaml_doc *doc = NULL;
    int status = SHD_EINVAL;

    if (!file_kind_refuse(diag, file, text, length, FILE_CLUSTER))
        status = yaml_doc_parse(&doc, (struct place){file, 1, 1}, text, length, diag);
    if (status != SHD_OK)
        return status;
    hardware = calloc(1, sizeof *hardware);
    if (hardware) {
        hardware->place = strdup(file);
        hardware->text_hash = hash_bytes(HASH_BEGIN, text, length);
    }
    if (!hardware || !hardware->place)
        diag_no_memory(diag);
    else
        read_all(hardware, yaml_doc_root(doc), diag);
    yaml_doc_destroy(doc);
    status = diag_status(diag, before);
    if (status == SHD_OK)
        *out = hardware;
    else
        hardware_destroy(hardware);
    return status;
}

/* ---- overrides ---- */

/* Find the number with a path; a tier may be given by its name. */
static bool find_constant(struct hardware_constant *out, const struct hardware *h, const char *path)
{
    bool found = hardware_constant_find(out, h, path);

    for (int t = 0; t < h->ntiers && !found; t++) {
        size_t length = h->tiers[t].name ? strlen(h->tiers[t].name) : 0;
        struct text whole = TEXT_INIT;

        if (length == 0 || strncmp(path, h->tiers[t].name, length) != 0 || path[length] != '.')
            continue;
        text_addf(&whole, "tiers.%d%s", t, path + length);
        found = hardware_constant_find(out, h, text_get(&whole));
        text_fini(&whole);
    }
    return found;
}

/* Override what the software does; false: the path is not of software. */
static bool set_software(struct hardware *h, const char *path, const struct yaml_node *value,
                         struct diag *diag)
{
    static const char prefix[] = "software.";
    const struct key *key;

    if (strncmp(path, prefix, sizeof prefix - 1) != 0)
        return false;
    path += sizeof prefix - 1;
    if (!strcmp(path, "name")) {
        read_software_name(h, value, diag);
        return true;
    }
    key = key_find(software_keys, path);
    if (!key || key->type == KEY_OTHER)
        return false;
    if (!key_store(&h->software, key, value, diag))
        diag_error(diag, value->place, "hardware.software.%s is %s; expected %s", path,
                   yaml_describe(value).text, key_expected(key->type));
    return true;
}

static void set_one(struct hardware *h, char *text, struct place named_at, struct diag *diag)
{
    char *equals = strchr(text, '=');
    struct hardware_constant constant;
    struct yaml_node node = {.kind = YAML_TEXT, .place = named_at};

    if (equals)
        *equals = '\0';
    node.text = equals ? equals + 1 : text;
    if (set_software(h, text, &node, diag))
        return;
    if (!find_constant(&constant, h, text)) {
        diag_error(diag, named_at,
                   "%s has no number '%.60s'; expected hardware.SECTION.KEY as in 'shardsim show "
                   "hardware %s', such as hardware.tiers.0.rate or hardware.kernels.launch",
                   h->name, text, h->name);
        return;
    }
    if (!key_store(
            h,
            &(struct key){.name = constant.name, .type = constant.type, .offset = constant.offset},
            &node, diag))
        diag_error(diag, named_at, "hardware.%.60s is '%.60s'; expected %s", text, node.text,
                   key_expected(constant.type));
}

/* Append the overrides to the cluster's name, to show them in reports. */
static void rename_supposed(struct hardware *h, const char *suppositions, struct diag *diag)
{
    struct text name = TEXT_INIT;

    text_addf(&name, "%s" SUPPOSED_WITH "%s", h->name, suppositions);
    free(h->name);
    h->name = text_take(&name);
    if (!h->name)
        diag_no_memory(diag);
}

void hardware_set(struct hardware *h, const char *suppositions, struct place named_at,
                  struct diag *diag)
{
    size_t length;

    for (const char *next, *at = suppositions; *at; at = next) {
        char *text;

        next = supposed_next(at, &length);
        text = strndup(at, length);
        if (text)
            set_one(h, text, named_at, diag);
        else
            diag_no_memory(diag);
        free(text);
    }
    if (!*suppositions)
        return;
    h->nvalidations = 0;
    rename_supposed(h, suppositions, diag);
}
