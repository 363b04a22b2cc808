// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening nodes: only what has proven to be an accelerator is opened for writing, whatever lies in the blocks of a
 * disk; and each reason to refuse has its own error. A loop device stands for a disk; one whose clock page is kept
 * up to date stands for an accelerator.
 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include "node_util.h"
#include "../../lib/base/bits.h"
#include "../../lib/wire/wire.h"

struct fix {
	struct tree tree;
	char image[128], node[32];
	int fd;				/* of the image */
	int loop;
	uint64_t size;
	struct wire_id id;
	uint8_t page[4096];
	struct transport_env env;
	char said[256];
	unsigned int nsaid;
	pthread_t clock;
	volatile bool ticking;
};

static void hear(void *arg, int level, const char *message)
{
	struct fix *f = arg;

	(void)level;
	f->nsaid++;
	snprintf(f->said, sizeof(f->said), "%s", message);
}

static void identity_of_soft(struct fix *f)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:nsid=5,slots=1,threads=1");

	assert_int_equal(accel_raw_identify(dev, f->page), 0);
	assert_int_equal(wire_id_decode(&f->id, f->page), WIRE_OK);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void put(struct fix *f, uint64_t off, const void *p, size_t n)
{
	assert_int_equal(pwrite(f->fd, p, n, (off_t)off), n);
}

static void set_clock(struct fix *f, uint64_t ns)
{
	struct nvme_accel_stats s = { .magic = NVME_ACCEL_STATS_MAGIC, .version = 1 };

	le64_put(&s.bootid, f->id.bootid);
	le64_put(&s.uptime_ns, ns);
	put(f, f->id.stats_off, &s, sizeof(s));
}

static void *tick(void *arg)
{
	struct fix *f = arg;

	while (__atomic_load_n(&f->ticking, __ATOMIC_RELAXED)) {
		set_clock(f, now_ns());
		usleep(200);
	}
	return NULL;
}

static void clock_start(struct fix *f)
{
	f->ticking = true;
	set_clock(f, now_ns());
	assert_int_equal(pthread_create(&f->clock, NULL, tick, f), 0);
}

static void clock_stop(struct fix *f)
{
	__atomic_store_n(&f->ticking, false, __ATOMIC_RELAXED);
	pthread_join(f->clock, NULL);
}

static bool loop_attach(struct fix *f)
{
	/* Gone with the last descriptor, also if a test fails. */
	struct loop_config config = { .fd = (uint32_t)f->fd, .block_size = 512, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n = -1;

	if (ctl >= 0) {
		n = ioctl(ctl, LOOP_CTL_GET_FREE);
		close(ctl);
	}
	if (n < 0)
		return false;
	snprintf(f->node, sizeof(f->node), "/dev/loop%d", n);
	f->loop = open(f->node, O_RDWR | O_CLOEXEC);
	if (f->loop < 0)
		return false;
	if (!ioctl(f->loop, LOOP_CONFIGURE, &config))
		return true;
	close(f->loop);
	return false;
}

static bool setup(struct fix *f)
{
	int why;

	memset(f, 0, sizeof(*f));
	identity_of_soft(f);
	f->size = f->id.nsze << f->id.lbadsx;
	tree_new(&f->tree);
	snprintf(f->image, sizeof(f->image), "%s/image", f->tree.root);
	f->fd = open(f->image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(f->fd >= 0);
	assert_int_equal(ftruncate(f->fd, (off_t)f->size), 0);
	f->env.log = hear;
	f->env.log_arg = f;
	assert_int_equal(transport_env_init(&f->env), 0);
	if (loop_attach(f))
		return true;
	why = errno;
	printf("# SKIP no loop device can be had here, which takes root and /dev/loop-control: %s\n", strerror(why));
	fflush(stdout);
	transport_env_fini(&f->env);
	close(f->fd);
	tree_free(&f->tree);
	return false;
}

static void teardown(struct fix *f)
{
	ioctl(f->loop, LOOP_CLR_FD);
	close(f->loop);
	close(f->fd);
	transport_env_fini(&f->env);
	tree_free(&f->tree);
}

static void make_copy(struct fix *f)
{
	put(f, f->id.info_off, f->page, sizeof(f->page));
	set_clock(f, 123456789);
}

static uint32_t sum(struct fix *f)
{
	size_t n = 1u << 20;
	uint8_t *p = malloc(n);
	uint32_t crc = 0;
	uint64_t off;

	for (off = 0; off < f->size; off += n) {
		ssize_t got = pread(f->fd, p, n, (off_t)off);

		assert_true(got > 0);
		crc = base_crc32c(crc, p, (size_t)got);
	}
	free(p);
	return crc;
}

/* Both transports refuse it with that error, and not a byte of it has changed. */
static void refuses(struct fix *f, int err, const char *why)
{
	const struct transport_ops *ops[] = { &transport_uring, &transport_block };
	uint32_t before = sum(f);
	struct transport_dev *dev;
	int i, ret;

	for (i = 0; i < 2; i++) {
		f->said[0] = '\0';
		ret = ops[i]->open(&f->env, f->node, &dev);
		assert_int_equal(ret, err);
		if (why && !strstr(f->said, why))
			fail_msg("said '%s', not '%s'", f->said, why);
		if (why)
			assert_non_null(strstr(f->said, f->node));
	}
	assert_int_equal(sum(f), before);
}

static void test_disk(void **state)
{
	struct fix f;

	(void)state;
	if (!setup(&f))
		skip();
	refuses(&f, -ENODEV, NULL);
	assert_int_equal(f.nsaid, 0);		/* a disk is nothing to speak of */
	put(&f, 0, "some file system", 16);
	refuses(&f, -ENODEV, NULL);
	teardown(&f);
}

/* Somebody has copied an accelerator's blocks to a disk of the same size: the clock in them stands still. */
static void test_copy(void **state)
{
	struct fix f;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	refuses(&f, -ENODEV, "is a disk: not used");
	teardown(&f);
}

/* The clock runs, but something else is not as it is with an accelerator. */
static void test_almost(void **state)
{
	struct wire_id id;
	uint8_t page[4096];
	struct fix f;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	clock_start(&f);
	put(&f, 100, "x", 1);
	usleep(2000);
	clock_stop(&f);
	refuses(&f, -ENODEV, "is a disk");	/* the head is not quiet */
	put(&f, 100, "", 1);
	id = f.id;
	id.nslot = 2;
	assert_int_equal(wire_layout(&id), WIRE_OK);
	assert_int_equal(wire_id_encode(&id, page), WIRE_OK);
	put(&f, f.id.info_off, page, sizeof(page));
	refuses(&f, -ENODEV, "is a disk");	/* of another size */
	id = f.id;
	id.feat &= ~(uint64_t)NVME_ACCEL_FEAT_STATS;
	assert_int_equal(wire_id_encode(&id, page), WIRE_OK);
	put(&f, f.id.info_off, page, sizeof(page));
	refuses(&f, -EACCES, "no other proof");
	memcpy(page, f.page, sizeof(page));
	page[NVME_ACCEL_ID_OFF + 64] ^= 1;
	put(&f, f.id.info_off, page, sizeof(page));
	refuses(&f, -EPROTO, "checksum");
	teardown(&f);
}

static void rw(struct transport_queue *q, const struct transport_ops *ops, uint32_t flags, uint64_t off, void *p)
{
	struct iovec iov = { p, 4096 };
	struct transport_cmd cmd = { .flags = flags, .iov = &iov, .niov = 1, .nbytes = 4096, .off = off }, *done = &cmd;

	assert_int_equal(ops->submit(q, &done, 1), 1);
	assert_int_equal(ops->reap(q, &done, 1, 1, 5000), 1);
	assert_int_equal(cmd.error, 0);
	assert_int_equal(cmd.nvme_status, 0);
}

/* What behaves like an accelerator is one: opened, identified, written and read. */
static void test_accelerator(void **state)
{
	const struct transport_ops *ops[] = { &transport_uring, &transport_block };
	uint8_t out[4096], in[4096], page[4096];
	struct transport_info info;
	struct transport_queue *q;
	struct transport_dev *dev;
	struct fix f;
	int i;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	clock_start(&f);
	for (i = 0; i < 2; i++) {
		if (!i && !uring_allowed())
			continue;
		assert_int_equal(ops[i]->open(&f.env, f.node, &dev), 0);
		assert_int_equal(ops[i]->identify(dev, page), 0);
		assert_memory_equal(page, f.page, 4096);
		assert_int_equal(ops[i]->info(dev, &info), 0);
		assert_string_equal(info.kind, "block");
		assert_true(info.max_nbytes >= 4096);
		assert_int_equal(ops[i]->identify_ctrl(dev, page), -ENOTSUP);
		assert_int_equal(ops[i]->log_page(dev, 0xc1, 0, page, 4096), -ENOTSUP);
		assert_int_equal(ops[i]->queue_new(dev, 4, &q), 0);
		memset(out, 'a' + i, sizeof(out));
		rw(q, ops[i], TRANSPORT_WRITE, f.id.slot_off, out);
		rw(q, ops[i], TRANSPORT_READ, f.id.slot_off, in);
		assert_memory_equal(in, out, 4096);
		ops[i]->queue_free(q);
		ops[i]->close(dev);
	}
	/* Somebody has made it read-only. */
	i = 1;
	assert_int_equal(ioctl(f.loop, BLKROSET, &i), 0);
	assert_int_equal(transport_block.open(&f.env, f.node, &dev), -EROFS);
	i = 0;
	assert_int_equal(ioctl(f.loop, BLKROSET, &i), 0);
	clock_stop(&f);
	teardown(&f);
}

static int open_as(struct fix *f, const char *name)
{
	struct transport_dev *dev;
	int ret = transport_uring.open(&f->env, name, &dev);

	if (!ret)
		node_close(dev);
	return ret;
}

/* Every reason has an error of its own. */
static void test_reasons(void **state)
{
	char name[400];
	struct fix f;

	(void)state;
	if (!setup(&f))
		skip();
	tree_put(&f.tree, "dev/nvme0n1", "a file");
	tree_put(&f.tree, "dev/dir/x", "");
	tree_put(&f.tree, "dev/ng0n1", "a file");
	tree_link(&f.tree, "dev/ng0n2", "/dev/null");
	tree_link(&f.tree, "dev/nvme0n9", "nowhere");
	snprintf(name, sizeof(name), "%s/dev/fifo", f.tree.root);
	assert_int_equal(mkfifo(name, 0600), 0);
	snprintf(name, sizeof(name), "%s/dev", f.tree.root);
	f.env.devdir = name;
	assert_int_equal(open_as(&f, "/dev/nvme0n1"), -ENOTBLK);
	assert_int_equal(open_as(&f, "/dev/dir"), -ENOTBLK);
	assert_int_equal(open_as(&f, "/dev/fifo"), -ENOTBLK);
	assert_int_equal(open_as(&f, "/dev/nvme0n2"), -ENOENT);
	assert_int_equal(open_as(&f, "/dev/nvme0n9"), -ENOENT);
	assert_int_equal(open_as(&f, "/dev/ng0n1"), -ENOTTY);
	assert_int_equal(open_as(&f, "/dev/ng0n2"), -ENOTTY);
	assert_int_equal(open_as(&f, "/dev/"), -EINVAL);
	assert_int_equal(open_as(&f, "nvme0n1"), -EINVAL);
	f.env.devdir = "/dev";
	memset(name, 'x', sizeof(name) - 1);
	memcpy(name, "/dev/", 5);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(open_as(&f, name), -EINVAL);
	/* A node that is there but may not be opened. */
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(open_as(&f, f.node), -EACCES);
	assert_int_equal(seteuid(0), 0);
	/* A controller that is reconnecting is not waited for. */
	tree_put(&f.tree, "sys/class/nvme/nvme0/state", "connecting\n");
	tree_put(&f.tree, "sys/class/nvme/nvme0/nvme0n1/dev", "259:0\n");
	snprintf(name, sizeof(name), "%s/sys", f.tree.root);
	f.env.sysfs = name;
	assert_int_equal(open_as(&f, "/dev/nvme0n1"), -ENOTCONN);
	assert_non_null(strstr(f.said, "connecting"));
	teardown(&f);
}

static int node_fd(struct transport_dev *dev, int fd)
{
	int old = dev->fd;

	dev->fd = fd;
	return old;
}

/* flock() on the node: shared ones go together, an exclusive one alone. */
static void test_hold(void **state)
{
	struct transport_dev *a, *b;
	struct fix f;
	int i;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	clock_start(&f);
	assert_int_equal(node_open(&f.env, f.node, &a), 0);
	assert_int_equal(node_open(&f.env, f.node, &b), 0);
	/* Opened again right after the holder has closed it: nothing of the lock is left. */
	for (i = 0; i < 100; i++) {
		assert_int_equal(node_hold(b, TRANSPORT_HOLD_EXCLUSIVE), 0);
		node_close(b);
		assert_int_equal(node_open(&f.env, f.node, &b), 0);
	}
	clock_stop(&f);
	assert_int_equal(node_hold(a, TRANSPORT_HOLD_SHARED), 0);
	assert_int_equal(node_hold(b, TRANSPORT_HOLD_SHARED), 0);
	assert_int_equal(node_hold(b, TRANSPORT_HOLD_EXCLUSIVE), -EBUSY);
	assert_int_equal(node_hold(a, TRANSPORT_HOLD_NONE), 0);
	assert_int_equal(node_hold(b, TRANSPORT_HOLD_EXCLUSIVE), 0);
	assert_int_equal(node_hold(a, TRANSPORT_HOLD_SHARED), -EBUSY);
	node_close(b);
	/* What fails for another reason is not held either, and says so. */
	i = node_fd(a, -1);
	assert_int_equal(node_hold(a, TRANSPORT_HOLD_EXCLUSIVE), -EBADF);
	node_fd(a, i);
	/* Taken again at once when it is free: no name of a file is left behind. */
	for (i = 0; i < 1000; i++) {
		assert_int_equal(node_hold(a, TRANSPORT_HOLD_EXCLUSIVE), 0);
		assert_int_equal(node_hold(a, TRANSPORT_HOLD_NONE), 0);
	}
	node_close(a);
	teardown(&f);
}

/* What a child does with the handle that it has inherited is not the parent's concern. */
static void test_hold_child(void **state)
{
	struct transport_dev *a;
	struct fix f;
	int status, fd;
	pid_t pid;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	clock_start(&f);
	assert_int_equal(node_open(&f.env, f.node, &a), 0);
	clock_stop(&f);
	assert_int_equal(node_hold(a, TRANSPORT_HOLD_EXCLUSIVE), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		f.env.forked = true;
		_exit(node_hold(a, TRANSPORT_HOLD_NONE) || (node_close(a), 0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd = open(f.node, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
	node_close(a);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
	close(fd);
	teardown(&f);
}

/* The holder is killed while a program that it has started lives on: the lock does not. */
static void test_hold_killed(void **state)
{
	struct transport_dev *a;
	int ready[2], fd, tries;
	struct fix f;
	pid_t owner, sleeper = 0;

	(void)state;
	if (!setup(&f))
		skip();
	make_copy(&f);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	clock_start(&f);
	fflush(NULL);
	owner = fork();
	if (owner == 0) {
		pid_t child;

		if (node_open(&f.env, f.node, &a) || node_hold(a, TRANSPORT_HOLD_EXCLUSIVE))
			_exit(1);
		child = vfork();
		if (child == 0) {
			execlp("sleep", "sleep", "60", NULL);
			_exit(1);
		}
		if (write(ready[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &sleeper, sizeof(sleeper)), sizeof(sleeper));
	clock_stop(&f);
	fd = open(f.node, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
	kill(owner, SIGKILL);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	for (tries = 0; tries < 1000 && flock(fd, LOCK_SH | LOCK_NB); tries++)
		usleep(10000);
	assert_int_equal(kill(sleeper, 0), 0);		/* it is still there */
	assert_true(tries < 1000);
	kill(sleeper, SIGKILL);
	close(fd);
	close(ready[0]);
	close(ready[1]);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disk),	    cmocka_unit_test(test_copy),    cmocka_unit_test(test_almost),
		cmocka_unit_test(test_accelerator), cmocka_unit_test(test_reasons), cmocka_unit_test(test_hold),
		cmocka_unit_test(test_hold_child),  cmocka_unit_test(test_hold_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
