/* libd3d12.so with the one function that libdirectml.so is linked against, forwarded to whoever set `d3d12_target`. */

#include <stdint.h>

#define E_NOTIMPL ((int32_t)0x80004001)

typedef int32_t (*serialize)(const void *desc, void **blob, void **error);

serialize d3d12_target;

int32_t D3D12SerializeVersionedRootSignature(const void *desc, void **blob, void **error)
{
    return d3d12_target ? d3d12_target(desc, blob, error) : E_NOTIMPL;
}
