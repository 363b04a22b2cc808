/* SPDX-License-Identifier: BSD-2-Clause */
/* NoLoad cards in listings: another interface, which this command describes and does not use. */
#ifndef ACCEL_TOOL_NOLOAD_H
#define ACCEL_TOOL_NOLOAD_H

#include "tool.h"

/* Adds all cards to the array of accel list. 0, or an exit code after a message. */
int noload_list(struct tool *t, struct json_object *array);
/* Whether t->device is such a card; then accel info has shown it, and *rc is its exit code. */
bool noload_info(struct tool *t, int *rc);

#endif
