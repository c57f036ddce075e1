/* Stand-ins for the functions of a C library that return a struct through a pointer passed after the object, for
 * callers that expect it by value, as C++ does on Linux (System V ABI): up to 16 bytes in two registers, above that
 * through a pointer passed before the object.
 *
 * A stand-in is put into the table of the library's own class, so it is also called by those who pass a pointer: the
 * library itself, for one. Where the call returns to tells which of the two it is.
 */

#include <stddef.h>
#include <stdint.h>

#define EACH_OF_8(row) \
    STAND_IN(0##row##0) STAND_IN(0##row##1) STAND_IN(0##row##2) STAND_IN(0##row##3) \
    STAND_IN(0##row##4) STAND_IN(0##row##5) STAND_IN(0##row##6) STAND_IN(0##row##7)
#define EACH EACH_OF_8(0) EACH_OF_8(1) EACH_OF_8(2) EACH_OF_8(3)
#define COUNT 32

typedef uint64_t word; /* what a register holds; no function here has more than six arguments, or any in memory */
typedef struct { word first, second; } pair;
typedef word (*function)(word, word, word, word, word, word);

/* The memory that holds the code of the callers that expect structs by value. */
uintptr_t callers_start, callers_size;

#define CALLER_WANTS_VALUE ((uintptr_t)__builtin_return_address(0) - callers_start < callers_size)

static function small_originals[COUNT], large_originals[COUNT];
static size_t small_used, large_used;

#define STAND_IN(n) \
    static pair small_##n(word a, word b, word c, word d, word e, word f) \
    { \
        pair result = {0, 0}; \
        if (CALLER_WANTS_VALUE) \
            small_originals[n](a, (word)&result, b, c, d, e); \
        else \
            result.first = small_originals[n](a, b, c, d, e, f); \
        return result; \
    }
EACH
#undef STAND_IN

#define STAND_IN(n) \
    static word large_##n(word a, word b, word c, word d, word e, word f) \
    { \
        return CALLER_WANTS_VALUE ? large_originals[n](b, a, c, d, e, f) : large_originals[n](a, b, c, d, e, f); \
    }
EACH
#undef STAND_IN

#define STAND_IN(n) small_##n,
static pair (*const small[COUNT])(word, word, word, word, word, word) = {EACH};
#undef STAND_IN

#define STAND_IN(n) large_##n,
static word (*const large[COUNT])(word, word, word, word, word, word) = {EACH};
#undef STAND_IN

/* Returns a stand-in for a function that returns a struct of so many bytes, or NULL if there is none left. */
void *stand_in_for(function original, size_t size)
{
    if (size <= sizeof(pair)) {
        if (small_used == COUNT)
            return NULL;
        small_originals[small_used] = original;
        return (void *)small[small_used++];
    }
    if (large_used == COUNT)
        return NULL;
    large_originals[large_used] = original;
    return (void *)large[large_used++];
}
