"""A recording for a person to read, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.backends.directml.recording import calls

WIDTH = max(len(kind.__name__) for kind in calls.Call.__args__)
DIGEST = 12  # hexadecimal digits of a digest that are shown


def lines(recording: calls.Recording) -> Iterator[str]:
    """The stages of a recording, and below each its calls."""
    yield "compiled"
    yield from _calls(recording.compilation)
    for verb, stage in (("initialized", recording.initialization), ("dispatched", recording.execution)):
        yield f"{verb}, with {_needs(stage.binding_properties)}"
        yield from _calls(stage.calls)


def _needs(of: calls.BindingProperties) -> str:
    return (
        f"{_many(of.required_descriptor_count, 'descriptor')}, "
        f"{_many(of.temporary_resource_size, 'byte')} of temporary and "
        f"{of.persistent_resource_size} of persistent memory"
    )


def _calls(of: tuple[calls.Call, ...]) -> Iterator[str]:
    for call in of:
        yield f"  {type(call).__name__:{WIDTH}}  {told(call)}"
    if not of:
        yield "  no calls"


def told(call: calls.Call) -> str:
    """The arguments of a call."""
    match call:
        case calls.CreateRootSignature(name, version, parameters):
            described = "; ".join(f"{n} is {_parameter(parameter)}" for n, parameter in enumerate(parameters))
            return f"{name}, version {version}: {described}"
        case calls.CreateComputePipelineState(name, root_signature, shader):
            made_of = " ".join(shader.parts)
            digest = shader.sha256[:DIGEST]
            return f"{name} with {root_signature}: a shader of {shader.size} bytes ({made_of}), SHA-256 {digest}..."
        case calls.SetName(of, name):
            return f"{of}: {name}"
        case calls.MakeResident(objects) | calls.Evict(objects) | calls.SetDescriptorHeaps(objects):
            return ", ".join(objects)
        case calls.CreateUnorderedAccessView(resource, descriptor):
            return f"descriptor {descriptor}: {_elements(call)} of {resource or 'nothing'}"
        case calls.SetPipelineState(name) | calls.SetComputeRootSignature(name):
            return name
        case calls.SetComputeRootDescriptorTable(parameter, base):
            return f"parameter {parameter}: from descriptor {base} on"
        case calls.SetComputeRoot32BitConstants(parameter, values, offset):
            count = _many(len(values), "value")
            return f"parameter {parameter}: {count} from {offset} on: {' '.join(map(str, values))}"
        case calls.Dispatch(x, y, z):
            return f"{x} x {y} x {z} groups"
        case calls.CopyBufferRegion(target, to, source, at, size):
            return f"{size} bytes, {source} at {at} to {target} at {to}"
        case calls.ResourceBarrier(barriers):
            return "; ".join(map(_barrier, barriers))


def _elements(view: calls.CreateUnorderedAccessView) -> str:
    kind = f"of {view.structure_byte_stride} bytes" if view.structure_byte_stride else view.format
    return f"{_many(view.num_elements, 'element')} {kind} from {view.first_element} on"


def _parameter(parameter: calls.DescriptorTable | calls.RootConstants) -> str:
    match parameter:
        case calls.RootConstants(register, space, count):
            return f"{count} constants at b{register}{_space(space)}"
        case calls.DescriptorTable(ranges):
            return "a table of " + ", ".join(
                f"{_many(each.num_descriptors, each.range_type)} "
                f"from register {each.base_shader_register}{_space(each.register_space)} on"
                for each in ranges
            )


def _barrier(barrier: calls.Transition | calls.UavBarrier) -> str:
    match barrier:
        case calls.Transition(resource, _, before, after):
            return f"{resource} from {before} to {after}"
        case calls.UavBarrier(resource):
            return f"writes to {resource or 'everything'} are done"


def _space(space: int) -> str:
    return f", space {space}" if space else ""


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
