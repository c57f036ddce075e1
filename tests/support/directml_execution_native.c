/* A Direct3D 12 library made up for the purpose: it returns structs through a pointer passed after the object, or by
 * value if compiled with BY_VALUE, from functions in the slots of the real interfaces. Its tables are read-only.
 */

#include <stdint.h>
#include <string.h>

typedef struct { uint64_t value; } one;                /* 8 bytes: GetAdapterLuid, descriptor handles */
typedef struct { uint64_t first, second; } two;        /* 16 bytes: GetResourceAllocationInfo, descriptor heap's GetDesc */
typedef struct { uint32_t values[5]; } five;           /* 20 bytes: GetCustomHeapProperties */
typedef struct { uint64_t values[7]; } seven;          /* 56 bytes: GetDesc of a resource */

typedef struct object { const void *const *table; uint64_t own; } object;

#ifdef BY_VALUE
#define RETURNS(type, name, ...) type name(object *this, ##__VA_ARGS__) { type result; type *ret = &result; memset(ret, 0, sizeof *ret);
#define GIVEN return result; }
#else
#define RETURNS(type, name, ...) type *name(object *this, type *ret, ##__VA_ARGS__) { memset(ret, 0, sizeof *ret);
#define GIVEN return ret; }
#endif

static RETURNS(one, luid) ret->value = this->own + 1; GIVEN
static RETURNS(two, allocation, uint32_t mask, uint32_t count, const uint64_t *descs)
    ret->first = this->own + mask + count; ret->second = descs[1]; GIVEN
static RETURNS(two, allocation1, uint32_t mask, uint32_t count, const uint64_t *descs, uint64_t *infos)
    ret->first = this->own + mask + count; ret->second = descs[1]; infos[0] = descs[0]; GIVEN
static RETURNS(five, properties, uint32_t mask, uint32_t type)
    for (uint32_t i = 0; i < 5; i++) ret->values[i] = (uint32_t)this->own + mask * 100 + type * 10 + i; GIVEN
static RETURNS(two, heap_desc) ret->first = this->own; ret->second = 16; GIVEN
static RETURNS(one, cpu_start) ret->value = this->own + 9; GIVEN
static RETURNS(one, gpu_start) ret->value = this->own + 10; GIVEN
static RETURNS(seven, resource_desc) for (uint64_t i = 0; i < 7; i++) ret->values[i] = this->own + i; GIVEN

static const void *const device_table[] = {
    [25] = allocation, [26] = properties, [43] = luid, [56] = allocation1, [64] = 0,
};
static const void *const descriptor_heap_table[] = {[8] = heap_desc, [9] = cpu_start, [10] = gpu_start};
static const void *const resource_table[] = {[10] = resource_desc, [14] = 0};

object device = {device_table, 1000}, descriptor_heap = {descriptor_heap_table, 2000};
object resource = {resource_table, 3000}, other_resource = {resource_table, 4000};

#ifndef BY_VALUE
/* The library calling itself, through the table, as it was compiled. */
uint64_t own_call(object *of)
{
    seven desc;
    const seven *got = ((seven *(*)(object *, seven *))of->table[10])(of, &desc);
    return got == &desc ? desc.values[6] : 0;
}
#endif
