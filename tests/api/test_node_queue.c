// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queues of nodes, both ways of moving commands, on a file in memory instead of a device: that data goes where it
 * belongs, that each command completes once, and how waiting behaves.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "node_util.h"
#include "threads.h"
#include "../../lib/base/iov.h"

#define SIZE (1u << 20)
#define DEPTH 32u

struct fix {
	const struct transport_ops *ops;
	struct transport_env env;
	struct transport_dev *dev;
	struct transport_queue *q;
	uint8_t *shadow;
	uint32_t x;
};

static uint32_t rnd(struct fix *f, uint32_t n)
{
	f->x = f->x * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(f->x >> 4) * n) >> 28);
}

static struct transport_dev *dev_of(struct fix *f, int fd)
{
	struct transport_dev *dev = calloc(1, sizeof(*dev));

	dev->env = &f->env;
	dev->fd = fd;
	memset(dev->limit_fd, 0xff, sizeof(dev->limit_fd));
	strcpy(dev->name, "memory");
	dev->sysfs.limits = (struct node_limits){ .block = 512, .dma_mask = 3, .gap_mask = 4095, .max_segments = 64,
						  .max_nbytes = 61 * 4096 };
	return dev;
}

static void setup(struct fix *f, const struct transport_ops *ops)
{
	int fd = memfd_create("node", MFD_CLOEXEC);

	memset(f, 0, sizeof(*f));
	f->ops = ops;
	f->x = 99;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	f->dev = dev_of(f, fd);
	f->shadow = calloc(1, SIZE);
	assert_int_equal(ops->queue_new(f->dev, DEPTH, &f->q), 0);
}

static void teardown(struct fix *f)
{
	f->ops->queue_free(f->q);
	node_close(f->dev);
	free(f->shadow);
}

static int submit_one(struct fix *f, struct transport_cmd *cmd)
{
	return f->ops->submit(f->q, &cmd, 1);
}

static struct transport_cmd *reap_one(struct fix *f)
{
	struct transport_cmd *done = NULL;

	assert_int_equal(f->ops->reap(f->q, &done, 1, 1, 5000), 1);
	return done;
}

struct io {
	struct transport_cmd cmd;
	struct iovec iov[4];
	uint8_t *buf;
	bool busy;
};

#define IO_ROOM 40000u

/* A command of odd elements at a place of its own, so that the order among those in flight does not matter. */
static void io_make(struct fix *f, struct io *io, unsigned int region)
{
	uint64_t n = (1 + rnd(f, 30)) * 512, left = n, at = rnd(f, 4) ? rnd(f, 3000) : 4096;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		uint64_t odd = rnd(f, 8000), len = i == 3 ? left : BASE_MIN(left, odd);

		io->iov[i] = (struct iovec){ io->buf + at, (size_t)len };
		at += len + rnd(f, 50);
		left -= len;
	}
	memset(&io->cmd, 0, sizeof(io->cmd));
	io->cmd.flags = rnd(f, 2) ? TRANSPORT_WRITE : TRANSPORT_READ;
	io->cmd.iov = io->iov;
	io->cmd.niov = 4;
	io->cmd.nbytes = n;
	io->cmd.off = (uint64_t)region * (SIZE / DEPTH) + rnd(f, 2) * 512;
	io->cmd.user = io;
	io->busy = true;
}

static void io_check(struct fix *f, struct io *io)
{
	struct iov_pos pos = { io->iov, 4, 0 };
	uint8_t *data = malloc(io->cmd.nbytes);

	assert_true(io->busy);
	io->busy = false;
	assert_int_equal(io->cmd.error, 0);
	assert_int_equal(io->cmd.nvme_status, 0);
	iov_read(&pos, data, io->cmd.nbytes);
	if (io->cmd.flags & TRANSPORT_WRITE)
		memcpy(f->shadow + io->cmd.off, data, io->cmd.nbytes);
	else
		assert_memory_equal(f->shadow + io->cmd.off, data, io->cmd.nbytes);
	free(data);
}

static void random_round(struct fix *f, struct io *ios, unsigned int n)
{
	struct transport_cmd *cmds[DEPTH], *done[DEPTH];
	unsigned int i, sent = 0, back = 0;
	int ret;

	for (i = 0; i < n; i++) {
		size_t k;

		for (k = 0; k < IO_ROOM; k++)
			ios[i].buf[k] = (uint8_t)rnd(f, 256);
		io_make(f, &ios[i], i);
		cmds[i] = &ios[i].cmd;
	}
	while (back < n) {
		if (sent < n) {
			ret = f->ops->submit(f->q, cmds + sent, n - sent);
			assert_true(ret > 0 || ret == -EAGAIN);
			sent += ret > 0 ? (unsigned int)ret : 0;
		}
		ret = f->ops->reap(f->q, done, DEPTH, 1 + rnd(f, 4), 5000);
		assert_true(ret > 0);
		for (i = 0; i < (unsigned int)ret; i++)
			io_check(f, done[i]->user);
		back += (unsigned int)ret;
	}
}

static void run_random(const struct transport_ops *ops)
{
	struct io ios[DEPTH] = { 0 };
	struct transport_info info = { 0 };
	uint8_t *file = malloc(SIZE);
	struct fix f;
	unsigned int i;

	setup(&f, ops);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(posix_memalign((void **)&ios[i].buf, 4096, IO_ROOM), 0);
	for (i = 0; i < 60; i++)
		random_round(&f, ios, 1 + rnd(&f, DEPTH));
	assert_int_equal(pread(f.dev->fd, file, SIZE, 0), SIZE);
	assert_memory_equal(file, f.shadow, SIZE);
	assert_int_equal(ops->info(f.dev, &info), 0);
	assert_true(info.copied > 0 && info.copied_nbytes > info.copied);
	for (i = 0; i < DEPTH; i++)
		free(ios[i].buf);
	free(file);
	teardown(&f);
}

/* What cannot be done is said on the command, and the queue goes on. */
static void run_errors(const struct transport_ops *ops)
{
	struct iovec iov = { NULL, 4096 };
	struct transport_cmd cmd = { .flags = TRANSPORT_READ, .niov = 1, .iov = &iov, .nbytes = 4096,
				     .off = SIZE - 512 };
	struct fix f;

	setup(&f, ops);
	iov.iov_base = calloc(1, 4096);
	assert_int_equal(submit_one(&f, &cmd), 1);
	assert_ptr_equal(reap_one(&f), &cmd);
	assert_int_equal(cmd.error, 0);
	assert_int_equal(cmd.nvme_status, 0x4080);	/* beyond the end */
	cmd.off = 100;
	assert_int_equal(submit_one(&f, &cmd), 1);
	assert_ptr_equal(reap_one(&f), &cmd);
	assert_int_equal(cmd.error, -EINVAL);
	cmd.off = 0;
	assert_int_equal(submit_one(&f, &cmd), 1);
	assert_ptr_equal(reap_one(&f), &cmd);
	assert_int_equal(cmd.error, 0);
	assert_int_equal(cmd.nvme_status, 0);
	free(iov.iov_base);
	teardown(&f);
}

/* The third of eight fails: it and no other. */
static void run_third(const struct transport_ops *ops)
{
	struct transport_cmd cmd[8], *all[8], *done[8];
	struct iovec iov[8];
	unsigned int i, n = 0;
	char path[64];
	struct fix f;
	int ret;

	setup(&f, ops);
	ops->queue_free(f.q);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f.dev->fd);
	ret = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup3(ret, f.dev->fd, O_CLOEXEC), f.dev->fd);
	close(ret);
	assert_int_equal(ops->queue_new(f.dev, DEPTH, &f.q), 0);
	for (i = 0; i < 8; i++) {
		iov[i] = (struct iovec){ calloc(1, 4096), 4096 };
		cmd[i] = (struct transport_cmd){ .flags = TRANSPORT_READ, .niov = 1, .iov = &iov[i], .nbytes = 4096,
						 .off = 4096 * i, .error = 1, .nvme_status = 1 };
		all[i] = &cmd[i];
	}
	/* A write to what is open for reading. */
	cmd[2].flags = TRANSPORT_WRITE;
	assert_int_equal(ops->submit(f.q, all, 8), 8);
	while (n < 8) {
		ret = ops->reap(f.q, done, 8, 1, 5000);
		assert_true(ret > 0);
		n += (unsigned int)ret;
	}
	for (i = 0; i < 8; i++) {
		assert_int_equal(cmd[i].error, i == 2 ? -EBADF : 0);
		assert_int_equal(cmd[i].nvme_status, 0);
		free(iov[i].iov_base);
	}
	teardown(&f);
}

/* A node that fails all of it. */
static void run_broken(const struct transport_ops *ops)
{
	struct iovec iov = { NULL, 512 };
	struct transport_cmd cmd = { .flags = TRANSPORT_WRITE, .niov = 1, .iov = &iov, .nbytes = 512 };
	struct fix f;

	setup(&f, ops);
	f.ops->queue_free(f.q);
	close(f.dev->fd);
	f.dev->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);	/* not for writing */
	assert_int_equal(ops->queue_new(f.dev, DEPTH, &f.q), 0);
	iov.iov_base = calloc(1, 512);
	assert_int_equal(submit_one(&f, &cmd), 1);
	assert_ptr_equal(reap_one(&f), &cmd);
	assert_int_equal(cmd.error, -EBADF);
	free(iov.iov_base);
	teardown(&f);
}

static void run_waiting(const struct transport_ops *ops)
{
	struct iovec iov = { NULL, 512 };
	struct transport_cmd cmd = { .flags = TRANSPORT_READ, .niov = 1, .iov = &iov, .nbytes = 512 }, *done[4];
	struct pollfd p;
	struct fix f;
	uint64_t start;

	setup(&f, ops);
	iov.iov_base = calloc(1, 512);
	p = (struct pollfd){ .fd = ops->fd(f.q), .events = POLLIN };
	assert_true(p.fd >= 0);
	assert_int_equal(ops->fd(f.q), p.fd);
	assert_int_equal(ops->reap(f.q, done, 4, 0, 0), 0);
	start = now_ns();
	assert_int_equal(ops->reap(f.q, done, 4, 1, 60), 0);
	assert_true(now_ns() - start >= 55000000);
	/* Nothing will ever come: whoever waits for ever is not left there. */
	assert_int_equal(ops->reap(f.q, done, 4, 1, -1), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(submit_one(&f, &cmd), 1);
	assert_int_equal(poll(&p, 1, 5000), 1);
	/* More are asked for than are in flight. */
	start = now_ns();
	assert_int_equal(ops->reap(f.q, done, 4, 4, 5000), 1);
	assert_true(now_ns() - start < 4900000000u);
	assert_int_equal(poll(&p, 1, 0), 0);
	free(iov.iov_base);
	teardown(&f);
}

/* Freed with commands in flight, and by a child that has inherited it. */
static void run_freeing(const struct transport_ops *ops)
{
	struct iovec iov[DEPTH];
	struct transport_cmd cmd[DEPTH + 1], *cmds[DEPTH + 1];
	struct fix f;
	unsigned int i;
	pid_t pid;

	setup(&f, ops);
	for (i = 0; i <= DEPTH; i++) {
		if (i < DEPTH)
			iov[i] = (struct iovec){ malloc(4096), 4096 };
		cmd[i] = (struct transport_cmd){ .flags = TRANSPORT_READ, .niov = 1, .iov = &iov[i % DEPTH],
						 .nbytes = 4096 };
		cmds[i] = &cmd[i];
	}
	assert_int_equal(f.ops->submit(f.q, cmds, DEPTH + 1), DEPTH);
	assert_int_equal(submit_one(&f, &cmd[DEPTH]), -EAGAIN);
	fflush(NULL);
	threads_rest();
	pid = fork();
	if (pid == 0) {
		f.env.forked = true;
		ops->queue_free(f.q);
		node_close(f.dev);
		_exit(0);
	}
	assert_int_equal(child_status(pid, 60), 0);
	teardown(&f);
	for (i = 0; i < DEPTH; i++)
		free(iov[i].iov_base);
}

static void set_kb(struct fix *f, const char *text)
{
	assert_int_equal(ftruncate(f->dev->limit_fd[0], 0), 0);
	assert_int_equal(pwrite(f->dev->limit_fd[0], text, strlen(text), 0), strlen(text));
}

static int read_whole(struct fix *f, uint32_t nbytes, uint32_t flags)
{
	struct iovec iov = { malloc(nbytes), nbytes };
	struct transport_cmd cmd = { .flags = TRANSPORT_READ | flags, .niov = 1, .iov = &iov, .nbytes = nbytes };

	assert_int_equal(submit_one(f, &cmd), 1);
	assert_ptr_equal(reap_one(f), &cmd);
	assert_int_equal(cmd.nvme_status, 0);
	free(iov.iov_base);
	return cmd.error;
}

/* Somebody makes the block device's limit smaller: what may have been split by now is not believed. */
static void run_limits(const struct transport_ops *ops)
{
	struct transport_info info = { 0 };
	struct fix f;

	setup(&f, ops);
	f.dev->limit_fd[0] = memfd_create("max_sectors_kb", MFD_CLOEXEC);
	f.dev->sysfs.nqueue = 1;
	f.dev->max_nbytes = 61 * 4096;
	set_kb(&f, "1280\n");
	assert_int_equal(read_whole(&f, 65536, TRANSPORT_WHOLE), 0);
	set_kb(&f, "32\n");
	assert_int_equal(read_whole(&f, 65536, 0), 0);
	assert_int_equal(read_whole(&f, 32768, TRANSPORT_WHOLE), 0);
	assert_int_equal(read_whole(&f, 65536, TRANSPORT_WHOLE), -EMSGSIZE);
	assert_int_equal(ops->info(f.dev, &info), 0);
	assert_int_equal(info.max_nbytes, 32768);
	/* Once smaller it stays so: who knows when it changes again. */
	set_kb(&f, "1280\n");
	assert_int_equal(read_whole(&f, 65536, TRANSPORT_WHOLE), -EMSGSIZE);
	/* A generic node's commands are not split by the kernel, but by the transport. */
	f.dev->generic = true;
	assert_int_equal(read_whole(&f, 65536, TRANSPORT_WHOLE), -EMSGSIZE);
	f.dev->generic = false;
	/* What cannot be read changes nothing. */
	set_kb(&f, "");
	assert_int_equal(read_whole(&f, 32768, TRANSPORT_WHOLE), 0);
	set_kb(&f, "nonsense\n");
	assert_int_equal(read_whole(&f, 32768, TRANSPORT_WHOLE), 0);
	teardown(&f);
}

static bool have_uring(void)
{
	if (uring_allowed())
		return true;
	print_message("io_uring is forbidden here\n");
	return false;
}

#define BOTH(name)                                    \
	static void test_block_##name(void **state)   \
	{                                             \
		(void)state;                          \
		run_##name(&transport_block);         \
	}                                             \
	static void test_uring_##name(void **state)   \
	{                                             \
		(void)state;                          \
		if (!have_uring())                    \
			skip();                       \
		run_##name(&transport_uring);         \
	}

BOTH(random)
BOTH(errors)
BOTH(third)
BOTH(broken)
BOTH(waiting)
BOTH(freeing)
BOTH(limits)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_random),  cmocka_unit_test(test_uring_random),
		cmocka_unit_test(test_block_errors),  cmocka_unit_test(test_uring_errors),
		cmocka_unit_test(test_block_third),   cmocka_unit_test(test_uring_third),
		cmocka_unit_test(test_block_broken),  cmocka_unit_test(test_uring_broken),
		cmocka_unit_test(test_block_waiting), cmocka_unit_test(test_uring_waiting),
		cmocka_unit_test(test_block_freeing), cmocka_unit_test(test_uring_freeing),
		cmocka_unit_test(test_block_limits),  cmocka_unit_test(test_uring_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
