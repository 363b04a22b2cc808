/* SPDX-License-Identifier: BSD-2-Clause */
/* Throughput and processor use over depth, drawn by gnuplot from a script on its standard input. */
#define _GNU_SOURCE
#include "bench.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* gnuplot's name for the format that the file name asks for, or NULL. */
static const char *terminal(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot && !strcmp(dot, ".svg"))
		return "svg dynamic font 'sans-serif,13'";
	if (dot && !strcmp(dot, ".png"))
		return "pngcairo font 'sans-serif,11'";
	return NULL;
}

/* Starts gnuplot; script: an fd to write to. 0 or an errno. */
static int start(pid_t *pid, int *script, int out, char *arg)
{
	static char name[] = "gnuplot";
	char *argv[] = { name, arg, NULL };
	posix_spawn_file_actions_t fa;
	int p[2], rc;

	if (pipe2(p, O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[0], STDIN_FILENO);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(pid, name, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(p[0]);
	if (rc)
		close(p[1]);
	*script = p[1];
	return rc;
}

static int finish(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int bench_plot_check(struct tool *t, const char *path)
{
	static char version[] = "--version";
	pid_t pid;
	int fd, rc;

	if (!terminal(path))
		return tool_usage(t, "--plot: '%s' does not end with .svg or .png", path);
	rc = start(&pid, &fd, -1, version);
	if (!rc) {
		close(fd);
		rc = finish(pid);
	}
	return rc ? tool_error(t, path, "gnuplot, which draws it, is not there (apt install gnuplot-nox)")
		  : 0;
}

/* ---- The script ---- */

static bool same_series(const struct bench_point *a, const struct bench_point *b)
{
	return !strcmp(a->op, b->op) && a->size == b->size && a->threads == b->threads;
}

/* The first point of each series, the two modes apart. */
static bool begins(const struct bench_point *points, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!points[j].skip[0] && points[j].mode == points[i].mode &&
		    same_series(&points[j], &points[i]))
			return false;
	return !points[i].skip[0];
}

/* Colour: one an operation, size and number of threads, so that the two modes of it look related. */
static unsigned int colour(const struct bench_point *points, size_t i)
{
	unsigned int n = 0;

	for (size_t j = 0; j < i; j++) {
		bool first = !points[j].skip[0];

		if (!points[j].skip[0] && same_series(&points[j], &points[i]))
			return n;
		for (size_t k = 0; k < j && first; k++)
			first = points[k].skip[0] || !same_series(&points[k], &points[j]);
		n += first;
	}
	return n;
}

static void put_data(FILE *f, const struct bench_point *points, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!begins(points, i))
			continue;
		fprintf(f, "$s%zu << EOD\n", i);
		for (size_t j = i; j < n; j++)
			if (!points[j].skip[0] && points[j].mode == points[i].mode &&
			    same_series(&points[j], &points[i]))
				fprintf(f, "%u %.6f %.3f\n", points[j].depth, points[j].bytes_per_s / 1e6,
					100 * points[j].cpu);
		fprintf(f, "EOD\n");
	}
}

/* "compress 128k async, 2 threads" */
static void put_title(FILE *f, const struct bench_point *p)
{
	bool kib = p->size % 1024 == 0;

	fprintf(f, " title '%s %zu%s %s", p->op, kib ? p->size / 1024 : p->size, kib ? "k" : "",
		p->mode == BENCH_ASYNC ? "async" : "sync");
	if (p->threads > 1)
		fprintf(f, ", %u threads", p->threads);
	fputc('\'', f);
}

static void put_lines(FILE *f, const struct bench_point *points, size_t n, int column)
{
	static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
					       "#e69f00", "#56b4e9", "#444444", "#8a5a00" };
	const char *start = "plot";

	for (size_t i = 0; i < n; i++) {
		bool async = points[i].mode == BENCH_ASYNC;

		if (!begins(points, i))
			continue;
		fprintf(f, "%s $s%zu using 1:%d with linespoints lw 2 dt %d pt %d ps 0.8 lc rgb '%s'", start,
			i, column, async ? 1 : 2, async ? 7 : 6, colours[colour(points, i) % 8]);
		put_title(f, &points[i]);
		start = ", \\\n    ";
	}
	fprintf(f, "\n");
}

/* A logarithmic scale where operations lie far apart. */
static bool far_apart(const struct bench_point *points, size_t n)
{
	double lo = 1e300, hi = 0;

	for (size_t i = 0; i < n; i++) {
		if (points[i].skip[0])
			continue;
		lo = points[i].bytes_per_s < lo ? points[i].bytes_per_s : lo;
		hi = points[i].bytes_per_s > hi ? points[i].bytes_per_s : hi;
	}
	return hi > 12 * lo;
}

static void put_axes(FILE *f, const struct bench_point *points, size_t n)
{
	unsigned int lo = BENCH_DEPTH_MAX, hi = 1;
	const char *start = " (";

	for (size_t i = 0; i < n; i++) {
		lo = points[i].depth < lo ? points[i].depth : lo;
		hi = points[i].depth > hi ? points[i].depth : hi;
	}
	fprintf(f, "set logscale x 2\nset xrange [%g:%g]\nset xlabel 'jobs in flight a thread'\n", lo / 1.15,
		hi * 1.15);
	/* A tick for each power of two within the range; none is left if there is one odd depth only. */
	for (unsigned int d = 1; d <= hi; d *= 2) {
		if (d < lo)
			continue;
		fprintf(f, "%s%u", start[0] == ' ' ? "set xtics (" : start, d);
		start = ",";
	}
	fprintf(f, "%s\n", start[0] == ',' ? ")" : "");
	fprintf(f, "set grid lt 1 lw 1 lc rgb '#cccccc'\nset border 3\nset tics nomirror\n");
}

/* Two panels and one legend beside them. */
static void put_script(FILE *f, struct tool *t, const char *term, const struct bench_point *points, size_t n)
{
	unsigned int height = 480, nseries = 0;

	for (size_t i = 0; i < n; i++)
		nseries += begins(points, i);
	if (22 * nseries + 80 > height)
		height = 22 * nseries + 80;
	fprintf(f, "set terminal %s size 1400,%u background '#ffffff'\n", term, height);
	put_data(f, points, n);
	fprintf(f,
		"set multiplot layout 1,2 margins 0.08,0.73,0.12,0.85 spacing 0.08,0 title 'accel bench, %s' "
		"noenhanced\n",
		accel_dev_info(t->dev)->software ? "software accelerator" : "hardware accelerator");
	put_axes(f, points, n);
	fprintf(f, "set key noenhanced at screen 0.735,0.5 left center vertical maxcols 1 reverse Left "
		   "samplen 3\n");
	fprintf(f, "set title 'Throughput (input or plain bytes)'\nset ylabel 'MB/s'\n%s\n",
		far_apart(points, n) ? "set logscale y 10\nset yrange [*:*]" : "set yrange [0:*]");
	put_lines(f, points, n, 2);
	fprintf(f, "unset logscale y\nset yrange [0:*]\nset title 'Processor use'\nunset key\n"
		"set ylabel 'percent of one processor'\n");
	put_lines(f, points, n, 3);
	fprintf(f, "unset multiplot\n");
}

int bench_plot(struct tool *t, const char *path, unsigned int flags, const struct bench_point *points,
	       size_t n)
{
	static char dash[] = "-";
	struct file_out out;
	pid_t pid;
	FILE *f;
	int fd, rc;

	if (file_create(t, path, flags | OUT_NO_ASK, &out))
		return TOOL_FAILED;
	rc = start(&pid, &fd, out.fd, dash);
	f = rc ? NULL : fdopen(fd, "w");
	if (f)
		put_script(f, t, terminal(path), points, n);
	if (f && fclose(f))
		rc = errno;
	if (f && finish(pid))
		rc = EIO;
	if (!f || rc)
		rc = tool_error(t, path, "gnuplot failed");
	else
		rc = file_commit(t, &out, NULL, 0);
	file_abort(&out);
	return rc;
}
