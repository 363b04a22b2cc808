/* SPDX-License-Identifier: BSD-2-Clause */
/* Files through streams: read(2) into the stream's own memory, write(2) from it. */
#include "tool.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Waits for a job that gave neither output nor room, before the device is taken to be stuck. */
#define MAX_TRIES 1000

/* Why a stream call failed, in the stream's words if it has any. */
static int stream_error(struct tool *t, struct accel_stream *stream, const char *subject, int rc)
{
	struct accel_stream_info info;

	if (rc == -ENODEV || rc == -ENOTCONN) {
		tool_error(t, accel_dev_info(t->dev)->path, "connection lost, and not back in time; %s is left as it "
			   "was (start acceld there, or use --software)", subject);
		return TOOL_NODEV;
	}
	if (rc == -EBUSY || rc == -ENOTSUP)
		return tool_lib_error(t, subject, rc);
	if (!accel_stream_info(stream, &info) && info.error && *info.error)
		return tool_error(t, subject, "%s", info.error);
	return tool_error(t, subject, "%s", accel_strerror(rc));
}

/* Writes what is ready; with wait, a piece if any is to come. 1: wrote, 0: nothing, < 0: failed. */
static int take(struct tool *t, struct accel_stream *stream, const char *subject, struct file_out *out,
		int wait, int *rc)
{
	const void *piece;
	ssize_t n = accel_stream_peek(stream, &piece, wait);

	if (n < 0) {
		*rc = stream_error(t, stream, subject, (int)n);
		return -1;
	}
	if (!n)
		return 0;
	if (out) {
		*rc = file_write(t, out, piece, (size_t)n);
		if (*rc)
			return -1;
	}
	accel_stream_consume(stream, (size_t)n);
	return 1;
}

/* What was right before a fault still goes out: users of -c and of pipes expect it, as from gzip. */
static void salvage(struct accel_stream *stream, struct file_out *out)
{
	const void *piece;
	ssize_t n;

	while (out && out->direct && (n = accel_stream_peek(stream, &piece, 1)) > 0) {
		/* An error of the output is the lesser news now. */
		if (write(out->fd, piece, (size_t)n) != n)
			return;
		accel_stream_consume(stream, (size_t)n);
	}
}

/* Fills one room of the stream; 1: there may be more, 0: the end of the input, < 0: failed. */
static int give(struct tool *t, struct accel_stream *stream, struct file_in *in, struct file_out *out,
		int *rc)
{
	void *room;
	ssize_t size = accel_stream_room(stream, &room), got;
	int err;

	/* Output must go, or a job must end, before there is room; jobs of sums end without output. */
	for (int tries = 0; !size && tries < MAX_TRIES; tries++) {
		int n = take(t, stream, in->name, out, 1, rc);

		if (n)
			return n;
		size = accel_stream_room(stream, &room);
	}
	if (size <= 0) {
		*rc = size ? stream_error(t, stream, in->name, (int)size) :
			     tool_error(t, in->name, "the device takes no input and gives no output");
		return -1;
	}
	got = file_read(t, in, room, (size_t)size);
	if (got < 0) {
		*rc = TOOL_FAILED;
		return -1;
	}
	err = got ? accel_stream_commit(stream, (size_t)got) : 0;
	if (err < 0) {
		*rc = stream_error(t, stream, in->name, err);
		salvage(stream, out);
		return -1;
	}
	return got == size;
}

int pump(struct tool *t, struct accel_stream *stream, struct file_in *in, struct file_out *out,
	 struct progress *progress)
{
	uint64_t done = 0;
	int more = 1, n, rc = 0;

	while (more > 0) {
		struct accel_stream_info info;

		more = give(t, stream, in, out, &rc);
		if (more < 0)
			return rc;
		while ((n = take(t, stream, in->name, out, 0, &rc)) > 0)
			;
		if (n < 0)
			return rc;
		if (progress && progress->on && !accel_stream_info(stream, &info))
			done = info.in_bytes;
		progress_update(progress, done);
	}
	n = accel_stream_finish(stream);
	if (n < 0) {
		rc = stream_error(t, stream, in->name, n);
		salvage(stream, out);
		return rc;
	}
	while ((n = take(t, stream, in->name, out, 1, &rc)) > 0)
		;
	return n < 0 ? rc : 0;
}

const char *pump_executor(const struct accel_stream_info *info)
{
	return info->cpu_bytes > info->in_bytes / 2 ? "cpu" : accel_executor_str(info->executor);
}

const char *pump_who(const struct tool *t, const struct accel_stream_info *info, const char *what, char *buf,
		     size_t nbytes)
{
	unsigned long long cpu = info->cpu_bytes, all = info->in_bytes;
	char label[320];

	tool_dev_label(t, label, sizeof(label));
	/* What runs on the CPU without being a job was none of a size that the device takes. */
	if (!info->cpu_bytes)
		snprintf(buf, nbytes, "%s, %s", label, accel_executor_str(info->executor));
	else if (info->cpu_jobs)
		snprintf(buf, nbytes, "the CPU of this process for %llu of %llu bytes, fallback (%s was lost, or refused them)",
			 cpu, all, label);
	else if (cpu >= all)
		snprintf(buf, nbytes, "the CPU of this process, software (%s cannot be cut into jobs of %s)", what,
			 label);
	else
		snprintf(buf, nbytes, "%s, and by the CPU of this process for %llu of %llu bytes (%s cannot be cut into "
			 "jobs)", label, cpu, all, what);
	return buf;
}

bool pump_passed_over(const struct tool *t, const struct accel_stream_info *info)
{
	return t->device && info->cpu_bytes && strcmp(accel_dev_info(t->dev)->transport, "soft");
}
