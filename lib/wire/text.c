// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text in pages ends up on terminals and in logs, so only printable ASCII passes. */
#include "wire_priv.h"

static int printable(char c)
{
	return c >= 0x20 && c <= 0x7e;
}

int wire_text_get(char *text, const uint8_t *field, size_t size)
{
	size_t n = 0;

	while (n < size && printable((char)field[n]))
		n++;
	if (!base_is_zero(field + n, size - n))
		return 0;
	memcpy(text, field, n);
	memset(text + n, 0, size + 1 - n);
	return 1;
}

void wire_text_put(uint8_t *field, size_t size, const char *text)
{
	size_t n;

	memset(field, 0, size);
	for (n = 0; n < size && text[n]; n++)
		field[n] = (uint8_t)(printable(text[n]) ? text[n] : '?');
}
