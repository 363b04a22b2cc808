/* SPDX-License-Identifier: BSD-2-Clause */
/* compress -l. Sizes are those of what was decoded, not of a field that wraps at 4 GiB. */
#include "compress.h"
#include <json-c/json.h>
#include <math.h>

#define SCHEMA 1

int worse(int a, int b)
{
	static const int rank[] = { [TOOL_OK] = 0, [TOOL_WARNING] = 1, [TOOL_FAILED] = 2, [TOOL_NODEV] = 3,
				    [TOOL_BUSY] = 4 };

	return rank[a] >= rank[b] ? a : b;
}

void listing_add(struct squeeze *s, const struct file_in *in, const char *name, const struct format *format,
		 const struct accel_stream_info *info)
{
	struct json_object *o = json_object_new_object();
	uint64_t compressed = info->in_bytes, plain = info->out_bytes;

	if (!s->listing)
		s->listing = json_object_new_array();
	out_add_num(o, "schema", SCHEMA);
	out_add_str(o, "file", in->name);
	out_add_str(o, "format", format->name);
	out_add_num(o, "members", info->members);
	out_add_num(o, "compressed_bytes", compressed);
	out_add_num(o, "uncompressed_bytes", plain);
	out_add_real(o, "ratio", plain ? 1 - (double)compressed / (double)plain : 0);
	out_add_str(o, "uncompressed_name", name);
	json_object_array_add(s->listing, o);
}

static struct json_object *field(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, key, &v);
	return v;
}

static void line(FILE *f, uint64_t compressed, uint64_t plain, double ratio, const char *name)
{
	fprintf(f, "%19llu %19llu %5.1f%% ", (unsigned long long)compressed, (unsigned long long)plain,
		100 * ratio);
	for (; *name; name++)
		fputc((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name, f);
	fputc('\n', f);
}

/* The columns of gzip -l, which scripts read. */
static void print(FILE *f, struct json_object *root, bool verbose)
{
	uint64_t compressed = 0, plain = 0;
	size_t n = json_object_array_length(root);

	fprintf(f, "%s%19s %19s  ratio uncompressed_name\n", verbose ? "format  members " : "", "compressed",
		"uncompressed");
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(root, i);
		uint64_t c = json_object_get_uint64(field(o, "compressed_bytes"));
		uint64_t u = json_object_get_uint64(field(o, "uncompressed_bytes"));

		compressed += c;
		plain += u;
		if (verbose)
			fprintf(f, "%-7s %7llu ", json_object_get_string(field(o, "format")),
				(unsigned long long)json_object_get_uint64(field(o, "members")));
		line(f, c, u, json_object_get_double(field(o, "ratio")),
		     json_object_get_string(field(o, "uncompressed_name")));
	}
	if (n > 1) {
		fprintf(f, "%s", verbose ? "                " : "");
		line(f, compressed, plain, plain ? 1 - (double)compressed / (double)plain : 0, "(totals)");
	}
}

static void print_short(FILE *f, struct json_object *root)
{
	print(f, root, false);
}

static void print_long(FILE *f, struct json_object *root)
{
	print(f, root, true);
}

int listing_print(struct squeeze *s)
{
	struct json_object *root = s->listing ? s->listing : json_object_new_array();

	s->listing = NULL;
	return out_listing(s->t, root, s->verbose ? print_long : print_short);
}
