/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of compress and decompress share. */
#ifndef ACCEL_COMPRESS_H
#define ACCEL_COMPRESS_H

#include "tool.h"

struct squeeze {
	struct tool *t;
	bool decompress, test, list, to_stdout, keep, force, restore_name, no_name, recursive, sync, verify,
		bgzf, p2p, no_fallback;
	bool told;			/* that the CPU did what was meant for a device */
	unsigned int verbose;
	const char *suffix;		/* -S; NULL: the format's */
	const char *output;		/* -o */
	uint16_t alg;			/* 0: decompress finds out */
	uint32_t level;
	uint64_t limit;
	struct json_object *listing;	/* of -l */
};

/* One file format that streams know. */
struct format {
	uint16_t alg;
	const char *name;
	const char *suffix;
	const char *tar_suffix;		/* short for .tar + suffix, or NULL */
};

const struct format *format_of(uint16_t alg);
/* By -F's argument; NULL after a message. */
const struct format *format_named(struct tool *t, const char *name);
/* By the first bytes, then by the name; NULL: neither tells. */
const struct format *format_detect(const uint8_t *head, size_t n, const char *path);

/* Whether path ends as compressed files of this run do; *format says which (NULL for -S). */
bool name_has_suffix(const struct squeeze *s, const char *path, const struct format **format);
/* Path of the output; NULL after a message (*rc is set) or out of memory. The caller frees it. */
char *name_compressed(const struct squeeze *s, const char *path, int *rc);
char *name_decompressed(const struct squeeze *s, const char *path, int *rc);
/* The file that is meant by path when that does not exist: with a suffix added. NULL: none. */
char *name_with_suffix(const struct squeeze *s, const char *path);
/*
 * -N: name and time in a gzip header at the start of head. The name is only its last component and only if
 * that is a sane one, else NULL; the caller frees it.
 */
char *name_in_header(const uint8_t *head, size_t n, uint32_t *mtime);

/* --p2p: one operand, which may have :OFFSET:LENGTH behind it, to -o. 0 or an exit code. */
int squeeze_p2p(struct squeeze *s, const char *file);

/* One operand. 0 or an exit code. */
int squeeze_path(struct squeeze *s, const char *path);

/* -l: adds a line; prints all. */
void listing_add(struct squeeze *s, const struct file_in *in, const char *name, const struct format *format,
		 const struct accel_stream_info *info);
int listing_print(struct squeeze *s);

/* The worse of two exit codes, of many files: an error outweighs a warning. */
int worse(int a, int b);

#endif
