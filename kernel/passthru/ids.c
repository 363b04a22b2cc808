// SPDX-License-Identifier: GPL-2.0-only
/* Names and identifiers that nobody gave: derived, so that they are the same after a reboot and on no other machine. */
#include <linux/dmi.h>
#include <linux/random.h>
#include <crypto/sha2.h>
#include "core.h"
#include <linux/nvme_accel.h>

struct nap_hash {
	u8 text[1024];
	u32 n;
	u8 out[SHA256_DIGEST_SIZE];
};

/* Every part with its length before it, so that no two lists of parts are one text. */
static void hash_add(struct nap_hash *h, const void *data, size_t n)
{
	__le32 len = cpu_to_le32(n);

	if (WARN_ON_ONCE(n > sizeof(h->text) - sizeof(len) || h->n > sizeof(h->text) - sizeof(len) - n))
		return;
	memcpy(h->text + h->n, &len, sizeof(len));
	memcpy(h->text + h->n + sizeof(len), data, n);
	h->n += sizeof(len) + n;
}

static void hash_init(struct nap_hash *h, const char *what)
{
	h->n = 0;
	hash_add(h, NAP_NAME, strlen(NAP_NAME));
	hash_add(h, what, strlen(what));
}

/* UUID version 8: of the owner's own making. */
static uuid_t hash_uuid(struct nap_hash *h)
{
	uuid_t uuid;

	sha256(h->text, h->n, h->out);
	memcpy(uuid.b, h->out, sizeof(uuid.b));
	uuid.b[6] = (uuid.b[6] & 0x0f) | 0x80;
	uuid.b[8] = (uuid.b[8] & 0x3f) | 0x80;
	return uuid;
}

/* What tells this machine from others; random numbers where its firmware does not say. */
static const char *machine(void)
{
	static char random[33];
	static DEFINE_MUTEX(once);
	const char *id = dmi_get_system_info(DMI_PRODUCT_UUID);

	if (id && strspn(id, "0-") != strlen(id))
		return id;
	mutex_lock(&once);
	if (!random[0]) {
		u8 bytes[16];

		get_random_bytes(bytes, sizeof(bytes));
		bin2hex(random, bytes, sizeof(bytes));
		pr_notice(NAP_NAME ": the firmware tells no UUID of this machine: names of controllers are new after each load of the module; write subsysnqn to keep them\n");
	}
	mutex_unlock(&once);
	return random;
}

void nap_ids_ctrl(struct nap_ctrl *c, struct nap_ctrl_conf *out)
{
	struct nap_hash h;
	uuid_t uuid;

	*out = c->conf;
	if (!out->subsysnqn[0]) {
		const char *id = machine();

		hash_init(&h, "subsystem");
		hash_add(&h, id, strlen(id));
		hash_add(&h, nap_ctrl_name(c), strlen(nap_ctrl_name(c)));
		uuid = hash_uuid(&h);
		snprintf(out->subsysnqn, sizeof(out->subsysnqn), "nqn.2014-08.org.nvmexpress:uuid:%pUb", &uuid);
	}
	if (!out->serial[0]) {
		hash_init(&h, "serial");
		hash_add(&h, out->subsysnqn, strlen(out->subsysnqn));
		uuid = hash_uuid(&h);
		snprintf(out->serial, sizeof(out->serial), "%10phN", uuid.b);
	}
	if (!out->model[0])
		strscpy(out->model, NAP_MODEL, sizeof(out->model));
	if (!out->firmware[0])
		strscpy(out->firmware, NAP_VERSION, sizeof(out->firmware));
}

void nap_ids_ns(struct nap_ns *ns, const char *subsysnqn, const void *page)
{
	const struct nvme_id_ns *below = page;
	__le32 nsid = cpu_to_le32(ns->nsid);
	struct nap_hash h;
	uuid_t uuid;

	hash_init(&h, "namespace");
	hash_add(&h, subsysnqn, strlen(subsysnqn));
	hash_add(&h, &nsid, sizeof(nsid));
	if (page) {
		const struct nvme_accel_id *id = page + NVME_ACCEL_ID_OFF;

		hash_add(&h, below->nguid, sizeof(below->nguid));
		hash_add(&h, below->eui64, sizeof(below->eui64));
		if (!memcmp(id->magic, NVME_ACCEL_MAGIC, sizeof(id->magic)))
			hash_add(&h, id->uuid, sizeof(id->uuid));
	}
	uuid = hash_uuid(&h);
	if (!ns->uuid_given)
		ns->conf.uuid = uuid;
	if (!ns->nguid_given)
		memcpy(ns->conf.nguid, h.out + 16, sizeof(ns->conf.nguid));
}
