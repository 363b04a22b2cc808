// SPDX-License-Identifier: BSD-2-Clause
/* The daemon's begin and end, and the signals between: everything else happens in reactors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "conn.h"

#define DEFAULT_FILE	"/etc/acceld.conf"
#define MAX_LISTEN	64
#define FILES_BESIDES	64u	/* descriptors that are no connections */
#define DRAIN_STEP_NS	(10 * NS_PER_MS)

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct options {
	const char *file;		/* NULL: DEFAULT_FILE if there is one */
	const char *listen[MAX_LISTEN];
	unsigned int nlisten;
	bool test;
};

static const char help[] =
	"Usage: acceld [OPTION]...\n"
	"Presents software accelerators and memory to other programs and machines as NVMe/TCP namespaces.\n"
	"\n"
	"  -c, --config FILE       the configuration; without it " DEFAULT_FILE " if there is one,\n"
	"                          else defaults: 127.0.0.1:4420, an accelerator of each kind\n"
	"  -l, --listen ADDR:PORT  listen there instead of where the file says ([::1]:4420 for IPv6;\n"
	"                          port 0: a free one); may be given several times\n"
	"  -t, --test-config       say whether the configuration is good, and end\n"
	"  -v, --verbose           log connections too\n"
	"  -h, --help              show this\n"
	"  -V, --version           show the version\n"
	"\n"
	"Signals: SIGHUP reads the configuration again and adds and removes what has changed; SIGTERM and\n"
	"SIGINT end the daemon after the commands in flight, a second one without waiting for them.\n"
	"\n"
	"Exit status: 0 ended by a signal, or the configuration is good; 1 it could not start or go on;\n"
	"2 the command line or the configuration is wrong.\n";

static int usage(const char *what, const char *arg)
{
	fprintf(stderr, "acceld: %s%s (see acceld --help)\n", what, arg);
	return EXIT_USAGE;
}

/* -1: go on; else the exit status. verbose is added to the level of the configuration. */
static int parse_options(int argc, char **argv, struct options *o, bool *verbose)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' }, { "listen", required_argument, NULL, 'l' },
		{ "test-config", no_argument, NULL, 't' },  { "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },	    { "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:l:tvhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->file = optarg;
			break;
		case 'l':
			if (o->nlisten == MAX_LISTEN)
				return usage("too many addresses to listen at", "");
			o->listen[o->nlisten++] = optarg;
			break;
		case 't':
			o->test = true;
			break;
		case 'v':
			*verbose = true;
			break;
		case 'h':
			return fputs(help, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
		case 'V':
			return printf("acceld %s\n", ACCELD_VERSION) < 0 ? EXIT_FAILED : EXIT_OK;
		default:
			return usage("no such option", "");
		}
	}
	if (optind < argc)
		return usage("unexpected argument: ", argv[optind]);
	return -1;
}

static const char *file_of(const struct options *o)
{
	return o->file ? o->file : access(DEFAULT_FILE, F_OK) ? NULL : DEFAULT_FILE;
}

static int test_passed(const char *file)
{
	return file ? printf("acceld: the configuration is good: %s\n", file) :
		      printf("acceld: the configuration is good: the defaults, as there is no %s\n", DEFAULT_FILE);
}

/* The file, and what the command line has to say to it. */
static struct conf *load(const struct options *o, bool verbose)
{
	struct conf *conf = conf_load(file_of(o));
	const char *why;
	unsigned int i;

	if (!conf)
		return NULL;
	if (verbose)
		conf->log_level = LOG_DEBUG;
	if (o->nlisten)
		conf->nlisten = 0;
	for (i = 0; i < o->nlisten; i++) {
		why = conf_listen_add(conf, o->listen[i]);
		if (!why)
			continue;
		fprintf(stderr, "acceld: --listen %s: %s\n", o->listen[i], why);
		conf_free(conf);
		return NULL;
	}
	return conf;
}

/* ---- The service manager ---- */

/* A datagram to whom NOTIFY_SOCKET names, if anybody wants to know. */
static void notify(const char *state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (!n || n >= sizeof(sun.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(sun.sun_path, path, n);
	if (*path == '@')	/* a name without a file begins with a NUL byte */
		sun.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sun,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

static void notify_reloading(void)
{
	char state[80];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(now_ns() / 1000));
	notify(state);
}

/* ---- Signals ---- */

static void block_hangup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void reload(struct target *t, const struct options *o, bool verbose)
{
	struct conf *conf;
	const char *file = file_of(o);
	int level;

	notify_reloading();
	conf = load(o, verbose);
	if (!conf) {
		log_event(t, LOG_ERROR, "reload-failed", "file=%s hint=\"correct what the lines above name; "
			  "nothing has changed\"", file ? file : "none");
	} else {
		level = conf->log_level;
		if (target_reload(t, conf))
			log_event(t, LOG_ERROR, "reload-incomplete", "file=%s hint=\"see the lines above\"",
				  file ? file : "none");
		else
			log_event(t, LOG_INFO, "reloaded", "file=%s", file ? file : "none");
		log_set_level(t, level);
	}
	notify("READY=1");
}

static void serve(struct target *t, const struct options *o, bool verbose, const sigset_t *set)
{
	int sig;

	for (;;) {
		sig = sigwaitinfo(set, NULL);
		if (sig == SIGHUP)
			reload(t, o, verbose);
		else if (sig > 0)
			return;
	}
}

/* No new connections and commands; those in flight may end, as long as it takes but not for ever. A second signal
 * ends the waiting, a third one everything. */
static void drain(struct target *t, const sigset_t *set)
{
	const struct timespec step = { .tv_nsec = (long)DRAIN_STEP_NS }, none = { 0 };
	uint64_t end = now_ns() + t->conf->drain_ms * NS_PER_MS;
	int sig;

	__atomic_store_n(&t->stopping, 1, __ATOMIC_RELEASE);
	notify("STOPPING=1");
	log_event(t, LOG_INFO, "stopping", "connections=%llu commands=%u",
		  (unsigned long long)__atomic_load_n(&t->count.conns_now, __ATOMIC_RELAXED), reactors_busy(t));
	listen_stop(t);
	reactors_drain(t);
	while (reactors_busy(t) && now_ns() < end) {
		sig = sigtimedwait(set, NULL, &step);
		if (sig == SIGTERM || sig == SIGINT)
			break;
	}
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigtimedwait(set, NULL, &none);	/* what came just now was the second one */
	pthread_sigmask(SIG_UNBLOCK, set, NULL);
}

/* ---- Start ---- */

/* Connections need descriptors; the limit is raised as far as an ordinary process may. */
static void raise_files(struct target *t, struct conf *conf)
{
	struct rlimit lim;
	rlim_t want = (rlim_t)conf->max_conns + FILES_BESIDES;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= want)
		return;
	lim.rlim_cur = BASE_MIN(want, lim.rlim_max);
	setrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur >= want)
		return;
	conf->max_conns = lim.rlim_cur > 2 * FILES_BESIDES ? (unsigned int)lim.rlim_cur - FILES_BESIDES : FILES_BESIDES;
	log_event(t, LOG_WARNING, "files", "max_conns=%u hint=\"the limit of open files allows no more: "
		  "raise LimitNOFILE\"", conf->max_conns);
}

static int run(struct target *t, const struct options *o, bool verbose, const sigset_t *set)
{
	int rc = reactors_start(t, t->conf->reactors ? t->conf->reactors : reactors_ncpu());

	if (rc)
		return EXIT_FAILED;
	if (listen_update(t, t->conf)) {
		listen_stop(t);
		reactors_stop(t);
		return EXIT_FAILED;
	}
	log_event(t, LOG_INFO, "ready", "version=%s reactors=%u", ACCELD_VERSION, t->nreactor);
	notify("READY=1");
	serve(t, o, verbose, set);
	drain(t, set);
	if (!reactors_stop(t))	/* something does not end: so be it */
		_exit(EXIT_FAILED);
	log_event(t, LOG_INFO, "stopped", "uptime_s=%llu", (unsigned long long)((now_ns() - t->start_ns) / NS_PER_S));
	return EXIT_OK;
}

/* Else a connection could get the number of stderr, and what is logged be sent to a host. */
static bool occupy_standard_fds(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	bool verbose = false;
	struct target *t;
	struct conf *conf;
	sigset_t set;
	int rc;

	if (!occupy_standard_fds())
		return EXIT_FAILED;
	rc = parse_options(argc, argv, &o, &verbose);
	if (rc >= 0)
		return rc;
	block_hangup();	/* it is not the end of a daemon that starts: the file may have changed since it was read */
	conf = load(&o, verbose);
	if (!conf)
		return EXIT_USAGE;
	if (o.test) {
		conf_free(conf);
		return test_passed(file_of(&o)) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	block_signals(&set);
	t = calloc(1, sizeof(*t));
	if (!t || log_start(t, conf->log_level)) {
		fprintf(stderr, "acceld: no memory\n");
		conf_free(conf);
		free(t);
		return EXIT_FAILED;
	}
	raise_files(t, conf);
	rc = EXIT_FAILED;
	if (!target_init(t, conf)) {
		rc = run(t, &o, verbose, &set);
		target_fini(t);
	}
	log_stop(t);
	free(t);
	return rc;
}
