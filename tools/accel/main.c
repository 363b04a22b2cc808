/* SPDX-License-Identifier: BSD-2-Clause */
/* The command: finds the verb and runs it. */
#include "tool.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct verb *const verbs[] = {
	&verb_list,	&verb_info,  &verb_compress, &verb_decompress, &verb_ec,
	&verb_digest,	&verb_checksum, &verb_seal,  &verb_open,       &verb_lease,
	&verb_lock,	&verb_stats, &verb_selftest, &verb_bench,      &verb_target,
	&verb_crypto,	&verb_p2p,  NULL,
};

static const struct verb root = {
	.name = "accel",
	.summary = "Use NVMe accelerators",
	.usage = "VERB [options]",
	.subs = verbs,
	.notes = "Exit status: 0 success, 1 a job or file failed, 2 wrong usage (decompress: also a\n"
		 "warning), 3 no device, 4 device busy. Without a hardware accelerator the software one\n"
		 "does the work.\n"
		 "`accel VERB --help` tells more; so do accel(1) and accel-VERB(1). `accel --version`\n"
		 "prints the version.\n",
};

static const struct verb *find(const struct verb *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

static int print_help(struct tool *t)
{
	opts_help(t, stdout);
	return out_flush(t);
}

/* What stands in the place of a verb but is none: an option, help, or a mistake. */
static int no_verb(struct tool *t, const char *arg)
{
	if (!arg) {
		opts_help(t, stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(arg, "--help") || !strcmp(arg, "-h") || !strcmp(arg, "help"))
		return print_help(t);
	if (t->verb == &root && (!strcmp(arg, "--version") || !strcmp(arg, "-V"))) {
		printf("accel %s\n", accel_version());
		return out_flush(t);
	}
	return tool_usage(t, "unknown %s '%s'", *arg == '-' ? "option" : "verb", arg);
}

static void enter(struct tool *t, const struct verb *verb)
{
	size_t n = strlen(t->name);

	t->verb = verb;
	snprintf(t->name + n, sizeof(t->name) - n, "%s%s", n ? " " : "", verb->name);
}

static int help_of(struct tool *t, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const struct verb *v = t->verb->subs ? find(t->verb->subs, argv[i]) : NULL;

		if (!v)
			return no_verb(t, argv[i]);
		enter(t, v);
	}
	return print_help(t);
}

static int dispatch(struct tool *t, int argc, char **argv)
{
	enter(t, &root);
	while (t->verb->subs) {
		const struct verb *v = argc > 1 ? find(t->verb->subs, argv[1]) : NULL;

		if (!v && argc > 2 && !strcmp(argv[1], "help"))
			return help_of(t, argc - 2, argv + 2);
		if (!v)
			return no_verb(t, argv[1]);
		enter(t, v);
		argc--;
		argv++;
	}
	return t->verb->run(t, argc, argv);
}

/*
 * Started with a standard descriptor closed, the next file opened would get its number, and messages would
 * go into it. What is put in its place fails to be read or written, as the closed one would.
 */
static bool occupy_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct tool t = { 0 };
	int rc;

	if (!occupy_standard_fds())
		return TOOL_FAILED;
	rc = dispatch(&t, argc, argv);
	accel_dev_close(t.dev);
	accel_ctx_unref(t.ctx);
	return rc;
}
