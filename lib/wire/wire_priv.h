/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of lib/wire share. */
#ifndef ACCEL_WIRE_PRIV_H
#define ACCEL_WIRE_PRIV_H

#include "wire.h"

/*
 * Fields by structure and member: pages come at any alignment, so a pointer to one is never cast to a
 * structure. The loads and stores are single instructions all the same.
 */
#define FIELD(p, type, member)	((const uint8_t *)(p) + offsetof(struct type, member))
#define FIELDW(p, type, member) ((uint8_t *)(p) + offsetof(struct type, member))
#define GET8(p, t, m)		(*FIELD(p, t, m))
#define GET16(p, t, m)		le16_get(FIELD(p, t, m))
#define GET32(p, t, m)		le32_get(FIELD(p, t, m))
#define GET64(p, t, m)		le64_get(FIELD(p, t, m))
#define PUT8(p, t, m, v)	(*FIELDW(p, t, m) = (v))
#define PUT16(p, t, m, v)	le16_put(FIELDW(p, t, m), (v))
#define PUT32(p, t, m, v)	le32_put(FIELDW(p, t, m), (v))
#define PUT64(p, t, m, v)	le64_put(FIELDW(p, t, m), (v))
/* Arrays of bytes, of the size of the member; builtin, as freestanding code gets calls otherwise. */
#define FIELD_SIZE(t, m)	sizeof(((struct t *)0)->m)
#define GETB(dst, p, t, m)	__builtin_memcpy((dst), FIELD(p, t, m), FIELD_SIZE(t, m))
#define PUTB(p, t, m, src)	__builtin_memcpy(FIELDW(p, t, m), (src), FIELD_SIZE(t, m))
#define IS_ZERO(p, t, m)	base_is_zero(FIELD(p, t, m), FIELD_SIZE(t, m))

#define WIRE_VERSION_1 1	/* of descriptor, status and lease pages */

static inline int magic_is(const void *p, const char *magic)
{
	return __builtin_memcmp(p, magic, 4) == 0;
}

/* size bytes of zero-padded printable ASCII, copied to text[size + 1]; 0 if they are not. */
int wire_text_get(char *text, const uint8_t *field, size_t size);
/* Writes text, cut at size and zero-padded; '?' for what is not printable ASCII. */
void wire_text_put(uint8_t *field, size_t size, const char *text);

/* Whether the offsets and sizes of an identity fit together. */
enum wire_err wire_check_geometry(const struct wire_id *id);
/* Whether shifts and counts are such that the geometry can be computed with. */
enum wire_err wire_check_shifts(const struct wire_id *id);
uint64_t wire_stats_nbytes(uint32_t nlease);
enum wire_err wire_check_ops(const struct wire_id *id);
void wire_op_encode(const struct wire_op *op, uint8_t *p);
enum wire_err wire_op_decode(struct wire_op *op, const uint8_t *p, int strict);

#endif
