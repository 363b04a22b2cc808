// SPDX-License-Identifier: BSD-2-Clause
/* What streams write, read by the tools of others, and the other way round. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "stream_util.h"

extern char **environ;

struct tool {
	const char *name;
	uint16_t alg;
	const char *unpack[4], *pack[6];
};

static const struct tool tools[] = {
	{ "gzip", ACCEL_GZIP, { "gzip", "-dc" }, { "gzip", "-6c" } },
	{ "pigz", ACCEL_GZIP, { "pigz", "-dc" }, { "pigz", "-6c", "-p2" } },
	{ "igzip", ACCEL_GZIP, { "igzip", "-dc" }, { "igzip", "-1c" } },
	{ "libdeflate-gzip", ACCEL_GZIP, { "libdeflate-gunzip", "-c" }, { "libdeflate-gzip", "-9", "-c" } },
	{ "bgzip", ACCEL_GZIP, { "bgzip", "-dc" }, { "bgzip", "-c" } },
	{ "lz4", ACCEL_LZ4_FRAME, { "lz4", "-dc" }, { "lz4", "-1cq" } },
	{ "lz4 with small blocks",
	  ACCEL_LZ4_FRAME,
	  { "lz4", "-dc" },
	  { "lz4", "-9cq", "-B4", "--content-size" } },
	{ "zstd", ACCEL_ZSTD, { "zstd", "-dc" }, { "zstd", "-3c", "--no-progress" } },
	{ "zstd without a sum", ACCEL_ZSTD, { "zstd", "-dc" }, { "zstd", "-19", "-c", "--no-check" } },
};

static int have(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t n;

	for (; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (access(file, X_OK) == 0)
			return 1;
	}
	return 0;
}

/* Runs a tool over a file of in's bytes as its standard input; what it printed goes to out. 0: it was happy.
 */
static int tool_run(const char *const *argv, const struct blob *in, struct blob *out)
{
	FILE *from = tmpfile(), *to = tmpfile();
	posix_spawn_file_actions_t fa;
	struct stat st;
	char *args[8] = { 0 };
	pid_t pid;
	int i, status = -1;

	for (i = 0; argv[i]; i++)
		args[i] = (char *)(uintptr_t)argv[i];
	assert_int_equal(fwrite(in->p, 1, in->n, from), in->n);
	assert_int_equal(fflush(from), 0);
	rewind(from);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, fileno(from), 0);
	posix_spawn_file_actions_adddup2(&fa, fileno(to), 1);
	assert_int_equal(posix_spawnp(&pid, args[0], &fa, NULL, args, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(fstat(fileno(to), &st), 0);
	out->n = 0;
	free(out->p);
	out->p = malloc((size_t)st.st_size + 1);
	out->max = (size_t)st.st_size + 1;
	rewind(to);
	out->n = fread(out->p, 1, (size_t)st.st_size, to);
	fclose(from);
	fclose(to);
	return status;
}

static void one_tool(struct env *e, const struct tool *t)
{
	static const size_t sizes[] = { 0, 1, 5000, 2500000 };
	unsigned int i, flags;

	if (!have(t->pack[0]) || !have(t->unpack[0])) {
		print_message("# %s is not installed\n", t->pack[0]);
		skip();
	}
	for (i = 0; i < 4; i++)
		for (flags = 0; flags <= (t->alg == ACCEL_GZIP ? ACCEL_STREAM_BGZF : 0); flags++) {
			struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, t->alg, 1 + i);
			struct accel_stream_opts back = opts_of(ACCEL_STREAM_DECOMPRESS, t->alg, 0);
			struct blob in = blob_make(MIXED, sizes[i]), packed = { 0 }, out = { 0 },
				    theirs = { 0 }, ours = { 0 };
			struct accel_stream_info info;

			o.flags = flags;
			o.mtime = 1;
			o.name = "x";
			o.chunk_nbytes = 100000;
			assert_int_equal(run(e->dev, &o, in.p, in.n, &packed, NULL), 0);
			assert_int_equal(tool_run(t->unpack, &packed, &out), 0);
			assert_same(&out, &in);
			assert_int_equal(tool_run(t->pack, &in, &theirs), 0);
			assert_int_equal(run(e->dev, &back, theirs.p, theirs.n, &ours, &info), 0);
			assert_same(&ours, &in);
			assert_int_equal(info.trailing_garbage, 0);
			blob_free(&in);
			blob_free(&packed);
			blob_free(&out);
			blob_free(&theirs);
			blob_free(&ours);
		}
}

#define TOOL(n)                                                                                              \
	static void test_tool_##n(void **state)                                                              \
	{                                                                                                    \
		one_tool(*state, &tools[n]);                                                                 \
	}
TOOL(0)
TOOL(1)
TOOL(2)
TOOL(3)
TOOL(4)
TOOL(5)
TOOL(6)
TOOL(7)
TOOL(8)

static size_t packed_by(const char *const *argv, const struct blob *in)
{
	struct blob out = { 0 };
	size_t n;

	assert_int_equal(tool_run(argv, in, &out), 0);
	n = out.n;
	blob_free(&out);
	return n;
}

/* Bytes that others need at the same level, by 2 percent: chunks cost little. The data: this program. */
static void ratio(struct env *e, const char *const *argv, uint32_t level, const char *file)
{
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, level);
	struct blob in = { 0 }, packed = { 0 };
	char buf[65536];
	FILE *f = fopen(file, "r");
	size_t n, theirs;

	if (!f || !have(argv[0])) {
		print_message("# no %s or no %s\n", argv[0], file);
		if (f)
			fclose(f);
		skip();
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && in.n < 20u << 20)
		blob_add(&in, buf, n);
	fclose(f);
	assert_int_equal(run(e->dev, &o, in.p, in.n, &packed, NULL), 0);
	theirs = packed_by(argv, &in);
	print_message("# level %u: %zu bytes to %zu, %s: %zu\n", level, in.n, packed.n, argv[0], theirs);
	assert_true(packed.n <= theirs + theirs / 50 + 64);
	blob_free(&in);
	blob_free(&packed);
}

static void test_ratio_fast(void **state)
{
	static const char *const argv[] = { "igzip", "-1c", NULL };

	ratio(*state, argv, 1, "/proc/self/exe");
}

static void test_ratio_good(void **state)
{
	static const char *const argv[] = { "pigz", "-6c", NULL };

	ratio(*state, argv, 6, "/proc/self/exe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tool_0),	   cmocka_unit_test(test_tool_1),
		cmocka_unit_test(test_tool_2),	   cmocka_unit_test(test_tool_3),
		cmocka_unit_test(test_tool_4),	   cmocka_unit_test(test_tool_5),
		cmocka_unit_test(test_tool_6),	   cmocka_unit_test(test_tool_7),
		cmocka_unit_test(test_tool_8),	   cmocka_unit_test(test_ratio_fast),
		cmocka_unit_test(test_ratio_good),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
