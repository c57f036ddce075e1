// What a case's tensors hold, and what comes of it: the bytes that recipes stand for, and the elements that the
// specification expects of each operator. The same as strategies/values.py and backends/reference, to the byte.
const MOST_BYTES = 2 ** 22; // of a case's tensors that the page fills
const INDEX_PATTERNS = {
  "in-range": (draw, limit) => draw % limit,
  boundary: (draw, limit) => (draw & 1n ? limit - 1n : 0n),
  negative: (draw, limit) => -1n - (draw % limit),
  "mixed-sign": (draw, limit) => ((draw >> 1n) % limit) - (draw & 1n ? limit : 0n),
  "out-of-range": (draw, limit, dataType, isFirst) => {
    const bits = BigInt(8 * bytesOf(dataType));
    const top = 1n << (bits - 1n);
    const far = [limit, limit + 1n, top - 1n, limit + 255n, limit + 65535n];
    far.push(...(dataType.startsWith("INT") ? [-limit - 1n, -limit - 2n, top] : [top, 2n * top - 1n, top + 1n]));
    if (bits === 64n) far.push(limit + 2n ** 32n, 2n ** 63n - limit);
    return draw & 1n || isFirst ? far[Number((draw >> 1n) % BigInt(far.length))] : (draw >> 8n) % limit;
  },
  far: (draw, limit, dataType, isFirst) => {
    const [kind, rest, last] = [isFirst ? 0n : draw & 3n, draw >> 2n, limit - 1n];
    return kind === 0n ? last : kind === 1n ? last - (rest % (limit < 64n ? limit : 64n)) : rest % limit;
  },
  "far-negative": (...given) => -1n - INDEX_PATTERNS.far(...given),
};
const PERIOD = 1048583; // bytes after which random ones begin again
const OVERLAPPING = "overlapping"; // of an input that lies where its index tensor does
const MANTISSA_BITS = { FLOAT16: 10, FLOAT32: 23, FLOAT64: 52 };
const UNSIGNED_ARRAYS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };

class NoSuchData extends Error {}

// Bytes that a text, of a pattern and a seed, stands for.
const randomBytes = (text, count) => {
  const drawn = shake128(text, Math.min(count, PERIOD));
  if (count <= PERIOD) return drawn;
  const random = new Uint8Array(count);
  for (let at = 0; at < count; at += PERIOD) random.set(drawn.subarray(0, count - at), at);
  return random;
};

const bytesOf = (dataType) => Number(/(\d+)$/.exec(dataType)?.[1] ?? 0) / 8;

// Elements as unsigned numbers of their width; a rest of the buffer that holds none is left out.
const elementsOf = (buffer, size) => new UNSIGNED_ARRAYS[size](buffer.buffer, 0, Math.floor(buffer.length / size));

// A tensor of a descriptor in numbers; its buffer takes TotalTensorSizeInBytes rounded up to 4.
const tensorIn = (desc, name) => {
  const given = desc.get(name);
  const whole = (value) => Number(value.text);
  const sizes = given.get("Sizes").map(whole);
  const strides = given.has("Strides") ? given.get("Strides").map(whole) : packedStrides(sizes.map(BigInt)).map(Number);
  const dataType = textOf(given.get("DataType"));
  const bytes = Math.ceil(whole(given.get("TotalTensorSizeInBytes")) / 4) * 4;
  const count = sizes.reduce((product, n) => product * n, 1);
  return { name, dataType, size: bytesOf(dataType), sizes, strides, count, isPacked: !given.has("Strides"), bytes, isOwned: textOf(given.get("Flags") ?? new Literal('""')) === "OWNED_BY_DML" };
};

const counting = (size, step) => Array.from({ length: size }, (_, i) => i * step);

// Sums of one number out of each list, those of the last list changing fastest.
const sums = (lists) => lists.reduce((found, list) => found.flatMap((sum) => list.map((number) => sum + number)), [0]);
const offsets = (sizes, strides) => sums(sizes.map((size, d) => counting(size, strides[d])));

// Whether no two elements share memory, as far as sizes and strides ordered by stride tell.
const areRowsApart = (sizes, strides) => {
  let step = 1;
  for (const [stride, size] of sizes.map((size, d) => [strides[d], size]).sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (size <= 1) continue;
    if (stride < step) return false;
    step = stride * size;
  }
  return true;
};

// Bits of a float of 16 bits, rounded to the nearest, ties to even.
const halfBits = (value) => {
  const rounded = (number) => {
    const low = Math.floor(number);
    const rest = number - low;
    return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low;
  };
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size < 2 ** -14) return sign + rounded(size * 2 ** 24);
  let exponent = 15;
  while (2 ** exponent > size) exponent--;
  return sign + ((exponent + 15) << 10) + rounded((size / 2 ** exponent - 1) * 1024);
};

const floatBits = (dataType, value) => {
  if (dataType === "FLOAT16") return halfBits(value);
  return dataType === "FLOAT32" ? new Uint32Array(Float32Array.of(value).buffer)[0] : new BigUint64Array(Float64Array.of(value).buffer)[0];
};

const specialBits = (dataType) => {
  const bits = BigInt(8 * bytesOf(dataType));
  const top = 1n << (bits - 1n);
  if (!(dataType in MANTISSA_BITS)) return [0n, 1n, 2n * top - 1n, top, top - 1n, top + 1n, 2n * top - 2n, 0x55n * ((2n * top) / 255n), top / 2n + 1n];
  const mantissa = BigInt(MANTISSA_BITS[dataType]);
  const infinity = ((1n << (bits - 1n - mantissa)) - 1n) << mantissa;
  const quiet = 1n << (mantissa - 1n);
  const positive = [0n, 1n, (1n << mantissa) - 1n, 1n << mantissa, infinity - 1n, infinity, infinity | quiet, infinity | quiet | 0x15n, infinity | 1n, infinity | (quiet - 1n)];
  return [...positive, ...positive.map((value) => value | top)];
};

// Whole buffers of patterns that go on through padding.
const rampBuffer = ({ dataType, size, bytes }, seed) => {
  const buffer = new Uint8Array(Math.ceil(bytes / size) * size);
  const elements = elementsOf(buffer, size);
  const turn = dataType in MANTISSA_BITS ? 2 ** (MANTISSA_BITS[dataType] + 1) : Infinity;
  for (let i = 0; i < elements.length; i++) {
    const number = (seed + i) % turn;
    elements[i] = dataType in MANTISSA_BITS ? floatBits(dataType, number) : size === 8 ? BigInt(number) : number;
  }
  return buffer.slice(0, bytes);
};
const specialBuffer = ({ dataType, size, bytes }, seed) => {
  const buffer = new Uint8Array(Math.ceil(bytes / size) * size);
  const elements = elementsOf(buffer, size);
  const table = specialBits(dataType).map((bits) => (size === 8 ? bits : Number(bits)));
  for (let i = 0; i < elements.length; i++) elements[i] = table[(seed + i) % table.length];
  return buffer.slice(0, bytes);
};

const explicitElements = ({ dataType, size }, values, areBits) => {
  const isFloat = dataType in MANTISSA_BITS && !areBits;
  const isSigned = dataType.startsWith("INT") && !areBits;
  const bits = BigInt(8 * size);
  return values.map(({ text }) => {
    const number = Number(text);
    if (isFloat) {
      const most = { FLOAT16: 65504, FLOAT32: (2 - 2 ** -23) * 2 ** 127, FLOAT64: Number.MAX_VALUE }[dataType];
      if (Math.abs(number) > most) throw new NoSuchData(`the explicit value ${text} does not fit ${dataType}`);
      return floatBits(dataType, number);
    }
    if (!Number.isInteger(number)) throw new NoSuchData(`the explicit value ${text} is no whole number`);
    const whole = /^-?\d+$/.test(text) ? BigInt(text) : BigInt(number);
    if (whole !== (isSigned ? BigInt.asIntN : BigInt.asUintN)(Number(bits), whole)) throw new NoSuchData(`the explicit value ${text} does not fit ${dataType}`);
    return size === 8 ? BigInt.asUintN(64, whole) : Number(BigInt.asUintN(8 * size, whole));
  });
};

const indexElements = (tensor, pattern, seed, limits) => {
  const { dataType, size, sizes, strides } = tensor;
  // Far indices have one draw for all that a stride of 0 repeats.
  const isOnce = sizes.map((_, d) => pattern.startsWith("far") && strides[d] === 0);
  const own = sizes.map((n, d) => (isOnce[d] ? 1 : n));
  const steps = packedStrides(own.map(BigInt)).map((step, d) => (isOnce[d] ? 0 : Number(step)));
  const draws = new BigUint64Array(randomBytes(`${pattern}/${seed}`, 8 * own.reduce((product, n) => product * n, 1)).buffer);
  const least = limits.reduce((a, b) => (b < a ? b : a));
  const isShared = limits.length > 1 && !tensor.isPacked && !areRowsApart([...own.slice(0, -1), sizes.at(-1)], strides);
  return offsets(sizes, steps).map((at, i) => {
    const limit = BigInt(isShared ? least : limits[i % limits.length]);
    const value = pattern === "repeated" ? draws[0] % BigInt(least) : INDEX_PATTERNS[pattern](draws[at], limit, dataType, at === 0);
    return size === 8 ? BigInt.asUintN(64, value) : Number(BigInt.asUintN(8 * size, value));
  });
};

// Elements put into a buffer. Where several share memory the last one stays, in the order in which NumPy writes them:
// dimensions with long strides first.
const place = ({ sizes, strides, size }, elements, buffer) => {
  const own = packedStrides(sizes.map(BigInt)).map(Number);
  const dimensions = sizes.map((_, d) => d).sort((a, b) => strides[b] - strides[a] || a - b);
  const pick = (values) => dimensions.map((d) => values[d]);
  const [from, to] = [offsets(pick(sizes), pick(own)), offsets(pick(sizes), pick(strides))];
  const held = elementsOf(buffer, size);
  to.forEach((at, i) => (held[at] = elements[from[i]]));
  return buffer;
};

// The bytes of one input; limits are the sizes that indices run over, empty for a tensor of data.
const fill = (tensor, recipe, limits) => {
  const pattern = textOf(recipe.get("pattern"));
  const seed = Number(recipe.get("seed")?.text ?? 0);
  if (!(seed >= 0 && seed < 2 ** 32)) throw new NoSuchData("its seed is out of range");
  if (pattern === "ramp") return rampBuffer(tensor, seed);
  if (pattern === "special") return specialBuffer(tensor, seed);
  if (pattern === "random-bits" || (pattern === OVERLAPPING && !limits.length)) return randomBytes(`${pattern}/${seed}`, tensor.bytes);
  let elements;
  if (pattern === "explicit" || pattern === "explicit-bits") {
    elements = explicitElements(tensor, recipe.get("values") ?? [], pattern === "explicit-bits");
    if (elements.length !== tensor.count) throw new NoSuchData("there are not as many explicit values as elements");
  } else if (limits.length && (pattern === "repeated" || Object.hasOwn(INDEX_PATTERNS, pattern))) {
    elements = indexElements(tensor, pattern, seed, limits);
  } else {
    throw new NoSuchData(`the pattern ${pattern} is not known`);
  }
  return place(tensor, elements, randomBytes(`padding/${seed}`, tensor.bytes));
};

// Places along a dimension for indices as unsigned elements; null for one out of range.
const placeOf = (index, dataType, size) => {
  const bits = 8 * bytesOf(dataType);
  const number = Number(dataType.startsWith("INT") ? BigInt.asIntN(bits, BigInt(index)) : index);
  return number >= -size && number < size ? (number + size) % size : null;
};

// Where an output element comes from: its offset in the input, less than 0 where an index out of range names it.
const sourceAt = (offset, isOutside) => (isOutside ? -1 - offset : offset);
const offsetAt = (source) => (source < 0 ? -1 - source : source);

// For each operator the sizes that its indices run over, and the source of each output element, in the output's order.
const GATHERING = {
  limits: (number, input) => [input.sizes[number("Axis")]],
};
const BLOCKWISE = {
  limits: (number, input, indices) => {
    const batches = number("BatchDimensionCount");
    return input.sizes.slice(-number("InputDimensionCount")).slice(batches, batches + indices.sizes.at(-1));
  },
  sources: (number, input, indices, held) => {
    const batches = number("BatchDimensionCount");
    const [sizes, strides] = [input.sizes, input.strides].map((values) => values.slice(-number("InputDimensionCount")));
    const [outer, steps] = [indices.sizes, indices.strides].map((values) => values.slice(-number("IndicesDimensionCount")));
    const [count, step] = [outer.pop(), steps.pop()];
    const rest = offsets(sizes.slice(batches + count), strides.slice(batches + count));
    const starts = offsets(outer, outer.map((_, d) => (d < batches ? strides[d] : 0)));
    return offsets(outer, steps).flatMap((at, n) => {
      const places = counting(count, step).map((i, k) => placeOf(held[at + i], indices.dataType, sizes[batches + k]));
      const start = places.reduce((sum, place, k) => sum + (place ?? 0) * strides[batches + k], starts[n]);
      return rest.map((offset) => sourceAt(start + offset, places.includes(null)));
    });
  },
};
const OPERATORS = {
  GATHER: {
    ...GATHERING,
    sources: (number, input, indices, held) => {
      const axis = number("Axis");
      const count = indices.sizes.length - number("IndexDimensions");
      const places = offsets(indices.sizes.slice(count), indices.strides.slice(count)).map((at) => placeOf(held[at], indices.dataType, input.sizes[axis]));
      const after = offsets(input.sizes.slice(axis + 1), input.strides.slice(axis + 1));
      return offsets(input.sizes.slice(0, axis), input.strides.slice(0, axis)).flatMap((start) =>
        places.flatMap((place) => after.map((offset) => sourceAt(start + (place ?? 0) * input.strides[axis] + offset, place === null))),
      );
    },
  },
  GATHER_ELEMENTS: {
    ...GATHERING,
    sources: (number, input, indices, held) => {
      const axis = number("Axis");
      const beside = offsets(indices.sizes, input.strides.map((stride, d) => (d === axis ? 0 : stride)));
      return offsets(indices.sizes, indices.strides).map((at, n) => {
        const place = placeOf(held[at], indices.dataType, input.sizes[axis]);
        return sourceAt(beside[n] + (place ?? 0) * input.strides[axis], place === null);
      });
    },
  },
  GATHER_ND: BLOCKWISE,
  GATHER_ND1: BLOCKWISE,
  TILE: {
    limits: () => [],
    sources: (number, input, indices, held, desc) => {
      const repeated = desc.get("Repeats").map(({ text }, d) => counting(Number(text) * input.sizes[d], 1).map((i) => (i % input.sizes[d]) * input.strides[d]));
      return sums(repeated);
    },
  },
};

const operatorOf = (content) => textOf(content.get("type")).replace("DML_OPERATOR_", "");

// The tensors of a case that is executed. Throws NoSuchData where the page cannot fill them, with the reason in words.
const tensorsIn = (content) => {
  if (!Object.hasOwn(OPERATORS, operatorOf(content))) throw new NoSuchData("this page does not know the operator");
  const desc = content.get("desc");
  const tensors = [...desc.keys()].filter((name) => name.endsWith("Tensor")).map((name) => tensorIn(desc, name));
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  if (!(bytes <= MOST_BYTES)) throw new NoSuchData(`its tensors take ${bytes.toLocaleString("en")} bytes, and this page fills up to ${MOST_BYTES.toLocaleString("en")}`);
  if (!tensors.every(({ count }) => count <= MOST_BYTES)) throw new NoSuchData("its tensors have more elements than this page fills");
  return tensors;
};

// Whether a case's input lies where its index tensor does, so that bytes of both are the index tensor's.
const isOverlapping = (content) => textOf(content.get("data").get("InputTensor")?.get("pattern") ?? new Literal('""')) === OVERLAPPING;

// A case that is executed, with its memory: inputs by name, the output, its elements and which of them are left open.
// Throws as `tensorsIn` does.
const executed = (content) => {
  const desc = content.get("desc");
  const tensors = tensorsIn(content);
  const named = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const [input, indices, output] = ["InputTensor", "IndicesTensor", "OutputTensor"].map((name) => named.get(name));
  const number = (name) => Number(desc.get(name)?.text ?? 0);
  const { limits, sources } = OPERATORS[operatorOf(content)];
  const contents = new Map(
    tensors
      .filter((tensor) => tensor !== output)
      .map((tensor) => [tensor.name, fill(tensor, content.get("data").get(tensor.name), tensor === indices ? limits(number, input, indices) : [])]),
  );
  if (isOverlapping(content)) contents.get(input.name).set(contents.get(indices.name).subarray(0, input.bytes));
  const held = indices && elementsOf(contents.get(indices.name), indices.size);
  const found = sources(number, input, indices, held, desc);
  const from = elementsOf(contents.get(input.name), input.size);
  const values = UNSIGNED_ARRAYS[output.size].from(found, (source) => from[offsetAt(source)]);
  return { tensors, output, contents, values, isOpen: found.map((source) => source < 0) };
};

// Whether a case has an output that the specification knows: it is valid, and there is data for every input.
const isExecuted = (content, expect) => {
  const data = content.get("data");
  const inputs = [...content.get("desc").keys()].filter((name) => name.endsWith("Tensor") && name !== "OutputTensor");
  return expect.decision === "ACCEPT" && expect.rules.length === 0 && data instanceof Map && data.size > 0 && inputs.every((name) => data.has(name));
};

// An element as Python writes a number of its type, and its bits.
const shownBits = (element, dataType) => `0x${element.toString(16).padStart(2 * bytesOf(dataType), "0")}`;
const shownValue = (element, dataType) => {
  const bits = 8 * bytesOf(dataType);
  if (dataType.startsWith("INT")) return BigInt.asIntN(bits, BigInt(element)).toString();
  if (!(dataType in MANTISSA_BITS)) return element.toString();
  return shownFloat(dataType === "FLOAT16" ? halfValue(element) : dataType === "FLOAT32" ? new Float32Array(Uint32Array.of(element).buffer)[0] : new Float64Array(BigUint64Array.of(element).buffer)[0]);
};

const halfValue = (bits) => {
  const [sign, exponent, mantissa] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : mantissa * 2 ** -24);
};

const shownFloat = (value) => {
  if (Number.isNaN(value)) return "nan";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (!Number.isFinite(value)) return `${sign}inf`;
  const [digits, exponent] = Math.abs(value).toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16) return `${sign}${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  const plain = digits.replace(".", "");
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${plain}`;
  return `${sign}${plain.slice(0, power + 1).padEnd(power + 1, "0")}.${plain.slice(power + 1) || "0"}`;
};
