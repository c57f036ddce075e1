/* libdxcore.so with the one function that libdirectml.so looks up in it, forwarded to whoever set `dxcore_target`. */

#include <stdint.h>

#define E_NOTIMPL ((int32_t)0x80004001)

typedef int32_t (*create)(const void *interface, void **factory);

create dxcore_target;

int32_t DXCoreCreateAdapterFactory(const void *interface, void **factory)
{
    return dxcore_target ? dxcore_target(interface, factory) : E_NOTIMPL;
}
