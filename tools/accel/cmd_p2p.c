/* SPDX-License-Identifier: BSD-2-Clause */
/* accel p2p: the verbs, and what they share. */
#include "p2p.h"
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_ROOT = OPT_LONG + 96 };

const struct tool_opt p2p_root_opts[] = {
	{ OPT_ROOT, "root", "DIR", "look in DIR/sys and DIR/dev instead of /sys and /dev", NULL },
	{ 0 },
};

bool p2p_root(struct tool *t, int c)
{
	if (c == OPT_ROOT)
		t->root = optarg;
	return c == OPT_ROOT;
}

/* ---- Operands ---- */

/* The number behind the last colon of text, which is cut there; false: there is none. */
static bool cut_number(char *text, uint64_t *value)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text || opts_parse_number(colon + 1, value))
		return false;
	*colon = '\0';
	return true;
}

int p2p_operand(struct tool *t, const char *text, struct p2p_operand *op)
{
	uint64_t last, first;

	*op = (struct p2p_operand){ .range = ACCEL_INIT(struct accel_range), .own = strdup(text) };
	if (!op->own)
		return tool_file_error(t, text, NULL, ENOMEM);
	/* A file that is called so is meant by its whole name. */
	if (access(text, F_OK) && cut_number(op->own, &last)) {
		op->range.offset = last;
		if (cut_number(op->own, &first)) {
			op->range.offset = first;
			op->range.nbytes = last;
			if (!last)
				return tool_usage(t, "'%s': a length of 0", text);
		}
	}
	if (!*op->own)
		return tool_usage(t, "an empty name");
	op->range.name = op->own;
	return 0;
}

void p2p_operand_free(struct p2p_operand *op)
{
	free(op->own);
	op->own = NULL;
}

/* Who has a device for himself has opened it exclusively, or the whole of its disk, or a partition of it. */
int p2p_unused(struct tool *t, const char *name)
{
	struct stat st;
	int fd, tries;

	if (stat(name, &st) || !S_ISBLK(st.st_mode))
		return 0;
	/* Another one that looks just now is nobody who stays. */
	for (tries = 0; tries < 10; tries++) {
		fd = open(name, O_RDONLY | O_EXCL | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || errno != EBUSY)
			return 0;
		usleep(20000);
	}
	return tool_error(t, name, "is in use (mounted, swap, or part of another device); -f writes to it all the same");
}

/* ---- Words ---- */

const char *p2p_answer(uint32_t answer)
{
	return answer == ACCEL_P2P_YES ? "yes" : answer == ACCEL_P2P_NO ? "no" : "unknown";
}

const char *p2p_reason(uint32_t reason)
{
	static const char *const names[] = {
		"none", "not-block", "not-nvme", "fabric", "multipath", "metadata", "no-device", "acs", "host-bridge",
		"domain", "iommu", "kernel", "selftest", "dma-mask", "zoned",
	};

	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "other";
}

static const char *tier_name(uint32_t tier)
{
	static const char *const names[] = { "memory", "kernel", "slots", "mapped" };

	return tier < 4 ? names[tier] : "?";
}

const char *p2p_way(const struct accel_copy_info *info, char *buf, size_t nbytes)
{
	if (info->tier)
		snprintf(buf, nbytes, "through the controller memory of %s", info->provider);
	else
		snprintf(buf, nbytes, "through system memory: %s", info->why);
	return buf;
}

void p2p_add_info(struct json_object *o, const struct accel_copy_info *info)
{
	uint64_t all = info->p2p_nbytes + info->memory_nbytes;

	out_add_str(o, "way", tier_name(info->tier));
	out_add_str(o, "provider", info->provider);
	out_add_str(o, "reason", info->tier ? "none" : p2p_reason(info->reason));
	out_add_str(o, "why", info->why);
	out_add_num(o, "bytes", info->done_nbytes);
	out_add_num(o, "bytes_p2p", info->p2p_nbytes);
	out_add_num(o, "bytes_memory", info->memory_nbytes);
	out_add_real(o, "p2p_share", all ? (double)info->p2p_nbytes / (double)all : 0);
	out_add_num(o, "elapsed_ns", info->elapsed_ns);
	out_add_real(o, "bytes_per_second",
		     info->elapsed_ns ? (double)info->done_nbytes * 1e9 / (double)info->elapsed_ns : 0);
}

/* ---- Running a copy ---- */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static void signals(bool on, struct sigaction old[2])
{
	struct sigaction act = { .sa_handler = on_signal };

	if (on) {
		sigaction(SIGINT, &act, &old[0]);
		sigaction(SIGTERM, &act, &old[1]);
		return;
	}
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGTERM, &old[1], NULL);
}

/* Transfers that are on their way end before the process does. */
int p2p_finish(struct tool *t, struct accel_copy *copy, const char *what, struct accel_copy_info *info)
{
	struct sigaction old[2];
	struct progress progress;
	bool cancelled = false;
	int rc;

	signals(true, old);
	progress_start(&progress, t, what, info->total_nbytes);
	while ((rc = accel_copy_wait(copy, 200, info)) == -EAGAIN) {
		progress_update(&progress, info->done_nbytes);
		if (!stopped || cancelled)
			continue;
		accel_copy_cancel(copy);
		cancelled = true;
	}
	progress_end(&progress);
	signals(false, old);
	accel_copy_free(copy);
	if (cancelled && rc)
		raise(stopped);
	return rc;
}

int p2p_failed(struct tool *t, const char *src, const char *dst, int rc, const struct accel_copy_info *info)
{
	switch (-rc) {
	case EREMOTEIO:
		return tool_error(t, NULL, "%s to %s: not from device to device: %s (without --no-fallback it goes "
				  "through memory)", src, dst, info->why);
	case EINVAL:
		return tool_error(t, NULL, "%s to %s: offsets and lengths must be whole blocks, and ranges of one device "
				  "must not overlap", src, dst);
	case ENOSPC:
		return tool_error(t, dst, "is too small for what is to be written there");
	case ENODATA:
		return tool_error(t, src, "ends before that range does");
	case ENOTBLK:
		return tool_error(t, NULL, "%s to %s: only block devices and files are copied", src, dst);
	case ENOENT:
	case EACCES:
	case EPERM:
	case EROFS:
		return tool_file_error(t, access(src, R_OK) ? src : dst, "open", -rc);
	default:
		return tool_error(t, NULL, "%s to %s: %s", src, dst, info->why[0] ? info->why : accel_strerror(rc));
	}
}

/* ---- Controllers ---- */

struct accel_p2p_ctrl *p2p_ctrls(struct tool *t, unsigned int *n)
{
	struct accel_p2p_ctrl *ctrls = NULL;
	int rc = tool_ctx(t) ? accel_p2p_ctrls(t->ctx, NULL, 0) : -ENOMEM;
	unsigned int room;

	*n = 0;
	if (rc >= 0) {
		/* Some more, should they appear meanwhile. */
		room = (unsigned int)rc + 8;
		ctrls = calloc(room, sizeof(*ctrls));
		rc = ctrls ? accel_p2p_ctrls(t->ctx, ctrls, room) : -ENOMEM;
		*n = rc < 0 ? 0 : (unsigned int)rc < room ? (unsigned int)rc : room;
	}
	if (rc >= 0)
		return ctrls;
	free(ctrls);
	tool_lib_error(t, NULL, rc);
	return NULL;
}

static const struct verb *const subs[] = { &verb_p2p_list, &verb_p2p_why, &verb_p2p_copy, &verb_p2p_bench, NULL };

const struct verb verb_p2p = {
	.name = "p2p",
	.summary = "Move data from device to device, past memory",
	.usage = "list|why|copy|bench [options]",
	.subs = subs,
};
