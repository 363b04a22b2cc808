// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes at all as what a controller receives. */
#include "fuzz_nvmetcp.h"

static const enum ntcp_role role = NTCP_CTRL;

static size_t fresh_header(uint64_t *s, const struct ntcp_params *peer, uint8_t *b, uint32_t len)
{
	struct nvme_sqe sqe = { .opc = (uint8_t)feed_rnd(s), .cid = 1 };

	switch (feed_rnd(s) % 8) {
	case 0:
		return ntcp_put_cmd(peer, b, &sqe, 0);
	case 1:
	case 2:
		return ntcp_put_cmd(peer, b, &sqe, len);
	case 3:
		return ntcp_put_term(NTCP_HOST, b, (uint16_t)(feed_rnd(s) % 8), 0, NULL);
	case 4:
		return ntcp_put_h2c_data(peer, b, 1, 0, feed_rnd(s) % 4 * 2048, len, true);
	default:
		return ntcp_put_h2c_data(peer, b, 1, 0, 0, len, false);
	}
}
