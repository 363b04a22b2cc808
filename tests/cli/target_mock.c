/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's part of configfs for tests without a kernel: preloaded below `accel target|crypto --root=$MOCK_ROOT`. A directory
 * that is made there gets its attributes, one that is removed must be empty but for them, what is written is judged, and
 * what follows from it (a controller that is enabled has a device) comes about. The files themselves are plain files.
 *   MOCK_REFUSE=PATTERN:ERRNO:TEXT  a write, mkdir or symlink of a path that matches fails; TEXT goes to the kernel's log
 *   MOCK_KILL=PATTERN               the process is killed before it does such a step
 *   MOCK_NO_PASSTHRU=1              an inbox target that has none
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static int real_mkdir(const char *p) { return REAL(int, "mkdir", const char *, mode_t)(p, 0755); }
static ssize_t real_write(int fd, const void *b, size_t n) { return REAL(ssize_t, "write", int, const void *, size_t)(fd, b, n); }

/* The path below configfs, or NULL. */
static const char *below(const char *path)
{
	const char *root = getenv("MOCK_ROOT");
	size_t n = root ? strlen(root) : 0;

	if (!n || strncmp(path, root, n) || strncmp(path + n, "/sys/kernel/config/", 19))
		return NULL;
	return path + n + 19;
}

static void put(const char *path, const char *name, const char *text)
{
	char file[4096];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || real_write(fd, text, strlen(text)) < 0 || real_write(fd, "\n", 1) < 0 || close(fd))
		abort();
}

static void dir(const char *path, const char *name)
{
	char sub[4096];

	snprintf(sub, sizeof(sub), "%s/%s", path, name);
	real_mkdir(sub);
}

static void log_line(const char *text)
{
	char file[4096];
	FILE *f;

	snprintf(file, sizeof(file), "%s/dev/kmsg", getenv("MOCK_ROOT"));
	f = fopen(file, "a");
	if (f) {
		fprintf(f, "6,1,1,-;%s\n", text);
		fclose(f);
	}
}

/* 0, or the errno with which this step fails. */
static int judge(const char *rel)
{
	const char *kill_at = getenv("MOCK_KILL"), *refuse = getenv("MOCK_REFUSE");
	char copy[512], *err, *text;

	if (kill_at && !fnmatch(kill_at, rel, 0))
		raise(SIGKILL);
	if (!refuse)
		return 0;
	snprintf(copy, sizeof(copy), "%s", refuse);
	err = strchr(copy, ':');
	text = err ? strchr(err + 1, ':') : NULL;
	if (!text)
		abort();
	*err++ = 0;
	*text++ = 0;
	if (fnmatch(copy, rel, 0))
		return 0;
	if (*text)
		log_line(text);
	return atoi(err);
}

/* How many components, and whether it begins with them: a pattern with * for one. */
static int is(const char *rel, const char *pattern)
{
	return !fnmatch(pattern, rel, FNM_PATHNAME);
}

static void attributes(const char *path, const char *const (*list)[2])
{
	for (; (*list)[0]; list++)
		put(path, (*list)[0], (*list)[1]);
}

static unsigned int hash(const char *name)
{
	unsigned int sum = 0;

	for (; *name; name++)
		sum = sum * 31 + (unsigned char)*name;
	return sum;
}

static void made_ctrl(const char *path, const char *name)
{
	static const char *const a[][2] = { { "enable", "0" }, { "serial", "0011223344" }, { "model", "nvme-accel virtual controller" },
		{ "firmware", "1.0" }, { "queue_depth", "128" }, { "nr_queues", "0" }, { "device", "" }, { "state", "disabled" }, { 0 } };
	char nqn[128];

	snprintf(nqn, sizeof(nqn), "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-8000-8000-0000%08x", hash(name));
	put(path, "subsysnqn", nqn);
	attributes(path, a);
	dir(path, "namespaces");
}

static void made(const char *path, const char *rel)
{
	static const char *const ns[][2] = { { "enable", "0" }, { "kind", "none" }, { "device_path", "" }, { "device_nsid", "0" },
		{ "shared", "0" }, { "engine_type", "" }, { "engine_threads", "0" }, { "engine_slots", "64" }, { "engine_driver", "" },
		{ "engine_lbads", "12" }, { "engine_window_bits", "15" }, { "allow", "read write flush" }, { "max_inflight", "0" },
		{ "max_bytes_per_sec", "0" }, { "max_cmds_per_sec", "0" }, { "uuid", "00000000-0000-0000-0000-000000000000" },
		{ "nguid", "00000000000000000000000000000000" }, { 0 } };
	static const char *const subsys[][2] = { { "attr_allow_any_host", "0" }, { "attr_serial", "aabb" }, { "attr_model", "Linux" },
		{ "attr_cntlid_min", "1" }, { "attr_cntlid_max", "65519" }, { "attr_version", "1.3" }, { 0 } };
	static const char *const passthru[][2] = { { "device_path", "" }, { "enable", "0" }, { "clear_ids", "0" },
		{ "admin_timeout", "0" }, { "io_timeout", "0" }, { 0 } };
	static const char *const port[][2] = { { "addr_trtype", "" }, { "addr_adrfam", "" }, { "addr_traddr", "" },
		{ "addr_trsvcid", "" }, { "addr_treq", "not specified" }, { "param_inline_data_size", "16384" }, { 0 } };
	static const char *const crypto[][2] = { { "enable", "0" }, { "state", "disabled" }, { "device_path", "" }, { "slots", "32" },
		{ "queue_depth", "128" }, { "threshold_min", "4096" }, { "threshold_max", "131072" }, { "verify", "1" }, { "level", "1" },
		{ "window_bits", "11" }, { "priority", "50" }, { "timeout", "1000" }, { "transport", "" }, { "allow_fabrics", "0" },
		{ "algorithms", "" }, { "uuid", "" }, { 0 } };
	char sub[4096];

	if (is(rel, "nvme-accel-crypto/*")) {
		attributes(path, crypto);
	} else if (is(rel, "nvme-accel-passthru/*")) {
		made_ctrl(path, strrchr(path, '/') + 1);
	} else if (is(rel, "nvme-accel-passthru/*/namespaces/*")) {
		attributes(path, ns);
	} else if (is(rel, "nvmet/subsystems/*")) {
		attributes(path, subsys);
		dir(path, "namespaces");
		dir(path, "allowed_hosts");
		if (getenv("MOCK_NO_PASSTHRU"))
			return;
		dir(path, "passthru");
		snprintf(sub, sizeof(sub), "%s/passthru", path);
		attributes(sub, passthru);
	} else if (is(rel, "nvmet/ports/*")) {
		attributes(path, port);
		dir(path, "subsystems");
		dir(path, "referrals");
	} else if (is(rel, "nvmet/hosts/*")) {
		put(path, "dhchap_key", "");
		put(path, "dhchap_hash", "hmac(sha256)");
	}
}

int mkdir(const char *path, mode_t mode)
{
	const char *rel = below(path);
	int err = rel ? judge(rel) : 0, rc;

	if (err) {
		errno = err;
		return -1;
	}
	rc = REAL(int, "mkdir", const char *, mode_t)(path, mode);
	if (!rc && rel)
		made(path, rel);
	return rc;
}

int symlink(const char *target, const char *path)
{
	const char *rel = below(path);
	int err = rel ? judge(rel) : 0;

	if (!err && rel && access(target, F_OK))
		err = ENOENT;
	if (err) {
		errno = err;
		return -1;
	}
	return REAL(int, "symlink", const char *, const char *)(target, path);
}

/* Whether a link in one of the directories PATTERN has this name. */
static int linked(const char *parent, const char *sub, const char *name)
{
	char path[4096];
	struct dirent *e;
	DIR *d;
	int found = 0;

	snprintf(path, sizeof(path), "%s/sys/kernel/config/%s", getenv("MOCK_ROOT"), parent);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/sys/kernel/config/%s/%s/%s/%s", getenv("MOCK_ROOT"), parent, e->d_name, sub, name);
		found = e->d_name[0] != '.' && !lstat(path, &st);
	}
	if (d)
		closedir(d);
	return found;
}

/* What the kernel made goes with the directory; what somebody else made is in the way. */
static int empty_out(const char *path, int top)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int busy = 0;

	while (d && (e = readdir(d))) {
		char p[4096];
		struct stat st;

		if (e->d_name[0] == '.')
			continue;
		snprintf(p, sizeof(p), "%s/%s", path, e->d_name);
		if (lstat(p, &st))
			continue;
		if (S_ISDIR(st.st_mode) && top)
			busy |= empty_out(p, 0) || REAL(int, "rmdir", const char *)(p);
		else if (S_ISREG(st.st_mode) && (top || strstr(path, "/passthru")))
			busy |= unlink(p) != 0;
		else
			busy = 1;
	}
	if (d)
		closedir(d);
	return busy;
}

int rmdir(const char *path)
{
	const char *rel = below(path);
	const char *name = strrchr(path, '/') + 1;

	if (rel) {
		int err = judge(rel);

		if (!err && is(rel, "nvmet/subsystems/*") && linked("nvmet/ports", "subsystems", name))
			err = EBUSY;
		if (!err && is(rel, "nvmet/hosts/*") && linked("nvmet/subsystems", "allowed_hosts", name))
			err = EBUSY;
		if (!err && !access(path, F_OK) && empty_out(path, 1))
			err = ENOTEMPTY;
		if (err) {
			errno = err;
			return -1;
		}
	}
	return REAL(int, "rmdir", const char *)(path);
}

static int crypto_written(const char *rel, const char *up, const char *value)
{
	static const char *const fixed[] = { "device_path", "slots", "queue_depth", "threshold_max", "priority" };
	const char *name = strrchr(rel, '/') + 1;
	char path[4200], state[32] = "";
	FILE *f;

	if (!strcmp(name, "enable")) {
		put(up, "state", *value == '1' ? "live" : "disabled");
		put(up, "transport", *value == '1' ? "local" : "");
		put(up, "algorithms", *value == '1' ? "deflate sha256" : "");
		return 0;
	}
	snprintf(path, sizeof(path), "%s/state", up);
	f = fopen(path, "r");
	if (!f || !fgets(state, sizeof(state), f))
		abort();
	fclose(f);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!strcmp(name, fixed[i]) && strncmp(state, "disabled", 8))
			return EBUSY;
	return 0;
}

/* What the kernel would not take, and what follows from what it takes. */
static int written(const char *path, const char *rel, const char *value)
{
	char up[4096], dev[64];
	int on = *value == '1';

	snprintf(up, sizeof(up), "%s", path);
	*strrchr(up, '/') = 0;
	if (is(rel, "nvme-accel-crypto/*/*"))
		return crypto_written(rel, up, value);
	if (is(rel, "nvme-accel-passthru/*/enable")) {
		snprintf(dev, sizeof(dev), "nvme%u", 100 + hash(strrchr(up, '/') + 1) % 100000);
		put(up, "device", on ? dev : "");
		put(up, "state", on ? "live" : "disabled");
	} else if (is(rel, "nvmet/subsystems/*/passthru/device_path") && strncmp(value, "/dev/nvme", 9)) {
		return EINVAL;
	}
	return 0;
}

ssize_t write(int fd, const void *buf, size_t n)
{
	char link[64], path[4096], value[2100];
	const char *rel;
	ssize_t len;
	int err;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = 0;
	rel = below(path);
	if (!rel)
		return real_write(fd, buf, n);
	snprintf(value, sizeof(value), "%.*s", (int)n, (const char *)buf);
	value[strcspn(value, "\n")] = 0;
	err = judge(rel);
	if (!err)
		err = written(path, rel, value);
	if (err) {
		errno = err;
		return -1;
	}
	return ftruncate(fd, 0) ? -1 : real_write(fd, buf, n);
}
