// Tensors in words and pictures: sizes, strides, where elements lie, and which of them differ.
const GRID_ROWS = 24;
const GRID_COLUMNS = 16;
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

// The last two dimensions of an output, where its differing elements are; the dimensions before them choose a slice.
const differenceGrid = (tensor, differences, isAll) => {
  const rank = tensor.sizes.length;
  const sliceOf = ({ coordinates }) => coordinates.slice(0, Math.max(0, rank - 2)).join(", ");
  const slices = [...new Set(differences.map(sliceOf))];
  const modes = [
    ["value", "Values", (d) => [d.expected, d.actual]],
    ["bits", "Bits", (d) => [d.expected_bits || "open", d.actual_bits]],
    ["offset", "Element offsets in memory", null],
  ];
  const shown = { slice: slices[0], mode: "value" };
  const place = element("div");
  const draw = () => {
    const here = differences.filter((d) => sliceOf(d) === shown.slice);
    const at = new Map(here.map((d) => [`${rank > 1 ? d.coordinates[rank - 2] : 0},${d.coordinates[rank - 1]}`, d]));
    const height = rank > 1 ? Number(tensor.sizes[rank - 2]) : 1;
    const rows = aroundThese(here.map((d) => (rank > 1 ? d.coordinates[rank - 2] : 0)), height, GRID_ROWS);
    const columns = aroundThese(here.map((d) => d.coordinates[rank - 1]), Number(tensor.sizes[rank - 1]), GRID_COLUMNS);
    const leading = here[0].coordinates.slice(0, Math.max(0, rank - 2));
    const values = modes.find(([name]) => name === shown.mode)[2];
    const cell = (row, column) => {
      if (row === null || column === null) return element("td", { class: "skipped" }, "…");
      const coordinates = [...leading, ...(rank > 1 ? [row] : []), column];
      const difference = at.get(`${row},${column}`);
      const offset = offsetOf(coordinates, tensor.strides);
      const told = `[${coordinates.join(", ")}], element ${offset} in memory, byte ${offset * elementBytes(tensor.dataType)}`;
      if (!difference) return element("td", { class: "same", title: told }, values ? (isAll ? "=" : "·") : offset);
      const [expected, actual] = values ? values(difference) : [];
      return element(
        "td",
        { class: "differs", title: told },
        element("span", { class: "hidden" }, "differs: "),
        values
          ? [element("span", { class: "expected" }, expected), element("span", { class: "actual" }, element("span", { "aria-hidden": "true" }, "≠ "), element("span", { class: "hidden" }, "but got "), actual)]
          : element("span", { class: "actual" }, `≠ ${offset}`),
      );
    };
    place.replaceChildren(
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": "Output, where it differs" },
        element(
          "table",
          { class: "grid mono" },
          element("thead", {}, element("tr", {}, element("td", {}, rank > 1 ? "" : " "), columns.map((c) => element("th", { scope: "col" }, c ?? "…")))),
          element("tbody", {}, rows.map((r) => element("tr", {}, element("th", { scope: "row" }, rank > 1 ? (r ?? "…") : "0"), columns.map((c) => cell(r, c))))),
        ),
      ),
    );
  };
  const choice = (label, options, name) => {
    const select = element("select", {}, options.map(([value, text]) => element("option", { value }, text)));
    select.addEventListener("change", () => {
      shown[name] = select.value;
      draw();
    });
    return element("label", {}, `${label} `, select);
  };
  draw();
  return element(
    "figure",
    {},
    element("figcaption", {}, `${tensor.name} {${tensor.sizes.join(", ")}}: expected, then ≠ what came. `, isAll ? "= is as expected." : "· is not among the first differing elements, which alone are recorded."),
    element(
      "div",
      { class: "choices" },
      choice("Show", modes.map(([name, title]) => [name, title]), "mode"),
      slices.length > 1 ? choice("Slice", slices.map((slice) => [slice, `[${slice}, :, :]`]), "slice") : [],
    ),
    place,
  );
};

const differenceTable = (tensor, differences, count) => {
  const bytes = tensor ? elementBytes(tensor.dataType) : 1n;
  return table(
    {
      label: "Differing elements",
      caption: differences.length < count ? `First ${differences.length} of ${counted(count, "differing element")}` : counted(count, "differing element"),
    },
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
