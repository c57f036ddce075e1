/* A caller that expects structs by value, as DirectML's C++ does on Linux: in C, the same functions look like this. */

#include <stdint.h>

typedef struct { uint64_t value; } one;
typedef struct { uint64_t first, second; } two;
typedef struct { uint32_t values[5]; } five;
typedef struct { uint64_t values[7]; } seven;
typedef struct object { void *const *table; } object;

one call_luid(object *of) { return ((one(*)(object *))of->table[43])(of); }
one call_cpu_start(object *of) { return ((one(*)(object *))of->table[9])(of); }
one call_gpu_start(object *of) { return ((one(*)(object *))of->table[10])(of); }
two call_heap_desc(object *of) { return ((two(*)(object *))of->table[8])(of); }
two call_allocation(object *of, uint32_t mask, uint32_t count, void *descs)
{
    return ((two(*)(object *, uint32_t, uint32_t, void *))of->table[25])(of, mask, count, descs);
}
two call_allocation1(object *of, uint32_t mask, uint32_t count, void *descs, void *infos)
{
    return ((two(*)(object *, uint32_t, uint32_t, void *, void *))of->table[56])(of, mask, count, descs, infos);
}
five call_properties(object *of, uint32_t mask, uint32_t type)
{
    five got = ((five(*)(object *, uint32_t, uint32_t))of->table[26])(of, mask, type);
    return got;
}
seven call_resource_desc(object *of) { return ((seven(*)(object *))of->table[10])(of); }
