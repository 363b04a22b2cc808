// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes at all as what a host receives. */
#include "fuzz_nvmetcp.h"

static const enum ntcp_role role = NTCP_HOST;

static size_t fresh_header(uint64_t *s, const struct ntcp_params *peer, uint8_t *b, uint32_t len)
{
	struct nvme_cqe cqe = { .cid = 1, .status = (uint16_t)feed_rnd(s) };

	switch (feed_rnd(s) % 8) {
	case 0:
	case 1:
		return ntcp_put_rsp(peer, b, &cqe);
	case 2:
		return ntcp_put_r2t(peer, b, 1, 0, feed_rnd(s) % 4 * 2048, len);
	case 3:
		return ntcp_put_term(NTCP_CTRL, b, (uint16_t)(feed_rnd(s) % 8), 0, NULL);
	case 4:
		return ntcp_put_c2h_data(peer, b, 1, feed_rnd(s) % 4 * 2048, len, true, feed_rnd(s) & 1);
	default:
		return ntcp_put_c2h_data(peer, b, 1, 0, len, false, false);
	}
}
