/* SPDX-License-Identifier: BSD-2-Clause */
/* compress and decompress: one file from its name to its replacement. */
#include "compress.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file on its way. */
struct passage {
	struct squeeze *s;
	const struct format *format;
	struct file_in in;
	struct file_out out;
	char *name;			/* of the output; NULL: standard output, or none */
	uint32_t mtime;			/* -N: from the header */
	uint64_t start_ns;
};

static bool no_output(const struct squeeze *s)
{
	return s->test || s->list;
}

static bool own_name(const struct squeeze *s, const struct file_in *in)
{
	return !s->to_stdout && !s->output && !no_output(s) && !in->is_stdin;
}

/* ---- Names ---- */

/* -N, decompress: the name in the header, in the directory of the input. */
static void restore(struct passage *p)
{
	uint8_t *head = malloc(65536 + 1024);
	ssize_t n = head ? pread(p->in.fd, head, 65536 + 1024, 0) : -1;
	char *base = n > 0 ? name_in_header(head, (size_t)n, &p->mtime) : NULL;
	const char *slash = strrchr(p->in.name, '/');
	size_t dir = slash ? (size_t)(slash - p->in.name) + 1 : 0;
	char *path = base ? malloc(dir + strlen(base) + 1) : NULL;

	if (path) {
		memcpy(path, p->in.name, dir);
		strcpy(path + dir, base);
		free(p->name);
		p->name = path;
	}
	free(base);
	free(head);
}

static int output_name(struct passage *p)
{
	struct squeeze *s = p->s;
	const struct format *format;
	int rc = 0;

	if (s->output) {
		p->name = strdup(s->output);
		return p->name ? 0 : tool_file_error(s->t, s->output, NULL, ENOMEM);
	}
	/* -l shows the name that decompression would give. */
	if (s->list && !p->in.is_stdin && name_has_suffix(s, p->in.name, &format))
		p->name = name_decompressed(s, p->in.name, &rc);
	if (!own_name(s, &p->in))
		return rc;
	p->name = s->decompress ? name_decompressed(s, p->in.name, &rc) : name_compressed(s, p->in.name, &rc);
	if (p->name && s->decompress && s->restore_name)
		restore(p);
	return rc;
}

/* ---- Input ---- */

static int open_input(struct passage *p, const char *path)
{
	struct squeeze *s = p->s;
	bool elsewhere = s->to_stdout || s->output || no_output(s);
	unsigned int flags = 0;
	int rc;

	if (!elsewhere && !s->force)
		flags |= FILE_NOFOLLOW;
	if (!elsewhere)
		flags |= FILE_REGULAR;
	if (!elsewhere && !s->force && !s->keep)
		flags |= FILE_ONE_LINK;
	rc = file_open(s->t, path, flags, &p->in);
	if (rc)
		return rc;
	if (p->in.is_stdin && s->decompress && !s->force && isatty(p->in.fd)) {
		file_close(&p->in);
		return tool_error(s->t, "stdin",
				  "will not read compressed data from a terminal (-f forces it)");
	}
	return 0;
}

static int find_format(struct passage *p)
{
	const uint8_t *head;
	ssize_t n;

	p->format = format_of(p->s->alg);
	if (p->format)
		return 0;
	n = file_peek(p->s->t, &p->in, &head);
	if (n < 0)
		return TOOL_FAILED;
	p->format = format_detect(head, (size_t)n, p->in.name);
	/* -f -c passes on what is not compressed, as zcat -f does. */
	if (p->format || (p->s->force && p->s->to_stdout && !no_output(p->s)))
		return 0;
	if (!n)
		return tool_error(p->s->t, p->in.name, "is empty: no compressed data");
	return tool_error(p->s->t, p->in.name, "is no gzip, zlib, lz4 or zstd file (-F says what it is)");
}

/* ---- The work ---- */

static void stream_options(const struct passage *p, struct accel_stream_opts *o)
{
	const struct squeeze *s = p->s;
	const char *slash;

	o->kind = s->decompress ? ACCEL_STREAM_DECOMPRESS : ACCEL_STREAM_COMPRESS;
	o->alg = p->format->alg;
	o->flags = s->t->hardware ? ACCEL_STREAM_DEVICE_ONLY : 0;
	if (s->decompress) {
		o->max_out = s->limit;
		return;
	}
	o->level = s->level;
	o->flags |= (s->bgzf ? ACCEL_STREAM_BGZF : 0) | (s->verify ? ACCEL_STREAM_VERIFY : 0);
	if (p->format->alg != ACCEL_GZIP || s->bgzf || s->no_name)
		return;
	if (S_ISREG(p->in.st.st_mode) && p->in.st.st_mtime > 0 && p->in.st.st_mtime <= UINT32_MAX)
		o->mtime = (uint32_t)p->in.st.st_mtime;
	slash = strrchr(p->in.name, '/');
	if (!p->in.is_stdin)
		o->name = slash ? slash + 1 : p->in.name;
}

static int copy_through(struct passage *p)
{
	struct tool *t = p->s->t;
	static const size_t size = 1 << 17;
	char *buf = malloc(size);
	ssize_t n;
	int rc = buf ? 0 : tool_file_error(t, p->in.name, NULL, ENOMEM);

	while (!rc && (n = file_read(t, &p->in, buf, size)) != 0)
		rc = n < 0 ? TOOL_FAILED : file_write(t, &p->out, buf, (size_t)n);
	free(buf);
	return rc;
}

static void report(const struct passage *p, const struct accel_stream_info *info)
{
	const struct squeeze *s = p->s;
	double seconds = (double)(tool_now_ns() - p->start_ns) / 1e9;
	uint64_t plain = s->decompress ? info->out_bytes : info->in_bytes;
	uint64_t packed = s->decompress ? info->in_bytes : info->out_bytes;
	char who[640], what[400] = "";

	if (s->test)
		snprintf(what, sizeof(what), "OK");
	else if (p->name)
		snprintf(what, sizeof(what), "%s %.300s",
			 s->keep || s->output || p->in.is_stdin ? "created" : "replaced with", p->name);
	fprintf(stderr, "%s:\t%5.1f%%%s%s, %llu -> %llu bytes, %.0f MB/s by %s\n", p->in.name,
		plain ? 100 * (1 - (double)packed / (double)plain) : 0, *what ? " -- " : "", what,
		(unsigned long long)info->in_bytes, (unsigned long long)info->out_bytes,
		seconds > 0 ? (double)plain / 1e6 / seconds : 0,
		pump_who(s->t, info, info->members > 1 ? "such members" : "one large member", who, sizeof(who)));
}

/* The device that was named went away, or refused the jobs: said once. What no device can do is left to -v. */
static void fallback(struct passage *p, const struct accel_stream_info *info)
{
	struct tool *t = p->s->t;
	char who[640];

	if (p->s->told || !info->cpu_jobs || !pump_passed_over(t, info))
		return;
	p->s->told = true;
	tool_warning(t, p->in.name, "done by %s", pump_who(t, info, "", who, sizeof(who)));
}

/* Runs the stream; *info is what it did. */
static int run_stream(struct passage *p, struct accel_stream *stream, struct accel_stream_info *info)
{
	struct tool *t = p->s->t;
	struct progress progress;
	int rc;

	progress_start(&progress, t, p->in.name, S_ISREG(p->in.st.st_mode) ? (uint64_t)p->in.st.st_size : 0);
	rc = pump(t, stream, &p->in, no_output(p->s) ? NULL : &p->out, &progress);
	progress_end(&progress);
	if (!rc && accel_stream_info(stream, info))
		return tool_error(t, p->in.name, "no account of the work");
	return rc;
}

/* Nothing is lost: the input goes only after the output has its name, and only if it is the same file. */
static int remove_input(struct passage *p)
{
	struct stat now;

	if (p->s->keep || p->s->output || !own_name(p->s, &p->in))
		return 0;
	if (lstat(p->in.name, &now))
		return tool_file_error(p->s->t, p->in.name, "remove", errno);
	if (S_ISLNK(now.st_mode))
		return unlink(p->in.name) ? tool_file_error(p->s->t, p->in.name, "remove", errno) : 0;
	if (now.st_ino != p->in.st.st_ino || now.st_dev != p->in.st.st_dev)
		return tool_warning(p->s->t, p->in.name, "was replaced meanwhile: kept");
	if (now.st_size != p->in.st.st_size || now.st_mtim.tv_sec != p->in.st.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != p->in.st.st_mtim.tv_nsec)
		return tool_warning(p->s->t, p->in.name, "changed meanwhile: kept");
	return unlink(p->in.name) ? tool_file_error(p->s->t, p->in.name, "remove", errno) : 0;
}

static int commit(struct passage *p)
{
	struct stat like = p->in.st;
	bool keep_attributes = !p->in.is_stdin && S_ISREG(like.st_mode);

	if (p->mtime)
		like.st_mtim = (struct timespec){ .tv_sec = p->mtime };
	return file_commit(p->s->t, &p->out, keep_attributes ? &like : NULL, p->s->sync ? OUT_SYNC : 0);
}

/* The stream has ended well. */
static int conclude(struct passage *p, const struct accel_stream_info *info)
{
	struct squeeze *s = p->s;
	int rc = 0, warned = 0;

	if (!no_output(s))
		rc = commit(p);
	if (rc)
		return rc;
	if (s->decompress && info->trailing_garbage)
		warned = tool_warning(s->t, p->in.name, "decompressed, trailing garbage ignored%s",
				      own_name(s, &p->in) ? "; the file is kept" : "");
	if (s->list)
		listing_add(s, &p->in, p->name ? p->name : p->in.name, p->format, info);
	else if (s->verbose)
		report(p, info);
	else
		fallback(p, info);
	/* With garbage behind it the input holds more than the output does. */
	return warned ? warned : remove_input(p);
}

static int work(struct passage *p)
{
	struct accel_stream_opts opts = ACCEL_INIT(struct accel_stream_opts);
	struct accel_stream_info info;
	struct accel_stream *stream;
	struct tool *t = p->s->t;
	int rc;

	if (!p->format) {
		rc = copy_through(p);
		return rc ? rc : commit(p);
	}
	rc = tool_dev(t, p->s->decompress ? ACCEL_OP_DECOMPRESS : ACCEL_OP_COMPRESS, p->format->alg);
	if (rc)
		return rc;
	stream_options(p, &opts);
	p->start_ns = tool_now_ns();
	rc = accel_stream_open(t->dev, &opts, &stream);
	if (rc)
		return tool_lib_error(t, accel_dev_info(t->dev)->path, rc);
	rc = run_stream(p, stream, &info);
	if (!rc)
		rc = conclude(p, &info);
	accel_stream_close(stream);
	return rc;
}

static int create_output(struct passage *p)
{
	struct squeeze *s = p->s;
	unsigned int flags = (s->force ? OUT_FORCE : 0) | (s->decompress ? 0 : OUT_BINARY);

	/* The terminal is no place to ask when standard input is the data. */
	if (p->in.is_stdin)
		flags |= OUT_NO_ASK;
	return no_output(s) ? 0 : file_create(s->t, p->name, flags, &p->out);
}

static int squeeze_file(struct squeeze *s, const char *path)
{
	struct passage p = { .s = s };
	int rc = open_input(&p, path);

	if (rc)
		return rc;
	/* The name first: a file that is only skipped need not be read. */
	rc = output_name(&p);
	if (!rc)
		rc = find_format(&p);
	if (!rc)
		rc = create_output(&p);
	if (!rc)
		rc = work(&p);
	file_abort(&p.out);
	file_close(&p.in);
	free(p.name);
	return rc;
}

/* ---- Directories ---- */

static int squeeze_entry(struct squeeze *s, const char *dir, const char *name)
{
	size_t n = strlen(dir), k = strlen(name);
	char *path = malloc(n + k + 2);
	struct stat st;
	int rc = 0;

	if (!path)
		return tool_file_error(s->t, dir, NULL, ENOMEM);
	memcpy(path, dir, n);
	path[n] = '/';
	memcpy(path + n + 1, name, k + 1);
	if (lstat(path, &st))
		rc = tool_file_error(s->t, path, NULL, errno);
	else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		rc = squeeze_path(s, path);
	free(path);
	return rc;
}

/* The names are read before any file changes, so that new files are not met again. */
static int squeeze_dir(struct squeeze *s, const char *path)
{
	struct dirent **list;
	int rc = 0, n = scandir(path, &list, NULL, alphasort);

	if (n < 0)
		return tool_file_error(s->t, path, NULL, errno);
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (strcmp(name, ".") && strcmp(name, "..") && rc < TOOL_NODEV)
			rc = worse(rc, squeeze_entry(s, path, name));
		free(list[i]);
	}
	free(list);
	return rc;
}

int squeeze_path(struct squeeze *s, const char *path)
{
	char *other = NULL;
	struct stat st;
	int rc;

	if (!strcmp(path, "-"))
		return squeeze_file(s, path);
	if (stat(path, &st)) {
		if (errno == ENOENT && s->decompress)
			other = name_with_suffix(s, path);
	} else if (S_ISDIR(st.st_mode) && s->recursive) {
		return squeeze_dir(s, path);
	}
	rc = squeeze_file(s, other ? other : path);
	free(other);
	return rc;
}
