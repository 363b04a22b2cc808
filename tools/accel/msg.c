/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: one line a failure, on stderr, that names what failed, why, and what to do. */
#include "tool.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* Names come from outside: what could move the cursor or start a new line is shown as \xNN. */
static void put_escaped(FILE *f, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\x%02x", *p);
		else
			fputc(*p, f);
	}
}

static void say(const struct tool *t, const char *subject, const char *tail, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	flockfile(stderr);
	fprintf(stderr, "%s: ", t->name);
	if (subject) {
		put_escaped(stderr, subject);
		/* "soft:" is a device's name and ends with one. */
		fputs(*subject && subject[strlen(subject) - 1] == ':' ? " " : ": ", stderr);
	}
	put_escaped(stderr, text);
	if (tail)
		fprintf(stderr, tail, t->name);
	fputc('\n', stderr);
	funlockfile(stderr);
}

int tool_error(const struct tool *t, const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(t, subject, NULL, fmt, ap);
	va_end(ap);
	return TOOL_FAILED;
}

int tool_warning(const struct tool *t, const char *subject, const char *fmt, ...)
{
	va_list ap;

	if (t->quiet)
		return TOOL_WARNING;
	va_start(ap, fmt);
	say(t, subject, NULL, fmt, ap);
	va_end(ap);
	return TOOL_WARNING;
}

int tool_usage(const struct tool *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(t, NULL, " (see %s --help)", fmt, ap);
	va_end(ap);
	return TOOL_USAGE;
}

static const char *file_advice(int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
		return " (check owner and mode of it and of its directory)";
	case ENOSPC:
	case EDQUOT:
		return " (free some space, or write elsewhere)";
	case EROFS:
		return " (write elsewhere)";
	case EMFILE:
	case ENFILE:
		return " (raise the limit of open files)";
	default:
		return "";
	}
}

int tool_file_error(const struct tool *t, const char *file, const char *doing, int err)
{
	if (err == EPIPE)
		return TOOL_FAILED;
	return tool_error(t, file, "%s%s%s%s", doing ? doing : "", doing ? ": " : "", strerror(err),
			  file_advice(err));
}

static const char *lib_advice(const char *subject, int err)
{
	/* No node, no group; and what there is has to be asked for. */
	bool remote = subject && !strncmp(subject, "tcp://", 6);

	if (remote && (err == -ENOENT || err == -ENODEV))
		return " (see what there is: accel list --discover HOST:PORT)";
	if (remote && (err == -EACCES || err == -EPERM))
		return " (the target decides who may)";
	switch (-err) {
	case EACCES:
	case EPERM:
		return " (join the group that owns the device, or ask its owner)";
	case EBUSY:
		return " (see who has it: accel lease list)";
	case ENOENT:
	case ENODEV:
		return " (see what there is: accel list)";
	case EPROTO:
		return " (the device does not follow the interface; see accel selftest --conformance)";
	default:
		return "";
	}
}

int tool_lib_error(const struct tool *t, const char *subject, int err)
{
	return tool_lib_failed(t, subject, err, 0);
}

int tool_lib_failed(const struct tool *t, const char *subject, int err, unsigned int said)
{
	/* The library's own jobs take memory by the piece; a lease is what a device gives. */
	const char *way = t->dev ? accel_dev_info(t->dev)->transport : "soft";

	if (!said && err == -ENOMEM && strcmp(way, "soft"))
		tool_error(t, subject, "the %s", strcmp(way, "pcie") ?
			   "target has no memory for slots (slot_memory in acceld.conf)" :
			   "device has no memory for slots now");
	else if (!said)
		tool_error(t, subject, "%s%s", accel_strerror(err), lib_advice(subject, err));
	switch (-err) {
	case ENODEV:
	case ENOENT:
	case EACCES:
	case ENXIO:
	case EPROTO:
	case ENOTBLK:
	case ENOTTY:
	case ENOTCONN:
	case ECONNREFUSED:
		return TOOL_NODEV;
	case EBUSY:
		return TOOL_BUSY;
	default:
		return TOOL_FAILED;
	}
}

int tool_job_error(const struct tool *t, const char *subject, const struct accel_result *result)
{
	if (result->os_error)
		tool_error(t, subject, "%s (%s)", accel_status_str(result->status),
			   strerror(result->os_error));
	else
		tool_error(t, subject, "%s", accel_status_str(result->status));
	return result->status == ACCEL_ST_BUSY || result->status == ACCEL_ST_NO_RESOURCES ? TOOL_BUSY
											  : TOOL_FAILED;
}
