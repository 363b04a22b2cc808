/* SPDX-License-Identifier: BSD-2-Clause */
/* accel compress --p2p: from a range of a device or file to another, past memory where that can be. */
#include "compress.h"
#include "p2p.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int report(struct squeeze *s, const struct p2p_operand *src, const struct p2p_operand *dst,
		  const struct accel_copy_info *info)
{
	double all = (double)(info->p2p_nbytes + info->memory_nbytes);
	char way[400];

	if (!info->tier && info->why[0])
		tool_warning(s->t, NULL, "%s", p2p_way(info, way, sizeof(way)));
	/* Nothing else says where in a device the data end. */
	printf("%s: %llu bytes to %s: %llu bytes\n", src->own, (unsigned long long)info->done_nbytes, dst->own,
	       (unsigned long long)info->out_nbytes);
	if (s->verbose)
		printf("%s: %llu jobs, %.1f%% of the bytes through controller memory%s%s\n", src->own,
		       (unsigned long long)info->jobs, all > 0 ? 100 * (double)info->p2p_nbytes / all : 0.0,
		       info->tier ? " of " : "", info->provider);
	return out_flush(s->t);
}

/* A file is made, or replaced with -f, and ends where its data do; a device is written into. */
static int prepare(struct squeeze *s, const char *name, bool *file, bool *made)
{
	struct stat st;
	int fd;

	*file = *made = false;
	if (!stat(name, &st)) {
		*file = S_ISREG(st.st_mode);
		if (*file && !s->force)
			return tool_error(s->t, name, "exists already (-f replaces it)");
		return s->force ? 0 : p2p_unused(s->t, name);
	}
	if (errno != ENOENT)
		return tool_file_error(s->t, name, "open", errno);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return tool_file_error(s->t, name, "create", errno);
	close(fd);
	*file = *made = true;
	return 0;
}

static int run(struct squeeze *s, const struct p2p_operand *src, const struct p2p_operand *dst)
{
	struct accel_copy_info info = ACCEL_INIT(struct accel_copy_info);
	struct accel_copy_opts o = ACCEL_INIT(struct accel_copy_opts);
	struct accel_copy *cp;
	bool file, made;
	int rc = prepare(s, dst->own, &file, &made);

	if (rc)
		return rc;
	o.flags = (s->no_fallback ? ACCEL_COPY_NO_FALLBACK : 0) | (s->sync ? ACCEL_COPY_SYNC : 0);
	rc = accel_compress_start(s->t->dev, s->level, &src->range, &dst->range, &o, &cp, &info);
	if (!rc)
		rc = p2p_finish(s->t, cp, src->own, &info);
	if (rc && made)
		unlink(dst->own);
	if (rc)
		return p2p_failed(s->t, src->own, dst->own, rc, &info);
	if (file && truncate(dst->own, (off_t)(dst->range.offset + info.out_nbytes)))
		return tool_file_error(s->t, dst->own, "truncate", errno);
	return report(s, src, dst, &info);
}

int squeeze_p2p(struct squeeze *s, const char *file)
{
	struct p2p_operand src = { .own = NULL }, dst = { .own = NULL };
	int rc = p2p_operand(s->t, file, &src);

	if (!rc)
		rc = p2p_operand(s->t, s->output, &dst);
	if (!rc && access(src.own, R_OK))
		rc = tool_file_error(s->t, src.own, "open", errno);
	if (!rc)
		rc = tool_dev(s->t, ACCEL_OP_COMPRESS, ACCEL_GZIP);
	if (!rc)
		rc = run(s, &src, &dst);
	p2p_operand_free(&src);
	p2p_operand_free(&dst);
	return rc;
}
