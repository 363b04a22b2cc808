/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats and the names of compressed files. */
#include "compress.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct format formats[] = {
	{ ACCEL_GZIP, "gzip", ".gz", ".tgz" },
	{ ACCEL_ZLIB, "zlib", ".zz", NULL },
	{ ACCEL_DEFLATE, "deflate", ".deflate", NULL },
	{ ACCEL_LZ4_FRAME, "lz4", ".lz4", NULL },
	{ ACCEL_ZSTD, "zstd", ".zst", ".tzst" },
};

#define NFORMATS (sizeof(formats) / sizeof(formats[0]))

const struct format *format_of(uint16_t alg)
{
	for (size_t i = 0; i < NFORMATS; i++)
		if (formats[i].alg == alg)
			return &formats[i];
	return NULL;
}

const struct format *format_named(struct tool *t, const char *name)
{
	const char *names[NFORMATS + 1];
	int i;

	for (size_t k = 0; k < NFORMATS; k++)
		names[k] = formats[k].name;
	names[NFORMATS] = NULL;
	i = opts_choice(t, "--format", name, names);
	return i < 0 ? NULL : &formats[i];
}

static bool ends(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = suffix ? strlen(suffix) : 0;

	/* Something must be left of the name. */
	return k && n > k && path[n - k - 1] != '/' && !strcmp(path + n - k, suffix);
}

static const struct format *by_name(const char *path)
{
	for (size_t i = 0; i < NFORMATS; i++)
		if (ends(path, formats[i].suffix) || ends(path, formats[i].tar_suffix))
			return &formats[i];
	return NULL;
}

static bool is_zlib(const uint8_t *h, size_t n)
{
	return n >= 2 && (h[0] & 0x0f) == 8 && h[0] >> 4 <= 7 && (h[0] << 8 | h[1]) % 31 == 0;
}

const struct format *format_detect(const uint8_t *h, size_t n, const char *path)
{
	const struct format *named = by_name(path);
	uint32_t magic = n >= 4 ? (uint32_t)h[0] | (uint32_t)h[1] << 8 | (uint32_t)h[2] << 16 |
					  (uint32_t)h[3] << 24
				: 0;

	if (n >= 2 && h[0] == 0x1f && h[1] == 0x8b)
		return format_of(ACCEL_GZIP);
	if (magic == 0xfd2fb528)
		return format_of(ACCEL_ZSTD);
	if (magic == 0x184d2204)
		return format_of(ACCEL_LZ4_FRAME);
	/* A skippable frame is both formats'. */
	if ((magic & 0xfffffff0) == 0x184d2a50)
		return format_of(named && named->alg == ACCEL_LZ4_FRAME ? ACCEL_LZ4_FRAME : ACCEL_ZSTD);
	if (named && named->alg == ACCEL_DEFLATE)
		return named;
	return is_zlib(h, n) ? format_of(ACCEL_ZLIB) : NULL;
}

bool name_has_suffix(const struct squeeze *s, const char *path, const struct format **format)
{
	*format = by_name(path);
	if (s->suffix && ends(path, s->suffix))
		return true;
	/* What another format made may well be compressed, if it is asked for. */
	if (*format && !s->decompress && (*format)->alg != s->alg)
		return false;
	return *format != NULL;
}

static char *concat(const char *a, size_t n, const char *b)
{
	size_t k = strlen(b);
	char *out = malloc(n + k + 1);

	if (out) {
		memcpy(out, a, n);
		memcpy(out + n, b, k + 1);
	}
	return out;
}

static char *made(const struct squeeze *s, const char *path, char *name, int *rc)
{
	*rc = name ? 0 : tool_file_error(s->t, path, NULL, ENOMEM);
	return name;
}

char *name_compressed(const struct squeeze *s, const char *path, int *rc)
{
	const char *suffix = s->suffix ? s->suffix : format_of(s->alg)->suffix;
	const struct format *format;

	if (!s->force && name_has_suffix(s, path, &format)) {
		*rc = tool_warning(s->t, path, "already has the suffix %s: skipped (-f compresses it anyway)",
				   s->suffix && ends(path, s->suffix) ? s->suffix : format->suffix);
		return NULL;
	}
	return made(s, path, concat(path, strlen(path), suffix), rc);
}

char *name_decompressed(const struct squeeze *s, const char *path, int *rc)
{
	const struct format *format;
	size_t n = strlen(path);

	if (!name_has_suffix(s, path, &format)) {
		*rc = tool_warning(s->t, path,
				   "has no known suffix: skipped (give -S SUFFIX, -o FILE or -c)");
		return NULL;
	}
	if (s->suffix && ends(path, s->suffix))
		return made(s, path, concat(path, n - strlen(s->suffix), ""), rc);
	if (ends(path, format->tar_suffix))
		return made(s, path, concat(path, n - strlen(format->tar_suffix), ".tar"), rc);
	return made(s, path, concat(path, n - strlen(format->suffix), ""), rc);
}

char *name_with_suffix(const struct squeeze *s, const char *path)
{
	for (size_t i = 0; i <= NFORMATS; i++) {
		const char *suffix = i ? formats[i - 1].suffix : s->suffix;
		char *name = suffix ? concat(path, strlen(path), suffix) : NULL;

		if (name && !access(name, F_OK))
			return name;
		free(name);
	}
	return NULL;
}

/* A name from inside a file is somebody else's wish: it must not leave the directory or drive a terminal. */
static char *sane_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;

	if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
		return NULL;
	for (const unsigned char *p = (const unsigned char *)base; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return NULL;
	return strdup(base);
}

#define GZIP_FEXTRA 4
#define GZIP_FNAME  8

char *name_in_header(const uint8_t *h, size_t n, uint32_t *mtime)
{
	size_t at = 10;

	*mtime = 0;
	if (n < at || h[0] != 0x1f || h[1] != 0x8b)
		return NULL;
	*mtime = (uint32_t)h[4] | (uint32_t)h[5] << 8 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 24;
	if (h[3] & GZIP_FEXTRA) {
		if (n < at + 2)
			return NULL;
		at += 2u + h[at] + ((size_t)h[at + 1] << 8);
	}
	if (!(h[3] & GZIP_FNAME) || at >= n || !memchr(h + at, 0, n - at))
		return NULL;
	return sane_name((const char *)h + at);
}
