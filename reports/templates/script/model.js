// A case as a DxDispatch model: the same files, to the byte, that `dml-conformance export-model` writes.
const MODEL_WIDTH = 120;
const MOST_STRETCHES = 16; // of bytes that the text lists
const MOST_DIFFERENCES = 8; // that it lists
const POISON = 0x5a;
const ABOUT_MEMORY = ["EXECUTION.output-bounds", "EXECUTION.inputs-unchanged"];

// A case that DxDispatch has no form for, whoever writes the model.
class NotExpressible extends Error {}

const literal = (value) => new Literal(JSON.stringify(value));
const mapOf = (members) => new Map(Object.entries(members));

// JSON of one line, without a space; members by name where `isSorted`.
const compact = (value, isSorted = false) => {
  if (value instanceof Literal) return value.text;
  if (!(value instanceof Map)) return `[${value.map((item) => compact(item, isSorted)).join(",")}]`;
  const members = isSorted ? [...value].sort(([a], [b]) => (a < b ? -1 : 1)) : [...value];
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${compact(item, isSorted)}`).join(",")}}`;
};

const checkForm = (desc) => {
  for (const [name, tensor] of desc) {
    if (!name.endsWith("Tensor")) continue;
    if (!(tensor instanceof Map)) throw new NotExpressible(`${name} is null, which DxDispatch refuses for a tensor that is not optional`);
    const flags = tensor.get("Flags");
    if (flags && textOf(flags) !== "OWNED_BY_DML") throw new NotExpressible(`${name}.Flags is ${textOf(flags)}; DxDispatch knows flags by their names only`);
    if (textOf(tensor.get("TotalTensorSizeInBytes") ?? literal(0)) === "0") throw new NotExpressible(`${name}.TotalTensorSizeInBytes is 0, in place of which DxDispatch computes one`);
  }
};

// NumPy's file of version 1.0: a header of a multiple of 64 bytes, with room for the first size to grow, then the bytes.
const npy = (dataType, sizes, bytes) => {
  const size = bytesOf(dataType);
  const kind = dataType in MANTISSA_BITS ? "f" : dataType.startsWith("INT") ? "i" : "u";
  const shape = sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
  const room = " ".repeat(21 - String(sizes[0]).length);
  const text = `{'descr': '${size === 1 ? "|" : "<"}${kind}${size}', 'fortran_order': False, 'shape': ${shape}, }${room}`;
  const length = (Math.floor((10 + text.length + 1) / 64) + 1) * 64 - 10; // at least one space more
  const encoded = (part) => new TextEncoder().encode(part);
  const head = [0x93, ...encoded("NUMPY"), 1, 0, ...packedNumbers([[length, 2]]), ...encoded(`${text.padEnd(length - 1)}\n`)];
  const file = new Uint8Array(head.length + bytes.length);
  file.set(head);
  file.set(bytes, head.length);
  return file;
};

// A buffer as elements in one line; a rest that holds none is left out.
const bufferFile = ({ dataType, size }, buffer) => {
  const count = Math.floor(buffer.length / size);
  return npy(dataType, [count], buffer.subarray(0, count * size));
};

const bytesThatCount = (counts) => {
  const stretches = [];
  for (let at = 0; at < counts.length; at++) {
    if (counts[at]) continue;
    const start = at;
    while (at + 1 < counts.length && !counts[at + 1]) at++;
    stretches.push([start, at].map((n) => n.toString(16).toUpperCase().padStart(8, "0")).join("-"));
  }
  if (!stretches.length) return [`All ${counts.length} bytes count.`];
  const more = stretches.length > MOST_STRETCHES ? ` and ${stretches.length - MOST_STRETCHES} more stretches` : "";
  return [
    `Of ${counts.length} bytes ${counts.reduce((sum, counted) => sum + counted, 0)} count. The others are padding, or elements that the`,
    "specification leaves open; a difference there is none:",
    `    ${stretches.slice(0, MOST_STRETCHES).join(", ")}${more}`,
  ];
};

const whatToSee = (expect, memory, counts) => {
  if (expect.decision === "REJECT") return ["The descriptor is invalid: creating or compiling the operator has to fail with E_INVALIDARG."];
  if (expect.decision !== "ACCEPT") return ["The specification leaves open whether the descriptor is valid."];
  const lines = ["The descriptor is valid: the operator has to be created and compiled without an error."];
  if (!memory) return lines;
  const { name } = memory.output;
  return [
    ...lines,
    `Then ${name} has to hold what ${name}.expected.dat holds, byte for byte. On Windows:`,
    "",
    `    fc /b ${name}.actual.dat ${name}.expected.dat`,
    "",
    ...bytesThatCount(counts),
    `${name}.expected.npy has the same elements in the tensor's sizes.`,
    `${name}.before.npy, what the buffer holds before, differs from it in every bit of every element.`,
  ];
};

const whatWasSeen = (verdict, whole) => {
  const lines = [`What the suite saw: ${verdict}. ${whole.reason}`.trimEnd()];
  const listed = whole.differences.slice(0, MOST_DIFFERENCES);
  for (const d of listed) {
    lines.push(`    output[${d.coordinates.join(",")}]: expected ${`${d.expected} ${d.expected_bits}`.trim()}, got ${d.actual} ${d.actual_bits}`);
  }
  if (whole.differenceCount > listed.length) lines.push(`    ${whole.differenceCount} elements differ`);
  return lines;
};

const remarksOn = (content, rule, memory) => {
  if (!memory) return content.get("data").size ? ["The case has data, but the specification does not say what comes of it, so nothing is executed here."] : [];
  const remarks = [];
  if (ABOUT_MEMORY.includes(rule)) {
    remarks.push(`The case is about ${rule}. DxDispatch binds whole buffers and looks neither at what is around them nor at the inputs afterwards, so a fault may stay unseen here.`);
  }
  if (memory.tensors.some(({ name }) => content.get("desc").get(name).has("GuaranteedBaseOffsetAlignment"))) {
    remarks.push("DxDispatch binds buffers from their first byte; the suite binds them at an offset aligned as guaranteed.");
  }
  if (isOverlapping(content)) {
    remarks.push("InputTensor and IndicesTensor have a buffer each here, in which the same bytes stand; the suite binds ranges of one buffer that overlap.");
  }
  return remarks;
};

const readme = (parts) => {
  const { operator, level, digest, content, expect, memory, counts, rule, rules, verdict, whole } = parts;
  const lines = [
    `${operator} at feature level ${level}`,
    `Case ${digest}`,
    "",
    "Run it with DxDispatch (github.com/microsoft/DirectML, DxDispatch) in this folder:",
    "",
    "    dxdispatch model.json --input_path . --output_path . --debug",
    "",
    ...whatToSee(expect, memory, counts),
  ];
  if (rule) lines.push("", `The rule ${rule}: ${rules[rule][0]}`, `Source: ${rules[rule][1]}`);
  if (expect.decision === "REJECT" && expect.rules.length) lines.push(`Rules broken: ${expect.rules.join(", ")}`);
  lines.push("", ...whatWasSeen(verdict, whole));
  for (const remark of remarksOn(content, rule, memory)) lines.push("", remark);
  lines.push("", "The case for dml-conformance replay:", "", whole.json);
  return `${printable(lines.join("\n"))}\n`;
};

// What is in memory and in files of a case that is executed.
const memoryFiles = ({ tensors, output, contents, values, isOpen }) => {
  const at = offsets(output.sizes, output.strides);
  const written = (put) => {
    const buffer = new Uint8Array(output.bytes).fill(put.around);
    const held = elementsOf(buffer, output.size);
    at.forEach((offset, i) => (held[offset] = put.element(values[i], i)));
    return buffer;
  };
  const all = output.size === 8 ? 2n ** 64n - 1n : 2 ** (8 * output.size) - 1;
  const none = output.size === 8 ? 0n : 0;
  const before = written({ around: POISON, element: (value) => (output.size === 8 ? value ^ all : all - value) });
  const after = written({ around: POISON, element: (value) => value });
  const counts = written({ around: 0, element: (_, i) => (isOpen[i] ? none : all) }).map((mark) => mark & 1);
  const files = tensors.filter((tensor) => tensor !== output).map((tensor) => [`${tensor.name}.npy`, bufferFile(tensor, contents.get(tensor.name))]);
  files.push(
    [`${output.name}.before.npy`, bufferFile(output, before)],
    [`${output.name}.expected.npy`, npy(output.dataType, output.sizes, new Uint8Array(values.buffer))],
    [`${output.name}.expected.dat`, after],
  );
  return { files, counts };
};

// The model itself.
const modelOf = (content, expect, operator, memory) => {
  const name = operator.toLowerCase();
  const dispatchable = new Map([["type", content.get("type")], ["desc", content.get("desc")]]);
  const note = new Map(["level", "data", "rule"].map((member) => [member, content.get(member)]));
  note.set("expect", mapOf({ decision: literal(expect.decision), rules: expect.rules.map(literal) }));
  const resources = new Map();
  const commands = [];
  if (memory) {
    const { tensors, output, isOpen } = memory;
    const inputs = tensors.filter((tensor) => tensor !== output);
    for (const { name: resource, dataType, bytes } of [...inputs, output]) {
      const file = resource === output.name ? `${resource}.before.npy` : `${resource}.npy`;
      resources.set(resource, mapOf({ initialValuesDataType: literal(dataType), initialValues: mapOf({ sourcePath: literal(file) }), sizeInBytes: literal(bytes) }));
    }
    const bindings = (bound) => new Map(bound.map((tensor) => [tensor.name, literal(tensor.name)]));
    const owned = inputs.filter(({ isOwned }) => isOwned);
    if (owned.length) dispatchable.set("bindings", bindings(owned));
    commands.push(
      mapOf({ type: literal("dispatch"), dispatchable: literal(name), bindings: bindings(tensors.filter((tensor) => !owned.includes(tensor))) }),
      mapOf({ type: literal("print"), resource: literal(output.name) }),
      mapOf({ type: literal("writeFile"), resource: literal(output.name), targetPath: literal(`${output.name}.actual.dat`) }),
    );
    const open = isOpen.flatMap((free, i) => (free ? [literal(i)] : []));
    const expected = mapOf({ sourcePath: literal(`${output.name}.expected.npy`), memory: literal(`${output.name}.expected.dat`), ...(open.length ? { open } : {}) });
    note.set("expected", new Map([[output.name, expected]]));
  }
  return mapOf({ resources, dispatchables: new Map([[name, dispatchable]]), commands, "dml-conformance": note });
};

// What a model is made from, without the work. Throws NotExpressible or NoSuchData with the reason in words.
const checkedForModel = (content, whole, shownDigest, rules) => {
  const { expect } = whole;
  if (!expect) throw new NoSuchData("it was judged by another reading of the specification than the documented one");
  checkForm(content.get("desc"));
  if (isExecuted(content, expect)) tensorsIn(content);
  const digest = sha256(compact(new Map(["type", "desc", "level", "data"].map((name) => [name, content.get(name)])), true));
  if (!digest.startsWith(shownDigest)) throw new NoSuchData("its digest is not that of the case in this page");
  const rule = textOf(content.get("rule"));
  if (rule && !Object.hasOwn(rules, rule)) throw new NoSuchData(`the campaign has no rule ${rule}`);
  return { expect, digest, rule };
};

// The model of a whole case as {name, files}; throws as the check does.
const dxdispatchModel = (content, whole, verdict, shownDigest, rules) => {
  const { expect, digest, rule } = checkedForModel(content, whole, shownDigest, rules);
  const operator = operatorOf(content);
  const level = textOf(content.get("level"));
  const memory = isExecuted(content, expect) ? executed(content) : null;
  const { files, counts } = memory ? memoryFiles(memory) : { files: [], counts: null };
  const name = `${operator.toLowerCase()}-${level}-${digest.slice(0, 12)}`;
  const text = readme({ operator, level, digest, content, expect, memory, counts, rule, rules, verdict, whole });
  const encoded = (file) => new TextEncoder().encode(file);
  const model = `${laidOut(modelOf(content, expect, operator, memory), MODEL_WIDTH)}\n`;
  return { name, files: [["model.json", encoded(model)], ...files, ["README.txt", encoded(text)]] };
};
