/* SPDX-License-Identifier: BSD-2-Clause */
/* accel target: rights, modules, configfs, the lock. */
#include "target.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONFIGFS_MAGIC	0x62656570
#define LOCK_WAIT_NS	10000000000ull

enum { OPT_NO_MODPROBE = OPT_LONG + 0x40, OPT_CONFIGFS, OPT_ROOT };

const struct tool_opt tg_common_opts[] = {
	{ OPT_NO_MODPROBE, "no-modprobe", NULL, "do not load modules", NULL },
	{ OPT_CONFIGFS, "configfs", "DIR", "where configfs is mounted (/sys/kernel/config)", NULL },
	{ OPT_ROOT, "root", "DIR", "DIR/sys, DIR/dev and DIR/run instead of /sys, /dev and /run", NULL },
	{ 'q', "quiet", NULL, "no notes", NULL },
	{ 0 },
};

void tg_init(struct target *g, struct tool *t)
{
	memset(g, 0, sizeof(*g));
	g->t = t;
	g->root = "";
	g->module = TG_MODULE;
	g->job = "target";
	g->lock = g->kmsg = -1;
}

bool tg_option(struct target *g, int c)
{
	switch (c) {
	case OPT_NO_MODPROBE:
		g->no_modprobe = true;
		return true;
	case OPT_CONFIGFS:
		g->configfs = optarg;
		return true;
	case OPT_ROOT:
		g->root = optarg;
		return true;
	case 'q':
		g->t->quiet = true;
		return true;
	default:
		return false;
	}
}

/* ---- Modules ---- */

static bool mock(const struct target *g)
{
	return *g->root;
}

bool tg_modprobe(struct target *g, const char *module)
{
	int status;
	pid_t pid;

	if (g->no_modprobe || mock(g))
		return false;
	pid = fork();
	if (!pid) {
		execlp("modprobe", "modprobe", "--", module, (char *)NULL);
		execl("/sbin/modprobe", "modprobe", "--", module, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int no_module(struct target *g, const char *module, const char *hint)
{
	return tool_error(g->t, NULL, "the module %s is not loaded (modprobe %s)%s", module, module, hint);
}

static bool loaded(const struct target *g, const char *module)
{
	char path[TG_PATH];

	snprintf(path, sizeof(path), "%s/module/%s", g->sys, module);
	for (char *p = path + strlen(g->sys); *p; p++)
		*p = *p == '-' ? '_' : *p;
	return tg_exists(path);
}

int tg_need_nvmet(struct target *g, const char *trtype)
{
	char path[TG_PATH], module[32];

	if (!tg_exists(tg_path(g, path, "nvmet")) && !(tg_modprobe(g, "nvmet") && tg_exists(path)))
		return no_module(g, "nvmet", "; without it the controller is for local use only");
	if (!trtype || mock(g))
		return 0;
	snprintf(module, sizeof(module), strcmp(trtype, "loop") ? "nvmet-%s" : "nvme-%s", trtype);
	/* Where it is built in, there may be no directory in /sys/module. nvmet asks for it, too, when a port is opened. */
	if (!loaded(g, module) && !tg_modprobe(g, module) && !g->no_modprobe)
		return no_module(g, module, "");
	return 0;
}

/* ---- configfs ---- */

static bool mounted(const struct target *g)
{
	struct statfs st;

	return !statfs(g->cfs, &st) && (mock(g) || g->configfs || st.f_type == CONFIGFS_MAGIC);
}

static int mount_configfs(struct target *g)
{
	if (mounted(g))
		return 0;
	if (g->configfs || mock(g))
		return tool_error(g->t, g->cfs, "is not there");
	tg_modprobe(g, "configfs");
	/* The module's hook may have mounted it (systemd does). */
	if (mounted(g) || !mount("configfs", g->cfs, "configfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return 0;
	return tool_error(g->t, NULL, "configfs is not mounted: %s (modprobe configfs; mount -t configfs configfs %s)",
			  strerror(errno), g->cfs);
}

static int need_module(struct target *g)
{
	char path[TG_PATH];

	if (tg_exists(tg_path(g, path, "%s", g->module)) || (tg_modprobe(g, g->module) && tg_exists(path)))
		return 0;
	return no_module(g, g->module, "; it is built by make modules, or by dkms");
}

/* ---- The lock ---- */

static int make_run(struct target *g)
{
	char dir[sizeof(g->run)];

	snprintf(dir, sizeof(dir), "%s", g->run);
	*strrchr(dir, '/') = 0;
	if ((!mkdir(dir, 0755) || errno == EEXIST) && (!mkdir(g->run, 0755) || errno == EEXIST))
		return 0;
	return tool_error(g->t, g->run, "cannot be made: %s", strerror(errno));
}

/* One at a time; the holder's number is in the file for whoever waits in vain. */
static int lock(struct target *g)
{
	uint64_t end = tool_now_ns() + LOCK_WAIT_NS;
	char path[TG_PATH], pid[32] = "";
	ssize_t n;

	snprintf(path, sizeof(path), "%s/lock", g->run);
	g->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (g->lock < 0)
		return tool_error(g->t, path, "%s", strerror(errno));
	while (flock(g->lock, LOCK_EX | LOCK_NB)) {
		if (tool_now_ns() >= end || errno != EWOULDBLOCK) {
			n = read(g->lock, pid, sizeof(pid) - 1);
			pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
			tool_error(g->t, NULL, "another accel %s is at work%s%s", g->job, *pid ? ", process " : "", pid);
			return TOOL_BUSY;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(g->lock, 0) || pwrite(g->lock, pid, (size_t)n, 0) != n)
		return tool_error(g->t, path, "write: %s", strerror(errno));
	return 0;
}

/* A signal between two steps would leave half of it; each step ends in time, so it can wait until the end. */
static void hold_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(how, &set, NULL);
}

int tg_begin(struct target *g, enum tg_purpose purpose)
{
	char path[TG_PATH];
	int rc;

	if (strlen(g->root) > 200 || (g->configfs && strlen(g->configfs) > 200))
		return tool_usage(g->t, "--root, --configfs: the name is too long");
	snprintf(g->sys, sizeof(g->sys), "%s/sys", g->root);
	snprintf(g->run, sizeof(g->run), "%s/run/nvme-accel/%s", g->root, g->job);
	snprintf(g->cfs, sizeof(g->cfs), "%s%s", g->configfs ? "" : g->sys, g->configfs ? g->configfs : "/kernel/config");
	if (purpose != TG_LOOK && geteuid() && !mock(g) && !g->configfs)
		return tool_error(g->t, NULL, "only root may do that (sudo %s ...)", g->t->name);
	rc = purpose == TG_CHANGE ? mount_configfs(g) : 0;
	if (!rc && purpose == TG_CHANGE)
		rc = need_module(g);
	if (rc || purpose < TG_LOCK)
		return rc;
	rc = make_run(g);
	if (!rc)
		rc = lock(g);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/dev/kmsg", g->root);
	g->kmsg = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	hold_signals(SIG_BLOCK);
	if (!strcmp(g->module, TG_MODULE))
		tg_sweep(g);
	return 0;
}

int tg_end(struct target *g, int rc)
{
	if (rc)
		tg_rollback(g);
	else
		tg_keep(g);
	if (g->lock >= 0)
		close(g->lock);
	if (g->kmsg >= 0)
		close(g->kmsg);
	g->lock = g->kmsg = -1;
	hold_signals(SIG_UNBLOCK);
	return rc;
}
