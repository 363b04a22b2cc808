/* SPDX-License-Identifier: BSD-2-Clause */
/* Of each kind of type that a compiler lays out in a way of its own; TYPES_BASE: the public ones alone. test_private.py */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct list_head { struct list_head *next, *prev; };
struct pub_packed { u8 a; u32 b; } __attribute__((packed));
struct pub_aligned { u32 a; } __attribute__((aligned(64)));
struct pub_odd { u8 a[3]; };
enum pub_enum { PUB_A, PUB_B };

#ifndef TYPES_BASE
enum e_small { E_ONE = 1, E_MINUS = -5 };
enum e_byte { E_B0, E_B1 } __attribute__((packed));
enum e_big { E_BIG = 0x123456789abcULL, E_NEG = -1LL };
enum e_unsigned { E_U = 0xfffffff0u };
enum { ANON_X = 3, ANON_Y };
typedef int (*fn_t)(struct list_head *, const char *fmt, ...);
typedef struct { u32 x; u16 y; } no_tag_t;
struct only_pointed;

struct t_plain { u8 a; u16 b; u8 c; u64 d; char e; };
struct t_packed { u8 a; u32 b; u16 c; u64 d; } __attribute__((packed));
struct t_packed_neat { u32 a; u32 b; u16 c; } __attribute__((packed));	/* packed can be seen in the size alone */
struct t_packed_holds { u8 a; struct t_packed_neat n; u32 z; };
struct t_packed_aligned { u8 a; u32 b; } __attribute__((packed, aligned(4)));
struct t_aligned { u8 a; u32 b __attribute__((aligned(64))); u8 c; };
struct t_aligned_all { u8 a; u64 b; } __attribute__((aligned(128)));
struct t_holds_aligned { u8 a; struct t_aligned_all b; struct pub_aligned p; u8 c; };
struct t_holds_public { u8 a; struct pub_packed p; struct pub_odd o; struct pub_packed q[3]; u32 z; };
struct t_bits { u32 a:3; u32 b:5; u32 :0; u32 c:10; u64 d:40; u64 e:30; u8 f:1; u8 :3; u8 g:2; u16 h; };
struct t_bits_mixed { u8 a; u32 b:4; u8 c; u32 d:20; u32 e:20; _Bool f:1; _Bool g:1; u64 z; };
struct t_bits_signed { int a:7; signed char b:2; enum pub_enum c:4; long long d:33; };
struct t_bits_gap { u32 a:4; u32 :20; u32 b:4; u32 :0; u32 :32; u32 c:9; };
struct t_bits_packed { u8 a; u32 b:13; u32 c:22; u16 d; u8 e:1; } __attribute__((packed));
struct t_bits_only { u64 a:1; };
union t_union { u8 a; u32 b:9; u64 c; struct { u16 x, y; } d; char e[11]; };
struct t_anon {
	u8 a;
	union { u32 b; struct { u8 c; u64 d; }; u16 e[5]; };
	struct { union { u8 f; u32 g; } in; u8 h; } named;
	struct { u32 k:3, l:29; };
};
struct t_pointers {
	const char *a; char *const b; const volatile u32 *const *c; void *d; struct only_pointed *e; struct t_pointers *self;
	int (*f)(void); int (*g[4])(u8, const struct only_pointed *, ...); int (*(*h)(u32))(u64); u8 (*i)[5]; u8 *j[3]; fn_t k;
	void (*l)(struct t_pointers *p, fn_t f, union t_union u);
};
struct t_arrays { u8 a[3][5]; struct t_plain b[2]; u16 c[0]; u32 d; no_tag_t e[3]; };
struct t_flexible { u32 n; struct t_packed tail[]; };
struct t_enums { enum e_small a; enum e_byte b; enum e_big c; enum e_byte d[3]; enum e_unsigned e; u8 f; };
struct t_numbers { _Bool a; long double b; float c; double d; __int128 e; u8 f; unsigned __int128 g; long h; };
struct t_empty { };
struct t_holds_empty { u8 a; struct t_empty b; u32 c; };
struct t_list { struct list_head l; no_tag_t t; u8 z; };
struct t_qualified { const u32 a; volatile u8 b; const struct t_plain c; const u16 d[2]; };
#endif
