// SPDX-License-Identifier: BSD-2-Clause
/* Names of remote accelerators: what they may say, what is wrong with others, what one without a subsystem means. */
#include "../../lib/transport/tcp.h"
#include "tcp_target.h"

struct said {
	unsigned int n;
	char last[256];
};

static void hear(void *arg, enum accel_log_level level, const char *message)
{
	struct said *s = arg;

	(void)level;
	s->n++;
	snprintf(s->last, sizeof(s->last), "%s", message);
}

static void hear_env(void *arg, int level, const char *message)
{
	hear(arg, (enum accel_log_level)level, message);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *name, *part;
	} table[] = {
		{ "tcp://", "host" },
		{ "tcp://:4420", "host" },
		{ "tcp:///nqn.2026-11.test:one", "host" },
		{ "tcp://h:0", "port" },
		{ "tcp://h:", "port" },
		{ "tcp://h:65536", "port" },
		{ "tcp://h:+1", "port" },
		{ "tcp://h:44x", "port" },
		{ "tcp://::1", "brackets" },
		{ "tcp://::1:4420", "brackets" },
		{ "tcp://[::1", "]" },
		{ "tcp://[::1]4420", "]" },
		{ "tcp://[::1]:", "port" },
		{ "tcp://[]", "host" },
		{ "tcp://h/one", "NQN" },
		{ "tcp://h/nqn.", "NQN" },
		{ "tcp://h/nqn.a b", "NQN" },
		{ "tcp://h?", "KEY=VALUE" },
		{ "tcp://h?nsid", "KEY=VALUE" },
		{ "tcp://h?=1", "KEY=VALUE" },
		{ "tcp://h?nsid=1&", "KEY=VALUE" },
		{ "tcp://h?nsid=0", "nsid" },
		{ "tcp://h?nsid=-1", "nsid" },
		{ "tcp://h?nsid=0x1", "nsid" },
		{ "tcp://h?nsid=4294967295", "nsid" },
		{ "tcp://h?nsid=18446744073709551617", "nsid" },
		{ "tcp://h?nsid=", "nsid" },
		{ "tcp://h?hdgst=2", "hdgst" },
		{ "tcp://h?hdgst=", "hdgst" },
		{ "tcp://h?ddgst=yes", "ddgst" },
		{ "tcp://h?kato=1", "kato" },
		{ "tcp://h?kato=99999999999", "kato" },
		{ "tcp://h?timeout=0", "timeout" },
		{ "tcp://h?timeout=1s", "timeout" },
		{ "tcp://h?poll=1000001", "poll" },
		{ "tcp://h?hostnqn=host", "hostnqn" },
		{ "tcp://h?hostid=1", "hostid" },
		{ "tcp://h?hostid=00000000-0000-0000-0000-00000000000g", "hostid" },
		{ "tcp://h?NSID=1", "unknown" },
		{ "tcp://h?nsid=1&speed=9", "unknown" },
	};
	struct accel_ctx *ctx = ctx_new();
	struct said s;
	struct accel_dev *dev;
	size_t i;

	(void)state;
	accel_ctx_set_log(ctx, hear, &s, ACCEL_LOG_DEBUG);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		memset(&s, 0, sizeof(s));
		if (accel_dev_open(ctx, table[i].name, &dev) != -EINVAL || s.n != 1 || !strstr(s.last, table[i].part) ||
		    !strstr(s.last, table[i].name))
			fail_msg("%s: %u messages, \"%s\"", table[i].name, s.n, s.last);
	}
	accel_ctx_unref(ctx);
}

static void test_long(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	char name[700];

	(void)state;
	snprintf(name, sizeof(name), "tcp://h/nqn.%0220u", 1);	/* 224 characters */
	assert_int_equal(accel_dev_open(ctx, name, &dev), -EINVAL);
	snprintf(name, sizeof(name), "tcp://%0254u", 1);
	assert_int_equal(accel_dev_open(ctx, name, &dev), -EINVAL);
	snprintf(name, sizeof(name), "tcp://%0600u", 1);
	assert_int_equal(accel_dev_open(ctx, name, &dev), -EINVAL);
	accel_ctx_unref(ctx);
}

static void test_right(void **state)
{
	struct transport_env env = { .log = NULL, .hostnqn = "nqn.2026-11.test:host" };
	struct tcp_name n;
	char addr[300];

	(void)state;
	env.hostid[0] = 7;
	assert_int_equal(tcp_name_parse(&env, "tcp://[::1]:4421/nqn.2026-11.a:b/c?nsid=4294967294&hdgst=1&ddgst=0&"
					      "kato=0&timeout=10&poll=0&hostnqn=nqn.x:y&"
					      "hostid=00112233-4455-6677-8899-aAbBcCdDeEfF", &n), 0);
	assert_string_equal(n.host, "::1");
	assert_string_equal(n.port, "4421");
	assert_string_equal(n.nqn, "nqn.2026-11.a:b/c");
	assert_int_equal(n.nsid, 4294967294);
	assert_true(n.hdgst && !n.ddgst);
	assert_int_equal(n.kato_ms, 0);
	assert_int_equal(n.timeout_ms, 10);
	assert_int_equal(n.poll_us, 0);
	assert_string_equal(n.hostnqn, "nqn.x:y");
	assert_int_equal(n.hostid[0], 0x00);
	assert_int_equal(n.hostid[15], 0xff);
	tcp_name_addr(&n, addr, sizeof(addr));
	assert_string_equal(addr, "[::1]:4421");
	assert_int_equal(tcp_name_parse(&env, "tcp://h", &n), 0);
	assert_string_equal(n.port, "4420");
	assert_string_equal(n.nqn, "");
	assert_int_equal(n.nsid, 0);
	assert_int_equal(n.kato_ms, 120000);
	assert_string_equal(n.hostnqn, "nqn.2026-11.test:host");
	assert_int_equal(n.hostid[0], 7);
	assert_int_equal(tcp_name_parse(&env, "tcp://h/?nsid=2", &n), 0);
	assert_int_equal(tcp_name_parse(&env, "tcp://[fe80::1%lo]", &n), 0);
	assert_int_equal(tcp_name_host(&env, "10.0.0.1:80", &n), 0);
	assert_string_equal(n.host, "10.0.0.1");
	assert_int_equal(tcp_name_host(&env, "[::1]", &n), 0);
	assert_int_equal(tcp_name_host(&env, "", &n), -EINVAL);
}

/* ---- What a name without this or that means ---- */

static bool only_first(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t page[4096] = { 0 };

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || le32_get(&r->sqe.cdw10) != 2)
		return false;
	le32_put(page, le32_get(&r->sqe.nsid) ? 0 : 1);
	return tgt_data(c, r, page, sizeof(page));
}

static bool no_namespaces(struct tgt_conn *c, struct tgt_req *r)
{
	static const uint8_t page[4096];

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || le32_get(&r->sqe.cdw10) != 2)
		return false;
	return tgt_data(c, r, page, sizeof(page));
}

/* Namespaces 1 and 2, both of one kind and none with all functions. */
static bool two_alike(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t page[4096] = { 0 };
	uint32_t cns = le32_get(&r->sqe.cdw10), after = le32_get(&r->sqe.nsid);

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || cns == 1)
		return false;
	if (cns == 0) {
		device_identify(c->t->dev[0], page);
	} else {
		le32_put(page, after < 1 ? 1 : after < 2 ? 2 : 0);
		le32_put(page + 4, after < 1 ? 2 : 0);
	}
	return tgt_data(c, r, page, sizeof(page));
}

static void test_which(void **state)
{
	struct target *t = target_new();
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	struct said s = { 0, "" };
	char name[300], plain[64];

	(void)state;
	accel_ctx_set_log(ctx, hear, &s, ACCEL_LOG_DEBUG);
	snprintf(name, sizeof(name), "tcp://127.0.0.1:%u/" TGT_NQN, t->port);
	snprintf(plain, sizeof(plain), "tcp://127.0.0.1:%u", t->port);
	/* The one with all functions. */
	dev = dev_open(ctx, name);
	assert_int_equal(accel_dev_info(dev)->type, ACCEL_TYPE_MULTI);
	accel_dev_close(dev);
	/* By discovery. */
	dev = dev_open(ctx, plain);
	assert_int_equal(accel_dev_info(dev)->type, ACCEL_TYPE_MULTI);
	accel_dev_close(dev);
	assert_int_equal(s.n, 0);
	t->hook = only_first;
	dev = dev_open(ctx, plain);
	assert_int_equal(accel_dev_info(dev)->type, ACCEL_TYPE_COMPRESSION);
	accel_dev_close(dev);
	t->hook = no_namespaces;
	assert_int_equal(accel_dev_open(ctx, name, &dev), -ENODEV);
	t->hook = two_alike;
	s.n = 0;
	assert_int_equal(accel_dev_open(ctx, name, &dev), -EINVAL);
	assert_int_equal(s.n, 3);
	assert_non_null(strstr(s.last, "nsid=2"));
	t->hook = NULL;
	/* Subsystems: none, one that is not there, two. */
	t->disc[0] = NULL;
	assert_int_equal(accel_dev_open(ctx, plain, &dev), -ENOENT);
	t->disc[0] = TGT_NQN;
	t->disc[1] = "nqn.2026-11.test:gone";
	dev = dev_open(ctx, plain);
	accel_dev_close(dev);
	t->any = true;
	s.n = 0;
	assert_int_equal(accel_dev_open(ctx, plain, &dev), -EINVAL);
	assert_int_equal(s.n, 3);
	assert_non_null(strstr(s.last, "nqn.2026-11.test:gone"));
	t->disc[1] = NULL;
	accel_ctx_unref(ctx);
	target_free(t);
}

struct found {
	unsigned int n;
	char name[8][300];
};

static int found_one(void *arg, const char *name)
{
	struct found *f = arg;

	if (f->n < 8)
		snprintf(f->name[f->n], sizeof(f->name[0]), "%s", name);
	f->n++;
	return 0;
}

static void test_scan(void **state)
{
	struct target *t = target_new();
	struct said s = { 0, "" };
	struct transport_env env = { .log = hear_env, .log_arg = &s, .ncpu = 1, .hostnqn = "nqn.2026-11.test:host" };
	struct found f = { .n = 0 };
	char where[64], want[300];

	(void)state;
	snprintf(where, sizeof(where), "127.0.0.1:%u", t->port);
	t->disc[1] = "nqn.2026-11.test:gone";	/* told of, and no reason to fail */
	assert_int_equal(transport_tcp.scan(&env, where, found_one, &f), 0);
	assert_int_equal(f.n, 2);
	snprintf(want, sizeof(want), "tcp://%s/" TGT_NQN "?nsid=1", where);
	assert_string_equal(f.name[0], want);
	snprintf(want, sizeof(want), "tcp://%s/" TGT_NQN "?nsid=7", where);
	assert_string_equal(f.name[1], want);
	assert_true(s.n >= 1);
	assert_non_null(strstr(s.last, "gone"));
	/* Nobody asked; a malformed place; nobody there. */
	assert_int_equal(transport_tcp.scan(&env, NULL, found_one, &f), 0);
	assert_int_equal(transport_tcp.scan(&env, "h:99999", found_one, &f), -EINVAL);
	target_stop(t);
	assert_int_equal(transport_tcp.scan(&env, where, found_one, &f), -ECONNREFUSED);
	target_start(t);
	target_free(t);
}

/* What Connect says of the host: each in its own field, the same on every queue. */
static bool see_host(struct tgt_conn *c, struct tgt_req *r)
{
	const struct nvmf_connect_data *d = (const void *)r->buf;
	const struct nvmf_connect_cmd *cmd = (const void *)&r->sqe;
	static const uint8_t id[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };

	if (r->sqe.opc != NVME_OPC_FABRICS || cmd->fctype != NVME_FC_CONNECT)
		return false;
	if (!memcmp(d->hostid, id, sizeof(id)) && !strcmp(d->hostnqn, "nqn.2026-11.test:me") &&
	    !strcmp(d->subnqn, TGT_NQN) && le16_get(&d->cntlid) == (le16_get(&cmd->qid) ? 1 : 0xffff))
		c->t->hooked++;
	return false;
}

static void test_host(void **state)
{
	struct target *t = target_new();
	struct transport_env env = { .ncpu = 1, .hostnqn = "nqn.2026-11.test:host" };
	uint8_t block[4096];
	struct iovec iov = { block, sizeof(block) };
	struct transport_cmd cmd = { .iov = &iov, .niov = 1, .nbytes = sizeof(block) }, *done = &cmd;
	struct transport_dev *dev;
	struct transport_queue *q;
	char name[300];

	(void)state;
	t->hook = see_host;
	target_name(t, name, sizeof(name), "&hostnqn=nqn.2026-11.test:me&hostid=00112233-4455-6677-8899-aabbccddeeff");
	assert_int_equal(transport_tcp.open(&env, name, &dev), 0);
	assert_int_equal(t->hooked, 1);
	assert_int_equal(transport_tcp.queue_new(dev, 4, &q), 0);
	assert_int_equal(transport_tcp.submit(q, &done, 1), 1);
	assert_int_equal(transport_tcp.reap(q, &done, 1, 1, 5000), 1);
	assert_int_equal(cmd.error, 0);
	assert_int_equal(cmd.nvme_status, 0);
	assert_int_equal(t->hooked, 2);
	assert_int_equal(t->accepted, 2);
	transport_tcp.queue_free(q);
	transport_tcp.close(dev);
	target_free(t);
}

static void test_info(void **state)
{
	struct target *t = target_new();
	struct transport_env env = { .ncpu = 1, .hostnqn = "nqn.2026-11.test:host" };
	struct transport_dev *dev;
	struct transport_info info;
	uint8_t page[4096], log[1024];
	char name[300];

	(void)state;
	assert_int_equal(transport_tcp.open(&env, target_name(t, name, sizeof(name), "&kato=5000"), &dev), 0);
	assert_int_equal(transport_tcp.info(dev, &info), 0);
	assert_string_equal(info.kind, "tcp");
	assert_string_equal(info.subnqn, TGT_NQN);
	assert_string_equal(info.serial, "SERIAL");
	assert_string_equal(info.model, "A scripted target");
	assert_string_equal(info.firmware, "1.0");
	assert_int_equal(info.kato_ms, 5000);
	assert_int_equal(info.max_nbytes, 1 << 20);
	snprintf(name, sizeof(name), "traddr=127.0.0.1,trsvcid=%u", t->port);
	assert_string_equal(info.address, name);
	assert_int_equal(transport_tcp.identify_ctrl(dev, page), 0);
	assert_memory_equal(page + 4, "SERIAL  ", 8);
	assert_int_equal(transport_tcp.log_page(dev, NVME_LOG_DISCOVERY, 0, log, sizeof(log)), 0);
	assert_int_equal(le64_get(log), 5);
	assert_int_equal(transport_tcp.log_page(dev, NVME_LOG_SMART, 0, log, 3), -EINVAL);
	assert_int_equal(transport_tcp.reset(dev), -ENOTSUP);
	assert_int_equal(transport_tcp.hold(dev, TRANSPORT_HOLD_EXCLUSIVE), 0);
	transport_tcp.close(dev);
	target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_long), cmocka_unit_test(test_right),
		cmocka_unit_test(test_which), cmocka_unit_test(test_scan), cmocka_unit_test(test_info),
		cmocka_unit_test(test_host),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
