/* SPDX-License-Identifier: BSD-2-Clause */
/* acceld for a measurement: started on a free port of loopback, ended with it. */
#ifndef BENCH_TCP_DAEMON_H
#define BENCH_TCP_DAEMON_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench_tcp_util.h"

#define NSID_ALL 1
#define NSID_RAM 2
#define DAEMON_NQN "nqn.2026-11.local.accel:bench"

struct daemon_proc {
	pid_t pid;
	int log;			/* what it writes to standard error */
	unsigned int port, poll_us;	/* poll_us: also of names made for it */
	char conf[64];
};

static void daemon_conf(struct daemon_proc *d, unsigned int threads)
{
	static const char text[] =
		"[daemon]\n"
		"listen = 127.0.0.1:0\n"
		"reactors = 1\n"
		"poll_us = %u\n"
		"congestion = " BENCH_CONGESTION "\n"
		"memory = 512M\n"
		"slot_memory = 512M\n"
		"[subsystem " DAEMON_NQN "]\n"
		"allow_any_host = yes\n"
		"[namespace 1]\n"
		"type = all\n"
		"threads = %u\n"
		"slots = 64\n"
		"[namespace 2]\n"
		"type = ram\n"
		"size = 16M\n";
	FILE *f;
	int fd;

	strcpy(d->conf, "/tmp/bench-acceld.XXXXXX");
	fd = mkstemp(d->conf);
	check(fd >= 0, "cannot make a file in /tmp");
	f = fdopen(fd, "w");
	check(f && fprintf(f, text, d->poll_us, threads) > 0 && !fclose(f), "cannot write a file in /tmp");
}

static void daemon_exec(const char *path, const struct daemon_proc *d, int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && dup2(fd, 2) == 2)
		execl(path, path, "-c", d->conf, (char *)NULL);
	fprintf(stderr, "cannot run %s\n", path);
	_exit(127);
}

/* Reads its log until it says where it listens. */
static void daemon_wait(struct daemon_proc *d)
{
	static const char mark[] = "listening addr=127.0.0.1:";
	struct pollfd p = { .fd = d->log, .events = POLLIN };
	char text[8192];
	const char *at;
	size_t n = 0;
	ssize_t got;

	do {
		got = poll(&p, 1, 20000) > 0 ? read(d->log, text + n, sizeof(text) - 1 - n) : 0;
		if (got > 0)
			n += (size_t)got;
		text[n] = 0;
		at = strstr(text, mark);
		if (got <= 0 || n == sizeof(text) - 1) {
			unlink(d->conf);
			fprintf(stderr, "%s", text);
			fail("acceld did not start");
		}
	} while (!at || !strchr(at, '\n'));
	d->port = (unsigned int)strtoul(at + sizeof(mark) - 1, NULL, 10);
	check(d->port > 0 && d->port < 65536, "acceld says no port");
	/* Nobody reads the rest, and it must not block. */
	fcntl(d->log, F_SETFL, O_NONBLOCK);
}

static void daemon_start(struct daemon_proc *d, const char *path, unsigned int poll_us, unsigned int threads)
{
	pid_t self = getpid();
	int fd[2];

	memset(d, 0, sizeof(*d));
	d->poll_us = poll_us;
	daemon_conf(d, threads);
	check(!pipe2(fd, O_CLOEXEC), "no pipe");
	fcntl(fd[1], F_SETPIPE_SZ, 1 << 20);
	d->log = fd[0];
	d->pid = fork();
	check(d->pid >= 0, "cannot fork");
	if (!d->pid)
		daemon_exec(path, d, fd[1], self);
	close(fd[1]);
	daemon_wait(d);
	/* It has been read. */
	unlink(d->conf);
}

/* In order, or after ten seconds by force. */
static void daemon_stop(struct daemon_proc *d)
{
	unsigned int i;

	kill(d->pid, SIGTERM);
	for (i = 0; i < 1000 && !waitpid(d->pid, NULL, WNOHANG); i++)
		usleep(10000);
	if (i == 1000) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, NULL, 0);
	}
	close(d->log);
}

static const char *daemon_name(const struct daemon_proc *d, unsigned int nsid, char name[192])
{
	snprintf(name, 192, "tcp://127.0.0.1:%u/" DAEMON_NQN "?nsid=%u&poll=%u", d->port, nsid, d->poll_us);
	return name;
}

#endif
