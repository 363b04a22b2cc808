/* SPDX-License-Identifier: BSD-2-Clause */
/* The shard header and the arithmetic of the layout. Nothing here does input or output. */
#include <string.h>
#include "ec_bytes.h"
#include "ec_format.h"

static const uint8_t magic[8] = "ACCELEC";

enum { VERSION = 1, ALG_RS_CAUCHY = 1 };
enum {
	AT_VERSION = 8,
	AT_ALG = 10,
	AT_K = 11,
	AT_M = 12,
	AT_INDEX = 13,
	AT_NAME_LEN = 14,
	AT_UUID = 16,
	AT_BLOCK = 32,
	AT_LAST = 36,
	AT_FILE = 40,
	AT_NSTRIPE = 48,
	AT_MODE = 56,
	AT_MTIME = 64,
	AT_RSVD = 72,
	AT_NAME = 128,
	AT_RSVD2 = 384,
	AT_CRC = 508,
};

void ec_head_layout(struct ec_head *h)
{
	uint64_t stripe = (uint64_t)h->k * h->block_nbytes;
	uint64_t rest = h->file_nbytes % stripe;
	uint64_t share = (rest + h->k - 1) / h->k;

	h->nstripe = h->file_nbytes / stripe + (rest != 0);
	if (!h->nstripe)
		h->last_nbytes = 0;
	else if (!rest)
		h->last_nbytes = h->block_nbytes;
	else
		h->last_nbytes = (uint32_t)((share + EC_UNIT - 1) / EC_UNIT * EC_UNIT);
}

static int name_ok(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

const char *ec_head_check(const struct ec_head *h)
{
	unsigned int n = (unsigned int)h->k + h->m;

	if (!h->k || !h->m || n > EC_SHARDS_MAX)
		return "k and m must be at least 1 and k + m at most 255";
	if (!h->block_nbytes || h->block_nbytes % EC_UNIT || h->block_nbytes > EC_BLOCK_MAX)
		return "the block size must be a multiple of 512 and at most 1 MiB";
	if ((uint64_t)n * h->block_nbytes > EC_STRIPE_MAX)
		return "k + m blocks must not exceed 64 MiB";
	if (h->file_nbytes > INT64_MAX / 2)
		return "the file is too long";
	if (!name_ok(h->name))
		return "the file name is not valid";
	return NULL;
}

void ec_head_encode(const struct ec_head *h, uint8_t page[EC_HEAD_NBYTES])
{
	size_t len = strlen(h->name);

	memset(page, 0, EC_HEAD_NBYTES);
	memcpy(page, magic, sizeof(magic));
	put_le(page + AT_VERSION, 2, VERSION);
	page[AT_ALG] = ALG_RS_CAUCHY;
	page[AT_K] = h->k;
	page[AT_M] = h->m;
	page[AT_INDEX] = h->index;
	put_le(page + AT_NAME_LEN, 2, len);
	memcpy(page + AT_UUID, h->uuid, sizeof(h->uuid));
	put_le(page + AT_BLOCK, 4, h->block_nbytes);
	put_le(page + AT_LAST, 4, h->last_nbytes);
	put_le(page + AT_FILE, 8, h->file_nbytes);
	put_le(page + AT_NSTRIPE, 8, h->nstripe);
	put_le(page + AT_MODE, 4, h->mode);
	put_le(page + AT_MTIME, 8, (uint64_t)h->mtime);
	memcpy(page + AT_NAME, h->name, len);
	put_le(page + AT_CRC, 4, ec_crc32c(0, page, AT_CRC));
}

static void head_fields(struct ec_head *h, const uint8_t *page)
{
	h->k = page[AT_K];
	h->m = page[AT_M];
	h->index = page[AT_INDEX];
	memcpy(h->uuid, page + AT_UUID, sizeof(h->uuid));
	h->block_nbytes = (uint32_t)get_le(page + AT_BLOCK, 4);
	h->last_nbytes = (uint32_t)get_le(page + AT_LAST, 4);
	h->file_nbytes = get_le(page + AT_FILE, 8);
	h->nstripe = get_le(page + AT_NSTRIPE, 8);
	h->mode = (uint32_t)get_le(page + AT_MODE, 4);
	h->mtime = (int64_t)get_le(page + AT_MTIME, 8);
}

static const char *head_name(struct ec_head *h, const uint8_t *page)
{
	size_t len = get_le(page + AT_NAME_LEN, 2);

	if (len > EC_NAME_MAX || memchr(page + AT_NAME, 0, len) ||
	    !bytes_are_zero(page + AT_NAME + len, EC_NAME_MAX + 1 - len))
		return "the file name in its header is not valid";
	memcpy(h->name, page + AT_NAME, len);
	h->name[len] = 0;
	return NULL;
}

const char *ec_head_decode(struct ec_head *h, const uint8_t page[EC_HEAD_NBYTES])
{
	struct ec_head want;
	const char *why;

	memset(h, 0, sizeof(*h));
	if (memcmp(page, magic, sizeof(magic)))
		return "not a shard, or its header is lost";
	if (get_le(page + AT_CRC, 4) != ec_crc32c(0, page, AT_CRC))
		return "its header is damaged";
	if (get_le(page + AT_VERSION, 2) != VERSION || page[AT_ALG] != ALG_RS_CAUCHY)
		return "a shard of a version that this program does not know";
	if (get_le(page + AT_MODE + 4, 4) || !bytes_are_zero(page + AT_RSVD, AT_NAME - AT_RSVD) ||
	    !bytes_are_zero(page + AT_RSVD2, AT_CRC - AT_RSVD2))
		return "reserved bytes of its header are not zero";
	head_fields(h, page);
	why = head_name(h, page);
	if (!why)
		why = ec_head_check(h);
	if (why)
		return why;
	want = *h;
	ec_head_layout(&want);
	if (h->index >= h->k + h->m || h->mode > 07777 || want.nstripe != h->nstripe ||
	    want.last_nbytes != h->last_nbytes)
		return "the numbers in its header contradict each other";
	return NULL;
}

int ec_head_same_set(const struct ec_head *a, const struct ec_head *b)
{
	uint8_t pa[EC_HEAD_NBYTES], pb[EC_HEAD_NBYTES];
	struct ec_head c = *b;

	c.index = a->index;
	ec_head_encode(a, pa);
	ec_head_encode(&c, pb);
	return !memcmp(pa, pb, sizeof(pa));
}

uint32_t ec_block_nbytes(const struct ec_head *h, uint64_t stripe)
{
	return stripe + 1 == h->nstripe ? h->last_nbytes : h->block_nbytes;
}

uint64_t ec_block_off(const struct ec_head *h, uint64_t stripe)
{
	return EC_HEAD_NBYTES + stripe * (h->block_nbytes + EC_CHECK_NBYTES);
}

uint64_t ec_shard_nbytes(const struct ec_head *h)
{
	if (!h->nstripe)
		return 2 * EC_HEAD_NBYTES;
	return ec_block_off(h, h->nstripe - 1) + h->last_nbytes + EC_CHECK_NBYTES + EC_HEAD_NBYTES;
}

uint32_t ec_place_crc(const struct ec_head *h, unsigned int index, uint64_t stripe)
{
	uint8_t place[28];

	memcpy(place, h->uuid, 16);
	put_le(place + 16, 4, index);
	put_le(place + 20, 8, stripe);
	return ec_crc32c(0, place, sizeof(place));
}
