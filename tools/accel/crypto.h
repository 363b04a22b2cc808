/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accel crypto: bindings of the kernel's crypto API to accelerators (nvme-accel-crypto), in configfs; what they have done, in
 * debugfs. What is done to configfs, and how it is undone, is accel target's (target.h).
 */
#ifndef ACCEL_CRYPTO_H
#define ACCEL_CRYPTO_H

#include "target.h"

#define CR_MODULE	"nvme-accel-crypto"
#define CR_TEST		"nvme-accel-crypto-test"
#define CR_NAME		49	/* of a binding, with the zero */

/* Documentation/ABI/testing/configfs-nvme-accel-crypto: what can be set, in the order in which it is written. */
extern const struct tg_attr cr_attrs[];

void cr_init(struct target *g, struct tool *t);
/* The binding that is meant by its name or by its device; false after a message. */
bool cr_find(struct target *g, const char *text, char name[CR_NAME]);
/* Whether the text is the device of this binding, by whatever path. */
bool cr_is_device(struct target *g, const char *name, const char *device);
/* Names of all bindings. */
void cr_names(struct target *g, struct tg_names *names);
/* A binding's attributes, as in configfs. */
struct json_object *cr_binding(struct target *g, const char *name);

/* Counters and latency of a binding (name NULL: of the module), or NULL and a negative errno. */
struct json_object *cr_stats(struct target *g, const char *name, int *err);
/* Prints such. */
void cr_stats_text(FILE *f, struct json_object *stats);
/* For accel stats: counters of the bindings of this device; NULL: there is none, or none that this user may see. */
struct json_object *cr_stats_of_device(struct tool *t, const char *device);

extern const struct verb verb_crypto_bind, verb_crypto_unbind, verb_crypto_list, verb_crypto_stats, verb_crypto_bench;

#endif
