// SPDX-License-Identifier: BSD-2-Clause
/*
 * The association with a controller. Setting it up is a list of commands, one after the other; the same list serves
 * for the first time, where a caller waits for it, and after a loss, where calls that do not wait move it on.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "../wire/wire.h"
#include "tcp.h"

#define RETRY_MIN_MS 10u
#define RETRY_MAX_MS 1000u
#define READY_UNIT_MS 500u		/* of CAP.TO */
#define READY_MAX_MS 10000u
#define READY_POLL_MS 10u
#define CC_ENABLE 0x00460001u		/* EN, IOSQES 6, IOCQES 4 */
#define ADMIN_BUF 16384u
#define ADMIN_SQSIZE 32u

/* ---- The steps ---- */

struct step {
	/* Fills dev->op; 1: the step is not needed. */
	int (*ask)(struct transport_dev *dev);
	/* Looks at what came: 0; 1: ask once more, later; -errno. */
	int (*take)(struct transport_dev *dev);
	const char *what;
};

static int broken(struct transport_dev *dev, const char *what)
{
	tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "Identify or properties of the controller: %s", what);
	return -EPROTO;
}

static void property(struct transport_dev *dev, uint8_t fctype, uint32_t ofst, uint64_t value)
{
	struct nvmf_property_cmd *cmd = (struct nvmf_property_cmd *)&dev->op.sqe;

	tcp_op_read(&dev->op, NVME_OPC_FABRICS, 0, NULL, 0);
	cmd->fctype = fctype;
	cmd->attrib = ofst == NVME_PROP_CAP;
	le32_put(&cmd->ofst, ofst);
	le64_put(&cmd->value, value);
}

static int ask_cap(struct transport_dev *dev)
{
	property(dev, NVME_FC_PROPERTY_GET, NVME_PROP_CAP, 0);
	return 0;
}

static int take_cap(struct transport_dev *dev)
{
	dev->cap = dev->op.result;
	if ((dev->cap >> 48 & 15) > (dev->cap >> 52 & 15))
		return broken(dev, "CAP.MPSMIN is more than CAP.MPSMAX");
	/* A job is a read that is held and a write: one command at a time would wait for itself. */
	if ((dev->cap & 0xffff) < 2)
		return broken(dev, "CAP.MQES: queues take less than two commands at a time");
	if (!(dev->cap >> 37 & 0x81))
		return broken(dev, "CAP.CSS has no NVM command set");
	return 0;
}

static int ask_vs(struct transport_dev *dev)
{
	property(dev, NVME_FC_PROPERTY_GET, NVME_PROP_VS, 0);
	return 0;
}

static int take_vs(struct transport_dev *dev)
{
	if (dev->op.result >> 16 & 0xffff)
		return 0;
	return broken(dev, "VS is below 1.0");
}

static int ask_cc(struct transport_dev *dev)
{
	property(dev, NVME_FC_PROPERTY_SET, NVME_PROP_CC, CC_ENABLE | (dev->cap >> 48 & 15) << 7);
	dev->ready_ns = 0;
	return 0;
}

static int take_nothing(struct transport_dev *dev)
{
	(void)dev;
	return 0;
}

static int ask_csts(struct transport_dev *dev)
{
	property(dev, NVME_FC_PROPERTY_GET, NVME_PROP_CSTS, 0);
	return 0;
}

static int take_csts(struct transport_dev *dev)
{
	uint64_t now = tcp_now(), to = BASE_MAX(dev->cap >> 24 & 0xff, (uint64_t)1) * READY_UNIT_MS;

	if (dev->op.result & 2)
		return broken(dev, "CSTS.CFS: the controller failed");
	if (dev->op.result & 1)
		return 0;
	if (!dev->ready_ns)
		dev->ready_ns = now + BASE_MIN(to, (uint64_t)READY_MAX_MS) * TCP_NS_PER_MS;
	if (now < dev->ready_ns)
		return 1;
	tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "the controller does not become ready (CSTS.RDY)");
	return -ETIMEDOUT;
}

static int ask_ctrl(struct transport_dev *dev)
{
	tcp_op_identify(&dev->op, 1, 0, dev->page);
	return 0;
}

/* Bytes that one command may move: 2^MDTS pages of the smallest size. */
static uint64_t mdts_nbytes(const struct transport_dev *dev)
{
	unsigned int shift = dev->page[77] + 12u + (unsigned int)(dev->cap >> 48 & 15);

	return dev->page[77] && shift < 32 ? 1ull << shift : 0;
}

static int take_ctrl(struct transport_dev *dev)
{
	const uint8_t *p = dev->page;
	uint32_t ioccsz = le32_get(p + 1792);

	if (dev->discovery ? p[111] == 1 : p[111] == 2) {
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "CNTRLTYPE %u: %s", p[111],
			     dev->discovery ? "not a discovery controller" :
					      "a discovery controller, which has no namespaces");
		return dev->discovery ? -EPROTO : -EINVAL;
	}
	dev->mdts = mdts_nbytes(dev);
	if (!dev->discovery) {
		if ((p[512] & 15) > 6 || p[512] >> 4 < 6 || (p[513] & 15) > 4 || p[513] >> 4 < 4)
			return broken(dev, "SQES or CQES do not allow entries of 64 and 16 bytes");
		if (ioccsz < 4 || le32_get(p + 1796) < 1)
			return broken(dev, "IOCCSZ is below 4 or IORCSZ below 1");
		if (le16_get(p + 78) != dev->admin.cntlid)
			return broken(dev, "CNTLID is not that of Connect");
	}
	/* Data would begin somewhere behind the command: they are sent on their own instead. */
	dev->icd = ioccsz > 4 && !le16_get(p + 1800) ? BASE_MIN(ioccsz - 4, 1u << 20) * 16 : 0;
	dev->maxcmd = le16_get(p + 514);	/* 0 by some controllers that mean MQES */
	if (dev->maxcmd == 1)
		return broken(dev, "MAXCMD is 1: queues take less than two commands at a time");
	dev->cntlid = dev->admin.cntlid;
	memcpy(dev->ctrl, p, sizeof(dev->ctrl));
	return 0;
}

static int ask_queues(struct transport_dev *dev)
{
	if (dev->discovery)
		return 1;
	tcp_op_read(&dev->op, NVME_ADM_SET_FEATURES, 0, NULL, 0);
	le32_put(&dev->op.sqe.cdw10, NVME_FID_NUM_QUEUES);
	le32_put(&dev->op.sqe.cdw11, (TCP_MAX_QIDS - 1) << 16 | (TCP_MAX_QIDS - 1));
	return 0;
}

static int take_queues(struct transport_dev *dev)
{
	uint32_t v = (uint32_t)dev->op.result;

	dev->nqueue = BASE_MIN(BASE_MIN(v & 0xffff, v >> 16) + 1, TCP_MAX_QIDS);
	return 0;
}

/* Without a namespace yet there is nothing to compare. */
static int ask_ns(struct transport_dev *dev)
{
	if (!dev->name.nsid || dev->discovery)
		return 1;
	tcp_op_identify(&dev->op, 0, dev->name.nsid, dev->page);
	return 0;
}

/* Who the namespace is: NGUID and EUI64, and the UUID of an accelerator. */
static void identity(const uint8_t *page, uint8_t same[40])
{
	memcpy(same, page + 104, 24);
	memcpy(same + 24, page + 408, 16);
}

static int no_namespace(struct transport_dev *dev)
{
	tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "there is no namespace %u (see accel list --discover HOST:PORT)",
		     dev->name.nsid);
	return -ENOENT;
}

int tcp_take_namespace(struct transport_dev *dev)
{
	const uint8_t *p = dev->page, *lbaf;
	uint8_t same[sizeof(dev->same)];
	unsigned int format = (p[26] & 15u) | (p[26] >> 1 & 0x30u);

	if (!le64_get(p))
		return no_namespace(dev);
	if (format > 63)
		return broken(dev, "FLBAS of the namespace");
	lbaf = p + 128 + 4 * (size_t)format;
	if (lbaf[2] < 9 || lbaf[2] > 16)
		return broken(dev, "the block size of the namespace");
	if (le16_get(lbaf)) {
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "namespace %u has metadata, which is not supported",
			     dev->name.nsid);
		return -ENODEV;
	}
	identity(p, same);
	if (dev->known && (memcmp(same, dev->same, sizeof(same)) != 0 || lbaf[2] != dev->lbads)) {
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "namespace %u is another one than before", dev->name.nsid);
		return -ENODEV;
	}
	/* Whoever wants an accelerator is told so by the bytes that are not there; the reason is told here. */
	if (!dev->known && !wire_id_present(p))
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "namespace %u is an ordinary disk, no accelerator",
			     dev->name.nsid);
	memcpy(dev->same, same, sizeof(same));
	dev->lbads = lbaf[2];
	dev->known = true;
	return 0;
}

static const struct step steps[] = {
	{ ask_cap, take_cap, "Property Get CAP" },
	{ ask_vs, take_vs, "Property Get VS" },
	{ ask_cc, take_nothing, "Property Set CC" },
	{ ask_csts, take_csts, "Property Get CSTS" },
	{ ask_ctrl, take_ctrl, "Identify Controller" },
	{ ask_queues, take_queues, "Set Features Number of Queues" },
	{ ask_ns, tcp_take_namespace, "Identify Namespace" },
};
#define NSTEP (sizeof(steps) / sizeof(steps[0]))

/* ---- The machine ---- */

bool tcp_is_final(int error)
{
	return error == -EACCES || error == -ENOENT || error == -ENODEV || error == -EINVAL || error == -EPROTO;
}

/* Waits between attempts grow; many hosts that lost the same target do not come back in step. */
static uint64_t retry_delay(const struct transport_dev *dev)
{
	uint32_t ms = BASE_MIN(RETRY_MIN_MS << BASE_MIN(dev->fails, 10u), RETRY_MAX_MS);
	uint32_t spread = (uint32_t)((uintptr_t)dev >> 6) % (ms / 4 + 1);

	return (ms + spread) * TCP_NS_PER_MS;
}

void tcp_assoc_drop(struct transport_dev *dev, int error, uint64_t now)
{
	tcp_conn_close(&dev->admin, error);
	dev->op.busy = dev->keep.busy = false;
	if (dev->state == TCP_UP) {
		dev->fails = 0;
		dev->retry_ns = now;
	} else {
		dev->retry_ns = now + retry_delay(dev);
		dev->fails++;
	}
	dev->state = TCP_DOWN;
	dev->error = error;
}

static int down(struct transport_dev *dev, uint64_t now)
{
	const char *nqn = dev->discovery ? NVME_DISCOVERY_NQN : dev->name.nqn;
	unsigned int i = dev->at % dev->addrs.n;
	int ret;

	if (now < dev->retry_ns)
		return -EAGAIN;
	ret = tcp_conn_start(&dev->admin, &dev->addrs.addr[i].sa, dev->addrs.addr[i].len, nqn, 0, 0xffff,
			     ADMIN_SQSIZE);
	if (!ret)
		dev->state = TCP_ADMIN;
	return ret;
}

/* Asks what the next step asks, passing over those that are not needed. 0: all are done; 1: asked. */
static int next_step(struct transport_dev *dev, uint64_t now)
{
	int ret;

	while (dev->step < NSTEP && steps[dev->step].ask(dev))
		dev->step++;
	if (dev->step < NSTEP) {
		ret = tcp_op_start(dev, &dev->op, now);
		dev->asked = !ret;
		return ret ? ret : 1;
	}
	dev->state = TCP_UP;
	__atomic_store_n(&dev->generation, dev->generation + 1, __ATOMIC_RELEASE);
	dev->fails = 0;
	dev->keep_ns = now + dev->name.kato_ms * TCP_NS_PER_MS / 2;
	return 0;
}

static int step_result(struct transport_dev *dev)
{
	const struct step *s = &steps[dev->step];
	const struct tcp_op *op = &dev->op;

	if (op->error)
		return op->error;
	if (s->take == tcp_take_namespace && tcp_status_errno(op->status) == -ENOENT)
		return no_namespace(dev);
	if (op->status) {
		tcp_conn_log(&dev->admin, TCP_LOG_ERROR, "%s: status %03xh", s->what, op->status);
		return tcp_status_errno(op->status) == -EIO ? -EPROTO : tcp_status_errno(op->status);
	}
	return s->take(dev);
}

static int setup(struct transport_dev *dev, uint64_t now)
{
	int ret;

	for (;;) {
		if (!dev->asked) {
			if (now < dev->retry_ns)
				return -EAGAIN;
			ret = next_step(dev, now);
			if (ret <= 0)
				return ret;
		}
		ret = tcp_admin_turn(dev, now);
		if (ret)
			return ret;
		if (dev->op.busy)
			return -EAGAIN;
		dev->asked = false;
		ret = step_result(dev);
		if (ret < 0)
			return ret;
		if (ret)
			dev->retry_ns = now + READY_POLL_MS * TCP_NS_PER_MS;
		else
			dev->step++;
	}
}

static int progress(struct transport_dev *dev, uint64_t now)
{
	int ret = 0;

	if (dev->state == TCP_DOWN)
		ret = down(dev, now);
	if (!ret && dev->state == TCP_ADMIN) {
		ret = tcp_conn_drive(&dev->admin, now);
		if (!ret) {
			dev->state = TCP_SETUP;
			dev->step = 0;
			dev->asked = false;
			dev->retry_ns = 0;
		}
	}
	if (!ret && dev->state == TCP_SETUP)
		ret = setup(dev, now);
	return ret;
}

int tcp_assoc_drive(struct transport_dev *dev, uint64_t now)
{
	int ret;

	if (dev->state == TCP_UP)
		return 0;
	ret = progress(dev, now);
	if (ret && ret != -EAGAIN) {
		dev->at++;
		tcp_assoc_drop(dev, ret, now);
	}
	return ret;
}

static void wait_assoc(const struct transport_dev *dev, uint64_t now, uint64_t deadline)
{
	struct pollfd p = { dev->admin.fd, tcp_conn_events(&dev->admin), 0 };
	uint64_t until = BASE_MIN(deadline, now + READY_POLL_MS * TCP_NS_PER_MS);

	poll(&p, 1, (int)((until - now) / TCP_NS_PER_MS) + 1);
}

int tcp_assoc_wait(struct transport_dev *dev, uint64_t deadline)
{
	unsigned int tries = 0;
	uint64_t now = tcp_now();
	int ret;

	/* An idle association that the target has given up is not worth an error. */
	if (dev->state == TCP_UP && tcp_conn_hung_up(&dev->admin))
		tcp_assoc_drop(dev, -ECONNRESET, now);
	for (;;) {
		ret = tcp_assoc_drive(dev, now);
		/* Each address of the host once. */
		if (ret && ret != -EAGAIN && (++tries >= dev->addrs.n || tcp_is_final(ret)))
			return ret;
		if (!ret)
			return 0;
		if (now >= deadline)
			return dev->error && dev->state == TCP_DOWN ? dev->error : -ETIMEDOUT;
		wait_assoc(dev, now, deadline);
		now = tcp_now();
	}
}

void tcp_assoc_tell(const struct transport_dev *dev, int error)
{
	char addr[300];

	if (error != -ECONNREFUSED)
		return;
	tcp_name_addr(&dev->name, addr, sizeof(addr));
	transport_log(dev->env, TCP_LOG_ERROR, "nothing listens at %.100s: is acceld running there, with this port?",
		      addr);
}

void tcp_host_tell(struct transport_env *env)
{
	const char *bad = __atomic_exchange_n(&env->hostid_bad, NULL, __ATOMIC_RELAXED);

	if (bad)
		transport_log(env, TCP_LOG_WARNING, "/etc/%s is malformed or may not be read, and not used: the Host NQN is "
			      "%s", bad, env->hostnqn);
}

void tcp_assoc_keep(struct transport_dev *dev, uint64_t now)
{
	int ret;

	if (dev->state != TCP_UP || !dev->name.kato_ms)
		return;
	if (now >= dev->keep_ns && !dev->keep.busy) {
		tcp_op_read(&dev->keep, NVME_ADM_KEEP_ALIVE, 0, NULL, 0);
		if (!tcp_op_start(dev, &dev->keep, now))
			dev->keep_ns = now + dev->name.kato_ms * TCP_NS_PER_MS / 2;
	}
	if (!dev->keep.busy)
		return;
	ret = tcp_admin_turn(dev, now);
	if (ret)
		tcp_assoc_drop(dev, ret, now);
}

uint64_t tcp_max_nbytes(const struct transport_dev *dev)
{
	uint64_t blocks = 65536ull << dev->lbads;

	return dev->mdts ? BASE_MIN(dev->mdts, blocks) : blocks;
}

/* ---- Making and ending ---- */

int tcp_resolve(struct transport_env *env, const struct tcp_name *name, bool numeric, struct tcp_addrs *addrs)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC,
				  .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0) };
	struct addrinfo *list, *a;
	int ret = getaddrinfo(name->host, name->port, &hints, &list);

	if (ret) {
		transport_log(env, TCP_LOG_ERROR, "host %.100s: %s", name->host, gai_strerror(ret));
		return ret == EAI_MEMORY ? -ENOMEM : ret == EAI_NONAME ? -ENOENT : -EHOSTUNREACH;
	}
	addrs->n = 0;
	for (a = list; a && addrs->n < TCP_MAX_ADDR; a = a->ai_next) {
		if (a->ai_addrlen > sizeof(addrs->addr[0].sa))
			continue;
		memcpy(&addrs->addr[addrs->n].sa, a->ai_addr, a->ai_addrlen);
		addrs->addr[addrs->n++].len = a->ai_addrlen;
	}
	freeaddrinfo(list);
	return addrs->n ? 0 : -EHOSTUNREACH;
}

int tcp_dev_new(struct transport_env *env, const struct tcp_name *name, struct transport_dev **out)
{
	struct transport_dev *dev = calloc(1, sizeof(*dev));
	struct tcp_conn_opts o = { .env = env, .depth = TCP_ADMIN_DEPTH, .nbuf = ADMIN_BUF, .done = tcp_op_done };
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->env = env;
	dev->name = *name;
	o.name = &dev->name;
	o.owner = dev;
	o.timeout_ms = BASE_MIN(name->timeout_ms, TCP_ADMIN_MS);
	dev->page = malloc(TCP_PAGE);
	ret = dev->page ? tcp_conn_init(&dev->admin, &o) : -ENOMEM;
	if (ret) {
		free(dev->page);
		free(dev);
		return ret;
	}
	pthread_mutex_init(&dev->lock, NULL);
	*out = dev;
	return 0;
}

void tcp_dev_free(struct transport_dev *dev)
{
	tcp_conn_fini(&dev->admin);
	if (!dev->env->forked)
		pthread_mutex_destroy(&dev->lock);
	free(dev->page);
	free(dev);
}
