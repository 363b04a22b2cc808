/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of sysfs. */
#ifndef ACCEL_SYS_ATTR_H
#define ACCEL_SYS_ATTR_H

#include <stdbool.h>
#include <stddef.h>

/* The text of dir/name without blanks and line ends behind it; false: it is not there or empty, and text is "". room > 0. */
bool attr_text(const char *dir, const char *name, char *text, size_t room);

#endif
