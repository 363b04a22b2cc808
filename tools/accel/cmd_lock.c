/* SPDX-License-Identifier: BSD-2-Clause */
/* accel lock: a command under an exclusive lease. */
#define _GNU_SOURCE
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DURATION_MS 10000
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

static const struct tool_opt opts[] = {
	{ 'w', "wait", "SECONDS", "wait so long for the lock (default 10; 0: do not wait)", NULL },
	{ 'n', "nonblock", NULL, "the same as -w 0", NULL },
	{ 0 },
};

static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };
#define NFORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

static void signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < NFORWARDED; i++)
		sigaddset(set, forwarded[i]);
}

/* What the command gets back as we got it. */
struct inherited {
	sigset_t mask;
	struct sigaction chld;
};

/*
 * SIGCHLD comes to its default: a parent that ignores it hands that down through exec, and an ignored one
 * tells nobody of the command's end.
 */
static void hold_signals(const sigset_t *set, struct inherited *old)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGCHLD, &sa, &old->chld);
	sigprocmask(SIG_BLOCK, set, &old->mask);
}

static void release_signals(const struct inherited *old)
{
	sigaction(SIGCHLD, &old->chld, NULL);
	sigprocmask(SIG_SETMASK, &old->mask, NULL);
}

/* Runs in the child; reports the errno of a failed exec through fd, which exec closes. */
static void start(char **command, const struct inherited *old, pid_t parent, int fd)
{
	int err;

	/* Without us the lock ends: the command must not go on in the belief of being alone. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_CANNOT_RUN);
	release_signals(old);
	execvp(command[0], command);
	err = errno;
	if (write(fd, &err, sizeof(err)) != (ssize_t)sizeof(err))
		_exit(EXIT_CANNOT_RUN);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* What came from the terminal the command got itself, being in our process group. */
static void forward(pid_t pid, const siginfo_t *si)
{
	if (si->si_code == SI_USER || si->si_code == SI_QUEUE || si->si_code == SI_TKILL)
		kill(pid, si->si_signo);
}

/*
 * Renews the lease in a thread of its own, for a renewal over a path that is broken takes its time, in which signals
 * are to be passed on all the same. The lock is lost when the device says so, or when no renewal came through within
 * the lease's duration: then somebody else may have it.
 */
struct keeper {
	struct accel_lease *lease;
	pthread_t thread, watcher;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, lost;		/* under the lock, and so is: */
	uint64_t sure_ns;		/* when the last renewal began that came through */
};

/* False: it is time to stop. */
static bool pause_keeping(struct keeper *k)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += DURATION_MS / 3000;
	while (!k->stop && !pthread_cond_timedwait(&k->changed, &k->lock, &until))
		;
	return !k->stop;
}

static void *keep(void *arg)
{
	struct keeper *k = arg;
	uint64_t now;
	int rc;

	pthread_mutex_lock(&k->lock);
	while (!k->lost && pause_keeping(k)) {
		pthread_mutex_unlock(&k->lock);
		now = tool_now_ns();
		rc = accel_lease_renew(k->lease);
		pthread_mutex_lock(&k->lock);
		if (!rc)
			k->sure_ns = now;
		k->lost = rc == -ESTALE;
	}
	if (k->lost && !k->stop)
		pthread_kill(k->watcher, SIGCHLD);
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static int keeper_start(struct keeper *k, struct accel_lease *lease, uint64_t sure_ns)
{
	pthread_condattr_t attr;

	*k = (struct keeper){ .lease = lease, .watcher = pthread_self(), .sure_ns = sure_ns };
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->changed, &attr);
	pthread_condattr_destroy(&attr);
	return pthread_create(&k->thread, NULL, keep, k);
}

static void keeper_stop(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->lock);
}

/* NULL: the lock is held, for *left at least; else why it is lost. */
static const char *keeper_lost(struct keeper *k, struct timespec *left)
{
	uint64_t now, end;
	const char *why = NULL;

	pthread_mutex_lock(&k->lock);
	now = tool_now_ns();
	end = k->sure_ns + DURATION_MS * 1000000ull;
	if (now >= end)
		why = "it could not be renewed in time";
	else if (k->lost)
		why = "broken, reset, or this host is not let in any more";
	pthread_mutex_unlock(&k->lock);
	end -= why ? end : now;
	*left = (struct timespec){ .tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u) };
	return why;
}

/* Waits for the command, and ends it when the lock is lost. Its wait status. */
static int watch(struct tool *t, struct keeper *k, pid_t pid, const sigset_t *set)
{
	struct timespec left;
	const char *why;
	bool lost = false;
	siginfo_t si;
	int status = 0;

	for (;;) {
		int sig;

		why = lost ? NULL : keeper_lost(k, &left);
		if (why) {
			lost = true;
			tool_error(t, accel_dev_info(t->dev)->path, "the lock was lost (%s): ending the command", why);
			kill(pid, SIGTERM);
		}
		sig = lost ? sigwaitinfo(set, &si) : sigtimedwait(set, &si, &left);

		/* Each time: a process that is gone must not get a signal, its number may be another's. */
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (sig > 0 && sig != SIGCHLD)
			forward(pid, &si);
	}
	return lost && WIFEXITED(status) && !WEXITSTATUS(status) ? TOOL_FAILED << 8 : status;
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_command(struct tool *t, struct accel_lease *lease, uint64_t sure_ns, char **command)
{
	struct keeper k;
	struct inherited old;
	sigset_t set;
	int fds[2], err = 0, status;
	pid_t pid, self = getpid();

	if (pipe2(fds, O_CLOEXEC))
		return tool_file_error(t, "pipe", NULL, errno);
	signals(&set);
	hold_signals(&set, &old);
	fflush(NULL);
	pid = fork();
	if (!pid)
		start(command, &old, self, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return tool_file_error(t, command[0], "fork", errno);
	}
	if (read(fds[0], &err, sizeof(err)) == (ssize_t)sizeof(err))
		tool_file_error(t, command[0], NULL, err);
	close(fds[0]);
	/* Its end is news without a keeper, too; the lock would not last. */
	if (keeper_start(&k, lease, sure_ns)) {
		kill(pid, SIGTERM);
		waitpid(pid, &status, 0);
		release_signals(&old);
		return tool_file_error(t, "thread", NULL, EAGAIN);
	}
	status = watch(t, &k, pid, &set);
	keeper_stop(&k);
	release_signals(&old);
	return exit_code(status);
}

/* *sure_ns: the lease lasts for its duration from then on at least. */
static int acquire(struct tool *t, const char *command, int timeout_ms, struct accel_lease **lease, uint64_t *sure_ns)
{
	struct accel_lease_opts o = ACCEL_INIT(struct accel_lease_opts);
	const char *path = accel_dev_info(t->dev)->path;
	const char *slash = strrchr(command, '/');
	char label[33];
	int rc;

	snprintf(label, sizeof(label), "lock %d %s", (int)getpid(), slash ? slash + 1 : command);
	o.flags = ACCEL_LEASE_EXCLUSIVE;
	o.duration_ms = DURATION_MS;
	o.label = label;
	rc = accel_lease_acquire(t->dev, &o, timeout_ms, lease);
	if (rc)
		return tool_lib_error(t, path, rc);
	/* When in all that waiting it was granted is not known. */
	*sure_ns = tool_now_ns();
	rc = accel_lease_renew(*lease);
	if (rc) {
		accel_lease_release(*lease);
		return tool_lib_error(t, path, rc);
	}
	/* Private memory: nobody else can even see this device. */
	if (!strcmp(accel_dev_info(t->dev)->transport, "soft"))
		tool_error(t, path, "warning: the software accelerator lives in this process, so this lock "
			   "excludes nobody else");
	return 0;
}

/* Without -d and before a "--", the first operand is the device. */
static int operands(struct tool *t, int argc, char **argv)
{
	bool dashes = optind > 1 && !strcmp(argv[optind - 1], "--");

	if (!t->device && !dashes && optind < argc) {
		if (optind + 1 < argc && strcmp(argv[optind + 1], "--") && !opts_is_device(argv[optind]) &&
		    argv[optind][0] != '/')
			return tool_usage(t, "'%s' is no device: DEVICE -- COMMAND, or -- COMMAND",
					  argv[optind]);
		t->device = argv[optind++];
	}
	if (optind < argc && !dashes && !strcmp(argv[optind], "--"))
		optind++;
	return optind < argc ? 0 : tool_usage(t, "no command given");
}

static int run(struct tool *t, int argc, char **argv)
{
	struct accel_lease *lease;
	uint64_t seconds = 10, sure_ns = 0;
	int c, rc = 0;

	while (!rc && (c = opts_next(t, argc, argv)) >= 0) {
		if (c == 'n')
			seconds = 0;
		else
			rc = opts_number(t, "--wait", optarg, 0, 1000000, &seconds);
	}
	if (rc || c != OPTS_END)
		return rc ? rc : t->status;
	rc = operands(t, argc, argv);
	if (!rc)
		rc = tool_dev(t, 0, 0);
	if (!rc)
		rc = acquire(t, argv[optind], (int)seconds * 1000, &lease, &sure_ns);
	if (rc)
		return rc;
	rc = run_command(t, lease, sure_ns, argv + optind);
	accel_lease_release(lease);
	return rc;
}

static const char notes[] =
	"The exit status is the command's, 128 + n if signal n ended it, 126 or 127 if it could not be run,\n"
	"3 if there is no device, 4 if the lock was not to be had in time. Signals are passed on. The\n"
	"command holds no slots itself: the lock keeps others away while it works on the device.\n";

const struct verb verb_lock = {
	.name = "lock",
	.summary = "Run a command while an accelerator is locked",
	.usage = "[options] DEVICE -- COMMAND [ARGUMENT...]\n[options] -- COMMAND [ARGUMENT...]",
	.opts = opts,
	.notes = notes,
	.flags = VERB_DEVICE | VERB_COMMAND,
	.run = run,
};

const struct verb verb_lease_lock = {
	.name = "lock",
	.summary = "Run a command while an accelerator is locked; the same as accel lock",
	.usage = "[options] DEVICE -- COMMAND [ARGUMENT...]\n[options] -- COMMAND [ARGUMENT...]",
	.opts = opts,
	.notes = notes,
	.flags = VERB_DEVICE | VERB_COMMAND,
	.run = run,
};
