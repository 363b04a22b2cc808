// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the command takes apart, by the first byte: numbers of options, names in gzip headers, lines of lists
 * of sums, names of files. Each has a property that any input must keep.
 */
#include "../../tools/accel/compress_names.c"
#include "../../tools/accel/digest_parse.c"
#include "../../tools/accel/number.c"

#define CHECK(x)                          \
	do {                              \
		if (!(x))                 \
			__builtin_trap(); \
	} while (0)

/* What those files call to speak to people. */
int tool_warning(const struct tool *t, const char *subject, const char *fmt, ...)
{
	(void)t, (void)subject, (void)fmt;
	return TOOL_WARNING;
}

int tool_usage(const struct tool *t, const char *fmt, ...)
{
	(void)t, (void)fmt;
	return TOOL_USAGE;
}

int tool_file_error(const struct tool *t, const char *file, const char *doing, int err)
{
	(void)t, (void)file, (void)doing, (void)err;
	return TOOL_FAILED;
}

int opts_choice(struct tool *t, const char *option, const char *text, const char *const *names)
{
	(void)t, (void)option, (void)text, (void)names;
	return -1;
}

/* What is accepted is a number that its decimal form names too. */
static void number(const char *text)
{
	uint64_t value = 0, again = 1;
	char decimal[32];
	int rc = opts_parse_number(text, &value);

	CHECK(!rc || rc == -EINVAL || rc == -ERANGE);
	if (rc)
		return;
	CHECK(isdigit((unsigned char)text[0]));
	snprintf(decimal, sizeof(decimal), "%llu", (unsigned long long)value);
	CHECK(!opts_parse_number(decimal, &again) && again == value);
}

/* A name from inside a file is one component that a terminal can show. */
static void header(const uint8_t *data, size_t n)
{
	uint32_t mtime;
	char *name = name_in_header(data, n, &mtime);

	if (!name)
		return;
	CHECK(*name && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/'));
	for (const char *p = name; *p; p++)
		CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
	free(name);
}

static void sum_line(char *text)
{
	static const struct sum_alg algs[] = {
		{ "sha256", "SHA256", ACCEL_SHA256, 32 },
		{ "t10dif", "T10DIF", ACCEL_T10DIF, 2 },
		{ 0 },
	};
	struct sum_line l;
	size_t n = strlen(text);

	if (!sum_parse(algs, &algs[n & 1], text, &l))
		return;
	CHECK(l.alg && *l.name && strlen(l.hex) == 2u * l.alg->nbytes && strlen(l.name) < n);
}

/* Compressing and decompressing a name gives it back. */
static void file_name(const char *path)
{
	static const uint16_t algs[] = { ACCEL_GZIP, ACCEL_ZLIB, ACCEL_DEFLATE, ACCEL_LZ4_FRAME, ACCEL_ZSTD };
	struct squeeze s = { .alg = algs[strlen(path) % 5] };
	char *packed, *plain;
	int rc;

	format_detect((const uint8_t *)path, strlen(path), path);
	packed = *path && path[strlen(path) - 1] != '/' ? name_compressed(&s, path, &rc) : NULL;
	if (!packed)
		return;
	s.decompress = true;
	plain = name_decompressed(&s, packed, &rc);
	CHECK(plain && !strcmp(plain, path));
	free(packed);
	free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text;

	if (!n)
		return 0;
	if (data[0] % 4 == 1) {
		header(data + 1, n - 1);
		return 0;
	}
	text = strndup((const char *)data + 1, n - 1);
	if (!text)
		return 0;
	if (data[0] % 4 == 0)
		number(text);
	else if (data[0] % 4 == 2)
		sum_line(text);
	else
		file_name(text);
	free(text);
	return 0;
}
