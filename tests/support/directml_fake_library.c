/* A library with DirectML's entry point, whose decision depends on the operator's type alone. It compiles nothing. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define E_INVALIDARG ((int32_t)0x80070057)

typedef struct object { const void *const *table; } object;

static int operators;

static uint32_t release_operator(object *self) { free(self); operators--; return 0; }
static uint32_t keep(object *self) { (void)self; return 1; }

static const void *const operator_table[] = {0, 0, (const void *)release_operator};

/* 0: types 1 to 11 are supported; 1: the highest level asked for is, up to 6_2. */
static int32_t check_feature_support(object *self, uint32_t feature, uint32_t size, const uint32_t *query,
                                     uint32_t answer_size, uint32_t *answer)
{
    (void)self; (void)size; (void)answer_size;
    *answer = 0;
    if (feature == 0) {
        *answer = *query >= 1 && *query <= 11;
    } else {
        const uint32_t *levels = *(const uint32_t *const *)(query + 2);
        for (uint32_t i = 0; i < *query; i++)
            if (levels[i] <= 0x6200 && levels[i] > *answer)
                *answer = levels[i];
    }
    return 0;
}

static int32_t create_operator(object *self, const uint32_t *desc, const void *interface, object **created)
{
    (void)self; (void)interface;
    printf("noise\n");
    fflush(stdout);
    switch (*desc) {
    case 67: /* GATHER is taken, as long as the one before was released */
        if (operators++)
            return E_INVALIDARG;
        *created = malloc(sizeof **created);
        (*created)->table = operator_table;
        return 0;
    case 70: /* TILE is not */
        return E_INVALIDARG;
    case 107: /* GATHER_ELEMENTS breaks the process */
        fprintf(stderr, "broken\n");
        abort();
    default: /* any other takes for ever */
        for (;;)
            pause();
    }
}

static int32_t compile_operator(object *self, object *operator, uint32_t flags, const void *interface, object **created)
{
    (void)self; (void)operator; (void)flags; (void)interface; (void)created;
    return E_INVALIDARG;
}

static const void *const recorder_table[] = {0, (const void *)keep, (const void *)keep};
static object recorder = {recorder_table};

static int32_t create_command_recorder(object *self, const void *interface, object **created)
{
    (void)self; (void)interface;
    *created = &recorder;
    return 0;
}

static const void *const device_table[] = {
    0, (const void *)keep, (const void *)keep, 0, 0, 0, 0, (const void *)check_feature_support,
    (const void *)create_operator, (const void *)compile_operator, 0, (const void *)create_command_recorder};
static object device = {device_table};

int32_t DMLCreateDevice1(void *d3d12, uint32_t flags, uint32_t level, const void *interface, object **created)
{
    (void)flags; (void)level; (void)interface;
    printf("noise\n");
    fflush(stdout);
    if (!d3d12)
        return E_INVALIDARG;
    *created = &device;
    return 0;
}
