/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for the numbers of the interface, and what list, info and stats print alike. */
#ifndef ACCEL_NAMES_H
#define ACCEL_NAMES_H

#include "tool.h"

const char *names_type(unsigned int type);
/* 0, or TOOL_USAGE after a message. */
int names_type_of(struct tool *t, const char *text, uint16_t *type);
const char *names_state(unsigned int state);
/* Name of feature bit i, or NULL. */
const char *names_feature(unsigned int i);
/* device, name, type, transport, engine, state. */
void names_identity(struct json_object *o, const struct accel_dev_info *info);
/* address, subsystem, serial, model, firmware, paths, kato_ms, ctrl_loss_tmo_s, reconnect_delay_s, numa_node. */
void names_path(struct json_object *o, struct accel_dev *dev);
/* The columns of those for text: accel list -v, and accel info as titles. */
extern const struct out_column names_path_columns[], names_path_fields[];
/* bytes as 8-4-4-4-12. buf: 37 bytes. */
char *names_uuid(char *buf, const uint8_t uuid[16]);
/* "gzip", or a number if there is no name. */
void names_add_op(struct json_object *o, uint16_t op, uint16_t alg);

#endif
