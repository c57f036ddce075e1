// Tensors in words and pictures: sizes, strides, where elements lie, and which of them differ.
const TABLE_ROWS = 16; // of differing elements that are not folded away
const GRID_ROWS = 64;
const GRID_COLUMNS = 32;
const GRID_SLICES = 256; // that are listed even if nothing differs there
const MEMORY_CELLS = 512;
const MEMORY_COLUMNS = 16;

const packedStrides = (sizes) => {
  const strides = Array(sizes.length).fill(1n);
  for (let i = sizes.length - 2; i >= 0; i--) strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
};

// The tensors of a descriptor whose sizes and strides can be read; what is malformed is shown as JSON alone.
const tensorsOf = (desc) =>
  [...(desc instanceof Map ? desc : [])].flatMap(([name, value]) => {
    const sizes = value instanceof Map ? integers(value.get("Sizes")) : null;
    if (!sizes || !sizes.length) return [];
    const given = value.get("Strides");
    const isPacked = given === undefined || textOf(given) === "null";
    const strides = isPacked ? packedStrides(sizes) : integers(given);
    if (!strides || strides.length !== sizes.length) return [];
    const dataType = textOf(value.get("DataType") ?? new Literal("null"));
    return [{ name, dataType, sizes, strides, isPacked, total: textOf(value.get("TotalTensorSizeInBytes") ?? new Literal("null")) }];
  });

const layoutOf = ({ sizes, strides, isPacked }) => {
  if (isPacked) return "packed, no strides given";
  if (strides.some((stride, i) => stride === 0n && sizes[i] > 1n)) return "a stride of 0 repeats elements";
  const natural = packedStrides(sizes);
  if (strides.every((stride, i) => stride === natural[i] || sizes[i] === 1n)) return "packed";
  const extents = sizes.reduce((sum, size, i) => sum + (size - 1n) * strides[i], 1n);
  const count = sizes.reduce((product, size) => product * size, 1n);
  return extents > count ? `strided, ${extents} elements from first to last for ${count}` : "strided without gaps";
};

const offsetOf = (coordinates, strides) =>
  coordinates.reduce((sum, coordinate, i) => sum + BigInt(coordinate) * (strides[i] ?? 0n), 0n);

const elementBytes = (dataType) => BigInt(/(\d+)$/.exec(dataType)?.[1] ?? 8) / 8n;

const tensorTable = (tensors) =>
  table(
    { label: "Tensors of the descriptor", caption: "Tensors" },
    ["Tensor", "Type", "Sizes", "Strides", "Bytes", "Layout"],
    tensors.map((tensor) => [
      element("th", { scope: "row", class: "mono" }, tensor.name),
      element("td", { class: "mono" }, tensor.dataType),
      element("td", { class: "mono" }, tensor.sizes.join(", ")),
      element("td", { class: "mono" }, tensor.isPacked ? "none" : tensor.strides.join(", ")),
      element("td", { class: "number" }, tensor.total),
      element("td", {}, layoutOf(tensor)),
    ]),
  );

// Sorted indices with their neighbours, null for what is skipped between them.
const aroundThese = (indices, size, most) => {
  const wanted = new Set(indices.flatMap((i) => [i - 1, i, i + 1]).filter((i) => i >= 0 && i < size));
  if (size <= most) for (let i = 0; i < size; i++) wanted.add(i);
  const sorted = [...wanted].sort((a, b) => a - b).slice(0, most);
  const found = sorted.flatMap((i, n) => (n && i > sorted[n - 1] + 1 ? [null, i] : [i]));
  return sorted.length && sorted[sorted.length - 1] < size - 1 ? [...found, null] : found;
};

// What the specification expects of every element of a case's output, by coordinates, or null where this page cannot
// say, or would not agree with what was recorded.
const expectedIn = (content, whole) => {
  try {
    if (!whole.expect || !isExecuted(content, whole.expect)) return null;
    const { output, values, isOpen } = executed(content);
    const strides = packedStrides(output.sizes.map(BigInt)).map(Number);
    const elementAt = (coordinates) => {
      const at = coordinates.reduce((sum, coordinate, d) => sum + coordinate * strides[d], 0);
      return isOpen[at] ? { value: "any", bits: "open" } : { value: shownValue(values[at], output.dataType), bits: shownBits(values[at], output.dataType) };
    };
    const agrees = ({ coordinates, expected_bits }) => elementAt(coordinates).bits === (expected_bits || "open");
    return whole.differences.every(agrees) ? elementAt : null;
  } catch {
    return null; // the case is shown without
  }
};

const before = (a, b) => {
  const d = a.findIndex((coordinate, i) => coordinate !== b[i]);
  return d >= 0 && a[d] < b[d];
};

// The coordinates of every slice along the two dimensions of a plane, which are null there.
const slicesOf = (sizes, plane) =>
  sizes.reduce((found, size, d) => found.flatMap((slice) => (plane.includes(d) ? [null] : counting(Number(size), 1)).map((i) => [...slice, i])), [[]]);

// An output as a plane of two dimensions, the last that have more than one element; the others choose a slice. The first differing elements are recorded, in row-major order: whatever lies before the last of them and is not among
// them agrees, and what lies behind it is not known unless all are recorded.
const differenceGrid = (tensor, differences, count, expectedAt) => {
  const rank = tensor.sizes.length;
  const isAll = differences.length === count;
  const last = differences[differences.length - 1].coordinates;
  const wide = tensor.sizes.flatMap((size, d) => (size > 1n ? [d] : []));
  const across = wide[wide.length - 1] ?? rank - 1;
  const down = wide[wide.length - 2] ?? across - 1; // -1 where there is one dimension alone
  const nameOf = (slice) => `[${slice.map((coordinate) => coordinate ?? ":").join(", ")}]`;
  const sliceOf = ({ coordinates }) => nameOf(coordinates.map((coordinate, d) => (d === across || d === down ? null : coordinate)));
  const counts = new Map();
  for (const d of differences) counts.set(sliceOf(d), (counts.get(sliceOf(d)) ?? 0) + 1);
  const isListed = tensor.sizes.reduce((product, size, d) => (d === across || d === down ? product : product * size), 1n) <= GRID_SLICES;
  const slices = isListed ? slicesOf(tensor.sizes, [across, down]).map(nameOf) : [...counts.keys()];
  const modes = [
    ["value", "Values", (d) => [d.expected, d.actual], ({ value }) => value],
    ["bits", "Bits", (d) => [d.expected_bits || "open", d.actual_bits], ({ bits }) => bits],
    ["offset", "Element offsets in memory", null, null],
  ];
  const shown = { slice: sliceOf(differences[0]), mode: "value" };
  const place = element("div");
  const hidden = (text) => element("span", { class: "hidden" }, text);
  const draw = () => {
    const here = differences.filter((d) => sliceOf(d) === shown.slice);
    const rowOf = ({ coordinates }) => coordinates[down] ?? 0;
    const at = new Map(here.map((d) => [`${rowOf(d)},${d.coordinates[across]}`, d]));
    const rows = aroundThese(here.length ? here.map(rowOf) : [0], Number(tensor.sizes[down] ?? 1), GRID_ROWS);
    const columns = aroundThese(here.length ? here.map((d) => d.coordinates[across]) : [0], Number(tensor.sizes[across]), GRID_COLUMNS);
    const along = shown.slice.slice(1, -1).split(", ").map(Number); // of which those of the plane are not looked at
    const [, , differing, agreeing] = modes.find(([name]) => name === shown.mode);
    const cell = (row, column) => {
      if (row === null || column === null) return element("td", { class: "skipped" }, "…");
      const coordinates = along.map((coordinate, d) => (d === across ? column : d === down ? row : coordinate));
      const difference = at.get(`${row},${column}`);
      const offset = offsetOf(coordinates, tensor.strides);
      const told = `[${coordinates.join(", ")}], element ${offset} in memory, byte ${offset * elementBytes(tensor.dataType)}`;
      if (difference) {
        const [expected, actual] = differing ? differing(difference) : [];
        return element(
          "td",
          { class: "differs", title: told },
          hidden("differs: "),
          differing
            ? [element("span", { class: "expected" }, expected), element("span", { class: "actual" }, element("span", { "aria-hidden": "true" }, "≠ "), hidden("but got "), actual)]
            : element("span", { class: "actual" }, `≠ ${offset}`),
        );
      }
      const isKnown = isAll || before(coordinates, last);
      const text = agreeing ? (expectedAt ? agreeing(expectedAt(coordinates)) : isKnown ? "=" : "·") : offset;
      return isKnown ? element("td", { class: "same", title: told }, text) : element("td", { class: "unknown", title: `${told}, not recorded` }, text, expectedAt ? [element("span", { "aria-hidden": "true" }, " ?"), hidden(", not recorded")] : []);
    };
    place.replaceChildren(
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": "Output, where it differs" },
        element(
          "table",
          { class: "grid mono" },
          element("thead", {}, element("tr", {}, element("td", {}, down < 0 ? " " : ""), columns.map((c) => element("th", { scope: "col" }, c ?? "…")))),
          element("tbody", {}, rows.map((r) => element("tr", {}, element("th", { scope: "row" }, r ?? "…"), columns.map((c) => cell(r, c))))),
        ),
      ),
    );
  };
  const choice = (label, options, name) => {
    const select = element("select", {}, options.map(([value, text]) => element("option", { value, selected: value === shown[name] }, text)));
    select.addEventListener("change", () => {
      shown[name] = select.value;
      draw();
    });
    return element("label", {}, `${label} `, select);
  };
  draw();
  const agreement = expectedAt ? "A cell without a mark shows what was expected and came. " : "= is as expected. ";
  const unknown = `${counted(count, "element")} ${count === 1 ? "differs" : "differ"}; the first ${differences.length} are recorded, and what came behind the last of them, marked ${expectedAt ? "?" : "·"}, is not. `;
  return element(
    "figure",
    {},
    element("figcaption", {}, `${tensor.name} {${tensor.sizes.join(", ")}}: expected, then ≠ what came. `, agreement, isAll ? "" : unknown, slices.length > 1 ? "In the name of a slice the first : stands for rows, the second for columns." : ""),
    element(
      "div",
      { class: "choices" },
      choice("Show", modes.map(([name, title]) => [name, title]), "mode"),
      slices.length > 1 ? choice("Slice", slices.map((slice) => [slice, `${slice}${counts.has(slice) ? `, ${counts.get(slice)} ≠` : ""}`]), "slice") : [],
    ),
    place,
  );
};

// The same one by one, folded away where there are many.
const differenceTable = (tensor, differences, count) => {
  const bytes = tensor ? elementBytes(tensor.dataType) : 1n;
  const caption = differences.length < count ? `First ${differences.length} of ${counted(count, "differing element")}` : counted(count, "differing element");
  const isLong = tensor && differences.length > TABLE_ROWS;
  const list = table(
    { label: "Differing elements", caption: isLong ? undefined : caption },
    ["Coordinates", "Expected", "Bits", "Actual", "Bits", "Element", "Byte"],
    differences.map((d) => {
      const offset = tensor ? offsetOf(d.coordinates, tensor.strides) : null;
      return [
        element("th", { scope: "row", class: "mono" }, d.coordinates.join(", ")),
        element("td", { class: "mono expected" }, d.expected),
        element("td", { class: "mono" }, d.expected_bits || "open"),
        element("td", { class: "mono actual" }, d.actual),
        element("td", { class: "mono" }, d.actual_bits),
        element("td", { class: "number" }, offset ?? ""),
        element("td", { class: "number" }, offset === null ? "" : offset * bytes),
      ];
    }),
  );
  return isLong ? element("details", {}, element("summary", {}, caption), list) : list;
};

// Memory of a small strided tensor, element by element: which coordinates lie there, and what lies between them.
const memoryPicture = (tensor, differences) => {
  const extent = tensor.sizes.reduce((sum, size, i) => sum + (size - 1n) * tensor.strides[i], 1n);
  const count = tensor.sizes.reduce((product, size) => product * size, 1n);
  if (tensor.isPacked || extent > MEMORY_CELLS || count > MEMORY_CELLS || count < 1n) return [];
  const wrong = new Set(differences.map((d) => d.coordinates.join(",")));
  const cells = Array.from({ length: Number(extent) }, () => []);
  const coordinates = tensor.sizes.map(() => 0);
  for (let n = 0; n < Number(count); n++) {
    cells[Number(offsetOf(coordinates, tensor.strides))].push(coordinates.join(","));
    for (let i = coordinates.length - 1; i >= 0; i--) {
      if (++coordinates[i] < Number(tensor.sizes[i])) break;
      coordinates[i] = 0;
    }
  }
  const cell = (held) => {
    if (!held.length) return element("td", { class: "padding" }, "gap");
    const isWrong = held.some((at) => wrong.has(at));
    const text = held[0] + (held.length > 1 ? ` +${held.length - 1}` : "");
    return element("td", { class: isWrong ? "differs" : "same", title: held.slice(0, 8).join("; ") }, isWrong ? `≠ ${text}` : text);
  };
  const rows = [];
  for (let i = 0; i < cells.length; i += MEMORY_COLUMNS) {
    rows.push(element("tr", {}, element("th", { scope: "row" }, i), cells.slice(i, i + MEMORY_COLUMNS).map(cell)));
  }
  return [
    element(
      "details",
      {},
      element("summary", {}, `Memory of ${tensor.name}`),
      element("p", { class: "soft" }, "Each cell is an element of memory with the coordinates that lie there; gaps belong to no element."),
      element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Memory of ${tensor.name}` }, element("table", { class: "grid mono" }, element("tbody", {}, rows))),
    ),
  ];
};
